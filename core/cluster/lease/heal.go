package lease

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// DueToHeal reports whether a lease is healed now: one that is used, and one that begins within a time from now; 0: any that
// has not begun.
func DueToHeal(l core.Lease, now int64, within time.Duration) bool {
	switch l.State {
	case core.LeaseStarting, core.LeaseActive:
		return true
	case core.LeasePending:
		return within == 0 || l.Start <= now+within.Milliseconds()
	default:
		return false
	}
}

// Heal gives a lease other room for what hosts cannot hold any more, and for what it lacks since earlier, and returns
// the lease with a sentence for each thing that was done; nil, and the lease as it was, if there was nothing to do.
//
// A host cannot hold what is allocated on it if it is gone or out, does not make VMs of the pool, or lacks what the
// reservation requires; and where it has less room than is held on it, the youngest allocations go, unit by unit, until
// the others fit. Units that must be together go together. Whether a lease is healed now is up to DueToHeal.
//
// There is how many VMs for requests of a pool the lease has on a host: a reservation that was changed while it was
// active is so until they are there. Nil: that is not known. One of whole hosts is so until the next call.
func (g Ground) Heal(l core.Lease, there func(host, pool string) int) (core.Lease, []string) {
	in := g.window(&l)
	if in.empty() || l.State != core.LeasePending && l.State != core.LeaseStarting && l.State != core.LeaseActive {
		return l, nil
	}
	h := healing{ground: &g, in: in, lease: l.Clone(), there: there}
	h.look()
	h.mend()
	h.flag()
	if len(h.done) == 0 {
		return l, nil
	}
	return h.lease, h.done
}

// healing is one call of Heal.
type healing struct {
	ground *Ground
	in     span
	lease  core.Lease
	there  func(host, pool string) int
	done   []string

	losses  [][]loss // by reservation
	targets []int    // units or hosts that each reservation is to have
	needs   []*need  // nil: left alone
	changed []bool   // units of it moved or came back
}

// look finds what hosts cannot hold any more.
func (h *healing) look() {
	always := span{h.ground.Now, forever}
	b := newBook(h.ground, h.mine(), h.lease.ID, always)
	b.enter(&h.lease, h.in, always)
	n := len(h.lease.Reservations)
	h.losses, h.targets, h.needs, h.changed = make([][]loss, n), make([]int, n), make([]*need, n), make([]bool, n)
	kept := newKeeper(b, &h.lease)
	for i := range h.lease.Reservations {
		r := &h.lease.Reservations[i]
		if !open(r) {
			continue
		}
		need, err := b.need(r)
		if err != nil {
			continue // its pool is gone: nothing can be allocated for it
		}
		h.needs[i], h.targets[i] = need, max(r.Needs(), r.Held())
		for j := range r.Allocations {
			a := &r.Allocations[j]
			if a.State != core.AllocationHeld {
				continue
			}
			if units, why := kept.keeps(need, a, i, j); units < a.Units {
				h.losses[i] = append(h.losses[i], loss{j, a.Units - units, why})
			}
		}
	}
}

// mine returns the hosts on which the lease holds something.
func (h *healing) mine() []Host {
	names := make(map[string]bool)
	for i := range h.lease.Reservations {
		for _, a := range h.lease.Reservations[i].Allocations {
			if a.State == core.AllocationHeld {
				names[a.Host] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(h.ground.Hosts), func(x Host) bool { return !names[x.Name] })
}

// mend allocates what is lost or missing elsewhere.
func (h *healing) mend() {
	var b *book // of all hosts: most leases lack nothing
	for i, n := range h.needs {
		r := &h.lease.Reservations[i]
		if n == nil || len(h.losses[i]) == 0 && r.Held() >= h.targets[i] {
			continue
		}
		if b == nil {
			b = newBook(h.ground, h.ground.Hosts, h.lease.ID, h.in)
			h.enter(b)
		}
		has, held := h.kept(b, i)
		grants := b.place(n, has, h.targets[i]-held, h.in)
		h.apply(b, i, grants)
	}
}

// units returns how many units of an allocation are kept.
func (h *healing) units(i, j int) int {
	a := &h.lease.Reservations[i].Allocations[j]
	if a.State != core.AllocationHeld {
		return 0
	}
	units := a.Units
	for _, x := range h.losses[i] {
		if x.index == j {
			units -= x.units
		}
	}
	return units
}

// enter adds what the lease keeps to a book of the other leases.
func (h *healing) enter(b *book) {
	for i := range h.lease.Reservations {
		r := &h.lease.Reservations[i]
		for j := range r.Allocations {
			if at, known := b.at[r.Allocations[j].Host]; known && h.units(i, j) > 0 {
				b.add(at, b.block(&h.lease, i, j, h.units(i, j), h.in))
			}
		}
	}
}

// kept returns how many units a reservation keeps on each host, and on all.
func (h *healing) kept(b *book, i int) (has map[int]int, all int) {
	has = make(map[int]int)
	for j := range h.lease.Reservations[i].Allocations {
		units := h.units(i, j)
		all += units
		if at, known := b.at[h.lease.Reservations[i].Allocations[j].Host]; known && units > 0 {
			has[at] += units
		}
	}
	return has, all
}

// apply ends what was lost, and allocates what was found instead, first for what was lost just now.
func (h *healing) apply(b *book, i int, grants []grant) {
	r, n, now := &h.lease.Reservations[i], h.needs[i], h.ground.Now
	where := make([]string, 0, len(grants))
	for _, x := range grants {
		where = append(where, b.hosts[x.at].Name)
	}
	found := sum(grants)
	for _, x := range h.losses[i] {
		host := r.Allocations[x.index].Host
		moved := min(found, x.units)
		found -= moved
		if moved > 0 {
			lose(r, loss{x.index, moved, x.why}, core.AllocationMoved, now)
			h.say("%s moved from host %s (%s) to %s", n.what(moved), host, x.why, hosts(where))
		}
		if moved < x.units {
			lose(r, loss{x.index, x.units - moved, x.why}, core.AllocationLost, now)
			h.say("%s lost on host %s (%s): no other host has room", n.what(x.units-moved), host, x.why)
		}
	}
	prune(r)
	if found > 0 {
		was, is := "were", "are"
		if found == 1 {
			was, is = "was", "is"
		}
		h.say("%s that %s missing %s on %s", n.what(found), was, is, hosts(where))
	}
	b.hold(&h.lease, i, n, grants, h.in)
	h.changed[i] = len(grants) > 0
}

func (h *healing) say(format string, args ...any) {
	h.done = append(h.done, fmt.Sprintf(format, args...))
}

// hosts names hosts.
func hosts(names []string) string {
	if len(names) == 1 {
		return "host " + names[0]
	}
	return "hosts " + strings.Join(names, ", ")
}

// flag sets and clears the flags.
func (h *healing) flag() {
	for i, n := range h.needs {
		if n == nil {
			continue
		}
		r := &h.lease.Reservations[i]
		missing, changed := r.Held() < r.Needs(), r.ResourcesChanged
		switch {
		case h.changed[i] && r.State == core.ReservationActive:
			changed = true
		case changed && !missing && h.all(i):
			changed = false
		}
		if missing == r.MissingResources && changed == r.ResourcesChanged {
			continue
		}
		r.MissingResources, r.ResourcesChanged = missing, changed
		switch {
		case missing:
			h.say("reservation %d has %d of %s", i+1, r.Held(), n.what(r.Needs()))
		case !changed:
			h.say("reservation %d has all of %s", i+1, n.what(r.Needs()))
		case len(h.done) == 0:
			h.say("reservation %d waits for VMs of %s", i+1, n.what(r.Needs()))
		}
	}
}

// all reports whether the VMs of a reservation are where it holds units, beside those of the lease's other reservations
// there.
func (h *healing) all(i int) bool {
	r := &h.lease.Reservations[i]
	if r.WholeHosts() {
		return true
	}
	if h.there == nil {
		return false
	}
	holds := make(map[string]int)
	for k := range h.lease.Reservations {
		other := &h.lease.Reservations[k]
		if other.WholeHosts() || other.Pools[0] != r.Pools[0] || !open(other) {
			continue
		}
		for _, a := range other.Allocations {
			if a.State == core.AllocationHeld {
				holds[a.Host] += a.Units
			}
		}
	}
	for _, a := range r.Allocations {
		if a.State == core.AllocationHeld && h.there(a.Host, r.Pools[0]) < holds[a.Host] {
			return false
		}
	}
	return true
}
