package testrunner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"drover/core"
	"drover/core/agent/wire"
	"drover/core/service/clock"
)

// facts are what a receipt says of the host and does not change while a testrunner runs. They are read once.
type facts struct {
	kernel, cpu string
}

// readFacts reads from a folder such as /proc.
func readFacts(proc string) facts {
	kernel, _ := os.ReadFile(filepath.Join(proc, "sys/kernel/osrelease")) // without it the receipt does not name it
	return facts{kernel: strings.TrimSpace(string(kernel)), cpu: cpuModel(filepath.Join(proc, "cpuinfo"))}
}

// cpuModel returns the model of the first processor; "" if the kernel does not name it.
func cpuModel(path string) string {
	text, _ := os.ReadFile(path)
	for _, key := range []string{"model name", "Model", "Hardware", "CPU part"} {
		for line := range strings.Lines(string(text)) {
			name, value, ok := strings.Cut(line, ":")
			if ok && strings.TrimSpace(name) == key {
				const most = 100
				value = strings.TrimSpace(value)
				return strings.ToValidUTF8(value[:min(len(value), most)], "")
			}
		}
	}
	return ""
}

// look is what a host has counted since its start.
type look struct {
	at              time.Time
	waited, stolen  int64 // ms
	busy, total     int64 // ms of all processors: used by somebody, and in all
	throttled       int64 // times that heat slowed a processor down
	running         int
	hasPSI, hasStat bool
	hasLoad         bool
}

// lookAge bounds how often a process looks: jobs that start and end within this time share a look.
const lookAge = 10 * time.Millisecond

// watch looks at how busy the host is. Its files stay open, because opening costs more than reading.
type watch struct {
	clock clock.Clock
	files map[string]*os.File

	mu    sync.Mutex
	last  look
	looks int // at the kernel's files
}

// Files of /proc that a watch reads.
const (
	filePressure = "pressure/cpu"
	fileStat     = "stat"
	fileLoad     = "loadavg"
	fileThrottle = "../sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"
)

func openWatch(proc string, c clock.Clock) *watch {
	w := &watch{clock: c, files: map[string]*os.File{}}
	for _, name := range []string{filePressure, fileStat, fileLoad, fileThrottle} {
		if f, err := os.Open(filepath.Join(proc, name)); err == nil { // what is not there is not measured
			w.files[name] = f
		}
	}
	return w
}

// look returns a look that is at most lookAge old.
func (w *watch) look() look {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	if !w.last.at.IsZero() && now.Sub(w.last.at) < lookAge && !now.Before(w.last.at) {
		return w.last
	}
	return w.read(now)
}

// fresh returns a look at the present.
func (w *watch) fresh() look {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read(w.clock.Now())
}

func (w *watch) read(now time.Time) look {
	w.looks++
	l := look{at: now}
	l.waited, l.hasPSI = pressureTotal(w.head(filePressure))
	all, ok := wire.ReadProcessors(w.head(fileStat))
	l.busy, l.stolen, l.total, l.hasStat = all.Busy, all.Stolen, all.Total, ok
	l.throttled, _ = strconv.ParseInt(string(bytes.TrimSpace(w.head(fileThrottle))), 10, 64) // few hosts have it
	l.running, l.hasLoad = runnable(w.head(fileLoad))
	w.last = l
	return l
}

// head returns the beginning of a file, nil if it cannot be read.
func (w *watch) head(name string) []byte {
	f := w.files[name]
	if f == nil {
		return nil
	}
	const most = 512
	buf := make([]byte, most)
	n, _ := f.ReadAt(buf, 0) // fewer bytes than that are not an error
	return buf[:n]
}

// pressureTotal reads for how long some process waited for a processor: "some avg10=0.00 … total=12345", in µs.
func pressureTotal(text []byte) (ms int64, ok bool) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	_, total, found := strings.Cut(string(line), "total=")
	us, err := strconv.ParseInt(strings.TrimSpace(total), 10, 64)
	return us / 1000, found && err == nil
}

// runnable reads how many processes run or wait for a processor: "0.10 0.20 0.30 2/345 6789".
func runnable(text []byte) (int, bool) {
	const at = 3
	words := strings.Fields(string(text))
	if len(words) <= at {
		return 0, false
	}
	n, _, _ := strings.Cut(words[at], "/")
	running, err := strconv.Atoi(n)
	return running, err == nil
}

// since returns the noise between two looks.
func (l look) since(before look) *core.Noise {
	n := &core.Noise{Ms: l.at.Sub(before.at).Milliseconds()}
	if l.hasPSI && before.hasPSI {
		waited := max(0, l.waited-before.waited)
		n.Waited = &waited
	}
	if l.hasStat && before.hasStat {
		lost := max(0, l.stolen-before.stolen)
		n.Stolen = &lost
	}
	if l.hasLoad {
		n.Running = &l.running
	}
	return n
}

// begins notes that the job's command starts.
func (j *job) begins() {
	j.started, j.untrusted = j.r.deps.Clock.Now(), true
	j.before = j.r.watch.look()
}

// receipt says by what, and in what surroundings, the job's result comes about.
func (j *job) receipt() *core.Receipt {
	spec := &j.w.Spec
	r := &core.Receipt{
		Drover: j.r.cfg.Registration.Version, Kernel: j.r.facts.kernel, CPU: j.r.facts.cpu, Processors: runtime.NumCPU(),
		Files: filesDigest(spec.Files), Limits: j.limits, Network: j.pool.Kind().Network, Peer: j.pool.Peer,
	}
	if spec.Harness != nil {
		r.Harness = spec.Harness.Digest
	}
	if j.suite != nil {
		r.BuildMs, r.AgainMs = j.suite.built.Milliseconds(), j.suite.second.cpu
	}
	if !j.started.IsZero() {
		j.after = j.r.watch.look()
		r.Noise = j.after.since(j.before)
	}
	return r
}

// heard adds to a result's receipt what others did while it ran, since what it used itself is known.
func (j *job) heard(res *core.Result) {
	if res.Receipt == nil || res.Receipt.Noise == nil {
		return
	}
	if n, ok := j.after.around(j.before, time.Duration(res.Usage.CPUMs)*time.Millisecond); ok {
		others := int(n.others)
		res.Receipt.Noise.Others, res.Receipt.Noise.Doubt = &others, n.loud()
	}
}

// filesDigest returns one digest of all files: of their paths, modes and digests.
func filesDigest(files []core.File) string {
	if len(files) == 0 {
		return ""
	}
	text, err := json.Marshal(files)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
