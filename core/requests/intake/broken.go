package intake

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"drover/core"
)

// FailBroken ends the waiting requests of pools that were broken on all their hosts for longer than the pools allow, as
// failed by the platform. One call is one bounded round, as with Sweep; it returns how many it ended.
func (in *Intake) FailBroken(ctx context.Context) (int, error) {
	return in.fail(ctx, func(p page) (int, error) { return in.round(ctx, &in.failed, p) })
}

// FailAllBroken does so over the whole store once.
func (in *Intake) FailAllBroken(ctx context.Context) (int, error) {
	return in.fail(ctx, func(p page) (int, error) { return in.all(ctx, p) })
}

// fail reads no page if there is nothing to fail.
func (in *Intake) fail(ctx context.Context, over func(page) (int, error)) (int, error) {
	if reasons, err := in.broken(ctx); err != nil || len(reasons) == 0 {
		return 0, err
	}
	return over(in.requests(in.failPage))
}

// broken returns why requests of pools are to fail now, by pool.
func (in *Intake) broken(ctx context.Context) (map[string]string, error) {
	outages, err := in.Pools.Outages(ctx)
	if err != nil || len(outages) == 0 {
		return nil, err
	}
	pools, err := in.Store.Pools(ctx)
	if err != nil {
		return nil, err
	}
	reasons := make(map[string]string)
	for _, p := range pools {
		if o, is := outages[p.Name]; is && p.Fails(o) {
			reasons[p.Name] = fmt.Sprintf("no VM of pool %s could be made on any of its hosts since %s, longer than it allows (%s); the last error, of host %s: %s; "+
				"an operator mends that and then reruns the request", p.Name, time.UnixMilli(o.Since).UTC().Format(time.RFC3339), p.BrokenFor, o.Host, o.Why)
		}
	}
	return reasons, nil
}

// failPage ends those requests of a page that wait for a broken pool. Pools are read again for each page, since they may
// work again by now.
func (in *Intake) failPage(ctx context.Context, specs []core.Spec) (int, error) {
	reasons, err := in.broken(ctx)
	if err != nil {
		return 0, err
	}
	specs = pick(specs, func(i int) bool { return reasons[specs[i].Pool] != "" })
	if specs, err = in.known(ctx, specs); err != nil {
		return 0, err
	}
	var n atomic.Int64
	err = each(specs, func(spec core.Spec) error {
		result := in.end(spec, core.RequestFailed, core.BlamePlatform, reasons[spec.Pool])
		_, first, err := in.stop(ctx, spec, platform+": its pool is broken", core.CancelWaitingIn(spec.Pool), result)
		if first {
			n.Add(1)
		}
		return err
	})
	return int(n.Load()), gather("not all that wait for broken pools could be ended", err)
}
