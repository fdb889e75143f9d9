package server

import (
	"time"

	"drover/core/agent/wire"
)

// leastPause is the least time by which a limit by the clock is put off, so that looks come to an end.
const leastPause = 50 * time.Millisecond

// deadline is a run's limit by the clock. Up to a bound it does not count time that the run has lost to others: in which
// it waited for a processor, and others used the processors. Both are needed. A run that sleeps does not wait, and
// processes of a run that wait for each other use the processors themselves.
//
// Looks begin at half of the limit: few runs get that far. What others use after that is taken for what they used before.
type deadline struct {
	limit, most time.Duration

	last   *moment       // the latest look; nil before the first
	others time.Duration // in which others used the processors: half of the time if they used half of them
	lost   time.Duration // that does not count
}

// moment is what is known at one moment of a run.
type moment struct {
	at     time.Duration // since the start of the run
	all    wire.Processors
	own    time.Duration // processor time that the run has used
	waited time.Duration // for which it has waited for a processor
}

// first returns when to look first.
func (d *deadline) first() time.Duration {
	if d.most <= 0 {
		return d.limit
	}
	return d.limit / 2
}

// next takes a look and returns when to take the next; 0 if the time is up.
func (d *deadline) next(now moment) time.Duration {
	before := d.last
	d.last = &now
	if now.at < d.limit && d.most > 0 {
		return d.limit - now.at
	}
	if before == nil {
		return 0
	}
	since := before.at
	if since < d.limit { // the first look stands for the time before it
		since = 0
	}
	if total := now.all.Total - before.all.Total; total > 0 {
		const fine = 1000
		own := (now.own - before.own).Milliseconds()
		part := min(max(now.all.Busy-before.all.Busy-own, 0), total) * fine / total
		d.others += (now.at - since) * time.Duration(part) / fine
	}
	lost := min(now.waited, d.others, d.most)
	if more := d.limit + lost - now.at; more >= leastPause {
		d.lost = lost
		return more
	}
	return 0
}

// await waits for the first reason to end a run.
func (j *job) await() {
	d := deadline{limit: j.limits.Timeout, most: j.stretch}
	clock := time.NewTimer(d.first())
	defer clock.Stop()
	for {
		select {
		case <-j.exited:
			j.lastLook()
		case <-j.stopped:
		case <-clock.C:
			now := j.moment()
			if more := d.next(now); more > 0 {
				clock.Reset(more)
				continue
			}
			j.waited = now.waited
			j.stop(causeTimeout)
		}
		j.lost = d.lost
		return
	}
}

// moment looks at the run and its host. What cannot be read is 0.
func (j *job) moment() moment {
	now := moment{at: time.Since(j.began), own: j.computed(j.gauges().read()), waited: j.agent.tree.waited(j.has)}
	now.all, _ = j.agent.tree.processors()
	return now
}

// processors reads what the host's processors did.
func (t *tree) processors() (wire.Processors, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, err := t.top("stat")
	if err != nil {
		return wire.Processors{}, false
	}
	return wire.ReadProcessors(text)
}
