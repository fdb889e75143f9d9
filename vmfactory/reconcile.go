package vmfactory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
)

// view is what the loop knows about the VMs on the host and what it still has to find out.
type view struct {
	surveyed bool      // Redis was reconciled with the host in this epoch and incarnation of Redis
	unknown  int       // VMs in use that Redis forgot, and may be told of yet: they take room that Redis does not count
	full     bool      // the next look checks every VM that may be claimed
	looking  bool      // a look is in progress
	nextLook time.Time // zero: now
	fresh    *survey   // found, not yet reported to Redis
	touched  map[string]fate
	absent   map[string]error // providers that are not ready
	since    map[string]int64 // since when, ms since 1970
	limits   map[string][]Limit
	withheld map[string]bool // unused VMs that are not reported to Redis until their provider has passed its self-test
}

// fate is what the loop did to a VM since the look began, which may have seen the VM before or after.
type fate struct {
	inHand bool   // it is being made or destroyed, and left out of the reconciliation
	known  bool   // Redis knows it; false: it is gone
	pool   string // of a VM that was made
	usable bool
}

func (e *epoch) touch(vm string, what fate) {
	if e.touched == nil {
		e.touched = make(map[string]fate)
	}
	e.touched[vm] = what
}

// look starts a survey if one is due.
func (e *epoch) look(ctx context.Context) {
	if e.looking || e.fresh != nil || e.clock.Now().Before(e.nextLook) {
		return
	}
	e.looking = true
	e.touched = nil
	for vm := range e.jobs {
		e.touch(vm, fate{inHand: true})
	}
	for _, t := range e.trials {
		if t.vm != "" {
			e.touch(t.vm, fate{inHand: true})
		}
	}
	full := e.full
	e.wg.Go(func() {
		s, err := e.survey(ctx, full)
		e.post(func() { e.looked(s, err) })
	})
}

// looked handles the end of a survey.
func (e *epoch) looked(s *survey, err error) {
	e.looking = false
	if err != nil {
		e.log.WithError(err).Warn("cannot compare Redis with the host; trying again")
		e.nextLook = e.clock.Now().Add(e.cfg.Poll)
		return
	}
	e.fresh = s
	since := make(map[string]int64)
	for name, why := range s.absent {
		since[name] = cmp.Or(e.since[name], e.now().UnixMilli())
		if e.absent[name] == nil {
			e.log.WithError(why).WithField("provider", name).Error("the provider is not ready on this host")
		}
	}
	for name := range e.absent {
		if s.absent[name] == nil {
			e.log.WithField("provider", name).Info("the provider is ready again")
		}
	}
	e.absent, e.since, e.limits = s.absent, since, s.limits
	for vm, provider := range s.homes {
		if f, touched := e.touched[vm]; !touched || f.inHand || f.known {
			e.homes.set(vm, home{provider, s.found[vm].Pool, s.found[vm].Kind})
		}
	}
}

// reconcile makes Redis agree with the findings of the last look. Healthy, unused VMs are adopted; all others that
// Redis does not know are destroyed.
func (e *epoch) reconcile(ctx context.Context) error {
	s := e.fresh
	if s == nil {
		return nil
	}
	if e.full && !s.full {
		e.fresh = nil // Redis' incarnation may have changed during the look
		return nil
	}
	found, leaks := e.reality(s)
	r, err := e.vms.Reconcile(ctx, e.owner(), e.n, e.host(), found, s.wishes)
	if err != nil {
		return err
	}
	e.metrics.leaks.Set(float64(leaks))
	e.metrics.reconciled.Add(float64(r.Adopted), "adopted")
	e.metrics.reconciled.Add(float64(r.Dirtied), "dirtied")
	e.metrics.reconciled.Add(float64(r.Removed), "removed")
	if r.Adopted+r.Dirtied+r.Removed > 0 {
		e.log.WithFields(logrus.Fields{"adopted": r.Adopted, "dirtied": r.Dirtied, "removed": r.Removed}).
			Warn("Redis and the host did not agree; now they do")
	}
	e.fresh, e.surveyed, e.full, e.unknown = nil, true, false, r.Alone
	e.nextLook = e.clock.Now().Add(e.cfg.ReconcileEvery)
	if r.Alone > 0 {
		e.log.WithField("vms", r.Alone).Info("Redis does not know some VMs in use, and lost its memory a moment ago: their testrunners may come back yet")
		e.nextLook = e.clock.Now().Add(e.cfg.Poll)
	}
	return nil
}

// usable reports whether a VM may be claimed: made for a pool of this host by a
// provider that has not failed here, never used and, as far as it was checked, healthy.
func (e *epoch) usable(s *survey, inst Instance) bool {
	return !inst.Used && s.sick[inst.ID] == nil && e.pools[inst.Pool] != nil && e.failed(s.homes[inst.ID]) == ""
}

// withhold reports whether a VM must not be claimed yet that is usable otherwise: an earlier vmfactory made it, and
// its provider has not passed its self-test. VMs in a slot are not affected.
func (e *epoch) withhold(s *survey, inst Instance) bool {
	k, known := s.known[inst.ID]
	return e.untried(s.homes[inst.ID]) && e.usable(s, inst) && (!known || k.State == core.VMClean)
}

// reality returns the host's VMs as Redis should know them now: the findings of the look, corrected by what the loop
// did since it began. It also counts the VMs that were unknown.
func (e *epoch) reality(s *survey) (found map[string]core.Found, leaks int) {
	found = make(map[string]core.Found, len(s.found))
	held := e.withheld
	e.withheld = nil
	for vm, inst := range s.found {
		if e.withhold(s, inst) {
			if e.withheld == nil {
				e.withheld = make(map[string]bool)
			}
			e.withheld[vm] = true
			continue
		}
		found[vm] = core.Found{Pool: poolOf(inst), Usable: e.usable(s, inst), Used: inst.Used}
		_, known := s.known[vm]
		if _, touched := e.touched[vm]; !known && !touched && !held[vm] {
			leaks++
		}
	}
	e.keepAbsent(s, found)
	for vm, f := range e.touched {
		switch {
		case f.inHand || !f.known:
			delete(found, vm)
		case f.pool != "":
			found[vm] = core.Found{Pool: f.pool, Usable: f.usable}
		}
	}
	return found, leaks
}

// noPool stands for the pool of a VM whose creation left no trace of the pool.
const noPool = "unknown"

func poolOf(inst Instance) string {
	if core.ValidName(inst.Pool) {
		return inst.Pool
	}
	return noPool
}

// keepAbsent adds the VMs in Redis of providers that are not ready. In a full look it adds only those that cannot be
// claimed: the others were not checked, and are found again once the provider is ready.
func (e *epoch) keepAbsent(s *survey, found map[string]core.Found) {
	if len(s.absent) == 0 {
		return
	}
	for vm, k := range s.known {
		if _, there := found[vm]; there || (s.full && k.State == core.VMClean) {
			continue
		}
		if at := e.homes.get(vm); at == "" || s.absent[at] != nil {
			found[vm] = core.Found{Pool: k.Pool, Usable: k.State == core.VMClean}
		}
	}
}

// forget is the first half of --recover: it empties Redis' records of the host; the full look that follows rebuilds
// them from the machine (G19, G20).
func (e *epoch) forget(ctx context.Context) error {
	if !e.purge {
		return nil
	}
	r, err := e.vms.Reconcile(ctx, e.owner(), e.n, e.host(), nil, nil)
	if err != nil {
		return err
	}
	e.purge = false
	e.log.WithField("removed", r.Removed).Warn("forgot what Redis said of this host; rebuilding it from the machine")
	return nil
}

// destroyers returns the providers that must destroy a VM: its own, or all that are ready if that is not known.
func (e *epoch) destroyers(vm string) []Provider {
	if p := e.providers[e.homes.get(vm)]; p != nil {
		return []Provider{p}
	}
	var ps []Provider
	for _, name := range slices.Sorted(maps.Keys(e.providers)) {
		if e.absent[name] == nil {
			ps = append(ps, e.providers[name])
		}
	}
	return ps
}
