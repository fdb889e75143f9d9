package worker

import (
	"context"
	"time"

	"drover/core"
)

// lane makes calls one after another. While its call is in flight, x and sent are frozen, except that a repeat
// becomes a heartbeat.
type lane struct {
	x    core.Exchange
	sent []*Work // work whose finishes are in x
	busy bool    // guarded by the worker's lock
}

// drive is a lane's goroutine: whenever anything waits, it takes all of it along.
func (d *Worker) drive(l *lane) {
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.wake:
		}
		for d.load(l) {
			answer, ok := d.send(l)
			if !ok {
				return
			}
			d.deliver(l, answer)
		}
	}
}

// load fills the lane's next call. It returns false if there is nothing to send.
func (d *Worker) load(l *lane) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(d.due(), d.cfg.Batch)
	want := d.want(n)
	switch {
	case d.over != nil:
		return false
	case n > 0:
	case want > 0 && (!d.starved || d.rung):
	case d.rung && d.asked == 0:
		// Nobody here needs the ring that we took: a call that wants no claim passes it on.
		want = 0
	default:
		return false
	}
	l.sent, l.x.Finish = l.sent[:0], l.x.Finish[:0]
	for range n {
		w := d.finishes.pop()
		l.sent = append(l.sent, w)
		l.x.Finish = append(l.x.Finish, core.Finish{Key: w.Key, Token: w.Token, Outcome: w.outcome})
	}
	l.x.Seq++
	l.x.Epoch = d.Epoch()
	l.x.Want, l.x.TokenBase = want, d.nextToken
	l.x.Pools, l.x.Beat = d.rotated[d.turn%len(d.rotated)], d.heartbeat()
	l.busy = true
	if want > 0 || n == 0 {
		d.rung = false
	}
	d.nextToken += int64(want)
	d.asked += want
	d.ending += n
	d.used += want - n
	if want > 0 {
		d.turn++
	}
	if d.finishes.len() > 0 {
		d.kick()
	}
	return true
}

// heartbeat returns the time until the next heartbeat is due if this call should be one. It returns 0 if another call
// was one recently: a heartbeat costs Redis as much as half a claim. The ring that the listener took may have been
// the notice of a cancel, which only a heartbeat's answer reports. The lock is held.
func (d *Worker) heartbeat() time.Duration {
	beat := d.cfg.Registration.Beat
	if !d.rung && time.Since(d.presence.LastBeat()) < beat/heartbeatsPerBeat {
		return 0
	}
	return beat
}

// due returns how many finishes, from the oldest on, may go now. A drained worker gives nothing back while a call in
// flight could claim it again; that call's lane looks here again. The lock is held.
func (d *Worker) due() int {
	n := d.finishes.len()
	if !d.drained || d.asked == 0 {
		return n
	}
	for i, w := range d.finishes.items[d.finishes.head:] {
		if w.outcome != core.OutcomeDone && w.outcome != core.OutcomeDead {
			return i
		}
	}
	return n
}

// want returns how many claims a call may request that ends n others. The lock is held.
func (d *Worker) want(n int) int {
	if d.drained {
		return 0
	}
	return max(0, min(d.cfg.Batch, d.waiters.len()-d.asked, d.cfg.Slots-d.used+n))
}

// send repeats the lane's call until its answer is known. It returns false if the worker is over.
func (d *Worker) send(l *lane) (core.Exchanged, bool) {
	pause := newPause()
	for {
		at := time.Now()
		answer, err := d.exchange(l)
		if err == nil {
			d.trouble.over(l.x.Lane)
			if l.x.Beat > 0 {
				d.presence.Heard(at)
			}
			return answer, true
		}
		if d.presence.Over(d.ctx, l.x.Epoch, err) || d.ctx.Err() != nil {
			return answer, false
		}
		if epoch := d.Epoch(); epoch != l.x.Epoch {
			l.x.Epoch = epoch
		} else {
			d.trouble.met(l.x.Lane, err)
		}
		l.x.Beat = d.cfg.Registration.Beat // other calls may fail too, and much time has passed
		d.mu.Lock()
		d.stats.Repeats++
		d.mu.Unlock()
		if !pause.sleep(d.ctx) {
			return answer, false
		}
	}
}

func (d *Worker) exchange(l *lane) (core.Exchanged, error) {
	ctx, cancel := context.WithTimeout(d.ctx, callTimeout)
	defer cancel()
	return d.claims.Exchange(ctx, l.x)
}

// deliver hands an answer to those who wait for it.
func (d *Worker) deliver(l *lane, answer core.Exchanged) {
	works := make([]*Work, len(answer.Claims))
	for i, c := range answer.Claims {
		works[i] = newWork(c)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l.busy = false
	d.asked -= l.x.Want
	d.ending -= len(l.sent)
	d.used += len(answer.Claims) - l.x.Want
	d.stats.Calls++
	d.stats.Finished += int64(len(l.sent))
	d.stats.Claimed += int64(len(answer.Claims))
	for i, w := range l.sent {
		if d.hand[w.Key] == w {
			delete(d.hand, w.Key)
		}
		w.settle(i < len(answer.Finished) && answer.Finished[i], nil)
	}
	clear(l.sent)
	for _, w := range works {
		d.give(w)
	}
	if l.x.Want > 0 {
		d.starved = len(answer.Claims) < l.x.Want
	}
	d.note(core.Beat{
		Slots: answer.Slots, Cancelled: answer.Cancelled, Draining: answer.Draining, Ready: answer.Ready,
		Incarnation: answer.Incarnation,
	})
	if d.starving() {
		signal(d.look)
	} else if d.want(0) > 0 {
		d.kick()
	}
	d.settleDown()
}

// give hands work to the oldest waiter, or releases it if nobody waits any more.
// The lock is held.
func (d *Worker) give(w *Work) {
	if old := d.hand[w.Key]; old != nil && old.outcome == "" {
		d.taken(old)
	}
	d.hand[w.Key] = w
	signal(d.busy)
	if d.waiters.len() == 0 {
		d.submitTo(w, core.OutcomeRelease)
		d.stats.Released++
		return
	}
	d.waiters.pop().got <- w
}

// hear handles the answer of a heartbeat.
func (d *Worker) hear(b core.Beat) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(b)
}

// note handles the owner's state, which every answer has. The lock is held.
func (d *Worker) note(b core.Beat) {
	d.stats.Draining, d.stats.Ready = b.Draining, b.Ready
	if len(d.unheard) > 0 {
		signal(d.answering)
	}
	for key, who := range b.Cancelled {
		if w := d.hand[key]; w != nil && w.outcome == "" {
			w.cancel(cancelledBy(key, who))
		}
	}
	// Claims of calls in flight may not be there yet, and their finishes may be gone.
	if b.Slots > d.open() || b.Slots >= 0 && b.Slots < d.used-d.asked || b.Incarnation != d.incarnation {
		signal(d.suspect)
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
