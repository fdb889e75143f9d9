package intake

import (
	"context"
	"strings"
	"unicode"

	"drover/core"
)

// Cancel stops a request in any place and returns its state: cancelled if it waited, cancelling if an owner has
// claimed it and will stop it. Cancelling a cancelled request succeeds. By says who asked, for the record. Returns
// INVALID, NOTFOUND, ENDED (with its state) if it ended otherwise, UNAVAILABLE.
func (in *Intake) Cancel(ctx context.Context, id, by string) (core.RequestState, error) {
	if err := checkBy(id, by); err != nil {
		return "", err
	}
	row, err := in.Store.Get(ctx, id)
	if err != nil {
		return "", err
	}
	if row.State.Terminal() {
		return endedAs(row)
	}
	result := in.end(row.Spec, core.RequestCancelled, core.BlameNone, "cancelled by "+by)
	begun, first, err := in.stop(ctx, row.Spec, by, core.CancelAny, result)
	switch {
	case err != nil:
		return "", err
	case begun:
		return core.RequestCancelling, nil
	case first:
		return core.RequestCancelled, nil
	}
	if row, err = in.Store.Get(ctx, id); err != nil {
		return "", err
	}
	return endedAs(row)
}

func checkBy(id, by string) error {
	if by == "" || len(by) > maxText || strings.ContainsFunc(by, unicode.IsControl) {
		return core.Errorf(core.CodeInvalid, id, "who cancels must be said in 1 to %d bytes without control characters", maxText)
	}
	return nil
}

func endedAs(row core.Row) (core.RequestState, error) {
	if row.State == core.RequestCancelled {
		return row.State, nil
	}
	return row.State, core.Errorf(core.CodeEnded, row.Spec.ID, "request %s has ended already, as %s", row.Spec.ID, row.State)
}

// stop ends a request that no owner has claimed: it marks the request, so that a claim does not run it, records its
// end and withdraws it. Begun reports that an owner has claimed it: then nothing is recorded, and with CancelAny the
// mark makes the owner stop it. First reports that this result is the one that counts.
func (in *Intake) stop(ctx context.Context, spec core.Spec, by string, scope core.CancelScope, result core.Result) (begun, first bool, err error) {
	key := spec.Key()
	place, err := in.Queue.Cancel(ctx, key, by, scope)
	if err != nil {
		return false, false, err
	}
	if place.State == "" {
		// With another scope it may be in a slot. If it is nowhere it is queued first, so that its end leaves a
		// tombstone for an Enqueue in flight. If it cannot be queued (full, or it has just ended), it stays nowhere.
		if _, err := in.enqueue(ctx, []core.Spec{spec}); err != nil {
			return false, false, err
		}
		if place, err = in.Queue.Cancel(ctx, key, by, scope); err != nil {
			return false, false, err
		}
	}
	switch place.State {
	case core.RequestQueued, core.RequestParked:
	case "":
		present, err := in.Queue.Present(ctx, []string{key})
		if err != nil || present[0] {
			return true, false, err
		}
	default:
		return true, false, nil
	}
	if first, err = in.Store.Record(ctx, result); err != nil {
		return false, false, err
	}
	_, err = in.Queue.Withdraw(ctx, key)
	return false, first, err
}

// end returns the result of a request that was never claimed.
func (in *Intake) end(spec core.Spec, state core.RequestState, blame core.Blame, reason string) core.Result {
	return core.Result{
		ID: spec.ID, Generation: spec.Generation, State: state, Blame: blame, Reason: reason, Pool: spec.Pool,
		Times: core.Times{
			Submitted: spec.Submitted, Queued: 0, Claimed: -1, Started: -1,
			Finished: max(0, in.now().UnixMilli()-spec.Submitted),
		},
	}
}

// Rerun starts a new generation of an ended request. If the queue is full or Redis away, it waits in the store until
// Sweep can queue it. Returns NOTFOUND, also for a pool that was removed since, CONFLICT if the request has not ended,
// LIMIT if it was run too often, UNAVAILABLE.
func (in *Intake) Rerun(ctx context.Context, id string) (core.Row, error) {
	row, err := in.Store.Get(ctx, id)
	if err != nil {
		return core.Row{}, err
	}
	spec, err := in.nextGeneration(ctx, row.Spec)
	if err != nil {
		return core.Row{}, err
	}
	// It is not to be listed as dead any more. An error does no harm: readers of the list skip it.
	_, _ = in.Queue.ForgetDead(ctx, core.Key(id, spec.Generation-1))
	_ = in.admit(ctx, spec) // it is accepted: whatever the error, Sweep handles it
	return core.Row{Spec: spec, State: core.RequestQueued}, nil
}

// nextGeneration starts the next generation of an ended request, if its pool is still there.
func (in *Intake) nextGeneration(ctx context.Context, s core.Spec) (core.Spec, error) {
	if _, err := in.pool(ctx, s.Pool); err != nil {
		return s, err
	}
	return in.Store.Rerun(ctx, s.ID, in.now().UnixMilli())
}
