package worker

import (
	"context"
	"time"

	"drover/core"
)

// closeGrace is how long Close waits for Redis once its ctx has ended.
const closeGrace = 2 * time.Second

// Drain takes no new work from now on: waiting and later calls of Next return ErrDrained, and claims in flight are
// released. Held work goes on.
func (d *Worker) Drain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drained = true
	d.sendAway()
}

// sendAway ends all waiting. The lock is held.
func (d *Worker) sendAway() {
	for d.waiters.len() > 0 {
		close(d.waiters.pop().got)
	}
}

// end ends the worker: nothing is sent to Redis any more, and no caller waits any more.
func (d *Worker) end(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over != nil {
		return
	}
	d.over = why
	d.sendAway()
	for _, w := range d.hand {
		d.drop(w)
	}
	for _, l := range d.lanes {
		for _, w := range l.sent {
			d.drop(w)
		}
	}
	for d.finishes.len() > 0 {
		d.drop(d.finishes.pop())
	}
	d.stop()
	if d.quiet != nil {
		close(d.quiet)
		d.quiet = nil
	}
}

// drop ends a piece of work with the worker. The lock is held.
func (d *Worker) drop(w *Work) {
	if w != nil {
		w.cancel(d.over)
		w.settle(false, d.over)
	}
}

// Close drains, waits until all held work is finished, deregisters and stops the worker's goroutines. If ctx ends
// first, the remaining work is cancelled and released, with a short grace period for Redis to answer. Returns
// UNAVAILABLE if slots may be left; the next start or the overseer settles those. Closing a lost worker only stops
// it. A second Close waits and returns the same.
func (d *Worker) Close(ctx context.Context) error {
	d.mu.Lock()
	first := !d.closing
	d.closing = true
	d.mu.Unlock()
	if first {
		d.closeErr = d.close(ctx)
		close(d.closed)
	}
	<-d.closed
	return d.closeErr
}

func (d *Worker) close(ctx context.Context) error {
	d.Drain()
	late := ctx
	if !d.settled(ctx) {
		d.releaseAll()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
		late = grace
		d.settled(grace)
	}
	left := d.left()
	d.end(errClosed)
	d.running.Wait()
	if left > 0 {
		d.presence.Stop()
		return core.Errorf(core.CodeUnavailable, d.Owner(),
			"%s closed with %d slots that Redis did not answer for: its next start or the overseer settles them", d.Owner(), left)
	}
	return d.presence.Leave(late)
}

// settled waits until no work is held or in flight, or the worker is over. It returns false if ctx ended first.
func (d *Worker) settled(ctx context.Context) bool {
	d.mu.Lock()
	quiet := make(chan struct{})
	d.quiet = quiet
	d.settleDown()
	d.mu.Unlock()
	select {
	case <-quiet:
		return true
	case <-ctx.Done():
		return false
	}
}

// settleDown notifies Close once no work is held or in flight. The lock is held.
func (d *Worker) settleDown() {
	if d.quiet != nil && (d.over != nil || d.open() == 0) {
		close(d.quiet)
		d.quiet = nil
	}
}

// open counts the slots that Redis may still have for us. The lock is held.
func (d *Worker) open() int { return d.used + d.ending }

// left is open, or 0 if the worker is over and no slot belongs to it any more.
func (d *Worker) left() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over != nil {
		return 0
	}
	return d.open()
}

// releaseAll cancels and releases all held work.
func (d *Worker) releaseAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.hand {
		if w.outcome == "" {
			w.cancel(errClosed)
			d.submitTo(w, core.OutcomeRelease)
			d.stats.Released++
		}
	}
	d.kick()
}
