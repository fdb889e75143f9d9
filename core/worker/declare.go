package worker

import (
	"context"
	"time"

	"drover/core"
)

// declaration is what an owner says of a piece of work, and until when that holds.
type declaration struct {
	phase string
	until time.Time // zero: the phase's own limit
}

// limit is what is left of it now.
func (s declaration) limit() time.Duration {
	if s.until.IsZero() {
		return 0
	}
	return max(time.Millisecond, time.Until(s.until))
}

// Progress notes that a piece of work entered a phase ("running"), or goes on in
// it, and ends or is heard of again within limit (0: the phase's own time): what
// is not is taken away as hung. If Redis does not answer, it is told once it does:
// until then the limits of the phase before count. Returns STALE if Redis does not have
// the slot under this token any more, FENCED once this epoch is over.
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

// heard reports whether Redis knows what to make of the work.
func heard(err error) bool {
	return err == nil || core.Is(err, core.CodeFenced) || core.Is(err, core.CodeStale)
}

func (d *Worker) declare(ctx context.Context, w *Work, said declaration) error {
	err := d.claims.Progress(ctx, d.Owner(), d.Epoch(), w.Key, w.Token, said.phase, said.limit())
	d.presence.Fenced(err)
	if core.Is(err, core.CodeStale) {
		signal(d.suspect)
	}
	return err
}

// redeclare tells Redis, whenever it answers again, what it did not hear.
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
			if !heard(err) || w.said != said { // the newest word must be the last
				d.unheard[w] = true
			}
			d.mu.Unlock()
		}
	}
}

// takeUnheard empties the list, of which what has ended meanwhile needs no word.
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
