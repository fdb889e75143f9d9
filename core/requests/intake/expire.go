package intake

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"drover/core"
)

// expirePage ends those requests of a page that waited longer than their pool allows. Only waiting time counts: a
// request that was claimed and given back waits from then on, and so does one that Redis had lost, because it may
// have run.
func (in *Intake) expirePage(ctx context.Context, specs []core.Spec) (int, error) {
	pools, err := in.Store.Pools(ctx)
	if err != nil {
		return 0, err
	}
	most := make(map[string]time.Duration, len(pools))
	for _, p := range pools {
		most[p.Name] = p.MaxWait
	}
	specs = pick(specs, func(i int) bool { return most[specs[i].Pool] > 0 })
	if len(specs) == 0 {
		return 0, nil
	}
	again, err := in.Queue.WaitingSince(ctx, keys(specs))
	if err != nil {
		return 0, err
	}
	now, err := in.Queue.ReadClock(ctx)
	if err != nil {
		return 0, err
	}
	specs = pick(specs, func(i int) bool { return now.Age(max(specs[i].Submitted, again[i])) > most[specs[i].Pool] })
	if specs, err = in.known(ctx, specs); err != nil {
		return 0, err
	}
	var n atomic.Int64
	err = each(specs, func(spec core.Spec) error {
		reason := fmt.Sprintf("waited longer than pool %s allows (%s) without being run", spec.Pool, most[spec.Pool])
		result := in.end(spec, core.RequestTimedOut, core.BlamePlatform, reason)
		_, first, err := in.stop(ctx, spec, platform+": it waited too long", core.CancelWaiting, result)
		if first {
			n.Add(1)
		}
		return err
	})
	return int(n.Load()), gather("not all that waited too long could be ended", err)
}

// known queues those of the specs that Redis has lost. It returns the others: those that Redis has, and those for
// which it has no room, which wait in the store.
func (in *Intake) known(ctx context.Context, specs []core.Spec) ([]core.Spec, error) {
	lost, err := in.absent(ctx, specs)
	if err != nil || len(lost) == 0 {
		return specs, err
	}
	verdicts, err := in.again(ctx, lost)
	if err != nil {
		return nil, err
	}
	var troubles []error
	anew := make(map[string]bool, len(lost))
	for i, v := range verdicts {
		anew[lost[i].ID] = !core.Is(v, core.CodeFull)
		if v != nil && !core.Is(v, core.CodeFull) && !core.Is(v, core.CodeEnded) {
			troubles = append(troubles, v)
		}
	}
	return pick(specs, func(i int) bool { return !anew[specs[i].ID] }), errors.Join(troubles...)
}
