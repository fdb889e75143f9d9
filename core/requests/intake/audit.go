package intake

import (
	"context"
	"fmt"
	"slices"

	"drover/core"
)

// Audit is the consistency check with one more rule: Redis and the result store agree on what is unfinished. They do not
// after either was set back to an older copy. All but that rule is the Consistency's that it embeds.
type Audit struct {
	core.Consistency

	Intake *Intake
	Redis  interface {
		EachUnfinished(ctx context.Context, tasks bool, fn func(keys []string) error) error
	}
}

// The kinds of disagreement, as ids of findings.
const (
	lostEnds   = "ends"       // Redis remembers ends that the store does not have: the store is the older one
	unknown    = "unknown"    // what waits in Redis is not in the store: the store is the older one
	ended      = "ended"      // what waits in Redis has ended: Redis is the older one
	unqueued   = "unfinished" // what is unfinished is not in Redis: Redis is older, or was wiped
	mostStrays = 10_000       // requests and tasks that one check looks for one by one
)

// strays are keys of requests and tasks on which Redis and the store disagree, by kind.
type strays struct{ requests, tasks map[string][]string }

var sentences = map[string]string{
	lostEnds: "Redis remembers the end of %s, and the result store has none: it was set back to an older copy. Their results are lost, and they are to be run again",
	unknown:  "%s wait in Redis, and the result store does not know them: it was set back to an older copy, or they were deleted",
	ended:    "%s wait in Redis, and have ended by the result store: Redis was set back to an older copy",
	unqueued: "%s are unfinished in the result store and not in Redis, which has lost them",
}

// CheckConsistency implements core.Consistency. It reads twice, since what moves meanwhile can look wrong once.
func (a *Audit) CheckConsistency(ctx context.Context) ([]core.Violation, error) {
	broken, err := a.Consistency.CheckConsistency(ctx)
	if err != nil {
		return nil, err
	}
	found, err := a.compare(ctx)
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{lostEnds, unknown, ended, unqueued} {
		keys := slices.Concat(found.requests[kind], found.tasks[kind])
		if len(keys) > 0 {
			broken = append(broken, core.Violation{Rule: core.RuleLedger, ID: kind, Text: fmt.Sprintf(sentences[kind], enumerate(keys))})
		}
	}
	return broken, nil
}

// enumerate names some of the keys.
func enumerate(keys []string) string {
	const named = 3
	if len(keys) <= named {
		return fmt.Sprint(keys)
	}
	return fmt.Sprintf("%v and %d more", keys[:named], len(keys)-named)
}

// Mend implements core.Consistency: what the store has unfinished is queued, what it has not is taken out of Redis.
func (a *Audit) Mend(ctx context.Context, v core.Violation) (bool, error) {
	if v.Rule != core.RuleLedger {
		return a.Consistency.Mend(ctx, v)
	}
	if v.ID == lostEnds || v.ID == unqueued {
		n, err := a.Intake.SweepAll(ctx)
		return n > 0, err
	}
	found, err := a.compare(ctx)
	if err != nil {
		return false, err
	}
	requests, err := withdrawAll(ctx, found.requests[v.ID], a.Intake.Queue.Withdraw)
	if err != nil {
		return requests, err
	}
	tasks, err := withdrawAll(ctx, found.tasks[v.ID], a.Intake.Tasks.WithdrawTask)
	return requests || tasks, err
}

// withdrawAll takes keys out of Redis, and reports whether any of them waited there.
func withdrawAll(ctx context.Context, keys []string, withdraw func(context.Context, string) (bool, error)) (withdrew bool, err error) {
	for _, key := range keys {
		was, err := withdraw(ctx, key)
		if err != nil {
			return withdrew, err
		}
		withdrew = withdrew || was
	}
	return withdrew, nil
}

// compare finds on what Redis and the store disagree.
func (a *Audit) compare(ctx context.Context) (strays, error) {
	requests, err := a.compareAll(ctx, a.requests())
	if err != nil {
		return strays{}, err
	}
	found := strays{requests: requests}
	found.tasks, err = a.compareAll(ctx, a.tasks())
	return found, err
}

// side is what compareAll needs to know of requests, or of tasks.
type side struct {
	tasks bool
	// page returns the unfinished keys of the store's next page.
	page func(ctx context.Context, after string) (keys []string, next string, err error)
	// present returns which keys Redis has, waiting or not.
	present func(ctx context.Context, keys []string) ([]bool, error)
	// room reports whether Redis would take a key that it has lost.
	room func(ctx context.Context, key string) bool
	// open reports what the store says of a key: that it is unfinished, that it has ended, or that it is unknown.
	open func(ctx context.Context, key string) (is, known bool, err error)
	// waits reports whether Redis has it waiting.
	waits func(ctx context.Context, key string) (bool, error)
}

func (a *Audit) requests() side {
	in, specs := a.Intake, map[string]core.Spec{}
	return side{
		page: func(ctx context.Context, after string) (page []string, next string, err error) {
			next, _, err = in.requests(func(_ context.Context, some []core.Spec) (int, error) {
				page = keys(some)
				clear(specs)
				for _, spec := range some {
					specs[spec.Key()] = spec
				}
				return 0, nil
			})(ctx, after)
			return page, next, err
		},
		present: in.Queue.Present,
		room: func(ctx context.Context, key string) bool {
			return !core.Is(in.Pools.Room(ctx, specs[key]), core.CodeFull)
		},
		open: func(ctx context.Context, key string) (bool, bool, error) {
			id, generation, err := core.ParseKey(key)
			if err != nil {
				return true, true, nil //nolint:nilerr // somebody else wrote it, which another rule finds
			}
			row, err := in.Store.Get(ctx, id)
			if core.Is(err, core.CodeNotFound) {
				return false, false, nil
			}
			return row.Spec.Generation == generation && !row.State.Terminal(), row.Spec.Generation >= generation, err
		},
		waits: func(ctx context.Context, key string) (bool, error) {
			place, err := in.Queue.Locate(ctx, key)
			return place.State == core.RequestQueued || place.State == core.RequestParked, err
		},
	}
}

func (a *Audit) tasks() side {
	in := a.Intake
	return side{
		tasks: true,
		page: func(ctx context.Context, after string) (page []string, next string, err error) {
			tasks, err := in.Store.UnfinishedTasks(ctx, after, in.batch())
			for i := range tasks {
				page = append(page, tasks[i].Key())
			}
			if len(tasks) == in.batch() {
				next = tasks[len(tasks)-1].ID
			}
			return page, next, err
		},
		present: in.Tasks.PresentTasks,
		room:    func(context.Context, string) bool { return true },
		open: func(ctx context.Context, key string) (bool, bool, error) {
			id, generation, err := core.ParseKey(key)
			if err != nil {
				return true, true, nil //nolint:nilerr // somebody else wrote it, which another rule finds
			}
			t, err := in.Store.GetTask(ctx, id)
			if core.Is(err, core.CodeNotFound) {
				return false, false, nil
			}
			return t.Generation == generation && t.State == core.TaskQueued, t.Generation >= generation, err
		},
		waits: func(ctx context.Context, key string) (bool, error) {
			places, err := in.Tasks.LocateTasks(ctx, []string{key})
			return err == nil && len(places) == 1 && places[0].State != "" && places[0].Owner == "", err
		},
	}
}

// compareAll reads Redis, then the store, then both again for what they disagree on: what is in Redis was in the store
// before, and what ended was in the store before it left Redis.
func (a *Audit) compareAll(ctx context.Context, s side) (map[string][]string, error) {
	extra := map[string]bool{}
	err := a.Redis.EachUnfinished(ctx, s.tasks, func(keys []string) error {
		for _, key := range keys {
			extra[key] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for after, more := "", true; more; {
		page, next, err := s.page(ctx, after)
		if err != nil {
			return nil, err
		}
		for _, key := range page {
			delete(extra, key)
		}
		if err := a.absent(ctx, s, page, found); err != nil {
			return nil, err
		}
		after, more = next, next != "" && next != after
	}
	left := 0
	for key := range extra {
		if left++; left > mostStrays {
			break
		}
		if err := a.stray(ctx, s, key, found); err != nil {
			return nil, err
		}
	}
	for _, keys := range found {
		slices.Sort(keys)
	}
	return found, nil
}

// absent finds those of a page of unfinished keys that Redis does not have.
func (a *Audit) absent(ctx context.Context, s side, page []string, found map[string][]string) error {
	if len(page) == 0 {
		return nil
	}
	present, err := s.present(ctx, page)
	if err != nil {
		return err
	}
	lost := pick(page, func(i int) bool { return !present[i] })
	if len(lost) == 0 {
		return nil
	}
	over, err := a.Intake.Queue.KnowsEnds(ctx, lost)
	if err != nil {
		return err
	}
	for i, key := range lost {
		open, _, err := s.open(ctx, key)
		if err != nil {
			return err
		}
		switch {
		case !open: // it has just ended
		case over[i]:
			found[lostEnds] = append(found[lostEnds], key)
		default:
			now, err := s.present(ctx, []string{key})
			if err != nil {
				return err
			}
			if !now[0] && len(found[unqueued]) < mostStrays && s.room(ctx, key) {
				found[unqueued] = append(found[unqueued], key)
			}
		}
	}
	return nil
}

// stray finds out why the store does not have a key unfinished that Redis has.
func (a *Audit) stray(ctx context.Context, s side, key string, found map[string][]string) error {
	open, known, err := s.open(ctx, key)
	if err != nil || open {
		return err
	}
	waits, err := s.waits(ctx, key)
	if err != nil || !waits {
		return err // its owner finishes it
	}
	kind := unknown
	if known {
		kind = ended
	}
	found[kind] = append(found[kind], key)
	return nil
}
