package overseer

import (
	"context"
	"errors"
	"slices"

	"drover/core"
	"drover/core/cluster/lease"
)

// reroutePage is how many waiting requests are looked at in one call.
const reroutePage = 500

const whyLeaseEnded = "its lease is over"

// startLease opens the pools of a lease, and brings its holders' waiting requests there. The lease notices that a pool
// is gone from the cluster here.
func (o *Overseer) startLease(ctx context.Context, cal *leaseGround, l *core.Lease) error {
	if err := o.setLeased(ctx, cal, l, lease.Opened); err != nil {
		return err
	}
	queues, err := o.queued(ctx, l.Pools()...)
	if err != nil || len(queues) == 0 {
		return err
	}
	return o.reroute(ctx, l.Pools()...)
}

// setLeased makes the pools of a lease in Redis what they are in a phase.
func (o *Overseer) setLeased(ctx context.Context, cal *leaseGround, l *core.Lease, phase lease.Phase) error {
	for i, name := range l.Pools() {
		at := slices.IndexFunc(cal.Pools, func(p core.Pool) bool { return p.Name == name })
		if at < 0 {
			return core.Errorf(core.CodeNotFound, name, "there is no pool %s any more, which lease %s reserves", name, l.ID)
		}
		its := core.LeasedPoolSetting{
			Pool: lease.LeasedPool(l, i, cal.Pools[at], phase), Open: phase == lease.Opened, Class: l.Class, Submitters: l.Submitters,
		}
		if have, ok := cal.leased[its.Pool.Name]; ok && have.Equal(its) {
			continue
		}
		if err := o.deps.Leased.SetLeased(ctx, its); err != nil {
			return err
		}
		cal.leased[its.Pool.Name] = core.LeasedState{LeasedPoolSetting: its}
	}
	return nil
}

// queued returns the queues of pools in which requests wait, in any place.
func (o *Overseer) queued(ctx context.Context, pools ...string) ([]core.QueueInfo, error) {
	queues, err := o.deps.Queue.Waiting(ctx)
	return slices.DeleteFunc(queues, func(q core.QueueInfo) bool { return q.Waiting == 0 || !slices.Contains(pools, q.Pool) }), err
}

// reroute brings unfinished requests of pools to where they belong now.
func (o *Overseer) reroute(ctx context.Context, pools ...string) error {
	for after := ""; ; {
		specs, err := o.deps.Store.Unfinished(ctx, after, reroutePage)
		if err != nil || len(specs) == 0 {
			return err
		}
		after = specs[len(specs)-1].ID
		specs = slices.DeleteFunc(specs, func(s core.Spec) bool { return !slices.Contains(pools, s.Pool) })
		if len(specs) == 0 {
			continue
		}
		if _, err := o.deps.Leased.Reroute(ctx, specs); err != nil {
			return err
		}
	}
}

// rerouteFirst brings the first waiting request of each submitter in a pool of a lease to the pool that it is of, and those
// that run apart, are assigned to a host or parked, whether the store has them as unfinished or not: a Redis that was set
// back may have requests that ended, and so may a host that was drained. A claim there finds out. Those that pause after a
// fault are in the queue soon.
func (o *Overseer) rerouteFirst(ctx context.Context, p core.Pool, queues []core.QueueInfo) error {
	turns, err := o.deps.Queue.Turns(ctx, queues, reroutePage)
	if err != nil {
		return err
	}
	keys, err := o.deps.Leased.Apart(ctx, p.Name, reroutePage)
	if err != nil {
		return err
	}
	for _, t := range slices.Concat(turns...) {
		keys = append(keys, t.Next)
	}
	var specs []core.Spec
	for _, key := range keys {
		if id, generation, err := core.ParseKey(key); err == nil {
			specs = append(specs, core.Spec{ID: id, Generation: generation, Pool: p.Of})
		}
	}
	moving, err := o.moving(ctx, p.Name)
	if err != nil {
		return err
	}
	for _, s := range moving {
		s.Pool = p.Of
		specs = append(specs, s)
	}
	if len(specs) == 0 {
		return nil
	}
	_, err = o.deps.Leased.Reroute(ctx, specs)
	return err
}

// moving returns the requests of a pool that wait for one host, or are parked.
func (o *Overseer) moving(ctx context.Context, pool string) ([]core.Spec, error) {
	moves, err := o.deps.Evacuations.Evacuations(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, m := range moves {
		if m.State == core.EvacuationScheduled || m.State == core.EvacuationParked {
			keys = append(keys, m.Key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	specs, err := o.deps.Queue.Specs(ctx, keys)
	return slices.DeleteFunc(specs, func(s core.Spec) bool { return s.Pool != pool }), err
}

// syncLeased makes Redis agree with the calendar between events: what starts soon is prepared, what was lost with Redis
// or changed is set again, and what belongs to no lease any more is removed.
func (o *Overseer) syncLeased(ctx context.Context, cal *leaseGround, counts Counts) error {
	var troubles []error
	kept := make(map[string]bool)
	for i := range cal.Leases {
		l := &cal.Leases[i]
		phase := lease.PhaseOf(l, cal.Now, o.cfg.Leases.Lead)
		switch phase {
		case lease.Absent:
			continue
		case lease.Prepared:
			troubles = append(troubles, o.setLeased(ctx, cal, l, phase))
		case lease.Opened:
			troubles = append(troubles, o.reopen(ctx, cal, l))
		case lease.Closing:
			if l.State == core.LeaseDeleting {
				troubles = append(troubles, o.deleteLease(ctx, cal, l, counts))
			}
		}
		kept[l.ID] = true
	}
	for name, its := range cal.leased {
		if kept[its.Pool.Lease] {
			continue
		}
		_, err := o.closePool(ctx, cal, its.Pool, 0)
		troubles = append(troubles, core.Wrap(err, core.CodeOf(err), name, "pool %s of a lease that is over", name))
	}
	return errors.Join(troubles...)
}

// reopen sets the pools of a lease that is active again if they are not what they should be, and brings its holders'
// requests there.
func (o *Overseer) reopen(ctx context.Context, cal *leaseGround, l *core.Lease) error {
	lost := false
	for i := range l.Pools() {
		have, ok := cal.leased[core.LeasedPool(l.ID, i)]
		lost = lost || !ok || !have.Open || have.Class != l.Class || !slices.Equal(have.Submitters, l.Submitters)
	}
	if !lost {
		return o.setLeased(ctx, cal, l, lease.Opened)
	}
	return o.startLease(ctx, cal, l)
}

// deleteLease ends a lease that somebody deletes while it is active, and removes it.
func (o *Overseer) deleteLease(ctx context.Context, cal *leaseGround, l *core.Lease, counts Counts) error {
	gone, err := o.closeLease(ctx, cal, l, 0)
	if err == nil && !gone {
		err = o.freeUnused(ctx, cal, *l)
	}
	if err != nil || !gone {
		return err
	}
	revision, err := o.deps.Store.DeleteLease(ctx, cal.revision, l.ID, lease.LastNote(*l, cal.Now, "it is deleted", l.By))
	if err == nil {
		cal.revision = revision
		counts["leases_deleted"]++
	}
	return err
}

// closeLease takes the pools of a lease out of use, and reports whether nothing of them is left in Redis. What runs in
// them goes on until the given moment.
func (o *Overseer) closeLease(ctx context.Context, cal *leaseGround, l *core.Lease, until int64) (bool, error) {
	gone := true
	for i := range l.Pools() {
		its, ok := cal.leased[core.LeasedPool(l.ID, i)]
		if !ok {
			continue
		}
		one, err := o.closePool(ctx, cal, its.Pool, until)
		if err != nil {
			return false, err
		}
		gone = gone && one
	}
	return gone, nil
}

// freeUnused gives others what a lease that is closed does not use any more: as long as some of its work goes on, it holds
// only the VMs of that. What a host had before Redis knows it again is no answer.
func (o *Overseer) freeUnused(ctx context.Context, cal *leaseGround, l core.Lease) error {
	hosts, err := o.deps.Hosts.ListHosts(ctx) // anew: nothing is claimed since it was closed
	if err != nil {
		return err
	}
	its := l.Pools()
	next, freed := lease.FreeUnused(l, cal.Now, func(host, pool string) int {
		i := slices.IndexFunc(hosts, func(h core.HostInfo) bool { return h.Name == host && h.Ready && h.State != core.HostDown })
		if i < 0 {
			return core.MaxLeaseUnits
		}
		return hosts[i].VMsOf[core.LeasedPool(l.ID, slices.Index(its, pool))][core.VMClaimed]
	})
	if !freed {
		return nil
	}
	return o.put(ctx, cal, next)
}

// closePool takes a pool of a lease out of use step by step: no requests come, those that wait go back to the ordinary
// pool, those that run are requeued after the given moment, and an empty pool is removed.
func (o *Overseer) closePool(ctx context.Context, cal *leaseGround, p core.Pool, until int64) (bool, error) {
	state := cal.leased[p.Name]
	if state.Open || !state.Pool.Paused {
		p.Paused = true
		// Without the pool that it is of, nobody goes there.
		closed := core.LeasedPoolSetting{Pool: p}
		if err := o.deps.Leased.SetLeased(ctx, closed); err != nil && !core.Is(err, core.CodeNotFound) {
			return false, err
		}
		cal.leased[p.Name] = core.LeasedState{LeasedPoolSetting: closed}
	}
	if cal.Now >= until {
		if err := o.emptyPool(ctx, p); err != nil {
			return false, err
		}
	}
	queues, err := o.queued(ctx, p.Name)
	if err == nil && len(queues) > 0 {
		if err = o.reroute(ctx, p.Of); err == nil {
			err = o.rerouteFirst(ctx, p, queues)
		}
	}
	if err != nil {
		return false, err
	}
	err = o.deps.Pools.RemovePool(ctx, p.Name, false)
	if core.Is(err, core.CodeConflict) {
		return false, nil // something waits or runs yet
	}
	if err == nil {
		delete(cal.leased, p.Name)
	}
	return err == nil, err
}

// emptyPool gives back what runs in VMs of a pool, at no cost of an attempt. Work that must not run twice goes on to its
// end.
func (o *Overseer) emptyPool(ctx context.Context, p core.Pool) error {
	owners, err := o.deps.Owners.ListOwners(ctx)
	if err != nil {
		return err
	}
	counts := Counts{}
	for _, owner := range owners {
		if owner.Role != core.RoleTestrunner || owner.Slots == 0 {
			continue
		}
		held, err := o.deps.Owners.Held(ctx, owner.Name, 0)
		if err != nil {
			return err
		}
		held = slices.DeleteFunc(held, func(h core.Held) bool { return h.Pool != p.Name })
		specs, err := o.specs(ctx, owner.Name, held)
		if err != nil {
			return err
		}
		for _, h := range held {
			if spec := specs[h.Key]; spec.RunsOnce(p) {
				continue
			}
			item := core.Settlement{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRelease}
			if _, err := o.revoke(ctx, counts, owner.Name, h, item, whyLeaseEnded); err != nil {
				return err
			}
		}
	}
	return nil
}
