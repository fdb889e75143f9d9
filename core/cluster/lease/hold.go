package lease

import (
	"slices"

	"drover/core"
)

// hold allocates what was found to a reservation, and enters it into the book. Units join those that the reservation got
// on the host at the same moment, or that they must stay together with.
func (b *book) hold(l *core.Lease, i int, n *need, grants []grant, in span) {
	r, now := &l.Reservations[i], b.ground.Now
	before := len(r.Allocations)
	for _, x := range grants {
		host := b.hosts[x.at].Name
		j := slices.IndexFunc(r.Allocations[:before], func(a core.Allocation) bool {
			return a.Host == host && a.State == core.AllocationHeld && !n.whole && (a.Since == now || n.affinity == core.AffinityTrue)
		})
		if j >= 0 {
			r.Allocations[j].Units += x.units
		} else {
			j = len(r.Allocations)
			r.Allocations = append(r.Allocations, core.Allocation{Host: host, Units: x.units, State: core.AllocationHeld, Since: now})
		}
		b.add(x.at, b.block(l, i, j, x.units, in))
	}
}

// FreeUnused frees what a lease that is ending does not use any more, and reports whether there was something: units of a
// pool on a host beyond the VMs in which requests run there, and whole hosts on which none do. Used returns how many VMs of
// the lease for requests of a pool are in use on a host.
func FreeUnused(l core.Lease, now int64, used func(host, pool string) int) (core.Lease, bool) {
	out, freed := l.Clone(), false
	left := make(map[[2]string]int) // by host and pool: VMs in use that no allocation before stands for
	for i := range out.Reservations {
		r := &out.Reservations[i]
		if !open(r) {
			continue
		}
		for j := range r.Allocations {
			a := &r.Allocations[j]
			if a.State != core.AllocationHeld {
				continue
			}
			vms := 0
			for _, pool := range r.Pools {
				at := [2]string{a.Host, pool}
				if _, known := left[at]; !known {
					left[at] = used(a.Host, pool)
				}
				vms += left[at]
				left[at] -= min(left[at], a.Units)
			}
			if unused := a.Units - vms; unused > 0 {
				lose(r, loss{j, unused, "its lease ends, and nothing runs there"}, core.AllocationFreed, now)
				freed = true
			}
		}
		prune(r)
	}
	return out, freed
}

// loss is units of an allocation that its host does not hold any more.
type loss struct {
	index, units int
	why          string
}

// lose ends units of an allocation. One that has none left stays until prune, so that losses keep naming allocations.
func lose(r *core.Reservation, x loss, state core.AllocationState, now int64) {
	a := &r.Allocations[x.index]
	a.Units -= x.units
	r.Allocations = append(r.Allocations, core.Allocation{Host: a.Host, Units: x.units, State: state, Since: a.Since, Until: now, Why: x.why})
}

// prune drops allocations that have no units left, and of past ones the first beyond MaxPastAllocations.
func prune(r *core.Reservation) {
	past := 0
	for i := range r.Allocations {
		if r.Allocations[i].State != core.AllocationHeld {
			past++
		}
	}
	kept := r.Allocations[:0]
	for _, a := range r.Allocations {
		switch {
		case a.State == core.AllocationHeld && a.Units == 0:
		case a.State != core.AllocationHeld && past > core.MaxPastAllocations:
			past--
		default:
			kept = append(kept, a)
		}
	}
	r.Allocations = kept
}
