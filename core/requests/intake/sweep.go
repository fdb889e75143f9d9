package intake

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/service/clock"
)

// Sweep goes on with batches that were left open, and queues requests and tasks again that are unfinished in the store
// and nowhere in Redis. One call is one bounded round that continues where the last one of this process ended; it
// returns how many it queued or went on with. A round goes
// on while it finds lost work, as after a wipe of Redis, but for at most half the time of ctx; where nothing is lost,
// it reads a few pages. Several processes may sweep at once. One request that cannot be queued does not hold back the
// others; the error lists all failures.
func (in *Intake) Sweep(ctx context.Context) (int, error) {
	n, err := in.round(ctx, &in.swept, in.requests(in.sweepPage))
	tasks, taskErr := in.round(ctx, &in.tasks, in.sweepTasks)
	batches, batchErr := in.sweepBatches(ctx)
	return n + tasks + batches, gather("the sweep met trouble", err, taskErr, batchErr)
}

// SweepAll sweeps the whole store once: at the start of an embedded cluster, or for
// a one-shot overseer. It waits until owners have had the time to come back to a Redis that lost its memory.
func (in *Intake) SweepAll(ctx context.Context) (int, error) {
	const every = 250 * time.Millisecond
	for {
		recalled, err := in.Queue.Recalled(ctx)
		if err != nil {
			return 0, err
		}
		if recalled {
			break
		}
		if err := clock.Sleep(ctx, clock.Real{}, every); err != nil {
			return 0, err
		}
	}
	n, err := in.all(ctx, in.requests(in.sweepPage))
	tasks, taskErr := in.all(ctx, in.sweepTasks)
	batches, batchErr := in.sweepBatches(ctx)
	return n + tasks + batches, gather("the sweep met trouble", err, taskErr, batchErr)
}

// gather joins all errors into one, nil if there are none.
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

// page handles a page of unfinished work after a cursor. It returns where the next page begins, "" after the last
// one, and how many it changed. If the page cannot be read, the next begins at the same place; after any other error
// the next page has its turn.
type page func(ctx context.Context, after string) (next string, n int, err error)

// quietPages is how many pages without lost work one round reads: a healthy cluster is swept at some thousand rows a
// second, at little cost.
const quietPages = 20

// round handles the pages after the cursor and advances the cursor.
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
		// Failures within a page do not hold back the pages behind it; if all of a page fails, the store or Redis may
		// be away.
		stuck := err != nil && n == 0 || len(troubles) == quietPages
		if next == "" || next == after || stuck || quiet == quietPages || enough() || ctx.Err() != nil {
			return total, errors.Join(troubles...)
		}
		after = next
	}
}

// half returns a function that reports whether half of the time of ctx is over: what is in flight then still ends in
// time.
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
	changed := in.realign(ctx, specs)
	lost, err := in.absent(ctx, specs)
	if err != nil || len(lost) == 0 {
		return 0, errors.Join(changed, err)
	}
	n, err := in.sweepLost(ctx, lost)
	return n, errors.Join(changed, err)
}

// sweepLost queues those of the specs that are still lost.
func (in *Intake) sweepLost(ctx context.Context, lost []core.Spec) (int, error) {
	// Once more: work that was in flight is in Redis now, or has ended.
	lost, err := in.unended(ctx, lost)
	if err != nil {
		return 0, err
	}
	if lost, err = in.absent(ctx, lost); err != nil || len(lost) == 0 {
		return 0, err
	}
	if recalled, err := in.Queue.Recalled(ctx); err != nil || !recalled {
		return 0, err
	}
	lost, ends := in.unbegun(ctx, lost)
	if len(lost) == 0 {
		return 0, ends
	}
	troubles := each(lost, func(spec core.Spec) error {
		_, err := in.supersede(ctx, spec)
		return err
	})
	verdicts, err := in.again(ctx, lost)
	if err != nil {
		return 0, errors.Join(ends, troubles, err)
	}
	ended := pick(lost, func(i int) bool { return core.Is(verdicts[i], core.CodeEnded) })
	reopened, err := in.reopen(ctx, ended)
	troubles = errors.Join(troubles, err)
	n := 0
	for _, v := range append(verdicts, reopened...) {
		switch core.CodeOf(v) {
		case "":
			n++
		case core.CodeEnded, core.CodeFull: // just ended; must wait for a later round
		default:
			troubles = errors.Join(troubles, v)
		}
	}
	return n, errors.Join(ends, troubles)
}

// reopen queues those requests that Redis remembers as ended and that have no end in the result store. An end is in the
// store before it is in Redis, so the store, asked last, has lost it: it was set back to an older copy, and with the end
// it lost the result.
func (in *Intake) reopen(ctx context.Context, ended []core.Spec) ([]error, error) {
	var open []core.Spec
	for _, spec := range ended {
		row, err := in.Store.Get(ctx, spec.ID)
		switch {
		case core.Is(err, core.CodeNotFound):
		case err != nil:
			return nil, err
		case row.Spec.Generation == spec.Generation && !row.State.Terminal():
			once, err := in.runsOnce(ctx, row.Spec)
			if err == nil && once {
				_, _, err = in.stop(ctx, row.Spec, platform, core.CancelWaiting, in.end(row.Spec, core.RequestFailed, core.BlamePlatform, lostResult))
			}
			if err != nil {
				return nil, err
			}
			if !once {
				open = append(open, row.Spec)
			}
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	if err := in.Queue.ForgetEnds(ctx, keys(open)); err != nil {
		return nil, err
	}
	return in.again(ctx, open)
}

// lostResult is why a request that must not run twice is not run again.
const lostResult = "It has ended, but the result store was set back to before that, so its result is lost; it must not run twice."

// runsOnce reports whether a request must not run twice.
func (in *Intake) runsOnce(ctx context.Context, spec core.Spec) (bool, error) {
	if spec.OnHostLoss != "" {
		return spec.OnHostLoss == core.OnHostLossFail, nil
	}
	p, err := in.pool(ctx, spec.Pool)
	if core.Is(err, core.CodeNotFound) {
		return false, nil // then it is not queued either
	}
	return p.OnHostLoss == core.OnHostLossFail, err
}

// again queues requests that Redis lost. Their waiting time starts now: they may have been claimed before.
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

// atOnce is how many requests of a page are handled at a time: with a distant store, or one that waits for its disk,
// many take as long as one.
const atOnce = 16

// each calls do for each of the specs, several at once, and returns all failures.
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
