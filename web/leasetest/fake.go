// Package leasetest has leases in memory for tests of what shows them: commands, API and pages. It admits by units of one
// size on hosts that all are alike, and lets nothing happen by itself.
package leasetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
)

// Host is a host with room for so many units.
type Host struct {
	Name  string
	Units int
	Out   string // why it holds no reservations now
}

// Fake keeps leases.
type Fake struct {
	Hosts []Host
	Due   []lease.Due
	Now   func() time.Time

	mu  sync.Mutex
	all []core.Lease // oldest first
}

// New returns a fake with three hosts of eight units each.
func New(now func() time.Time) *Fake {
	return &Fake{Now: now, Hosts: []Host{{Name: "h1", Units: 8}, {Name: "h2", Units: 8}, {Name: "h3", Units: 8}}}
}

// Put sets a lease as it is, such as one that is degraded.
func (f *Fake) Put(l core.Lease) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set(l)
}

func (f *Fake) set(l core.Lease) {
	if i := f.at(l.ID); i >= 0 {
		f.all[i] = l
		return
	}
	f.all = append(f.all, l)
}

func (f *Fake) at(id string) int {
	return slices.IndexFunc(f.all, func(l core.Lease) bool { return l.ID == id })
}

func maySee(a core.Actor, l *core.Lease) error {
	owner := l.By
	if slices.Contains(l.Submitters, a.Handle) {
		owner = a.Handle
	}
	return core.Allow(a, core.ActLeaseView, core.Object{Class: l.Class, Owner: owner})
}

// Preview implements services.Leases.
func (f *Fake) Preview(_ context.Context, a core.Actor, d lease.Draft) (core.Lease, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made(a, d)
}

func (f *Fake) made(a core.Actor, d lease.Draft) (core.Lease, error) {
	now := f.Now().UnixMilli()
	l := core.Lease{
		ID: fmt.Sprintf("01m%023d", len(f.all)+1), Name: d.Name, Class: d.Class, Submitters: d.Submitters, By: a.Handle, Start: max(d.Start, 0), End: d.End,
		BeforeEnd: d.BeforeEnd, Grace: d.Grace, State: core.LeasePending, Notify: d.Notify, Created: now,
	}
	if err := core.Allow(a, core.ActLeaseManage, core.Object{}); err != nil {
		return l, err
	}
	if d.Start == 0 {
		l.Start = now
	}
	switch {
	case d.Name == "":
		return l, core.Errorf(core.CodeInvalid, "name", "a lease needs a name")
	case l.End <= l.Start:
		return l, core.Errorf(core.CodeInvalid, "end", "a lease ends after it starts")
	case len(d.Reservations) == 0:
		return l, core.Errorf(core.CodeInvalid, "reservations", "a lease reserves something")
	}
	l.Events = []core.LeaseEvent{{Kind: core.EventStart, At: l.Start, State: core.EventUndone}, {Kind: core.EventEnd, At: l.End, State: core.EventUndone}}
	if d.BeforeEnd > 0 {
		l.Events = append(l.Events, core.LeaseEvent{Kind: core.EventBeforeEnd, At: l.End - d.BeforeEnd.Milliseconds(), State: core.EventUndone})
	}
	l.Log = []core.LeaseNote{{Number: 1, At: now, Event: core.EventLeaseCreated, Text: "created", By: a.Handle}}
	return l, f.allocate(&l, d.Reservations)
}

// allocate fills a lease's reservations.
func (f *Fake) allocate(l *core.Lease, all []lease.Want) error {
	l.Reservations = nil
	for _, w := range all {
		r := core.Reservation{
			Pools: w.Pools, Units: w.Units, Affinity: w.Affinity, MinHosts: w.MinHosts, MaxHosts: max(w.MinHosts, w.MaxHosts), Requires: w.Requires, State: core.ReservationPending,
		}
		left := max(r.Units, r.MaxHosts)
		for _, h := range f.Hosts {
			free := h.Units - f.used(h, l) - here(l, &r, h.Name)
			n := min(left, free)
			if r.WholeHosts() {
				n = min(left, free/h.Units)
			}
			if n > 0 && h.Out == "" {
				r.Allocations = append(r.Allocations, core.Allocation{Host: h.Name, Units: n, State: core.AllocationHeld, Since: l.Start})
				left -= n
			}
		}
		if r.Held() < r.Needs() {
			return core.Errorf(core.CodeFull, "", "not all of %s is free: %d of %d can be held then; try a later start", strings.Join(r.Pools, ","), r.Held(), r.Needs())
		}
		l.Reservations = append(l.Reservations, r)
	}
	return nil
}

// used is how many units of a host other leases hold while a lease lasts.
func (f *Fake) used(h Host, l *core.Lease) int {
	n := 0
	for i := range f.all {
		if other := &f.all[i]; other.ID != l.ID && other.State.Open() && other.Start < l.End && l.Start < other.End {
			n += held(other, h)
		}
	}
	return n
}

func held(l *core.Lease, h Host) int {
	n := 0
	for i := range l.Reservations {
		for _, a := range l.Reservations[i].Allocations {
			if a.Host != h.Name || a.State != core.AllocationHeld {
				continue
			}
			if l.Reservations[i].WholeHosts() {
				return h.Units
			}
			n += a.Units
		}
	}
	return n
}

// here is how many units a lease that is being made, and its last reservation, hold on a host.
func here(l *core.Lease, last *core.Reservation, host string) int {
	with := core.Lease{Reservations: append(slices.Clone(l.Reservations), *last)}
	return held(&with, Host{Name: host})
}

// Create implements services.Leases.
func (f *Fake) Create(_ context.Context, a core.Actor, d lease.Draft) (core.Lease, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, err := f.made(a, d)
	if err == nil {
		f.set(l)
	}
	return l, err
}

// Update implements services.Leases.
func (f *Fake) Update(_ context.Context, a core.Actor, id string, c lease.Change) (core.Lease, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := core.Allow(a, core.ActLeaseManage, core.Object{}); err != nil {
		return core.Lease{}, err
	}
	i := f.at(id)
	if i < 0 {
		return core.Lease{}, missing(id)
	}
	l := f.all[i]
	if c.Start != nil && l.State != core.LeasePending {
		return l, core.Errorf(core.CodeConflict, id, "lease %s has started: its start cannot be changed", l.Name)
	}
	change(&l.Name, c.Name)
	change(&l.Class, c.Class)
	change(&l.Start, c.Start)
	change(&l.End, c.End)
	change(&l.BeforeEnd, c.BeforeEnd)
	change(&l.Grace, c.Grace)
	change(&l.Submitters, c.Submitters)
	change(&l.Notify, c.Notify)
	if l.End <= l.Start {
		return l, core.Errorf(core.CodeInvalid, "end", "a lease ends after it starts")
	}
	if c.Reservations != nil {
		if err := f.allocate(&l, *c.Reservations); err != nil {
			return l, err
		}
	}
	f.set(l)
	return l, nil
}

func change[T any](into, to *T) {
	if to != nil {
		*into = *to
	}
}

func missing(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no lease %q", id)
}

// Delete implements services.Leases.
func (f *Fake) Delete(_ context.Context, a core.Actor, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := core.Allow(a, core.ActLeaseManage, core.Object{}); err != nil {
		return err
	}
	i := f.at(id)
	if i < 0 {
		return missing(id)
	}
	switch f.all[i].State {
	case core.LeaseStarting, core.LeaseTerminating:
		return core.Errorf(core.CodeConflict, id, "lease %s is %s: try again in a moment", f.all[i].Name, f.all[i].State)
	case core.LeaseActive:
		f.all[i].State = core.LeaseDeleting
	default:
		f.all = slices.Delete(f.all, i, i+1)
	}
	return nil
}

// Get implements services.Leases.
func (f *Fake) Get(_ context.Context, a core.Actor, id string) (core.Lease, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.at(id)
	if i < 0 || maySee(a, &f.all[i]) != nil {
		return core.Lease{}, missing(id)
	}
	return f.all[i], nil
}

// List implements services.Leases.
func (f *Fake) List(_ context.Context, a core.Actor, w core.LeaseFilter) ([]core.Lease, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []core.Lease
	for _, l := range slices.Backward(f.all) {
		if maySee(a, &l) == nil && (w.Class == "" || w.Class == l.Class) && (len(w.States) == 0 || slices.Contains(w.States, l.State)) &&
			(w.From == 0 || l.End > w.From) && (w.To == 0 || l.Start < w.To) && (w.Before == "" || l.ID < w.Before) {
			found = append(found, l)
		}
	}
	limit := w.Limit
	if limit == 0 {
		limit = 50
	}
	return found[:min(len(found), limit)], nil
}

// View implements services.Leases.
func (f *Fake) View(_ context.Context, a core.Actor, from, to int64, pool string) (lease.View, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if to <= from {
		return lease.View{}, core.Errorf(core.CodeInvalid, "to", "a calendar ends after it begins")
	}
	if err := core.Allow(a, core.ActClusterView, core.Object{}); err != nil {
		return lease.View{}, err
	}
	v := lease.View{From: from, To: to, Now: f.Now().UnixMilli()}
	for _, d := range f.Due {
		if d.At >= from && d.At < to {
			v.Due = append(v.Due, d)
		}
	}
	for _, h := range f.Hosts {
		v.Hosts = append(v.Hosts, f.viewed(h, from, to))
	}
	if pool != "" {
		v.Free = f.free(from, to)
	}
	for _, l := range f.all {
		if l.Start < to && l.End > from && maySee(a, &l) == nil {
			v.Leases = append(v.Leases, l)
		}
	}
	return v, nil
}

func (f *Fake) viewed(h Host, from, to int64) lease.HostView {
	out := lease.HostView{Name: h.Name, Out: h.Out}
	for i := range f.all {
		l := &f.all[i]
		if l.Start >= to || l.End <= from {
			continue
		}
		for n, r := range l.Reservations {
			for _, al := range r.Allocations {
				if al.Host == h.Name && al.State == core.AllocationHeld {
					out.Blocks = append(out.Blocks, lease.Block{Lease: l.ID, Name: l.Name, Reservation: n, From: l.Start, To: l.End, Units: al.Units, Whole: r.WholeHosts()})
				}
			}
		}
	}
	return out
}

// free is how many units are free on all hosts together.
func (f *Fake) free(from, to int64) []lease.Stretch {
	cuts := []int64{from, to}
	for i := range f.all {
		cuts = append(cuts, min(max(f.all[i].Start, from), to), min(max(f.all[i].End, from), to))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var all []lease.Stretch
	for i := range len(cuts) - 1 {
		s := lease.Stretch{From: cuts[i], To: cuts[i+1]}
		for _, h := range f.Hosts {
			if h.Out == "" {
				s.Units += max(0, h.Units-f.used(h, &core.Lease{Start: s.From, End: s.To}))
			}
		}
		all = append(all, s)
	}
	return all
}
