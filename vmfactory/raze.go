package vmfactory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/service/clock"
	"drover/core/worker"
)

// DestroyAll destroys every VM that the factory's providers made on this host, used or not, reports that to Redis,
// and returns how many there were (G19). It works without Redis too. Returns BUSY as Run does, and UNAVAILABLE,
// naming them, if some could not be destroyed.
func (f *Factory) DestroyAll(ctx context.Context) (int, error) {
	lock, err := f.lock()
	if err != nil {
		return 0, err
	}
	defer lock.Release()
	registration := f.cfg.Registration
	registration.Clears = true
	presence, left, err := worker.Join(ctx, f.owners, worker.PresenceConfig{Registration: registration})
	switch {
	case core.Is(err, core.CodeUnavailable):
		f.log.WithError(err).Warn("Redis does not answer; destroying without it")
		fallthrough
	case core.Is(err, core.CodeNotFound): // Redis knows nothing of this host
		n, _, err := f.raze(ctx)
		return n, err
	case err != nil:
		return 0, err
	}
	defer presence.Stop()
	f.awaitEvicted(ctx)
	if err := f.settleSlots(ctx, presence.Epoch(), left); err != nil {
		return 0, err
	}
	n, err := f.destroyAll(ctx, presence.Epoch())
	if bye := f.deregister(ctx, presence); err == nil {
		err = bye
	}
	return n, err
}

// destroyAll takes all VMs from Redis first, so that none is claimed, and gives back those that could not be
// destroyed. Returns FENCED, having done nothing, if the epoch is over.
func (f *Factory) destroyAll(ctx context.Context, epoch int64) (int, error) {
	_, err := f.vms.Reconcile(ctx, f.owner(), epoch, f.host(), nil, nil)
	if core.Is(err, core.CodeFenced) {
		return 0, err
	}
	if err != nil {
		f.log.WithError(err).Warn("cannot tell Redis that all VMs go; destroying them all the same")
	}
	n, left, err := f.raze(ctx)
	if len(left) == 0 {
		return n, err
	}
	if _, told := f.vms.Reconcile(ctx, f.owner(), epoch, f.host(), left, nil); told != nil {
		f.log.WithError(told).Warn("cannot tell Redis which VMs are left")
	}
	return n, err
}

// raze destroys all VMs that the providers list and returns those that are left.
func (f *Factory) raze(ctx context.Context) (int, map[string]core.Found, error) {
	s := &survey{}
	f.list(ctx, s)
	left := make(map[string]core.Found)
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(f.cfg.Parallel)
	for vm, inst := range s.found {
		p := f.providers[s.homes[vm]]
		g.Go(func() error {
			err := f.razeVM(ctx, vm, p)
			if err != nil {
				f.log.WithError(err).WithField("vm", vm).Error("cannot destroy")
				mu.Lock()
				defer mu.Unlock()
				left[vm] = core.Found{Pool: poolOf(inst)}
			}
			return nil
		})
	}
	// The functions report through left; none returns an error.
	_ = g.Wait()
	n := len(s.found) - len(left)
	for name, why := range s.absent {
		return n, left, core.Wrap(why, core.CodeUnavailable, name, "cannot list what provider %s has on this host", name)
	}
	if len(left) > 0 {
		names := slices.Sorted(maps.Keys(left))
		return n, left, core.Errorf(core.CodeUnavailable, names[0],
			"%d VMs could not be destroyed (%s): see the log, destroy them by hand", len(left), strings.Join(names[:min(10, len(names))], ", "))
	}
	return n, left, nil
}

// razeVM tries as often as the loop would.
func (f *Factory) razeVM(ctx context.Context, vm string, p Provider) error {
	var err error
	for try := range f.cfg.DestroyTries {
		if try > 0 && clock.Sleep(ctx, f.clock, f.cfg.DestroyPause<<(try-1)) != nil {
			break
		}
		if err = f.destroyVM(ctx, vm, []Provider{p}); err == nil {
			f.metrics.destroyed.Add(1)
			return nil
		}
		f.metrics.destroyErr.Add(1)
	}
	return err
}
