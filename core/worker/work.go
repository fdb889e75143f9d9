package worker

import (
	"context"
	"strconv"
	"strings"

	"drover/core"
)

// Work is one claim in a worker's hands.
type Work struct {
	core.Claim
	Spec core.Spec // of the claim

	// Cancelled is closed when the work must stop: somebody cancelled it (perhaps
	// before it was claimed; Claim.Cancelled then says who), the epoch is over, its
	// slot was taken back, or the worker was closed over it. Cause says which.
	Cancelled <-chan struct{}

	ctx    context.Context
	cancel context.CancelCauseFunc

	// Guarded by the worker's lock until ended is closed.
	said    declaration  // last, with Progress
	outcome core.Outcome // "" while it is in hand
	moved   bool
	err     error
	over    bool          // ended is closed
	ended   chan struct{} // closed once its finish is answered or can never be
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

// Cause says why the work must stop: nil while it need not, CANCELLED if somebody
// asked (record it as cancelled, then Finish it as done), FENCED if the epoch is
// over, STALE if its slot was taken back because it was taken for hung or must run
// elsewhere, UNAVAILABLE if the worker was closed over it (record nothing: it runs again).
func (w *Work) Cause() error { return context.Cause(w.ctx) }

// settle notes what became of the work's finish. The worker's lock is held.
func (w *Work) settle(moved bool, err error) {
	if w.over {
		return
	}
	w.over, w.moved, w.err = true, moved, err
	close(w.ended)
}

// splitToken takes a token "<epoch>.<number>" apart.
func splitToken(token string) (epoch, number int64, ok bool) {
	e, n, found := strings.Cut(token, ".")
	epoch, err := strconv.ParseInt(e, 10, 64)
	number, err2 := strconv.ParseInt(n, 10, 64)
	return epoch, number, found && err == nil && err2 == nil
}
