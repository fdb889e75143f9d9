package recovery

import (
	"context"
	"errors"
	"time"

	"drover/core"
)

// Reap fences the owners whose heartbeat is late by the given time, settles what they held and forgets them. It
// continues where a crashed reaper stopped, and several reapers may run at once. One failure does not hold back the
// others; the error lists all of them.
func Reap(ctx context.Context, owners core.Owners, store Store, by time.Duration, opts Options) (Report, error) {
	late, err := owners.Late(ctx, by)
	if err != nil {
		return Report{}, err
	}
	var total Report
	var troubles []error
	for _, owner := range late {
		report, err := reapOne(ctx, owners, store, owner, by, opts)
		total.Add(report)
		switch core.CodeOf(err) {
		case core.CodeConflict, core.CodeFenced, core.CodeNotFound:
			// It came back, or another reaper was faster.
		default:
			troubles = append(troubles, err)
		}
	}
	return total, core.Wrap(errors.Join(troubles...), core.CodeUnavailable, "", "not all late owners could be reaped")
}

// DeclareDead settles what an owner held whose process is known to be gone, without waiting until its heartbeat is
// late, and forgets the owner. The epoch is that of the process. If its work was settled before, the death still
// counts. Returns CONFLICT if a newer process has the name, NOTFOUND if Redis knows no such owner, FENCED if it came
// back in the meantime.
func DeclareDead(ctx context.Context, owners core.Owners, store Store, owner string, epoch int64, opts Options) (Report, error) {
	epoch, err := owners.DeclareDead(ctx, owner, epoch)
	if err != nil || epoch == 0 {
		return Report{}, err
	}
	return settleAll(ctx, owners, store, owner, epoch, opts)
}

func reapOne(ctx context.Context, owners core.Owners, store Store, owner string, by time.Duration, opts Options) (Report, error) {
	epoch, err := owners.Fence(ctx, owner, by)
	if err != nil {
		return Report{}, err
	}
	return settleAll(ctx, owners, store, owner, epoch, opts)
}

// settleAll empties and forgets a fenced owner.
func settleAll(ctx context.Context, owners core.Owners, store Store, owner string, epoch int64, opts Options) (Report, error) {
	held, err := owners.Held(ctx, owner, epoch)
	if err != nil {
		return Report{}, err
	}
	report, err := Settle(ctx, owners, store, owner, epoch, held, opts)
	if err != nil {
		return report, err
	}
	return report, owners.Forget(ctx, owner, epoch)
}
