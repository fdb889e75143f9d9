package server

import (
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// leastPause is the least time by which a limit by the clock is put off, so that looks come to an end.
const leastPause = 50 * time.Millisecond

// deadline is a run's limit by the clock. Up to a bound it does not count time that the run has lost to others: in which
// it waited for a processor, and others or the hypervisor used the processors. Both are needed. A run that sleeps does not
// wait, and processes of a run that wait for each other use the processors themselves.
//
// A run that has a processor does not wait while the hypervisor takes it, and the kernel does not say whose processor that
// was. So a run has lost the part of it that is in proportion to its own computing, which a run that sleeps has none of.
//
// A run that talks with another waits for that one, too: what that has lost, the host says when the time is up.
//
// Looks begin at half of the limit: few runs get that far. What others use after that is taken for what they used before.
type deadline struct {
	limit, most time.Duration

	last   *moment       // the latest look; nil before the first
	others time.Duration // in which others used the processors: half of the time if they used half of them
	stolen time.Duration // in which the hypervisor took a processor that the run had

	own     time.Duration // that the run has lost
	partner time.Duration // that the run has lost with which it talks
	lost    time.Duration // that does not count
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
	if now.at < d.limit && d.most > 0 {
		d.last = &now
		return d.limit - now.at
	}
	d.own = d.look(now)
	return d.more(now.at)
}

// more returns for how long the run may go on.
func (d *deadline) more(at time.Duration) time.Duration {
	lost := min(d.own+d.partner, d.most)
	if more := d.limit + lost - at; more >= leastPause {
		d.lost = lost
		return more
	}
	return 0
}

// look takes a look and returns what the run has lost so far.
func (d *deadline) look(now moment) time.Duration {
	before := d.last
	d.last = &now
	if before == nil {
		return 0
	}
	spent := now.at - before.at
	if before.at < d.limit { // the first look stands for the time before it
		spent = now.at
	}
	if total := now.all.Total - before.all.Total; total > 0 {
		const fine = 1000
		own, stolen := (now.own - before.own).Milliseconds(), max(now.all.Stolen-before.all.Stolen, 0)
		busy := max(now.all.Busy-before.all.Busy, 0)
		part := min(max(busy-own, 0)+stolen, total) * fine / total
		d.others += spent * time.Duration(part) / fine
		took := max((now.at - before.at).Milliseconds(), 1)
		mine := min(own, took) * stolen / max(busy, 1)
		d.stolen += spent * time.Duration(min(mine, took)*fine/took) / fine
	}
	return min(now.waited, d.others) + d.stolen
}

// await waits for the first reason to end a run.
func (j *job) await() {
	d := deadline{limit: j.limits.Timeout, most: j.stretch}
	clock := time.NewTimer(d.first())
	defer clock.Stop()
	defer func() { j.lost, j.partner = d.lost, max(d.lost-d.own, 0) }()
	for {
		var more, waited time.Duration
		select {
		case <-j.exited:
			j.lastLook()
			return
		case <-j.stopped:
			return
		case <-clock.C:
			now := j.moment()
			waited = now.waited
			if more = d.next(now); more == 0 && j.asks(&d, now.at) {
				more = d.limit + d.most - now.at // if there is no answer
			}
		case d.partner = <-j.told:
			if more = d.more(time.Since(j.began)); more == 0 {
				waited = j.moment().waited
			}
		}
		if more == 0 {
			j.waited = waited
			j.stop(causeTimeout)
			return
		}
		clock.Reset(more)
	}
}

// asks asks the host what the run that this one talks with has lost, unless the time is up whatever that is.
func (j *job) asks(d *deadline, at time.Duration) bool {
	return j.talks && at+leastPause <= d.limit+d.most && j.frames.send(wire.KindLate, make([]byte, roomAhead+chunkTail), 0)
}

// listens readies a run for what it may be asked and told, at its start.
func (j *job) listens() {
	j.dawn.all = j.agent.tree.processors()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = make(chan time.Duration)
}

// lost says what the run in progress has lost, or tells it what the run that it talks with has.
func (a *Agent) lost(req *request) (any, error) {
	var said wire.Loss
	if req.method == "POST" {
		if err := req.readJSON(&said); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	j := a.job
	a.mu.Unlock()
	var told chan time.Duration
	if j != nil {
		j.mu.Lock()
		told = j.told
		j.mu.Unlock()
	}
	switch {
	case told == nil:
		return nil, core.Errorf(core.CodeConflict, a.cfg.VM, "VM %s has no run that talks with another", a.cfg.VM)
	case req.method != "POST":
		d := deadline{last: &j.dawn}
		return wire.Loss{Ms: d.look(j.moment()).Milliseconds()}, nil
	}
	select {
	case told <- time.Duration(max(said.Ms, 0)) * time.Millisecond:
	case <-j.over:
	}
	return struct{}{}, nil
}

// moment looks at the run and its host. What cannot be read is 0.
func (j *job) moment() moment {
	now := moment{at: time.Since(j.began), own: j.computed(j.gauges().read()), waited: j.agent.tree.waited(j.has)}
	now.all = j.agent.tree.processors()
	return now
}

// processors reads what the host's processors did; nothing if it cannot be read.
func (t *tree) processors() wire.Processors {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, err := t.top("stat")
	if err != nil {
		return wire.Processors{}
	}
	did, _ := wire.ReadProcessors(text)
	return did
}
