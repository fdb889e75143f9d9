package agent

import (
	"bytes"
	"os"
	"syscall"
	"time"

	"drover/core"
	"drover/core/guest/wire"
)

// usage reads the VM's cgroups. The files are opened before user code runs.
type usage struct {
	peak, oom, cpu, pids, all, job *os.File // nil if not there
}

// reading is what the cgroups say at one moment; -1 where they say nothing.
type reading struct {
	peak  int64 // most memory ever, bytes
	kills int64 // processes killed because memory ran out
	cpu   time.Duration
	full  int64 // times that a process could not be started
}

func openUsage(c wire.Cgroup) *usage {
	open := func(name string) *os.File {
		if name == "" {
			return nil
		}
		f, err := os.Open(name)
		if err != nil {
			return nil // a cgroup that the VM cannot see: its own counting stands in
		}
		return f
	}
	return &usage{
		peak: open(c.MemoryPeak), oom: open(c.MemoryEvents), cpu: open(c.CPU), pids: open(c.PidsEvents), all: open(c.MemoryAll), job: open(c.MemoryJob),
	}
}

func (u *usage) close() {
	for _, f := range []*os.File{u.peak, u.oom, u.cpu, u.pids, u.all, u.job} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (u *usage) read() reading {
	r := reading{
		peak:  cgroupValue(u.peak, ""),
		kills: cgroupValue(u.oom, "oom_kill"),
		full:  cgroupValue(u.pids, "max"),
		cpu:   -1,
	}
	if micros := cgroupValue(u.cpu, "usage_usec"); micros >= 0 {
		r.cpu = time.Duration(micros) * time.Microsecond
	} else if nanos := cgroupValue(u.cpu, ""); nanos >= 0 {
		r.cpu = time.Duration(nanos)
	}
	return r
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

// measure fills in what the run used: by the cgroups where they tell, else by
// what its processes reported when they ended and what the watchdog saw.
func (j *job) measure(e *wire.Exit, why cause) {
	now := j.agent.usage.read()
	cpu := j.computed(now)
	e.CPUMs = cpu.Milliseconds()
	e.TimedOut = e.TimedOut || j.compute > 0 && cpu > j.compute && why == causeNone
	e.MemoryPeakBytes, e.MemoryExceeded = now.peak, why == causeMemory
	if limit, _ := j.watched(); limit > 0 || now.peak < 0 || j.apart {
		e.MemoryPeakBytes, e.MemoryExceeded = j.memory(limit, why)
	}
	if now.kills > j.before.kills {
		e.Refused = append(e.Refused, core.LimitMemory)
	}
	if now.full > j.before.full {
		e.Refused = append(e.Refused, core.LimitPids)
	}
	// A run that coped with a refusal of the kernel was not ended by it.
	failed := e.Code != 0 && !e.TimedOut && !e.OutputExceeded
	if failed && now.kills > j.before.kills {
		e.MemoryExceeded = true
	}
	if failed && !e.MemoryExceeded && now.full > j.before.full {
		e.PidsExceeded = true
	}
}

// fileGuess is how much of a process's resident memory is taken to be pages of
// files, which no limit counts, where no look at the process said more.
const fileGuess = 32 << 20

// memory is the most memory that the run is known to have had, and whether that
// was over the limit that the watchdog holds; 0 is none. A run may have ended
// before the watchdog came to look: then its processes' own reports tell. Each is
// of one process alone, pages of files included, so it must be well over the
// limit to count; what a tree had together only a look can tell. The rest of a
// report is taken to be pages of files, and not told as memory over the limit.
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
	// What else ended the run in time stands, but for the clock and the output,
	// which it may have run into for having had more than its share.
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
