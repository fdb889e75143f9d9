package lease

import (
	"drover/core"
)

// hold adds units on a host to a reservation. They join those that it got there at the same moment, or that they must
// stay together with.
func hold(r *core.Reservation, host string, units int, now int64) {
	for i := range r.Allocations {
		a := &r.Allocations[i]
		if a.State == core.AllocationHeld && a.Host == host && (a.Since == now || r.Affinity == core.AffinityTrue) && !r.WholeHosts() {
			a.Units += units
			return
		}
	}
	r.Allocations = append(r.Allocations, core.Allocation{Host: host, Units: units, State: core.AllocationHeld, Since: now})
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
