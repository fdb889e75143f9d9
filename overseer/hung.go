package overseer

import (
	"context"
	"errors"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/cluster/recovery"
)

// hungEvery is the interval between two looks at all slots. A slot is hung that made no progress for its limit and
// hungGrace, in which its owner may still end it. Together they stay below 5 s. A silence of less than two beats is not
// detected, so the grace period is no shorter than that.
const (
	hungEvery = time.Second
	hungGrace = 3 * time.Second
)

// Limits of phases without a limit of their own, far above what a healthy one takes.
const (
	longStage = time.Minute
	longRun   = 2 * core.MaxTimeout
	longVM    = 10 * time.Minute
	longTask  = time.Hour
)

// hung takes work from living owners that do not make progress: a deadlock, a disk that does not answer, a provider
// that never returns. The owner is notified; its later writes for the work are refused.
func (o *Overseer) hung(ctx context.Context) (Counts, error) {
	counts := Counts{}
	owners, err := o.deps.Owners.ListOwners(ctx)
	if err != nil {
		return counts, err
	}
	var pools ground
	var troubles []error
	for _, owner := range owners {
		if owner.Slots == 0 || owner.Late {
			continue // late owners are reaped
		}
		if pools == nil {
			if pools, err = o.survey(ctx); err != nil {
				return counts, err
			}
		}
		troubles = append(troubles, o.unhang(ctx, counts, pools, owner))
	}
	return counts, errors.Join(troubles...)
}

// unhang empties the hung slots of one owner.
func (o *Overseer) unhang(ctx context.Context, counts Counts, pools ground, owner core.OwnerInfo) error {
	held, err := o.deps.Owners.Held(ctx, owner.Name, 0)
	if err != nil {
		return err
	}
	now, err := o.deps.Queue.ReadClock(ctx)
	if err != nil {
		return err
	}
	stuck := make(map[string]core.Held)
	var slots []core.Held
	for _, h := range held {
		if now.UnreportedFor(h.Since) >= pools.limit(owner.Role, h)+max(hungGrace, 2*o.cfg.Beat+time.Second) {
			stuck[h.Key] = h
			slots = append(slots, h)
		}
	}
	if len(slots) == 0 {
		return nil
	}
	items, report, err := recovery.Decide(ctx, o.deps.Store, owner.Name, slots, o.options(recovery.Hung))
	counts.add(report)
	troubles := []error{err}
	for _, item := range items {
		h := stuck[item.Key]
		taken, err := o.revoke(ctx, counts, owner.Name, h, item, "hung in "+h.Phase)
		if taken {
			o.log.WithFields(logrus.Fields{"owner": owner.Name, "slot": item.Key, "phase": h.Phase}).Warn("a slot is hung: its work is taken from its owner")
		}
		troubles = append(troubles, err)
	}
	return errors.Join(troubles...)
}

// limit returns how long a slot may go without progress.
func (g ground) limit(role core.Role, h core.Held) time.Duration {
	switch {
	case h.Limit > 0:
		return h.Limit
	case role == core.RoleVMFactory:
		return longVM
	case role == core.RoleTaskrunner:
		return longTask
	case h.Phase != string(core.RequestClaimed):
		return longRun
	case g[h.Pool].StageTimeout > 0:
		return g[h.Pool].StageTimeout
	}
	return longStage
}
