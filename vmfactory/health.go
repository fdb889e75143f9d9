package vmfactory

import (
	"context"
	"maps"
	"slices"
)

// check starts a health check of all clean VMs if one is due (G11). The VMs stay on their list: only those that fail
// are retired, if they are still clean then (rule 13).
func (e *epoch) check(ctx context.Context) {
	if e.checking || !e.surveyed || e.clock.Now().Before(e.nextCheck) {
		return
	}
	e.checking = true
	names := slices.Sorted(maps.Keys(e.pools))
	e.wg.Go(func() {
		sick, err := e.checkClean(ctx, names)
		e.post(func() {
			e.checking = false
			e.nextCheck = e.clock.Now().Add(e.cfg.CheckEvery)
			if err != nil {
				e.log.WithError(err).Warn("cannot list clean VMs for their health check")
			}
			maps.Copy(e.sick, sick)
		})
	})
}

func (f *Factory) checkClean(ctx context.Context, pools []string) (map[string]error, error) {
	sick := make(map[string]error)
	for _, pool := range pools {
		vms, err := f.vms.CleanVMs(ctx, f.host(), pool)
		if err != nil {
			return sick, err
		}
		homes := make(map[string]string, len(vms))
		known := vms[:0]
		for _, vm := range vms {
			if home := f.homes.get(vm); home != "" {
				homes[vm] = home
				known = append(known, vm)
			}
		}
		maps.Copy(sick, f.checkAll(ctx, known, homes))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return sick, nil
}

// retireSick makes VMs that failed their check dirty, unless they were claimed in the meantime.
func (e *epoch) retireSick(ctx context.Context) error {
	if len(e.sick) == 0 {
		return nil
	}
	taken, err := e.vms.Retire(ctx, e.owner(), e.n, e.host(), slices.Sorted(maps.Keys(e.sick)))
	if err != nil {
		return err
	}
	for _, vm := range taken {
		e.metrics.unhealthy.Add(1)
		e.log.WithError(e.sick[vm]).WithField("vm", vm).Warn("a clean VM failed its health check; destroying it")
	}
	clear(e.sick)
	return nil
}
