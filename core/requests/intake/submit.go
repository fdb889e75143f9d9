package intake

import (
	"cmp"
	"context"
	"errors"

	"drover/core"
)

// refused is the reason of a request that ended as FULL. A later submit with its idempotency key tries again. If a
// claim met the mark of such an end, its owner recorded it in the other words.
const (
	refused       = "refused: too much work is waiting"
	refusedByMark = "cancelled by " + refused
)

// platform is the requester if nobody else is.
const platform = "drover"

// Submit checks a spec, fills its open fields (id, generation, priority, limits, time), makes it durable and queues
// it. If the submitter used the same idempotency key before, it returns the earlier row and false.
//
// A request is accepted once its row is durable: if Redis cannot be reached then, Submit succeeds and Sweep queues it
// later. Returns INVALID or LIMIT, or NOTFOUND for a pool, webhook or file, with a sentence for the user; FULL if a
// limit on waiting work refuses it (its row then ends cancelled; the same idempotency key may try again); CONFLICT if
// the id belongs to another request; UNAVAILABLE, after which a repeat with the same idempotency key shows whether it
// was accepted.
func (in *Intake) Submit(ctx context.Context, spec core.Spec) (core.Row, bool, error) {
	row, found, err := in.Accepted(ctx, spec.Submitter, spec.Idempotency)
	if err != nil || found {
		if found && !row.State.Terminal() {
			_ = in.admit(ctx, row.Spec) // its first Submit may have died before this step
		}
		return row, false, err
	}
	spec, err = in.Check(ctx, spec)
	if err != nil {
		return core.Row{}, false, err
	}
	if err := in.lately(&spec); err != nil {
		return core.Row{}, false, err
	}
	row, created, err := in.Store.Create(ctx, spec)
	if err != nil {
		return core.Row{}, false, err
	}
	again := !created && wasRefused(row)
	if again {
		if row, again, err = in.tryAgain(ctx, row); err != nil {
			return core.Row{}, false, err
		}
	}
	if row.State.Terminal() {
		return row, false, nil
	}
	// A request that was accepted before is not refused now.
	if full := in.admit(ctx, row.Spec); full != nil && (created || again) {
		return row, created, in.refuse(ctx, row.Spec, full)
	}
	return row, created, nil
}

// SubmitWith submits a request together with the record that it belongs to: create makes both durable in one call of
// the store, and returns whether they are new. Room is checked before, so that nothing has to be undone. If the room
// is used up in the meantime, the request waits in the store until Sweep can queue it. Returns the errors of Submit
// and of create.
func (in *Intake) SubmitWith(ctx context.Context, spec core.Spec, create func(ctx context.Context, spec core.Spec) (created bool, err error)) error {
	spec, err := in.Check(ctx, spec)
	if err != nil {
		return err
	}
	if err := in.hasRoom(ctx, spec); err != nil {
		return err
	}
	created, err := create(ctx, spec)
	if err == nil && created {
		_ = in.admit(ctx, spec) // it is accepted: whatever the error, Sweep handles it
	}
	return err
}

// hasRoom returns FULL if there is no room for a request now, and it supersedes no waiting one. If Redis does not
// answer, the request may wait in the store.
func (in *Intake) hasRoom(ctx context.Context, spec core.Spec) error {
	full := in.Pools.Room(ctx, spec)
	if !core.Is(full, core.CodeFull) {
		return nil
	}
	older, err := in.older(ctx, spec, spec.ID)
	for i := range older {
		place, missing := in.Queue.Locate(ctx, older[i].Spec.Key())
		if missing == nil && (place.State == "" || place.State == core.RequestQueued || place.State == core.RequestParked) {
			return nil
		}
	}
	return cmp.Or(err, full)
}

// Accepted returns the request of a submitter's idempotency key. A request that was accepted is not checked or
// refused again, whatever has changed since; so callers look here before they prepare a submit. Returns false if
// there is none, or if it was refused as FULL and may be tried again. Returns UNAVAILABLE.
func (in *Intake) Accepted(ctx context.Context, submitter, key string) (core.Row, bool, error) {
	if submitter == "" || key == "" {
		return core.Row{}, false, nil
	}
	rows, err := in.Store.List(ctx, core.Filter{Submitter: submitter, Idempotency: key, Limit: 1})
	if err != nil || len(rows) == 0 || wasRefused(rows[0]) {
		return core.Row{}, false, err
	}
	row, err := in.Store.Get(ctx, rows[0].Spec.ID) // with its whole result
	if core.Is(err, core.CodeNotFound) {           // purged just now
		return core.Row{}, false, nil
	}
	return row, err == nil, err
}

func wasRefused(row core.Row) bool {
	return row.State == core.RequestCancelled && row.Result != nil && (row.Result.Reason == refused || row.Result.Reason == refusedByMark)
}

// tryAgain starts the next generation of a request that was refused as FULL. It returns false if another process just
// did.
func (in *Intake) tryAgain(ctx context.Context, row core.Row) (core.Row, bool, error) {
	spec, err := in.nextGeneration(ctx, row.Spec)
	if core.Is(err, core.CodeConflict) {
		row, err = in.Store.Get(ctx, row.Spec.ID)
		return row, false, err
	}
	return core.Row{Spec: spec, State: core.RequestQueued}, true, err
}

// admit withdraws the requests that a durable request supersedes, and queues it. It returns FULL if there is no room
// and nothing was withdrawn yet. Sweep handles all other errors, because the request is accepted.
func (in *Intake) admit(ctx context.Context, spec core.Spec) (full error) {
	gone, err := in.supersede(ctx, spec)
	if err != nil {
		return nil //nolint:nilerr // Sweep begins with this again
	}
	verdicts, err := in.enqueue(ctx, []core.Spec{spec})
	if err != nil {
		return nil //nolint:nilerr // Sweep finds it absent and queues it
	}
	if gone > 0 || !core.Is(verdicts[0], core.CodeFull) {
		return nil
	}
	return verdicts[0]
}

// enqueue is Queue.Enqueue for a Redis that may have lost its pools.
func (in *Intake) enqueue(ctx context.Context, specs []core.Spec) ([]error, error) {
	verdicts, err := in.Queue.Enqueue(ctx, specs)
	if err != nil {
		return nil, err
	}
	for _, v := range verdicts {
		if !core.Is(v, core.CodeNotFound) {
			continue
		}
		if n, err := in.RestorePools(ctx); err != nil || n == 0 {
			return verdicts, err
		}
		return in.Queue.Enqueue(ctx, specs)
	}
	return verdicts, nil
}

// refuse ends a request for which there is no room and returns the refusal. It returns nil if the request is accepted
// after all: there was room in the meantime, and the request was claimed or ended otherwise. It returns UNAVAILABLE
// if a step fails, unless the store has the end: then the end may be recorded, or be marked and recorded by a claim,
// or Sweep may queue the request.
func (in *Intake) refuse(ctx context.Context, spec core.Spec, full error) error {
	in.remember(&spec, full)
	end := in.end(spec, core.RequestCancelled, core.BlamePlatform, refused)
	begun, first, failed := in.stop(ctx, spec, refused, core.CancelWaiting, end)
	if failed == nil && begun {
		return nil
	}
	if failed == nil && first {
		return full
	}
	row, err := in.Store.Get(ctx, spec.ID)
	switch failed = errors.Join(failed, err); {
	case err == nil && wasRefused(row):
		return full
	case failed != nil:
		return core.Wrap(failed, core.CodeUnavailable, spec.ID,
			"there was no room for request %s, and what becomes of it cannot be told now: submit it again under the same idempotency key", spec.ID)
	}
	return nil
}

// supersedePage is how many older requests are read at a time.
const supersedePage = 100

// supersede stops the submitter's older waiting requests for the same assignment and returns how many. A rerun
// supersedes nothing.
func (in *Intake) supersede(ctx context.Context, spec core.Spec) (int, error) {
	n := 0
	for before := spec.ID; ; {
		older, err := in.older(ctx, spec, before)
		if err != nil {
			return n, err
		}
		for i := range older {
			old := older[i].Spec
			result := in.end(old, core.RequestCancelled, core.BlameNone, "superseded by "+spec.ID)
			_, first, err := in.stop(ctx, old, "the newer submission "+spec.ID, core.CancelWaiting, result)
			if err != nil {
				return n, err
			}
			if first {
				n++
			}
			before = old.ID
		}
		if len(older) < supersedePage {
			return n, nil
		}
	}
}

// older returns a page of unfinished requests that spec supersedes.
func (in *Intake) older(ctx context.Context, spec core.Spec, before string) ([]core.Row, error) {
	if !spec.Supersede || spec.Generation != 1 {
		return nil, nil
	}
	return in.Store.List(ctx, core.Filter{
		Submitter: spec.Submitter, Assignment: spec.Assignment, States: []core.RequestState{core.RequestQueued},
		Before: before, Limit: supersedePage,
	})
}
