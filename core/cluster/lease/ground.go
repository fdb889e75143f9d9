package lease

import (
	"time"

	"drover/core"
)

// Host is what reservations depend on of a host.
type Host struct {
	Name   string
	Size   core.Size         // what it has for all its VMs
	MaxVMs int               // 0: no limit but its size
	Serves []string          // pools whose VMs it makes
	Broken []string          // pools of these whose VMs cannot be made there now
	Flaps  []string          // pools of Broken that are so for a moment only: what is held there stays
	Labels map[string]string // what requirements ask for
	Out    string            // why it gets no reservations now; "": it does
	Keeps  bool              // although it is out, it goes on holding those that it has
}

// Ground is what leases are decided by.
type Ground struct {
	Now      int64 // ms since 1970
	Hosts    []Host
	Pools    []core.Pool
	Leases   []core.Lease  // all open ones
	Cleaning time.Duration // time between two leases of the same room

	// Gone are hosts that are no more. Of another one that is not among the hosts Redis knows nothing yet, so it goes on
	// holding what it has.
	Gone map[string]bool
	// Far heals leases that begin in a while: what becomes of hosts until then nobody knows, so of what they have only
	// that on hosts that are gone is lost, and what is missing is found.
	Far bool
}

// over returns when a lease is to be over, and its VMs gone.
func (g *Ground) over(l *core.Lease) int64 {
	return l.End + (l.Grace + g.Cleaning).Milliseconds()
}

// until returns when others can have the room that a lease holds. One that was to be over by now, and is not, since work
// that must not run twice goes on or no overseer was there to end it, has its room for as long as what runs there may last.
func (g *Ground) until(l *core.Lease) int64 {
	if l.State == core.LeasePending || g.Now < l.End+l.Grace.Milliseconds() {
		return g.over(l)
	}
	longest := time.Minute
	for i := range g.Pools {
		if p := &g.Pools[i]; l.Reserves(p.Name) {
			longest = max(longest, p.StageTimeout+p.Limits.Timeout)
		}
	}
	return max(g.over(l), g.Now+(longest+g.Cleaning).Milliseconds())
}

// window returns the time in which the lease is to have room from now on.
func (g *Ground) window(l *core.Lease) span { return span{max(g.Now, l.Start), g.over(l)} }

// span is a time from one moment to just before another.
type span struct{ from, to int64 }

// forever is all time.
const forever = 1<<63 - 1

// empty reports whether no moment is in s.
func (s span) empty() bool { return s.from >= s.to }

// overlaps reports whether a moment is in both. That at which one ends is not.
func (s span) overlaps(other span) bool { return s.from < other.to && other.from < s.to }

// open reports whether a reservation holds room, or is to hold some.
func open(r *core.Reservation) bool {
	return r.State == core.ReservationPending || r.State == core.ReservationActive
}
