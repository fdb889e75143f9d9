package server

import (
	"runtime"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// How often the watchdog looks. It assumes that a program fills memory at fillRate and forks at forkRate, and looks
// again before that could use up the rest; but looking takes only a small share of a processor.
const (
	lookFirst = 2 * time.Millisecond
	lookLeast = 4 * time.Millisecond
	lookMost  = 100 * time.Millisecond
	lookShare = 20
	fillRate  = 4 << 30 // bytes a second
	forkRate  = 20000   // processes a second
)

// socketMost is about the maximum of the kernel's buffers for one socket. They belong to no process, and those of TCP
// to no cgroup of version 1.
const socketMost = 512 << 10

// sight is the highest usage that the watchdog saw of a run, in bytes.
type sight struct {
	sum  int64 // of all processes at one moment, without pages of files
	file int64 // pages of files of one process
	one  int64 // of one process at any moment before, without pages of files
}

// watch enforces the limits on memory and processes that the kernel does not, over all processes of the run together.
func (j *job) watch(dead <-chan struct{}) {
	memory, pids := j.watched()
	if memory == 0 && pids == 0 && j.cell != own {
		return
	}
	look := time.NewTimer(lookFirst)
	defer look.Stop()
	for {
		select {
		case <-dead:
			return
		case <-look.C:
		}
		wait := j.judge(memory, pids)
		if j.cell == own { // the kernel enforces it: this ends a run that reached a limit and lives on
			wait = lookMost
		}
		look.Reset(wait)
	}
}

// watched returns the limits that the watchdog enforces; 0 for those that it does not. Other limits on processes are
// a little higher, so that the watchdog can report why a run has ended.
func (j *job) watched() (memory int64, pids int) {
	if j.held[core.LimitMemory] == wire.HeldByWatchdog {
		memory = j.limits.Memory
	}
	if j.held[core.LimitPids] != "" {
		pids = j.limits.Pids
	}
	return memory, pids
}

// judge looks, stops the run if it is over a limit, and returns when to look again.
func (j *job) judge(memory int64, pids int) time.Duration {
	runtime.LockOSThread() // whose time is measured
	defer runtime.UnlockOSThread()
	before := threadTime()
	used, tasks, loud, err := j.look(memory)
	var metMemory, metPids bool
	if j.cell == own {
		metMemory, metPids = j.gauges().read().passed(j.before)
	}
	switch {
	case metPids, err == nil && (pids > 0 && tasks > pids || loud > loudSessions): // first, see measure
		j.stop(causePids)
	case metMemory:
		j.stop(causeMemory)
	case err != nil:
		return lookMost // the next look may do better; killAll does not depend on it
	case memory > 0 && used > memory, j.in == nil && j.limits.Memory > 0 && j.agent.tree.sockets()*socketMost > j.limits.Memory:
		j.stop(causeMemory)
	case j.in == nil && j.agent.tree.manyLocks(), j.mapsTooMuch(memory > 0):
		j.stop(causeMemory)
	}
	return pause(memory, used, pids, tasks, threadTime()-before)
}

// threadTime returns the processor time of the calling thread. On a busy machine a look takes longer but costs no
// more.
func threadTime() time.Duration {
	const rusageThread = 1
	var used syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// lastLook judges what a command leaves behind. It may have failed for lack of a process before the watchdog looked.
func (j *job) lastLook() {
	memory, pids := j.watched()
	if !j.status.Signaled() && j.status.ExitStatus() == 0 {
		pids = 0
	}
	if memory > 0 || pids > 0 {
		j.judge(memory, pids)
	}
}

// look sums up the usage of the run's processes, or returns the peak of one of them if that was more. Shared memory
// is counted for each process, which is quick; only a sum over the limit is worth an exact count. Sessions with
// normal priority are counted, too.
func (j *job) look(limit int64) (used int64, tasks, sessions int, err error) {
	j.looking.Lock()
	defer j.looking.Unlock()
	var found []process
	var loud []int
	err = j.agent.tree.scan(func(p process) {
		if p.zombie && p.parent == j.agent.tree.self {
			return // it is about to be reaped
		}
		if !j.has(p) {
			return
		}
		tasks += max(p.threads, 1)
		loud = j.loud(loud, p)
		used += p.anon
		j.saw.file = max(j.saw.file, p.file)
		if p.peak > j.floor {
			j.saw.one = max(j.saw.one, p.peak-j.saw.file)
		}
		if p.anon > 0 {
			found = append(found, p)
		}
	})
	if err != nil {
		return 0, 0, 0, err
	}
	if limit > 0 && used > limit && len(found) > 1 {
		used = 0
		for _, p := range found {
			share, known := j.agent.tree.share(p.pid)
			if !known || p.headless {
				share = p.anon - p.tables
			}
			used += share + p.tables
		}
	}
	j.saw.sum = max(j.saw.sum, used)
	return max(used, j.saw.one), tasks, len(loud), nil
}

// pause returns how long the watchdog may wait until the next look.
func pause(memory, used int64, pids, tasks int, cost time.Duration) time.Duration {
	wait := lookMost
	if memory > 0 {
		wait = min(wait, time.Duration(float64(memory-used)/fillRate*float64(time.Second)))
	}
	if pids > 0 {
		wait = min(wait, time.Duration(pids-tasks)*time.Second/forkRate)
	}
	return min(max(wait, lookLeast, lookShare*cost), lookMost)
}
