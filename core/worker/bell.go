package worker

import (
	"time"

	"drover/core"
)

// A bell that rings this soon, again and again, for nothing, is not worth running for.
const (
	soon       = 10 * time.Millisecond
	vainAllows = 3
	vainPause  = 50 * time.Millisecond
)

// listen is the one goroutine of the worker that waits for the host's bell, while
// workers wait for work and the last answer had none.
func (d *Worker) listen() {
	pause := newPause()
	vain, claimed := 0, int64(0)
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.look:
		}
		d.mu.Lock()
		starving := d.starving()
		d.mu.Unlock()
		if !starving {
			continue
		}
		began := time.Now()
		err := d.claims.Wait(d.ctx, d.Owner(), d.cfg.Registration.Host, d.cfg.Poll)
		if d.ctx.Err() != nil {
			return
		}
		if err != nil {
			d.presence.Fenced(err)
			d.trouble.met(ofListener, err)
			if !pause.sleep(d.ctx) {
				return
			}
		} else {
			d.trouble.over(ofListener)
			pause.Reset()
		}
		if now := d.Stats().Claimed; now == claimed && time.Since(began) < soon {
			vain++
		} else {
			vain, claimed = 0, now
		}
		if vain > vainAllows && !sleep(d.ctx, vainPause) {
			return
		}
		d.ring()
	}
}

// starving says if somebody waits for whom there is a slot, and only the bell
// can help. It is an answer that makes it true, and deliver signals look then: one
// more waiter finds the listener there already. The lock is held.
func (d *Worker) starving() bool { return d.starved && !d.rung && d.want(0) > 0 }

// hearNotices waits for notices to the owner while it has work in hand, so that a
// cancelled command stops at once and not with the next beat. It leaves the
// host's bell to those who want work.
func (d *Worker) hearNotices() {
	pause := newPause()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.busy:
		}
		for d.Stats().InHand > 0 {
			err := d.claims.Wait(d.ctx, d.Owner(), "", d.cfg.Poll)
			if d.ctx.Err() != nil {
				return
			}
			if err == nil {
				d.trouble.over(ofHeader)
				pause.Reset()
				d.presence.Beat(d.ctx)
				continue
			}
			d.presence.Fenced(err)
			d.trouble.met(ofHeader, err)
			if !pause.sleep(d.ctx) {
				return
			}
		}
	}
}

// ring makes a lane ask again.
func (d *Worker) ring() {
	d.mu.Lock()
	d.rung = true
	d.mu.Unlock()
	d.kick()
}

// consistency releases slots that Redis has under this epoch and the worker does not
// know: Redis lost the finish that it had answered (a failover, an older copy restored).
// And it stops work whose slot was taken back: somebody took it for hung, or moved it.
func (d *Worker) consistency() {
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.suspect:
		}
		mine := d.inHand() // before Redis is asked: what is claimed meanwhile is not in its answer
		held, err := d.owners.Held(d.ctx, d.Owner(), 0)
		if err == nil {
			d.releaseStrange(held)
			d.dropTaken(mine, held)
		}
		// An error, or slots of the predecessor that wait to be settled, bring us
		// back with the next answer: not more often than we beat.
		if !sleep(d.ctx, d.cfg.BeatEvery) {
			return
		}
	}
}

func (d *Worker) releaseStrange(held []core.Held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range held {
		if d.known(h) || d.over != nil {
			continue
		}
		w := newWork(core.Claim{Key: h.Key, VM: h.VM, Token: h.Token})
		d.hand[h.Key] = w
		d.used++
		d.submitTo(w, core.OutcomeRelease)
		d.stats.Released++
	}
	d.kick()
}

// inHand is the work in hand whose finish was not submitted.
func (d *Worker) inHand() []*Work {
	d.mu.Lock()
	defer d.mu.Unlock()
	var works []*Work
	for _, w := range d.hand {
		if w.outcome == "" {
			works = append(works, w)
		}
	}
	return works
}

// dropTaken drops work that has no slot under its token any more.
func (d *Worker) dropTaken(works []*Work, held []core.Held) {
	tokens := make(map[string]string, len(held))
	for _, h := range held {
		tokens[h.Key] = h.Token
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range works {
		if d.over == nil && d.hand[w.Key] == w && w.outcome == "" && tokens[w.Key] != w.Token {
			delete(d.hand, w.Key)
			d.taken(w)
		}
	}
	d.kick()
	d.settleDown()
}

// taken ends work whose slot is another's by now. Its finish would move nothing. The
// lock is held.
func (d *Worker) taken(w *Work) {
	d.used--
	d.stats.Taken++
	w.cancel(core.Errorf(core.CodeStale, w.Key, "the slot of %s under %s was taken back: it runs again elsewhere", w.Key, w.Token))
	w.settle(false, nil)
}

// known says if a slot is ours to leave alone: in hand, in a call in flight, or
// of another epoch. A slot whose finish was answered since Redis told of it looks strange
// too; releasing it names a token that Redis no longer has and moves nothing. The lock is held.
func (d *Worker) known(h core.Held) bool {
	if w := d.hand[h.Key]; w != nil {
		return true // a newer claim of the key beats that this one is over
	}
	epoch, number, ok := splitToken(h.Token)
	if !ok || epoch != d.Epoch() {
		return true
	}
	for _, l := range d.lanes {
		if l.busy && number == l.x.TokenBase && l.x.Want > 0 {
			return true
		}
	}
	return false
}
