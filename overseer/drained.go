package overseer

import (
	"context"
	"errors"
	"time"

	"drover/core"
	"drover/core/cluster/recovery"
)

// drainedEvery is the interval between two looks for drained hosts whose deadline is over.
const drainedEvery = 5 * time.Second

const whyDrained = "its host is drained"

// drained empties hosts whose drain has reached its deadline: what is still running there is assigned to hosts that
// have room, or parked, and no attempt is used. Work whose policy is to fail with its host must not run twice, so it
// stays.
func (o *Overseer) drained(ctx context.Context) (Counts, error) {
	counts := Counts{}
	hosts, err := o.deps.Hosts.ListHosts(ctx)
	if err != nil {
		return counts, err
	}
	now, err := o.deps.Queue.ReadClock(ctx)
	if err != nil {
		return counts, err
	}
	var troubles []error
	for _, h := range hosts {
		if h.Drain && h.DrainUntil > 0 && now.Age(h.DrainUntil-h.DrainWithin.Milliseconds()) >= h.DrainWithin {
			troubles = append(troubles, o.empty(ctx, counts, h.Name))
		}
	}
	return counts, errors.Join(troubles...)
}

// empty takes work from the living testrunners of a drained host.
func (o *Overseer) empty(ctx context.Context, counts Counts, host string) error {
	leaving, _, err := o.inHand(ctx, host)
	if err != nil || len(leaving) == 0 {
		return err
	}
	held := make(map[string]core.Held)
	var moving []leaver
	var troubles []error
	for _, l := range leaving {
		held[l.held.Key] = l.held
		items, report, err := recovery.Decide(ctx, o.deps.Store, l.owner, []core.Held{l.held}, o.options(recovery.Drained))
		troubles = append(troubles, err)
		counts.add(report)
		for _, l.item = range items {
			if l.item.Outcome == core.OutcomeRelease && len(l.held.Deaths) == 0 {
				moving = append(moving, l)
			} else {
				_, err := o.revoke(ctx, counts, l.owner, l.held, l.item, whyDrained)
				troubles = append(troubles, err)
			}
		}
	}
	err = o.move(ctx, counts, moving, func(ctx context.Context, owner string, items []core.Settlement, placed int64) (int64, error) {
		for _, item := range items {
			if _, err := o.revoke(ctx, counts, owner, held[item.Key], item, whyDrained); err != nil {
				return placed, err
			}
		}
		return placed, nil
	})
	return errors.Join(append(troubles, err)...)
}

// revoke empties one slot of a living owner. If the slot has changed, its work went on or ended, and the next turn
// handles it. Only after the revocation may an end be recorded: before, the owner may still record one itself.
func (o *Overseer) revoke(ctx context.Context, counts Counts, owner string, h core.Held, item core.Settlement, why string) (bool, error) {
	err := o.deps.Owners.Revoke(ctx, owner, h, item, why)
	switch core.CodeOf(err) {
	case "":
	case core.CodeConflict, core.CodeNotFound:
		return false, nil
	default:
		return false, err
	}
	counts["slots"]++
	role, _, _ := core.ParseOwner(owner)
	id, _, err := core.ParseKey(h.Key)
	if item.Outcome == core.OutcomeDone || role != core.RoleTestrunner || err != nil {
		return true, nil //nolint:nilerr // no request has such a key
	}
	if h.Cancelled == "" {
		return true, o.deps.Intake.FailBegun(ctx, id)
	}
	// While it waits, no owner may run it; one that claims it would record the same end.
	if _, err = o.deps.Cancel(ctx, id, h.Cancelled); core.Is(err, core.CodeEnded) || core.Is(err, core.CodeNotFound) {
		err = nil
	}
	return true, err
}

// inHand lists the slots of a host's testrunners: those that leave a drained host, and those that stay by their
// policy.
func (o *Overseer) inHand(ctx context.Context, host string) (leaves, stays []leaver, err error) {
	g, err := o.survey(ctx)
	if err != nil {
		return nil, nil, err
	}
	owners, err := o.deps.Owners.ListOwners(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, owner := range owners {
		if owner.Host != host || owner.Role != core.RoleTestrunner || owner.Slots == 0 {
			continue
		}
		held, err := o.deps.Owners.Held(ctx, owner.Name, 0)
		if err != nil {
			return nil, nil, err
		}
		specs, err := o.specs(ctx, owner.Name, held)
		if err != nil {
			return nil, nil, err
		}
		for _, h := range held {
			spec := specs[h.Key]
			need, ok := g.need(spec)
			l := leaver{owner: owner.Name, held: h, need: need}
			switch {
			case !ok:
				// Its pool is gone: no other host could run it.
			case spec.RunsOnce(g[h.Pool]):
				stays = append(stays, l)
			default:
				leaves = append(leaves, l)
			}
		}
	}
	return leaves, stays, nil
}
