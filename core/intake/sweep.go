package intake

import (
	"context"
	"errors"

	"drover/core"
)

// Sweep queues again what is unfinished in the store and nowhere in Redis,
// requests and tasks. One call is one bounded round that goes on where the last
// one of this process ended; it returns how many it queued. Any number of
// processes may sweep at once. One request that cannot be queued does not hold
// back the others; the error tells of all that could not.
func (in *Intake) Sweep(ctx context.Context) (int, error) {
	n, err := in.round(ctx, &in.swept, in.requests(in.sweepPage))
	tasks, taskErr := in.round(ctx, &in.tasks, in.sweepTasks)
	return n + tasks, gather("the sweep met trouble", err, taskErr)
}

// SweepAll sweeps the whole store once: at the start of an embedded herd, or for
// a one-shot overseer.
func (in *Intake) SweepAll(ctx context.Context) (int, error) {
	n, err := in.all(ctx, in.requests(in.sweepPage))
	tasks, taskErr := in.all(ctx, in.sweepTasks)
	return n + tasks, gather("the sweep met trouble", err, taskErr)
}

// gather makes one error of all that went wrong, nil if nothing did.
func gather(text string, troubles ...error) error {
	err := errors.Join(troubles...)
	return core.Wrap(err, core.CodeOf(err), "", "%s", text)
}

// Expire ends requests that waited longer than their pool allows, as timed_out.
// One call is one bounded round, as with Sweep; it returns how many it ended.
func (in *Intake) Expire(ctx context.Context) (int, error) {
	return in.round(ctx, &in.expired, in.requests(in.expirePage))
}

// ExpireAll expires over the whole store once.
func (in *Intake) ExpireAll(ctx context.Context) (int, error) {
	return in.all(ctx, in.requests(in.expirePage))
}

// page handles what is unfinished after a cursor. It returns where the next page
// begins, "" after the last one, and how many it changed. Where the page cannot be
// read the next begins at the same place; otherwise the next one has its turn,
// whatever became of this.
type page func(ctx context.Context, after string) (next string, n int, err error)

// round handles the page after the cursor and moves that on.
func (in *Intake) round(ctx context.Context, cursor *string, handle page) (int, error) {
	in.mu.Lock()
	after := *cursor
	in.mu.Unlock()
	next, n, err := handle(ctx, after)
	in.mu.Lock()
	defer in.mu.Unlock()
	*cursor = next
	return n, err
}

// all handles all pages.
func (in *Intake) all(ctx context.Context, handle page) (int, error) {
	total, after := 0, ""
	var troubles []error
	for {
		next, n, err := handle(ctx, after)
		total += n
		troubles = append(troubles, err)
		if next == "" || next == after || ctx.Err() != nil {
			return total, errors.Join(troubles...)
		}
		after = next
	}
}

// requests makes pages of unfinished requests.
func (in *Intake) requests(handle func(ctx context.Context, specs []core.Spec) (int, error)) page {
	return func(ctx context.Context, after string) (next string, n int, err error) {
		specs, err := in.Store.Unfinished(ctx, after, in.batch())
		if err != nil {
			return after, 0, err
		}
		if len(specs) == in.batch() {
			next = specs[len(specs)-1].ID
		}
		if len(specs) > 0 {
			n, err = handle(ctx, specs)
		}
		return next, n, err
	}
}

func (in *Intake) sweepPage(ctx context.Context, specs []core.Spec) (int, error) {
	lost, err := in.absent(ctx, specs)
	if err != nil || len(lost) == 0 {
		return 0, err
	}
	// The same again: what was only on its way is there now, or has ended.
	if lost, err = in.unended(ctx, lost); err != nil {
		return 0, err
	}
	if lost, err = in.absent(ctx, lost); err != nil || len(lost) == 0 {
		return 0, err
	}
	var troubles []error
	for _, spec := range lost {
		if _, err := in.supersede(ctx, spec); err != nil {
			troubles = append(troubles, err)
		}
	}
	verdicts, err := in.enqueue(ctx, lost)
	if err != nil {
		return 0, errors.Join(append(troubles, err)...)
	}
	n := 0
	for _, v := range verdicts {
		switch core.CodeOf(v) {
		case "":
			n++
		case core.CodeEnded, core.CodeFull: // ended just now; has to wait for a later round
		default:
			troubles = append(troubles, v)
		}
	}
	return n, errors.Join(troubles...)
}

// absent returns the specs that Redis has nowhere.
func (in *Intake) absent(ctx context.Context, specs []core.Spec) ([]core.Spec, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	present, err := in.Queue.Present(ctx, keys(specs))
	if err != nil {
		return nil, err
	}
	return pick(specs, func(i int) bool { return !present[i] }), nil
}

// unended returns the specs that still have no terminal result.
func (in *Intake) unended(ctx context.Context, specs []core.Spec) ([]core.Spec, error) {
	ended, err := in.Store.Terminal(ctx, keys(specs))
	if err != nil {
		return nil, err
	}
	return pick(specs, func(i int) bool { return ended[specs[i].Key()] == "" }), nil
}

func keys(specs []core.Spec) []string {
	out := make([]string, len(specs))
	for i := range specs {
		out[i] = specs[i].Key()
	}
	return out
}

func pick[T any](all []T, want func(i int) bool) []T {
	var out []T
	for i := range all {
		if want(i) {
			out = append(out, all[i])
		}
	}
	return out
}
