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

// view is what the loop knows of reality and what it still has to find out.
type view struct {
	surveyed bool      // Redis agrees with the host since the epoch, or Redis' incarnation, began
	full     bool      // the next look checks every VM that may be claimed
	looking  bool      // a look is under way
	nextLook time.Time // zero: now
	fresh    *survey   // found, not yet told to Redis
	touched  map[string]fate
	absent   map[string]error // providers that are not ready
	since    map[string]int64 // when that began, ms since 1970
	limits   map[string][]Limit
	withheld map[string]bool // unused VMs that Redis is not told of until their provider passed its self-test
}

// fate is what the loop did to a VM since the look began: the look may have come
// before or after it.
type fate struct {
	inHand bool   // it is being made or destroyed: nobody else's business
	known  bool   // Redis was told of it; false: it is gone
	pool   string // of a made one
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

// looked takes the end of a survey.
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

// reconcile makes Redis agree with what the last look found. Healthy, unused VMs
// are adopted, all others that Redis does not know are destroyed.
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
	e.metrics.reconciled.WithLabelValues("adopted").Add(float64(r.Adopted))
	e.metrics.reconciled.WithLabelValues("dirtied").Add(float64(r.Dirtied))
	e.metrics.reconciled.WithLabelValues("removed").Add(float64(r.Removed))
	if r != (core.Reconciled{}) {
		e.log.WithFields(logrus.Fields{"adopted": r.Adopted, "dirtied": r.Dirtied, "removed": r.Removed}).
			Warn("Redis and the host did not agree; now they do")
	}
	e.fresh, e.surveyed, e.full = nil, true, false
	e.nextLook = e.clock.Now().Add(e.cfg.ReconcileEvery)
	return nil
}

// usable reports whether a VM may be claimed: made for a pool of this host by a
// provider that has not failed here, never used and, as far as it was checked, healthy.
func (e *epoch) usable(s *survey, inst Instance) bool {
	return !inst.Used && s.sick[inst.ID] == nil && e.pools[inst.Pool] != nil && e.failed(s.homes[inst.ID]) == ""
}

// withhold reports whether nobody may claim a VM yet that could be claimed
// otherwise: an earlier vmfactory made it, and this host has yet to prove itself.
// One that somebody has in hand is nobody else's business.
func (e *epoch) withhold(s *survey, inst Instance) bool {
	k, known := s.known[inst.ID]
	return e.untried(s.homes[inst.ID]) && e.usable(s, inst) && (!known || k.State == core.VMClean)
}

// reality is the host as Redis should see it now: what the look found, corrected
// by what the loop did since it began. It also counts the VMs that nobody knew.
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
		found[vm] = core.Found{Pool: poolOf(inst), Usable: e.usable(s, inst)}
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

// noPool stands for the pool of a VM whose creation left no trace of one.
const noPool = "unknown"

func poolOf(inst Instance) string {
	if core.ValidName(inst.Pool) {
		return inst.Pool
	}
	return noPool
}

// keepAbsent leaves alone what Redis knows of providers that cannot be asked. In
// a full look only what cannot be claimed stays: nobody vouches for the rest,
// which is found again once the provider is ready.
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

// forget is the first half of --recover: Redis' view of the host is emptied; the
// full look that follows rebuilds it from the machine (G19, G20).
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

// destroyers names the providers that must destroy a VM: its own, or all that are
// ready if nobody knows whose it is.
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
