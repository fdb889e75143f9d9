package server

import (
	"bytes"
	"os"
	"slices"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// usage reads the VM's cgroups. The files are opened before user code runs.
type usage struct {
	all, job *os.File // memory of the whole VM, and of user code; nil if there is none
	runs     gauges   // of all runs together
	own      gauges   // of the run with limits of its own
}

// gauges are the open files of one cgroup; a missing file is nil.
type gauges struct {
	peak, oom, stat, cpu, pids *os.File
	control                    int  // a descriptor that resets the peak, and reads it; 0 is none
	fresh                      bool // the peak belongs to this run
}

// reading is the state of the cgroups at one moment; -1 for missing values.
type reading struct {
	peak  int64 // most memory ever, bytes
	kills int64 // processes killed because memory ran out
	cpu   time.Duration
	full  int64 // times that a process could not be started
}

func openUsage(cfg wire.Config) *usage {
	u := &usage{all: openGauge(cfg.Cgroup.MemoryAll), job: openGauge(cfg.Cgroup.MemoryJob), runs: openGauges(cfg.Cgroup.Gauges), own: openGauges(cfg.Cgroup.Own)}
	if slices.Contains(cfg.Controls, wire.ControlOwnPeak) {
		u.own.control = wire.ControlFD + wire.ControlOwnPeak
	}
	return u
}

func openGauge(name string) *os.File {
	if name == "" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil // a cgroup that the VM cannot see: the agent's own counting replaces it
	}
	return f
}

func openGauges(g wire.Gauges) gauges {
	return gauges{
		peak: openGauge(g.MemoryPeak), oom: openGauge(g.MemoryEvents), stat: openGauge(g.MemoryStat), cpu: openGauge(g.CPU), pids: openGauge(g.PidsEvents), fresh: true,
	}
}

func (u *usage) close() {
	for _, f := range []*os.File{u.all, u.job} {
		if f != nil {
			_ = f.Close()
		}
	}
	u.runs.close()
	u.own.close()
}

func (g *gauges) close() {
	for _, f := range []*os.File{g.peak, g.oom, g.stat, g.cpu, g.pids} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// begin resets the peak. Version 2 can do that from Linux 6.12 on.
func (g *gauges) begin() {
	g.fresh = false
	if g.control > 0 {
		_, err := syscall.Write(g.control, []byte("0"))
		g.fresh = err == nil
	}
}

// most is the peak; -1 if it is not known.
func (g *gauges) most() int64 {
	switch {
	case !g.fresh:
		return -1
	case g.control == 0:
		return cgroupValue(g.peak, "")
	}
	var buf [32]byte
	n, err := syscall.Pread(g.control, buf[:], 0)
	if err != nil {
		return -1
	}
	return number(buf[:n])
}

// cached returns the memory of cached pages of files, which the kernel frees when it is needed.
func (g *gauges) cached() int64 {
	all := max(cgroupValue(g.stat, "cache"), cgroupValue(g.stat, "file")) // version 1, version 2
	return max(all-max(cgroupValue(g.stat, "shmem"), 0), 0)
}

func (g *gauges) read() reading {
	r := reading{peak: g.most(), kills: cgroupValue(g.oom, "oom_kill"), full: cgroupValue(g.pids, "max"), cpu: -1}
	if micros := cgroupValue(g.cpu, "usage_usec"); micros >= 0 {
		r.cpu = time.Duration(micros) * time.Microsecond
	} else if nanos := cgroupValue(g.cpu, ""); nanos >= 0 {
		r.cpu = time.Duration(nanos)
	}
	return r
}

// passed reports which limits the kernel has enforced against a run since it began.
func (r reading) passed(before reading) (memory, pids bool) {
	return r.kills > before.kills, r.full > before.full
}

// cgroupValue reads the number of a key's line, or for "" the number that is the
// whole file; -1 if there is none.
func cgroupValue(f *os.File, key string) int64 {
	if f == nil {
		return -1
	}
	var buf [2 << 10]byte
	n, _ := f.ReadAt(buf[:], 0) // the end of the file is no error here
	for line := range bytes.Lines(buf[:n]) {
		if key == "" {
			return number(line)
		}
		if value, ok := bytes.CutPrefix(line, append([]byte(key), ' ')); ok {
			return number(value)
		}
	}
	return -1
}

// measure fills in what the run used: from the cgroups if possible, else from what its processes reported when they
// ended and what the watchdog saw.
//
// If a run reached both limits, the process limit is the reason: the kernel frees the memory of refused processes
// only a while later, and a starting run may briefly have some processes more. So a fork bomb may reach the limit on
// memory too, more likely on a busy machine.
func (j *job) measure(e *wire.Exit, why cause) {
	gauges := j.gauges()
	now := gauges.read()
	cpu := j.computed(now)
	e.CPUMs = cpu.Milliseconds()
	e.TimedOut = e.TimedOut || j.compute > 0 && cpu > j.compute && why == causeNone
	e.MemoryPeakBytes, e.MemoryExceeded = now.peak, why == causeMemory
	switch limit, _ := j.watched(); {
	case j.cell == own && now.peak >= 0:
		e.MemoryPeakBytes = max(now.peak-gauges.cached(), 0)
	case limit > 0 || now.peak < 0 || j.apart:
		e.MemoryPeakBytes, e.MemoryExceeded = j.memory(limit, why)
	}
	memory, pids := now.passed(j.before)
	if memory {
		e.Refused = append(e.Refused, core.LimitMemory)
	}
	if pids {
		e.Refused = append(e.Refused, core.LimitPids)
	}
	if j.cell == own {
		// A run that reached one of its own limits failed by it even if it coped: otherwise the verdict would depend
		// on when that was noticed.
		ended := why == causeNone || why == causeTimeout || why == causeOutput || why == causeMemory
		e.PidsExceeded = e.PidsExceeded || pids && ended
		e.MemoryExceeded = (e.MemoryExceeded || memory && ended) && !e.PidsExceeded
		return
	}
	// A run that coped with a refusal by the kernel was not ended by it.
	failed := e.Code != 0 && !e.TimedOut && !e.OutputExceeded
	e.PidsExceeded = e.PidsExceeded || failed && pids
	e.MemoryExceeded = (e.MemoryExceeded || failed && memory) && !e.PidsExceeded
}

// fileGuess is how much of a process's resident memory is assumed to be pages of files, which no limit counts, if no
// look at the process said more.
const fileGuess = 32 << 20

// memory returns the highest known memory of the run, and whether it exceeded the limit that the watchdog enforces; 0
// is none. A run may end before the watchdog looks: then the reports of its processes are used. Each report is of one
// process only and includes pages of files, so it must be well over the limit to count; only a look can tell what
// several processes had together. The rest of a report is taken for pages of files, and is not reported as memory
// over the limit.
func (j *job) memory(limit int64, why cause) (peak int64, exceeded bool) {
	j.looking.Lock()
	saw := j.saw
	j.looking.Unlock()
	var most int64
	if j.most > j.floor || saw.sum == 0 {
		most = j.most
	}
	own := max(saw.sum, saw.one)
	if j.most > j.floor {
		own = max(own, j.most-max(saw.file, fileGuess))
	}
	peak = max(most, own)
	switch {
	case limit == 0 || why == causeMemory:
		return peak, why == causeMemory
	case own <= limit:
		return min(peak, limit), false
	}
	// Any other reason that ended the run in time stands, except time and output, which it may have exceeded because
	// it exceeded its share.
	return peak, why == causeNone || why == causeTimeout || why == causeOutput
}

// ownPeak is the most that the agent itself ever had resident, in bytes.
func ownPeak() int64 {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return 0
	}
	return own.Maxrss << 10
}
