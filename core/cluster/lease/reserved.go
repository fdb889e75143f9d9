package lease

import (
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/placement"
)

// Phase is what becomes of the pools of a lease in Redis.
type Phase int

// The phases.
const (
	Absent   Phase = iota // nothing of it is in Redis
	Prepared              // its VMs are made; its holders' requests go to the ordinary pools
	Opened                // its holders' requests go to its pools
	Closing               // it takes no more, and its pools are removed once they are empty
)

// PhaseOf returns the phase of a lease at a moment. A lease whose end is being executed keeps what runs for its grace.
func PhaseOf(l *core.Lease, now int64, lead time.Duration) Phase {
	switch l.State {
	case core.LeasePending:
		if now >= l.Start-lead.Milliseconds() {
			return Prepared
		}
	case core.LeaseStarting, core.LeaseActive:
		return Opened
	case core.LeaseTerminating, core.LeaseDeleting:
		return Closing
	case core.LeaseTerminated, core.LeaseError:
	}
	return Absent
}

// LeasedPool returns the pool that stands for one of a lease's pools, by its place in Lease.Pools.
func LeasedPool(l *core.Lease, place int, base core.Pool, phase Phase) core.Pool {
	p := base
	p.Name, p.Of, p.Lease, p.LeaseName = core.LeasedPool(l.ID, place), base.Name, l.ID, l.Name
	p.Warm, p.WarmTotal, p.WarmMost, p.Spread, p.IdleAfter = 0, 0, 0, 0, 0 // what is reserved is all that is kept
	p.BrokenFor = 0                                                        // those who wait for it fail with the pool that it is of
	p.Paused = base.Paused || phase == Closing
	return p
}

// ReservedAt returns what is reserved on hosts now: of leases that are active, and of those whose VMs are being made.
func ReservedAt(leases []core.Lease, pools []core.Pool, now int64, lead time.Duration) placement.Reserved {
	r := placement.Reserved{Pools: make(map[string]map[string]int), Only: make(map[string][]string)}
	for i := range leases {
		l := &leases[i]
		if phase := PhaseOf(l, now, lead); phase != Prepared && phase != Opened {
			continue
		}
		its := l.Pools()
		for j := range l.Reservations {
			reserve(&r, l, &l.Reservations[j], its, pools)
		}
	}
	return r
}

// reserve adds what a reservation holds.
func reserve(r *placement.Reserved, l *core.Lease, of *core.Reservation, its []string, pools []core.Pool) {
	if of.State != core.ReservationPending && of.State != core.ReservationActive {
		return
	}
	for _, held := range of.Allocations {
		if held.State != core.AllocationHeld {
			continue
		}
		if r.Pools[held.Host] == nil {
			r.Pools[held.Host] = make(map[string]int)
		}
		for _, name := range of.Pools {
			leased := core.LeasedPool(l.ID, slices.Index(its, name))
			n := held.Units
			if of.WholeHosts() {
				r.Only[held.Host] = append(r.Only[held.Host], leased)
				n = warm(pools, name)
			}
			r.Pools[held.Host][leased] += n
		}
	}
}

// warm is how many VMs of a pool are kept ready on a host that is reserved as a whole: as on any host, but at least one.
func warm(pools []core.Pool, name string) int {
	for i := range pools {
		if pools[i].Name == name {
			return max(1, pools[i].Warm)
		}
	}
	return 1
}
