package agent

import (
	"bytes"
	"time"
)

// How often the meter looks: as late as it can without letting a run that
// computes on several processors go far over its share.
const (
	meterLeast = 5 * time.Millisecond
	meterMost  = 100 * time.Millisecond
	meterParts = 4
)

// meter ends a run that has computed for longer than it may. The clock of the
// wall is no measure of a program on a busy machine.
func (j *job) meter(buried <-chan struct{}) {
	if j.compute <= 0 {
		return
	}
	var most time.Duration
	look := time.NewTimer(meterLeast)
	defer look.Stop()
	for {
		select {
		case <-buried:
			return
		case <-look.C:
		}
		// A process that nobody waits for takes its account along when it ends.
		most = max(most, j.computing())
		if most > j.compute {
			j.stop(causeTimeout)
			return
		}
		look.Reset(min(max((j.compute-most)/meterParts, meterLeast), meterMost))
	}
}

// computed is what the run has used of processors, everything of it being dead.
func (j *job) computed(now reading) time.Duration {
	if j.in == nil && now.cpu >= 0 && j.before.cpu >= 0 {
		return now.cpu - j.before.cpu
	}
	return time.Duration(j.cpu.Load())
}

// computing is the same while it runs: where no cgroup tells, by those who ended
// and by those who live with the children that they have waited for.
func (j *job) computing() time.Duration {
	now := j.agent.usage.read()
	sum := j.computed(now)
	if j.in == nil && now.cpu >= 0 && j.before.cpu >= 0 {
		return sum
	}
	t := j.agent.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	var pids []int
	if t.each(func(p process) {
		if j.in == nil || j.in.holds(p) {
			pids = append(pids, p.pid)
		}
	}) != nil {
		return sum // the next look may do better
	}
	for _, pid := range pids {
		if text, err := t.read(pid, "stat"); err == nil {
			sum += ticksOf(text)
		}
	}
	return sum
}

// ticksOf reads user and system time, own and of children waited for, from a stat file.
func ticksOf(text []byte) time.Duration {
	const (
		tick  = 10 * time.Millisecond // USER_HZ is 100 wherever Linux has a stable interface
		utime = 14 - 3                // fields are counted from 1, and the third follows the name
	)
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	var sum time.Duration
	for i := utime; i < utime+4 && i < len(fields); i++ {
		sum += time.Duration(max(number(fields[i]), 0)) * tick
	}
	return sum
}
