package server

import (
	"bytes"
	"syscall"
	"time"
	"unsafe"
)

// How often the meter looks: as rarely as possible without letting a run on several processors go far over its share.
const (
	meterLeast = 5 * time.Millisecond
	meterMost  = 100 * time.Millisecond
	meterParts = 4
)

// meter ends a run that has used more processor time than it may. Wall time is no measure of a program on a busy
// machine.
func (j *job) meter(dead <-chan struct{}) {
	if j.compute <= 0 {
		return
	}
	account := account{began: time.Now()}
	look := time.NewTimer(meterLeast)
	defer look.Stop()
	for {
		select {
		case <-dead:
			return
		case <-look.C:
		}
		sum := j.computing(&account)
		if sum > j.compute {
			j.stop(causeTimeout)
			return
		}
		wait := min((j.compute-sum)/meterParts, meterMost)
		if account.hasty { // what ends between two looks may be counted nowhere
			wait = meterLeast
		}
		look.Reset(max(wait, meterLeast))
	}
}

// computed returns the processor time of the run, after all its processes are dead.
func (j *job) computed(now reading) time.Duration {
	if j.counted(now) {
		return now.cpu - j.before.cpu
	}
	return max(time.Duration(j.cpu.Load()), time.Duration(j.metered.Load()))
}

// counted reports whether a cgroup counts the processor time of the run, and of nothing else.
func (j *job) counted(now reading) bool {
	return (j.in == nil || j.cell == own) && now.cpu >= 0 && j.before.cpu >= 0
}

// has reports whether a process belongs to the run.
func (j *job) has(p process) bool { return j.in == nil || j.in.holds(p) }

// computing returns the processor time while the run goes on: without a cgroup's count, from ended and living
// processes.
func (j *job) computing(a *account) time.Duration {
	now := j.gauges().read()
	if j.counted(now) {
		return j.computed(now)
	}
	reaped := time.Duration(j.cpu.Load()) // first: a process that ends after this is still among the living
	if living, births, err := j.agent.tree.lives(j.has); err == nil {
		j.metered.Store(int64(a.look(time.Now(), reaped, living, births)))
	} // otherwise the next look may do better
	return j.computed(now)
}

// life is a process as the account sees it.
type life struct {
	born     int64         // when, which distinguishes it from another process with its number
	own      time.Duration // processor time of its own
	children time.Duration // of its children that it has waited for
	careless bool          // it ignores the end of its children, whose times are then lost
}

// account sums the processor time of processes if no cgroup does. The kernel adds a process's time to its parent's
// when the parent waits for it. The time of a process for which nobody waits is lost, so the last seen value counts.
type account struct {
	began  time.Time // of the time since the last look
	seen   map[int]life
	births int64 // processes and threads so far
	reaped time.Duration

	known time.Duration // of living processes and those waited for
	lost  time.Duration // of ended processes for which nobody has waited
	guess time.Duration // of processes that were never seen
	hasty bool          // some came and went since the last look
}

// look records the present processes, and returns the time used so far, or less.
func (a *account) look(now time.Time, reaped time.Duration, living map[int]life, births int64) time.Duration {
	before := a.sum()
	gone, waited := time.Duration(0), reaped-a.reaped
	careless, fresh := false, int64(0)
	a.known = reaped
	for pid, is := range living {
		was, known := a.seen[pid]
		if known && was.born != is.born {
			gone += was.own + was.children
			was, known = life{}, false
		}
		if !known {
			fresh++
		}
		a.known += is.own + is.children
		waited += is.children - was.children
		careless = careless || is.careless
	}
	for pid, was := range a.seen {
		if _, lives := living[pid]; !lives {
			gone += was.own + was.children
		}
	}
	// A process that ended during the look may be gone now and waited for next time.
	a.lost = max(a.lost+gone-waited, 0)
	a.hasty = a.seen != nil && births-a.births > fresh
	if careless && a.hasty {
		a.guess += max(now.Sub(a.began)-(a.sum()-before), 0) // there is no better estimate
	}
	a.began, a.seen, a.births, a.reaped = now, living, births, reaped
	return a.sum()
}

func (a *account) sum() time.Duration { return a.known + a.lost + a.guess }

// lives lists the processes of a run with their processor times, and how many processes and threads the VM has had so
// far, as far as the kernel's numbers show.
func (t *tree) lives(of func(process) bool) (map[int]life, int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	careless := map[int]bool{}
	err := t.each(func(p process) {
		if of(p) {
			careless[p.pid] = p.careless
		}
	})
	if err != nil {
		return nil, 0, err
	}
	all := make(map[int]life, len(careless))
	for pid := range careless {
		if text, err := t.read(pid, "stat"); err == nil {
			one := lifeOf(text)
			one.own, one.careless = max(processTime(pid), one.own), careless[pid]
			all[pid] = one
		}
	}
	births := int64(0)
	if !t.init {
		return all, 0, nil // those of the whole host
	}
	if text, err := t.top("loadavg"); err == nil {
		births = number(text[bytes.LastIndexByte(bytes.TrimSpace(text), ' ')+1:])
	}
	return all, births, nil
}

// processTime reads the clock of a process, which is finer than its stat file.
func processTime(pid int) time.Duration {
	const scheduled = 2
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|scheduled), uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return time.Duration(ts.Nano())
}

// lifeOf reads a stat file.
func lifeOf(text []byte) life {
	const (
		tick  = 10 * time.Millisecond // USER_HZ is 100 wherever Linux has a stable interface
		utime = 14 - 3                // fields are counted from 1, and the third follows the name
		start = 22 - 3
	)
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= start {
		return life{}
	}
	ticks := func(i int) time.Duration { return time.Duration(max(number(fields[i]), 0)) * tick }
	return life{born: number(fields[start]), own: ticks(utime) + ticks(utime+1), children: ticks(utime+2) + ticks(utime+3)}
}
