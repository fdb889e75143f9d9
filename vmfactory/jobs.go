package vmfactory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
)

// job is a VM that the factory is working on.
type job struct {
	vm       string
	pool     string
	creating bool // false: it is being destroyed
	running  bool // a provider call is in progress; false: it waits for its next try
	round    int  // the pool's round when the creation began
	tries    int  // failed destructions
	after    time.Time
}

// running counts provider calls in progress: those that destroy, and all.
func (e *epoch) running() (destroying, all int) {
	for _, j := range e.jobs {
		if !j.running {
			continue
		}
		all++
		if !j.creating {
			destroying++
		}
	}
	return destroying, all
}

// creating counts the pool's creations in progress.
func (e *epoch) creating(pool string) int {
	n := 0
	for _, j := range e.jobs {
		if j.creating && j.pool == pool {
			n++
		}
	}
	return n
}

// tell reports finished work to Redis, in one batch of each kind. Unanswered reports are repeated.
func (e *epoch) tell(ctx context.Context) error {
	if len(e.made) > 0 {
		made := make(map[string]bool, len(e.made))
		for vm, m := range e.made {
			made[vm] = m.ok
		}
		if err := e.vms.Ready(ctx, e.owner(), e.n, e.host(), made); err != nil {
			return err
		}
		for vm, m := range e.made {
			e.touch(vm, fate{known: true, pool: m.pool, usable: m.ok})
		}
		clear(e.made)
	}
	if len(e.gone) == 0 {
		return nil
	}
	if err := e.vms.Gone(ctx, e.owner(), e.n, e.host(), e.gone); err != nil {
		return err
	}
	for vm, note := range e.gone {
		e.touch(vm, fate{known: note != ""})
		e.homes.forget(vm)
	}
	clear(e.gone)
	return nil
}

// recount reads the factory's slots from Redis after a reply was lost, and takes over those that it does not know.
func (e *epoch) recount(ctx context.Context) error {
	if !e.lost {
		return nil
	}
	held, err := e.owners.Held(ctx, e.owner(), 0)
	if err != nil {
		return err
	}
	e.lost = false
	for _, h := range held {
		_, made := e.made[h.Key]
		_, gone := e.gone[h.Key]
		if e.jobs[h.Key] != nil || made || gone {
			continue
		}
		e.touch(h.Key, fate{inHand: true})
		if h.Phase == string(core.VMCreating) {
			e.made[h.Key] = madeVM{pool: h.Pool}
			continue
		}
		e.jobs[h.Key] = &job{vm: h.Key, pool: h.Pool}
	}
	if len(e.made) > 0 {
		return e.tell(ctx)
	}
	return nil
}

// destroy starts the destructions that are due, then claims dirty VMs as far as there is room. One provider call is
// reserved for creations, so that VMs that cannot be destroyed do not stop the host.
func (e *epoch) destroy(ctx context.Context) error {
	if !e.surveyed {
		return nil
	}
	busy, all := e.running()
	room := min(max(1, e.cfg.Parallel-1)-busy, e.cfg.Parallel-all)
	now := e.clock.Now()
	for _, j := range e.jobs {
		if room <= 0 {
			return nil
		}
		if !j.creating && !j.running && !now.Before(j.after) {
			room--
			e.startDestroy(j)
		}
	}
	if room <= 0 {
		return nil
	}
	vms, err := e.vms.Destroy(ctx, e.owner(), e.n, e.host(), room)
	if err != nil {
		e.lost = true
		return err
	}
	for _, vm := range vms {
		e.touch(vm, fate{inHand: true})
		j := &job{vm: vm}
		e.jobs[vm] = j
		e.startDestroy(j)
	}
	return nil
}

func (e *epoch) startDestroy(j *job) {
	j.running = true
	providers := e.destroyers(j.vm)
	e.wg.Go(func() {
		err := e.destroyVM(e.work, j.vm, providers)
		e.post(func() { e.destroyed(j, err) })
	})
}

// destroyVM has every provider that may have the VM destroy it.
func (f *Factory) destroyVM(ctx context.Context, vm string, providers []Provider) error {
	var errs []error
	for _, p := range providers {
		err := f.calls.within(ctx, f.clock, f.cfg.DestroyTimeout, vm, func(ctx context.Context) error { return p.Destroy(ctx, vm) })
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// destroyed handles the end of a try. After the last one the VM is quarantined and an alarm is raised (rule 18).
func (e *epoch) destroyed(j *job, err error) {
	j.running = false
	log := e.log.WithField("vm", j.vm)
	switch {
	case err == nil:
		delete(e.jobs, j.vm)
		e.gone[j.vm] = ""
		e.metrics.destroyed.Add(1)
		log.Debug("destroyed")
		return
	case e.work.Err() != nil:
		return // interrupted by the stop: not the VM's fault
	}
	j.tries++
	e.metrics.destroyErr.Add(1)
	if j.tries < e.cfg.DestroyTries {
		j.after = e.clock.Now().Add(e.cfg.DestroyPause << (j.tries - 1))
		log.WithError(err).WithField("try", j.tries).Warn("cannot destroy; trying again")
		return
	}
	delete(e.jobs, j.vm)
	e.gone[j.vm] = clip(fmt.Sprintf("not destroyed in %d tries: %v", j.tries, err))
	log.WithError(err).Error("will not die: quarantined; destroy it by hand, then run vmfactory --recover")
}

// maxNote bounds the stored part of a provider's error, in bytes.
const maxNote = 500

func clip(s string) string {
	if len(s) > maxNote {
		return s[:maxNote] + " …"
	}
	return s
}

// dropWaiting gives up destructions that wait for their next try: the end of the epoch makes them dirty again.
func (e *epoch) dropWaiting() {
	for vm, j := range e.jobs {
		if !j.running {
			delete(e.jobs, vm)
		}
	}
}

// startCreate begins n creations in a pool. They are recorded in Redis first, so that they can be found after a crash
// (G16).
func (e *epoch) startCreate(ctx context.Context, pool core.Pool, n int) error {
	ps := e.pools[pool.Name]
	p := e.providers[pool.Provider]
	vms := make([]string, n)
	for i := range vms {
		vms[i] = e.newID()
		if pool.Peer {
			vms[i] = core.PairVM(vms[i])
		}
		e.touch(vms[i], fate{inHand: true})
	}
	if err := e.vms.Create(ctx, e.owner(), e.n, e.host(), pool.Name, vms); err != nil {
		e.lost = true
		return err
	}
	for _, vm := range vms {
		e.turn++
		ps.turn = e.turn
		e.homes.set(vm, home{p.Name(), pool.Name, pool.Kind()})
		j := &job{vm: vm, pool: pool.Name, creating: true, running: true, round: ps.round}
		e.jobs[vm] = j
		e.wg.Go(func() {
			begun := e.clock.Now()
			err := e.makeVM(e.work, p, vm, pool)
			took := e.clock.Now().Sub(begun)
			e.post(func() { e.created(j, err, took) })
		})
	}
	return nil
}

// makeVM carries out both phases of a creation.
func (f *Factory) makeVM(ctx context.Context, p Provider, vm string, pool core.Pool) error {
	err := f.calls.within(ctx, f.clock, f.cfg.CreateTimeout, vm, func(ctx context.Context) error { return p.Create(ctx, vm, pool) })
	if err != nil {
		return err
	}
	return f.calls.within(ctx, f.clock, f.cfg.CreateTimeout, vm, func(ctx context.Context) error { return p.Prepare(ctx, vm) })
}

// created handles the end of a creation.
func (e *epoch) created(j *job, err error, took time.Duration) {
	delete(e.jobs, j.vm)
	e.made[j.vm] = madeVM{pool: j.pool, ok: err == nil}
	if err != nil && e.work.Err() != nil {
		return // interrupted by the stop: not the pool's fault
	}
	ps := e.pools[j.pool]
	log := e.log.WithFields(logrus.Fields{"vm": j.vm, "pool": j.pool})
	if err == nil {
		e.metrics.creations.Add(1, j.pool)
		e.metrics.seconds.Observe(took.Seconds(), j.pool)
		log.WithField("took", took).Debug("created")
		if ps.made(took) {
			log.Info("the pool's VMs can be made again")
		}
		return
	}
	if errors.Is(err, ErrFetching) {
		if ps.waits(e.clock.Now(), err, e.cfg.CreateBackoff) {
			log.WithError(err).Info("the pool's VMs wait for their image")
		}
		return
	}
	e.metrics.failures.Add(1, j.pool)
	if ps.failed(e.clock.Now(), j.round, err, e.cfg.BrokenRetry) {
		log.WithError(err).Errorf("the pool is broken on this host; trying again every %s", e.cfg.BrokenRetry)
		return
	}
	log.WithError(err).Warn("cannot create")
}
