package worker

import (
	"time"

	"drover/core"
)

// If the bell rings this soon again and again without giving work, the worker waits before it answers.
const (
	soon       = 10 * time.Millisecond
	vainAllows = 3
	vainPause  = 50 * time.Millisecond
)

// listen is the worker's goroutine that waits for the host's bell, as long as callers of Next wait and the last
// answer had no work.
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
			d.presence.Fenced(d.ctx, d.Epoch(), err)
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

// starving reports whether a caller waits for whom there is a slot, and only the bell can help. It becomes true with
// an answer, after which deliver signals look; a further caller finds the listener already there. The lock is held.
func (d *Worker) starving() bool { return d.starved && !d.rung && d.want(0) > 0 }

// hearNotices waits for notices to the owner while it holds work, so that a cancelled command stops at once and not
// with the next heartbeat. It leaves the host's bell to those that want work.
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
			d.presence.Fenced(d.ctx, d.Epoch(), err)
			d.trouble.met(ofHeader, err)
			if !pause.sleep(d.ctx) {
				return
			}
		}
	}
}

// ring makes a lane call again.
func (d *Worker) ring() {
	d.mu.Lock()
	d.rung = true
	d.mu.Unlock()
	d.kick()
}

// consistency releases slots that Redis has under this epoch and the worker does not know: Redis lost a finish that
// it had answered (a failover, an older copy restored). It also stops work whose slot was revoked, because it was
// taken for hung or moved, and puts back what Redis lost.
func (d *Worker) consistency() {
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.suspect:
		}
		if d.reclaimWork(d.ctx) == nil {
			if held, err := d.owners.Held(d.ctx, d.Owner(), 0); err == nil {
				d.releaseStrange(held)
			}
		}
		// An error, or slots of the predecessor that wait to be settled, cause another check with the next answer,
		// but not more often than heartbeats.
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
		w.strange = true
		d.hand[h.Key] = w
		d.used++
		d.submitTo(w, core.OutcomeRelease)
		d.stats.Released++
	}
	d.kick()
}

// taken ends work whose slot was revoked. Its finish would move nothing. The lock is held.
func (d *Worker) taken(w *Work) {
	d.used--
	d.stats.Taken++
	w.cancel(core.Errorf(core.CodeStale, w.Key, "the slot of %s under %s was taken back: it runs again elsewhere", w.Key, w.Token))
	w.settle(false, nil)
}

// known reports whether a slot must be left alone: its work is held, in a call in flight, or of another epoch. A slot
// whose finish was answered after Redis listed it looks unknown too; releasing it names a token that Redis no longer
// has and moves nothing. The lock is held.
func (d *Worker) known(h core.Held) bool {
	if w := d.hand[h.Key]; w != nil {
		return true // a newer claim of the key shows that this one is over
	}
	epoch, number, ok := splitToken(h.Token)
	if !ok || epoch < d.first {
		return true
	}
	for _, l := range d.lanes {
		if l.busy && number == l.x.TokenBase && l.x.Want > 0 {
			return true
		}
	}
	return false
}
