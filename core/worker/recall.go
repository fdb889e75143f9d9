package worker

import (
	"context"
	"slices"

	"drover/core"
)

// revived puts the work in hand back into a Redis that has forgotten the worker, in its new epoch.
func (d *Worker) revived(ctx context.Context, r core.Registered) error {
	return d.reclaim(ctx, "", r.Left)
}

// reclaimWork makes sure that Redis has the work in hand. Work whose slot was revoked is stopped; if Redis was set back to
// before it was claimed, it is put back.
func (d *Worker) reclaimWork(ctx context.Context) error {
	d.mu.Lock()
	incarnation := d.incarnation
	d.mu.Unlock()
	epoch := d.Epoch()
	err := d.reclaim(ctx, incarnation, nil)
	d.presence.Fenced(ctx, epoch, err)
	return err
}

// reclaim does so, given the incarnation of Redis in which it was done last; "": in none that Redis remembers. Left is
// what Redis has of the owner's predecessors.
func (d *Worker) reclaim(ctx context.Context, incarnation string, left []core.Held) error {
	d.reclaiming.Lock()
	defer d.reclaiming.Unlock()
	works, claims := d.holds()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := d.claims.Reclaim(ctx, d.Owner(), d.cfg.Registration.Host, d.Epoch(), incarnation, claims)
	if err != nil {
		return err
	}
	lost := d.dropTaken(works, r)
	if d.cfg.Recalled != nil && (incarnation == "" || r.PutBack > 0) {
		left = slices.DeleteFunc(left, func(h core.Held) bool {
			return slices.ContainsFunc(works, func(w *Work) bool { return w.Key == h.Key && w.Token == h.Token })
		})
		d.cfg.Recalled(d, r.PutBack, lost, left)
	}
	return nil
}

// holds returns the work whose finish Redis has not answered, as Redis should have it.
func (d *Worker) holds() (works []*Work, claims []core.HeldClaim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.hand {
		if w.strange {
			continue
		}
		phase := w.said.phase
		if phase == "" {
			phase = string(core.RequestClaimed)
		}
		works = append(works, w)
		claims = append(claims, core.HeldClaim{Claim: w.Claim, Phase: phase, Limit: w.said.limit()})
	}
	return works, claims
}

// dropTaken stops the work that Redis does not have any more, and returns how much that is.
func (d *Worker) dropTaken(works []*Work, r core.Reclaimed) (lost int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.incarnation = r.Incarnation
	for i, w := range works {
		if d.over == nil && !r.Held[i] && d.hand[w.Key] == w && w.outcome == "" {
			delete(d.hand, w.Key)
			d.taken(w)
			lost++
		}
	}
	d.kick()
	d.settleDown()
	return lost
}

// has reports whether a piece of work is still in hand.
func (d *Worker) has(w *Work) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hand[w.Key] == w
}
