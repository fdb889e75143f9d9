package overseer

import (
	"context"
	"errors"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/cluster/recovery"
)

// evacuate empties the owners of lost hosts. The work of each slot ends by its state in the store or by the policy of
// its request or pool, or goes to a host with room for it; work that fits nowhere is parked until a host can take it.
// The order, across all these owners, is that of placement.
//
// If it is interrupted, any overseer continues: recorded ends are in the store, settled slots are empty, and the rest
// is still there. Two overseers at once settle by the same tokens and place by one number, so they neither settle
// twice nor overbook.
func (o *Overseer) evacuate(ctx context.Context, counts Counts, owners []string) error {
	if len(owners) == 0 {
		return nil
	}
	ground, err := o.survey(ctx)
	if err != nil {
		return err
	}
	var troubles []error
	var leaving []leaver
	epochs := make(map[string]int64)
	for _, owner := range owners {
		some, epoch, err := o.collect(ctx, counts, ground, owner)
		switch core.CodeOf(err) {
		case "":
			epochs[owner] = epoch
			leaving = append(leaving, some...)
		case core.CodeConflict, core.CodeFenced, core.CodeNotFound:
			// It came back, or another overseer was faster.
		default:
			troubles = append(troubles, err)
		}
	}
	err = o.move(ctx, counts, leaving, func(ctx context.Context, owner string, items []core.Settlement, placed int64) (int64, error) {
		done, err := o.deps.Owners.Settle(ctx, owner, epochs[owner], items, placed)
		counts["slots"] += done.Moved
		return done.Placed, err
	})
	if err != nil {
		return errors.Join(append(troubles, err)...)
	}
	for owner, epoch := range epochs {
		switch err := o.deps.Owners.Forget(ctx, owner, epoch); core.CodeOf(err) {
		case "":
			counts["owners"]++
			o.log.WithField("owner", owner).Warn("the owner was lost with its host: what it held is taken care of")
		case core.CodeConflict, core.CodeFenced, core.CodeNotFound:
			// Some slots must wait for the next turn, or another overseer was faster.
		default:
			troubles = append(troubles, err)
		}
	}
	return errors.Join(troubles...)
}

// collect fences an owner of a lost host, ends its slots that are not to run elsewhere, and returns those that are.
func (o *Overseer) collect(ctx context.Context, counts Counts, g ground, owner string) ([]leaver, int64, error) {
	epoch, err := o.deps.Owners.Fence(ctx, owner, o.late(o.cfg.Down))
	if err != nil {
		return nil, 0, err
	}
	held, err := o.deps.Owners.Held(ctx, owner, epoch)
	if err != nil {
		return nil, epoch, err
	}
	specs, err := o.specs(ctx, owner, held)
	if err != nil {
		return nil, epoch, err
	}
	items, report, err := recovery.Decide(ctx, o.deps.Store, owner, held, o.options(recovery.Lost))
	if err != nil {
		return nil, epoch, err
	}
	counts.add(report)
	slots := make(map[string]core.Held, len(held))
	for _, h := range held {
		slots[h.Key] = h
	}
	var leaving []leaver
	var ending []core.Settlement
	for _, item := range items {
		need, ok := g.need(specs[item.Key])
		if item.Outcome == core.OutcomeRetry && ok && movable(slots[item.Key]) {
			leaving = append(leaving, leaver{owner: owner, item: item, need: need})
		} else {
			ending = append(ending, item)
		}
	}
	done, err := o.deps.Owners.Settle(ctx, owner, epoch, ending, 0)
	counts["slots"] += done.Moved
	return leaving, epoch, err
}

// movable reports whether a request is assigned to a host. A request that met a death runs apart, and one that had
// many faults pauses; its target host might be lost next.
func movable(h core.Held) bool {
	const manyFaults = 2
	return len(h.Deaths) == 0 && h.Attempts < manyFaults
}

// tell logs the target of a request.
func (o *Overseer) tell(l leaver, to string) {
	log := o.log.WithFields(logrus.Fields{"request": l.item.Key, "from": l.owner, "to": to})
	if to == core.Parked {
		log.Warn("a request is parked: nothing living has room for it")
		return
	}
	log.Info("a request moves")
}
