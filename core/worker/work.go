package worker

import (
	"context"
	"strconv"
	"strings"

	"drover/core"
)

// Work is one claim that a worker holds.
type Work struct {
	core.Claim
	Spec core.Spec // of the claim

	// Cancelled is closed when the work must stop: somebody cancelled it (perhaps before it was claimed;
	// Claim.Cancelled then says who), the epoch is over, its slot was revoked, or the worker was closed. Cause says
	// which.
	Cancelled <-chan struct{}

	ctx    context.Context
	cancel context.CancelCauseFunc

	// Guarded by the worker's lock until ended is closed.
	said    declaration  // the last one reported, by Progress
	strange bool         // Redis had the slot, nobody here knew it, and it is released
	outcome core.Outcome // "" until it is finished
	moved   bool
	err     error
	over    bool          // ended is closed
	ended   chan struct{} // closed once its finish is answered, or never can be
}

func newWork(c core.Claim) *Work {
	w := &Work{Claim: c, ended: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	w.Cancelled = w.ctx.Done()
	if c.Cancelled != "" {
		w.cancel(cancelledBy(c.Key, c.Cancelled))
	}
	return w
}

func cancelledBy(key, who string) error {
	return core.Errorf(core.CodeCancelled, key, "cancelled by %s", who)
}

// Context ends when the work must stop, with Cause as its cause.
func (w *Work) Context() context.Context { return w.ctx }

// Cause says why the work must stop: nil while it need not; CANCELLED if somebody cancelled it (record it as
// cancelled, then Finish it as done); FENCED if the epoch is over; STALE if its slot was revoked because it was taken
// for hung or must run elsewhere; UNAVAILABLE if the worker was closed (record nothing: it runs again).
func (w *Work) Cause() error { return context.Cause(w.ctx) }

// settle sets the outcome of the work's finish. The worker's lock is held.
func (w *Work) settle(moved bool, err error) {
	if w.over {
		return
	}
	w.over, w.moved, w.err = true, moved, err
	close(w.ended)
}

// splitToken splits a token "<epoch>.<number>".
func splitToken(token string) (epoch, number int64, ok bool) {
	e, n, found := strings.Cut(token, ".")
	epoch, err := strconv.ParseInt(e, 10, 64)
	number, err2 := strconv.ParseInt(n, 10, 64)
	return epoch, number, found && err == nil && err2 == nil
}
