package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// Update changes a lease. Returns INVALID, FORBIDDEN, NOTFOUND, FULL with what is free when, and CONFLICT if its state
// does not allow it: then it stays as it was. A lease that is over can only be renamed; of one that is active, the start
// stays and reservations only grow.
func (s *Service) Update(ctx context.Context, a core.Actor, id string, c Change) (core.Lease, error) {
	was, err := s.managed(ctx, a, id)
	if err != nil {
		return core.Lease{}, err
	}
	if c.Class != nil {
		if err := core.Allow(a, core.ActLeaseManage, core.Object{Class: *c.Class}); err != nil {
			return core.Lease{}, err
		}
	}
	if c.Class != nil || c.Notify != nil {
		its, err := s.notified(ctx, deref(c.Class, was.Class), deref(c.Notify, nil))
		if err != nil {
			return core.Lease{}, err
		}
		c.Notify = &its
	}
	asked, err := c.apply(was, s.Now()) // what it will be, but for its allocations
	if err != nil {
		return core.Lease{}, err
	}
	if err := s.Rules.check(a, &asked); err != nil {
		return core.Lease{}, err
	}
	l := was
	text := fmt.Sprintf("changes lease %s (%s): %s", id, was.Name, c.text())
	err = s.change(ctx, a, &l, text, func(g Ground) (core.Lease, error) {
		was, err := s.Store.GetLease(ctx, id)
		if err != nil {
			return core.Lease{}, err
		}
		next, err := c.apply(was, time.UnixMilli(g.Now))
		if err != nil {
			return core.Lease{}, err
		}
		Note(&next, g.Now, core.EventLeaseUpdated, a.Handle+" changed "+c.text(), a.Handle)
		if c.takesMore(&was, &next) {
			return g.again(was, next)
		}
		return next, nil
	})
	return l, err
}

// again returns a changed lease with allocations. Before it has started all of them are made anew. After that it keeps
// those that it has as long as they hold until its end.
func (g Ground) again(was, next core.Lease) (core.Lease, error) {
	if was.State == core.LeasePending {
		for i := range next.Reservations {
			free(&next.Reservations[i], g.Now, "the lease was changed")
		}
		return g.Allocate(next)
	}
	missing := 0
	for i := range was.Reservations {
		missing += max(0, was.Reservations[i].Needs()-was.Reservations[i].Held())
	}
	healed, _ := g.Heal(next, nil)
	lost := 0
	for i := range healed.Reservations {
		if i < len(was.Reservations) {
			lost += max(0, was.Reservations[i].Held()-healed.Reservations[i].Held())
		}
	}
	if lost > 0 {
		return core.Lease{}, core.Errorf(core.CodeFull, was.ID, "%d of what lease %s reserves is promised to others before %s: see the calendar for what is free", lost, was.ID, moment(next.End))
	}
	if missing > 0 {
		return healed, nil // it was degraded before, and is not refused for that
	}
	return g.Allocate(healed)
}

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// takesMore reports whether the change may need room that the lease does not have.
func (c Change) takesMore(was, next *core.Lease) bool {
	return c.Reservations != nil || next.Start < was.Start || next.End+next.Grace.Milliseconds() > was.End+was.Grace.Milliseconds()
}

// text says what is changed.
func (c Change) text() string {
	var parts []string
	for _, one := range []struct {
		is   bool
		text string
	}{
		{c.Name != nil, "its name"},
		{c.Start != nil, "its start"},
		{c.End != nil, "its end"},
		{c.BeforeEnd != nil, "the notice before its end"},
		{c.Grace != nil, "its grace"},
		{c.Class != nil, "its class"},
		{c.Submitters != nil, "its submitters"},
		{c.Reservations != nil, "what it reserves"},
		{c.Notify != nil, "who is told"},
	} {
		if one.is {
			parts = append(parts, one.text)
		}
	}
	return strings.Join(parts, ", ")
}

// apply returns the lease with the change, with the allocations that it has. Returns INVALID and CONFLICT.
func (c Change) apply(was core.Lease, now time.Time) (core.Lease, error) {
	l := was.Clone()
	if c.text() == "" {
		return l, core.Errorf(core.CodeInvalid, l.ID, "nothing of lease %s is to change: say what", l.ID)
	}
	if c.Name != nil {
		l.Name = strings.TrimSpace(*c.Name)
	}
	if c.text() == "its name" {
		return l, l.Check()
	}
	switch l.State {
	case core.LeasePending, core.LeaseActive:
	case core.LeaseTerminated, core.LeaseError:
		return l, core.Errorf(core.CodeConflict, l.ID, "lease %s is over: only its name can be changed", l.ID)
	default:
		return l, core.Errorf(core.CodeConflict, l.ID, "lease %s is %s just now: try again once that is done", l.ID, l.State)
	}
	if err := c.applyTimes(&l, now); err != nil {
		return l, err
	}
	l.Class = deref(c.Class, l.Class)
	l.Submitters = slices.Clone(deref(c.Submitters, l.Submitters))
	l.Notify = slices.Clone(deref(c.Notify, l.Notify))
	if c.Reservations != nil {
		if err := applyWants(&l, *c.Reservations, now.UnixMilli()); err != nil {
			return l, err
		}
	}
	return l, l.Check()
}

// applyTimes changes when a lease starts and ends, and its events that have not happened.
func (c Change) applyTimes(l *core.Lease, now time.Time) error {
	ms := now.UnixMilli()
	if c.Start != nil && *c.Start != l.Start {
		if l.State != core.LeasePending {
			return core.Errorf(core.CodeConflict, l.ID, "lease %s has started, at %s: its start cannot be changed", l.ID, moment(l.Start))
		}
		start, err := startOf(*c.Start, now)
		if err != nil {
			return err
		}
		l.Start = start
	}
	if c.End != nil {
		if *c.End < now.Add(-late).UnixMilli() {
			return core.Errorf(core.CodeInvalid, "end", "a lease cannot end in the past, at %s: it is %s by the server's clock", moment(*c.End), moment(ms))
		}
		if l.End = *c.End; l.State == core.LeaseActive {
			l.End = max(l.End, ms, l.Start+1) // now
		}
	}
	l.BeforeEnd, l.Grace = deref(c.BeforeEnd, l.BeforeEnd), deref(c.Grace, l.Grace)
	// An event that has happened stays; the others follow the times.
	fresh := NewEvents(*l)
	for _, e := range l.Events {
		i := slices.IndexFunc(fresh, func(f core.LeaseEvent) bool { return f.Kind == e.Kind })
		switch {
		case e.State == core.EventUndone:
		case i >= 0:
			fresh[i] = e
		default:
			fresh = append(fresh, e)
		}
	}
	l.Events = fresh
	return nil
}

// applyWants changes what a lease reserves. Reservations that were removed do not count: wants are those of the others.
func applyWants(l *core.Lease, wants []Want, now int64) error {
	active := l.State == core.LeaseActive
	var there []*core.Reservation
	for i := range l.Reservations {
		if r := &l.Reservations[i]; open(r) {
			there = append(there, r)
		}
	}
	for i, r := range there {
		if i < len(wants) {
			if err := changeTo(l, i, r, wants[i].reservation(), now); err != nil {
				return err
			}
			continue
		}
		if active {
			return core.Errorf(core.CodeConflict, l.ID, "lease %s is active: its reservation %d cannot be removed before its end", l.ID, i+1)
		}
		free(r, now, "it was removed from the lease")
		r.State = core.ReservationDeleted
	}
	if len(wants) == 0 {
		return core.Errorf(core.CodeInvalid, "reservations", "lease %s would reserve nothing: delete it instead", l.ID)
	}
	for _, w := range wants[min(len(there), len(wants)):] {
		next := w.reservation()
		if active {
			next.State = core.ReservationActive
		}
		l.Reservations = append(l.Reservations, next)
	}
	return nil
}

// changeTo makes a reservation what is wanted, at a place among those that are not removed.
func changeTo(l *core.Lease, i int, r *core.Reservation, next core.Reservation, now int64) error {
	if !slices.Equal(r.Pools, next.Pools) || r.WholeHosts() != next.WholeHosts() {
		return core.Errorf(core.CodeInvalid, "reservations", "reservation %d of lease %s is %s, which stays: add another one instead", i+1, l.ID, describe([]core.Reservation{*r}))
	}
	if l.State == core.LeaseActive && (next.Needs() < r.Needs() || next.MaxHosts < r.MaxHosts || next.Affinity != r.Affinity || next.Requires != r.Requires) {
		return core.Errorf(core.CodeConflict, l.ID, "lease %s is active: reservation %d can only grow, and what it asks of hosts stays", l.ID, i+1)
	}
	if l.State == core.LeasePending {
		free(r, now, "the lease was changed") // all is allocated anew
	}
	r.Units, r.Affinity, r.MinHosts, r.MaxHosts, r.Requires = next.Units, next.Affinity, next.MinHosts, next.MaxHosts, next.Requires
	return nil
}

// free frees what a reservation holds.
func free(r *core.Reservation, now int64, why string) {
	for j := range r.Allocations {
		if a := &r.Allocations[j]; a.State == core.AllocationHeld {
			lose(r, loss{j, a.Units, why}, core.AllocationFreed, now)
		}
	}
	prune(r)
}
