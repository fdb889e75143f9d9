package intake

import (
	"cmp"
	"context"
	"slices"

	"drover/core"
)

// Change changes pool, priority and limits of a request that no owner has claimed; what c leaves out stays. The store
// keeps the change first. If an owner was faster, it runs what Redis had, and the store's spec becomes that again.
//
// A call may be repeated. Returns INVALID, LIMIT or NOTFOUND as Submit does, CONFLICT if the request was claimed or has
// ended, FULL if there is no room where it would wait, UNAVAILABLE if Redis did not answer: then the change is kept, and
// Sweep makes it if the request still waits.
func (in *Intake) Change(ctx context.Context, id string, c core.Change) (core.Row, error) {
	if err := checkBy(id, c.By); err != nil {
		return core.Row{}, err
	}
	row, err := in.Store.Get(ctx, id)
	if err != nil {
		return core.Row{}, err
	}
	if err := row.Spec.CheckChange(row.State, row.Spec); err != nil {
		return core.Row{}, err
	}
	next, err := in.changed(ctx, row.Spec, c)
	if err != nil {
		return core.Row{}, err
	}
	if place, err := in.Queue.Locate(ctx, row.Spec.Key()); err != nil || place.Owner != "" {
		return core.Row{}, cmp.Or(err, claimed(&row.Spec))
	}
	was := row.Spec
	if next.Pool != was.Pool || next.Priority != was.Priority || next.Limits != was.Limits {
		next := core.Change{At: in.now().UnixMilli(), By: c.By, Pool: next.Pool, Priority: next.Priority, Limits: next.Limits}
		if row.Spec, err = in.Store.ChangeSpec(ctx, was, next); err != nil {
			return core.Row{}, err
		}
	}
	if err := in.align(ctx, row.Spec, was.Change); err != nil {
		return core.Row{}, err
	}
	return row, nil
}

func claimed(s *core.Spec) error {
	return core.Errorf(core.CodeConflict, s.ID, "request %s is being run: only a waiting one can be changed", s.ID)
}

// changed returns a spec with what c changes, checked as at its submission. A limit that was the pool's own becomes
// that of the new pool.
func (in *Intake) changed(ctx context.Context, s core.Spec, c core.Change) (core.Spec, error) {
	if err := checkTyped(&s, c); err != nil {
		return s, err
	}
	was, err := in.pool(ctx, s.Pool)
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return s, err
	}
	own := s.Limits
	if c.Pool != "" && c.Pool != s.Pool {
		own = s.Limits.Beside(was.Limits)
	}
	own.CPU = 0 // all VMs of a pool have the same
	s.Pool, s.Priority, s.Limits = cmp.Or(c.Pool, s.Pool), cmp.Or(c.Priority, s.Priority), c.Limits
	if err := checkLimits(&s); err != nil {
		return s, err
	}
	s.Limits = s.Limits.Or(own)
	if !s.Priority.Valid() {
		return s, invalid(&s, "priority %q is none: use high, normal or low", s.Priority)
	}
	pool, err := in.pool(ctx, s.Pool)
	if err != nil {
		return s, err
	}
	if s.Limits, err = pool.Within(s.Limits); err != nil {
		return s, err
	}
	if err := in.checkSize(ctx, pool); err != nil {
		return s, err
	}
	return s, cmp.Or(checkRoom(&s), checkBytes(&s))
}

// checkTyped returns INVALID if a change goes beyond what a request has of its job type: it can only ask for less.
func checkTyped(s *core.Spec, c core.Change) error {
	rank := func(p core.Priority) int { return slices.Index(core.Priorities(), p) }
	over := c.Limits.Exceeding(s.Limits)
	switch {
	case s.Type == "":
		return nil
	case c.Pool != "" && c.Pool != s.Pool:
		return invalid(s, "jobs of type %s run in pool %s: request %s cannot move to another", s.Type, s.Pool, s.ID)
	case c.Priority != "" && c.Priority.Valid() && rank(c.Priority) < rank(s.Priority):
		return invalid(s, "request %s is of job type %s: its priority can be lowered, not raised", s.ID, s.Type)
	case len(over) > 0:
		return invalid(s, "request %s is of job type %s: its %s can be lowered, not raised", s.ID, s.Type, over[0].Name)
	}
	return nil
}

// aligns is how often Redis is asked again that had another change than expected.
const aligns = 5

// align gives a waiting request in Redis the spec that the store has; Redis should have the change from. If that cannot
// be, because an owner has claimed the request or there is no room for it, the store's spec becomes what Redis has.
func (in *Intake) align(ctx context.Context, s core.Spec, from int) error {
	for range aligns {
		had, held, err := in.Queue.Change(ctx, s, from)
		switch {
		case held:
			err = claimed(&s)
		case err == nil && (had == from || had == s.Change):
			return nil
		case err == nil:
			// Redis has another change. Which one counts, the store says.
			now, err := in.Store.Get(ctx, s.ID)
			if err == nil {
				err = now.Spec.CheckChange(now.State, s)
			}
			if err != nil {
				return err
			}
			from = had
			continue
		case core.Is(err, core.CodeNotFound) && had < 0:
			if again, err := in.requeue(ctx, s); err != nil || !again {
				return err
			}
			continue
		case core.Is(err, core.CodeNotFound):
			if n, err := in.RestorePools(ctx); err != nil || n > 0 {
				if err != nil {
					return err
				}
				continue
			}
		case !core.Is(err, core.CodeFull):
			return core.Wrap(err, core.CodeUnavailable, s.ID, "the change of request %s is kept, and made later if it still waits then", s.ID)
		}
		if _, failed := in.Store.UseChange(ctx, s, had); failed != nil && !core.Is(failed, core.CodeInvalid) {
			return failed
		}
		return err
	}
	return core.Errorf(core.CodeConflict, s.ID, "request %s was changed by others at the same time: look at it and try again", s.ID)
}

// requeue queues a request that Redis does not have, with the spec that the store has. It returns false if that is all
// that there is to do, CONFLICT if the request has ended.
func (in *Intake) requeue(ctx context.Context, s core.Spec) (again bool, err error) {
	now, err := in.Store.Get(ctx, s.ID)
	if err == nil {
		err = now.Spec.CheckChange(now.State, s)
	}
	if err != nil {
		return false, err
	}
	verdicts, err := in.enqueue(ctx, []core.Spec{s})
	if err != nil {
		return false, err
	}
	// Without room it waits in the store, as after its submission.
	return verdicts[0] == nil, nil
}

// realign gives those requests of a page that were changed the specs that the store has, where a crash or a loss of
// Redis left others.
func (in *Intake) realign(ctx context.Context, specs []core.Spec) error {
	changed := pick(specs, func(i int) bool { return specs[i].Change > 0 })
	if len(changed) == 0 {
		return nil
	}
	has, err := in.Queue.Specs(ctx, keys(changed))
	if err != nil {
		return err
	}
	had := make(map[string]int, len(has))
	for i := range has {
		had[has[i].Key()] = has[i].Change
	}
	changed = pick(changed, func(i int) bool {
		n, known := had[changed[i].Key()]
		return known && n != changed[i].Change
	})
	return each(changed, func(s core.Spec) error {
		row, err := in.Store.Get(ctx, s.ID)
		if err != nil || row.State.Terminal() || row.Spec.Generation != s.Generation {
			return err
		}
		err = in.align(ctx, row.Spec, had[s.Key()])
		if core.Is(err, core.CodeConflict) || core.Is(err, core.CodeFull) {
			return nil // the store's spec is what Redis has
		}
		return err
	})
}
