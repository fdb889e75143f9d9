package claims

import (
	"context"

	"drover/core"
)

// Work is one claim in a worker's hands.
type Work struct {
	core.Claim

	// Cancelled is closed when the work must stop: somebody cancelled it (perhaps
	// before it was claimed), the epoch is over, or the desk was closed over it. Cause says which.
	Cancelled <-chan struct{}
}

// Context ends when the work must stop, with Cause as its cause.
func (w *Work) Context() context.Context { return nil }

// Cause says why the work must stop: nil while it need not, CANCELLED if somebody
// asked (record it as cancelled, then Finish it as done), FENCED if the epoch is
// over or UNAVAILABLE if the desk was closed over it (record nothing: it runs again).
func (w *Work) Cause() error { return nil }
