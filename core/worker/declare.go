package worker

import (
	"context"
	"time"

	"drover/core"
)

// declaration is the phase that an owner reported for a piece of work, and until when it holds.
type declaration struct {
	phase string
	until time.Time // zero: the phase's own limit
}

// limit returns the time left of it.
func (s declaration) limit() time.Duration {
	if s.until.IsZero() {
		return 0
	}
	return max(time.Millisecond, time.Until(s.until))
}

// Progress reports that a piece of work entered a phase ("running") or is still in it. The next report, or the end,
// must follow within limit (0: the phase's default); otherwise the work is taken away as hung. If Redis does not
// answer, the report is repeated once it does; until then the limits of the phase before apply. Returns STALE if
// Redis does not have the slot under this token any more, FENCED once this epoch is over.
func (d *Worker) Progress(ctx context.Context, w *Work, phase string, limit time.Duration) error {
	said := declaration{phase: phase}
	if limit > 0 {
		said.until = time.Now().Add(limit)
	}
	d.mu.Lock()
	w.said = said
	delete(d.unheard, w)
	d.mu.Unlock()
	err := d.declare(ctx, w, said)
	if !heard(err) {
		d.mu.Lock()
		d.unheard[w] = true
		d.mu.Unlock()
	}
	return err
}

// heard reports whether Redis answered the report, even by a refusal.
func heard(err error) bool {
	return err == nil || core.Is(err, core.CodeFenced) || core.Is(err, core.CodeStale)
}

func (d *Worker) declare(ctx context.Context, w *Work, said declaration) error {
	for sure := false; ; {
		epoch := d.Epoch()
		err := d.claims.Progress(ctx, d.Owner(), epoch, w.Key, w.Token, said.phase, said.limit())
		switch {
		case core.Is(err, core.CodeFenced) && !d.presence.Fenced(ctx, epoch, err):
			if d.Epoch() == epoch {
				return core.Wrap(context.Cause(ctx), core.CodeUnavailable, w.Key, "Redis has lost its memory and does not answer yet")
			}
		case core.Is(err, core.CodeStale) && !sure:
			// The slot was revoked, or Redis was set back to before the claim.
			sure = true
			if unsure := d.reclaimWork(ctx); unsure != nil && !core.Is(unsure, core.CodeFenced) {
				signal(d.suspect)
				return core.Wrap(unsure, core.CodeUnavailable, w.Key, "Redis does not say whether it has %s yet", w.Key)
			}
			if !d.has(w) {
				return err
			}
		default:
			return err
		}
	}
}

// redeclare repeats reports that Redis did not receive, whenever it answers again.
func (d *Worker) redeclare() {
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.answering:
		}
		for w, said := range d.takeUnheard() {
			ctx, cancel := context.WithTimeout(d.ctx, callTimeout)
			err := d.declare(ctx, w, said)
			cancel()
			d.mu.Lock()
			if !heard(err) || w.said != said { // the newest report must be the last
				d.unheard[w] = true
			}
			d.mu.Unlock()
		}
	}
}

// takeUnheard empties the list; work that has ended needs no report.
func (d *Worker) takeUnheard() map[*Work]declaration {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := make(map[*Work]declaration, len(d.unheard))
	for w := range d.unheard {
		if w.outcome == "" && !w.over {
			taken[w] = w.said
		}
	}
	clear(d.unheard)
	return taken
}
