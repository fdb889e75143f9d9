package overseer

import (
	"context"
	"errors"
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/service/clock"
)

// startWithin is how long the start of a lease is tried.
const startWithin = time.Minute

// leaseTries bounds how often the calendar is read anew in one turn because another process wrote to it.
const leaseTries = 8

// leaseGround is what an overseer decides about leases by.
type leaseGround struct {
	lease.Ground

	revision int64 // of the calendar
	clock    core.RedisClock
	hosts    map[string]*core.HostInfo   // by name
	removed  map[string]bool             // hosts that hold something of leases, and that somebody had removed
	leased   map[string]core.LeasedState // pools of leases that Redis has, by their names; what this turn writes is in it
}

// leases carries out what the calendar says: events that are due, healing, and the pools of leases in Redis. Each step
// may be repeated, and what another overseer wrote meanwhile is read again.
func (o *Overseer) leases(ctx context.Context) (Counts, error) {
	counts := Counts{}
	for try := 1; ; try++ {
		err := o.keepLeases(ctx, counts)
		if !core.Is(err, core.CodeConflict) || try == leaseTries {
			return counts, err
		}
	}
}

func (o *Overseer) keepLeases(ctx context.Context, counts Counts) error {
	cal, err := o.readCalendar(ctx)
	if err != nil || cal == nil {
		return err
	}
	var troubles []error
	unanswered := false
	for _, e := range lease.NextEvents(cal.Leases, cal.Now) {
		if err := o.leaseEvent(ctx, cal, e, counts); core.Is(err, core.CodeConflict) {
			return err
		} else if err != nil {
			troubles, unanswered = append(troubles, err), unanswered || core.Is(err, core.CodeUnavailable)
		}
	}
	// A lease that could not be ended only now holds what others were promised from now on: they lose nothing for that.
	if !unanswered {
		if err := o.heal(ctx, cal, counts); err != nil {
			return errors.Join(append(troubles, err)...)
		}
	}
	troubles = append(troubles, o.syncLeased(ctx, cal, counts))
	reserved := lease.ReservedAt(cal.Leases, cal.Pools, cal.Now, o.cfg.Leases.Lead)
	o.reserved.Store(&reserved)
	return errors.Join(troubles...)
}

// readCalendar returns nil if there is no lease, and nothing of one in Redis.
func (o *Overseer) readCalendar(ctx context.Context) (*leaseGround, error) {
	read, err := o.deps.Store.Calendar(ctx, o.calendar.Revision)
	if err != nil {
		return nil, err
	}
	if read.Revision != o.calendar.Revision {
		o.calendar = read
	}
	states, err := o.deps.Leased.Leased(ctx)
	if err != nil {
		return nil, err
	}
	if len(o.calendar.Leases) == 0 && len(states) == 0 {
		o.reserved.Store(nil)
		return nil, nil //nolint:nilnil // there is nothing to do
	}
	cal := &leaseGround{revision: o.calendar.Revision, hosts: make(map[string]*core.HostInfo), leased: make(map[string]core.LeasedState)}
	for _, s := range states {
		cal.leased[s.Pool.Name] = s
	}
	hosts, err := o.deps.Hosts.ListHosts(ctx)
	if err != nil {
		return nil, err
	}
	pools, err := o.deps.Store.Pools(ctx)
	if err != nil {
		return nil, err
	}
	for i := range hosts {
		cal.hosts[hosts[i].Name] = &hosts[i]
	}
	if cal.removed, err = o.deps.Hosts.RemovedHosts(ctx, cal.absent(o.calendar.Leases)); err != nil {
		return nil, err
	}
	if cal.clock, err = o.deps.Queue.ReadClock(ctx); err != nil {
		return nil, err
	}
	now := cal.clock.Now - cal.clock.Ahead().Milliseconds()
	cal.Ground = lease.NewGround(now, hosts, pools, slices.Clone(o.calendar.Leases), o.cfg.Leases)
	for i := range cal.Hosts {
		for pool, since := range cal.hosts[cal.Hosts[i].Name].BrokenSince {
			if cal.clock.AbsentFor(since) < core.AbsentLong {
				cal.Hosts[i].Flaps = append(cal.Hosts[i].Flaps, pool)
			}
		}
	}
	return cal, nil
}

// absent lists the hosts that hold something of leases, and that Redis does not have.
func (cal *leaseGround) absent(leases []core.Lease) (names []string) {
	for i := range leases {
		for _, r := range leases[i].Reservations {
			for _, a := range r.Allocations {
				if a.State == core.AllocationHeld && cal.hosts[a.Host] == nil && !slices.Contains(names, a.Host) {
					names = append(names, a.Host)
				}
			}
		}
	}
	return names
}

// put writes a lease, and returns CONFLICT if somebody wrote to the calendar meanwhile.
func (o *Overseer) put(ctx context.Context, cal *leaseGround, l core.Lease) error {
	revision, err := o.deps.Store.PutLease(ctx, cal.revision, l)
	if err != nil {
		return err
	}
	cal.revision = revision
	for i := range cal.Leases {
		if cal.Leases[i].ID == l.ID {
			cal.Leases[i] = l
		}
	}
	return nil
}

func (cal *leaseGround) lease(id string) (core.Lease, bool) {
	for i := range cal.Leases {
		if cal.Leases[i].ID == id {
			return cal.Leases[i].Clone(), true
		}
	}
	return core.Lease{}, false
}

// leaseEvent executes a due event. The first write says that it is begun and the last one that it is done; an overseer that
// finds one begun goes on with it.
func (o *Overseer) leaseEvent(ctx context.Context, cal *leaseGround, due lease.DueEvent, counts Counts) error {
	l, ok := cal.lease(due.Lease)
	if !ok {
		return nil
	}
	if l.Event(due.Kind).State == core.EventUndone {
		next, err := lease.Begin(l, due.Kind, cal.Now)
		if err == nil {
			err = o.put(ctx, cal, next)
		}
		if err != nil {
			return err
		}
		l = next
	}
	switch due.Kind {
	case core.EventStart:
		if err := o.startLease(ctx, cal, &l); err != nil {
			if !cal.givesUp(&l, err) {
				return err
			}
			return errors.Join(err, o.failStart(ctx, cal, l, err, counts))
		}
	case core.EventEnd:
		gone, err := o.closeLease(ctx, cal, &l, l.End+l.Grace.Milliseconds())
		if err == nil && !gone {
			err = o.freeUnused(ctx, cal, l)
		}
		if err != nil || !gone {
			return err
		}
	case core.EventBeforeEnd:
	}
	next, err := lease.Done(l, due.Kind, cal.Now)
	if err == nil {
		err = o.put(ctx, cal, next)
	}
	if err != nil {
		return err
	}
	counts["leases_"+string(due.Kind)]++
	o.log.WithField("lease", l.ID).Info("lease event: " + string(due.Kind))
	return nil
}

// givesUp reports whether a start is not to be tried again: it was tried for long, and is refused. No answer is no
// refusal, nor is that Redis lacks something that the store has.
func (cal *leaseGround) givesUp(l *core.Lease, why error) bool {
	if cal.Now < l.Event(core.EventStart).Begun+startWithin.Milliseconds() {
		return false
	}
	switch core.CodeOf(why) {
	case core.CodeInvalid, core.CodeForbidden, core.CodeLimit:
		return true
	case core.CodeNotFound:
		return slices.ContainsFunc(l.Pools(), func(name string) bool {
			return !slices.ContainsFunc(cal.Pools, func(p core.Pool) bool { return p.Name == name })
		})
	default:
		return false
	}
}

// failStart undoes what was begun of a start, and gives the lease up.
func (o *Overseer) failStart(ctx context.Context, cal *leaseGround, l core.Lease, why error, counts Counts) error {
	if gone, err := o.closeLease(ctx, cal, &l, 0); err != nil || !gone {
		return err
	}
	next, err := lease.Fail(l, core.EventStart, cal.Now, why.Error())
	if err == nil {
		err = o.put(ctx, cal, next)
	}
	if err == nil {
		counts["leases_failed"]++
	}
	return err
}

// heal gives leases other hosts for what their hosts cannot hold any more, and tries again what is missing. While Redis
// has just begun to serve its memory, what it does not know yet is no reason. A lease that is used, or soon, loses what is
// on a host that stays away; one that is not keeps that, since the host may be back by then, unless somebody removed it.
func (o *Overseer) heal(ctx context.Context, cal *leaseGround, counts Counts) error {
	if cal.clock.AbsentFor(0) < core.AbsentLong {
		return nil
	}
	for i := range cal.Leases {
		l := cal.Leases[i]
		if l.State != core.LeasePending && l.State != core.LeaseStarting && l.State != core.LeaseActive {
			continue
		}
		cal.Gone = cal.removed
		cal.Far = !lease.DueToHeal(l, cal.Now, o.cfg.Leases.Healing)
		switch {
		case cal.Far && !cal.lacks(&l):
			continue
		case !cal.Far:
			cal.Gone = make(map[string]bool)
			for _, host := range cal.absent(cal.Leases[i : i+1]) {
				cal.Gone[host] = true
			}
		}
		next, did := cal.Heal(l, cal.there(&l))
		if len(did) == 0 {
			continue
		}
		event := lease.NoteHealed(&l, &next, cal.Now, did)
		if err := o.put(ctx, cal, next); err != nil {
			return err
		}
		counts["leases_healed"]++
		log := o.log.WithField("lease", l.ID)
		for _, what := range did {
			if event == core.EventLeaseDegraded {
				log.Warn("lease degraded: " + what)
			} else {
				log.Info("lease healed: " + what)
			}
		}
	}
	return nil
}

// lacks reports whether a lease holds less than it is to have, or something on a host that somebody removed.
func (cal *leaseGround) lacks(l *core.Lease) bool {
	return slices.ContainsFunc(l.Reservations, func(r core.Reservation) bool {
		return r.Held() < r.Needs() || slices.ContainsFunc(r.Allocations, func(a core.Allocation) bool {
			return a.State == core.AllocationHeld && cal.removed[a.Host]
		})
	})
}

// there returns how many VMs of a lease's pool a host has that are made.
func (cal *leaseGround) there(l *core.Lease) func(host, base string) int {
	its := l.Pools()
	return func(host, base string) int {
		h := cal.hosts[host]
		if h == nil {
			return 0
		}
		vms := h.VMsOf[core.LeasedPool(l.ID, slices.Index(its, base))]
		return vms[core.VMClean] + vms[core.VMClaimed]
	}
}

// awaitLeases returns when leases are to be looked at again: after a while, or once a monitor took a host out.
func (o *Overseer) awaitLeases(ctx context.Context, every time.Duration) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- clock.Sleep(waiting, o.clock, every) }()
	var err error
	select {
	case err = <-done:
	case <-o.hostsOut:
		stop()
		if <-done != nil {
			err = ctx.Err()
		}
	}
	return err
}
