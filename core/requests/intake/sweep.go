package intake

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"drover/core"
)

// Sweep queues again what is unfinished in the store and nowhere in Redis,
// requests and tasks. One call is one bounded round that goes on where the last
// one of this process ended; it returns how many it queued. A round lasts while it
// finds what is lost, as after a wipe of Redis, but at most half the time that ctx gives;
// where nothing is, it looks at a few pages. Any number of
// processes may sweep at once. One request that cannot be queued does not hold
// back the others; the error tells of all that could not.
func (in *Intake) Sweep(ctx context.Context) (int, error) {
	n, err := in.round(ctx, &in.swept, in.requests(in.sweepPage))
	tasks, taskErr := in.round(ctx, &in.tasks, in.sweepTasks)
	return n + tasks, gather("the sweep met trouble", err, taskErr)
}

// SweepAll sweeps the whole store once: at the start of an embedded cluster, or for
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

// quietPages is how many pages in which nothing was to be done one round looks at: so a
// healthy cluster is looked through at some thousand rows a second, for little.
const quietPages = 20

// round handles the pages after the cursor and moves that on.
func (in *Intake) round(ctx context.Context, cursor *string, handle page) (int, error) {
	enough := half(ctx)
	in.mu.Lock()
	after := *cursor
	in.mu.Unlock()
	total, quiet := 0, 0
	var troubles []error
	for {
		next, n, err := handle(ctx, after)
		in.mu.Lock()
		*cursor = next
		in.mu.Unlock()
		total += n
		if err != nil {
			troubles = append(troubles, err)
		}
		if n == 0 {
			quiet++
		}
		// Trouble with some of a page does not hold back the pages behind it; where nothing
		// goes the store or Redis may be away.
		stuck := err != nil && n == 0 || len(troubles) == quietPages
		if next == "" || next == after || stuck || quiet == quietPages || enough() || ctx.Err() != nil {
			return total, errors.Join(troubles...)
		}
		after = next
	}
}

// half tells when half of the time that ctx gives is over: what is on its way then still ends in time.
func half(ctx context.Context) func() bool {
	deadline, bounded := ctx.Deadline()
	until := time.Now().Add(time.Until(deadline) / 2)
	return func() bool { return bounded && time.Now().After(until) }
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
	troubles := each(lost, func(spec core.Spec) error {
		_, err := in.supersede(ctx, spec)
		return err
	})
	verdicts, err := in.again(ctx, lost)
	if err != nil {
		return 0, errors.Join(troubles, err)
	}
	n := 0
	for _, v := range verdicts {
		switch core.CodeOf(v) {
		case "":
			n++
		case core.CodeEnded, core.CodeFull: // ended just now; has to wait for a later round
		default:
			troubles = errors.Join(troubles, v)
		}
	}
	return n, troubles
}

// again queues what Redis lost. It waits anew: before, somebody may have begun it.
func (in *Intake) again(ctx context.Context, lost []core.Spec) ([]error, error) {
	verdicts, err := in.enqueue(ctx, lost)
	if err != nil {
		return nil, err
	}
	queued := pick(lost, func(i int) bool { return verdicts[i] == nil })
	if len(queued) == 0 {
		return verdicts, nil
	}
	return verdicts, in.Queue.WaitAnew(ctx, keys(queued))
}

// atOnce is how many requests of a page are asked about, or ended, at a time: a store that is
// far, or waits for its disk, takes as long for many as for one.
const atOnce = 16

// each does something to each of the specs, several at once, and returns all that failed.
func each(specs []core.Spec, do func(core.Spec) error) error {
	errs := make([]error, len(specs))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, spec := range specs {
		g.Go(func() error {
			errs[i] = do(spec)
			return nil
		})
	}
	_ = g.Wait() // they are in errs
	return errors.Join(errs...)
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
