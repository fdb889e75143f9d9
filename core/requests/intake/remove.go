package intake

import (
	"context"
	"errors"

	"drover/core"
)

// Remove deletes a request with all its results and output, and returns whether it is gone. If an owner has claimed it,
// it is stopped first, and SweepRemoved deletes it once it has ended. A call may be repeated until the request is gone.
// Returns INVALID, NOTFOUND, CONFLICT if the request tests a submission, UNAVAILABLE.
func (in *Intake) Remove(ctx context.Context, id, by string) (bool, error) {
	if err := checkBy(id, by); err != nil {
		return false, err
	}
	// The mark outlives every crash from here on.
	if err := in.Store.MarkRemoved(ctx, id); err != nil {
		return false, err
	}
	return in.remove(ctx, id, by)
}

// remove goes on with the removal of a marked request.
func (in *Intake) remove(ctx context.Context, id, by string) (bool, error) {
	state, err := in.Cancel(ctx, id, by)
	if core.Is(err, core.CodeNotFound) {
		return true, nil // somebody else was faster
	}
	if err != nil && !core.Is(err, core.CodeEnded) {
		return false, err
	}
	if !state.Terminal() {
		return false, nil
	}
	row, err := in.Store.Get(ctx, id)
	if err != nil {
		return core.Is(err, core.CodeNotFound), notFound(err)
	}
	// While Redis has it, its owner may still die, and what settles for that owner must find the end in the store.
	key := row.Spec.Key()
	present, err := in.Queue.Present(ctx, []string{key})
	if err == nil && !present[0] {
		err = in.complete(ctx, row.Spec.Batch)
	}
	if err != nil || present[0] {
		return false, err
	}
	for generation := 1; generation <= row.Spec.Generation; generation++ {
		if err := in.Queue.DropOutput(ctx, core.Key(id, generation)); err != nil {
			return false, err
		}
	}
	_, _ = in.Queue.ForgetDead(ctx, key) // an error does no harm: readers of the list skip it
	return in.Store.Remove(ctx, id)
}

// complete goes on with an open batch: what makes the rest of its requests would make one again that was deleted.
func (in *Intake) complete(ctx context.Context, batch string) error {
	if batch == "" {
		return nil
	}
	_, err := in.resume(ctx, batch)
	return notFound(err)
}

// notFound returns nil for NOTFOUND.
func notFound(err error) error {
	if core.Is(err, core.CodeNotFound) {
		return nil
	}
	return err
}

// SweepRemoved deletes requests whose removal was begun and that have ended since, and stops those that it finds
// running. It returns how many it deleted.
func (in *Intake) SweepRemoved(ctx context.Context) (int, error) {
	total, after := 0, ""
	var troubles []error
	for {
		specs, err := in.Store.MarkedRemoved(ctx, after, in.batch())
		if err != nil {
			return total, errors.Join(append(troubles, err)...)
		}
		if len(specs) > 0 {
			after = specs[len(specs)-1].ID
		}
		for i := range specs {
			gone, err := in.remove(ctx, specs[i].ID, platform)
			troubles = append(troubles, err)
			if gone {
				total++
			}
		}
		if len(specs) < in.batch() || ctx.Err() != nil {
			return total, gather("not all requests that are to be deleted could be", troubles...)
		}
	}
}
