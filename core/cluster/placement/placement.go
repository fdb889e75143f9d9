// Package placement decides which host takes which work. Its functions are pure: without clock, randomness or I/O, so
// that every caller gets the same answer.
//
// Targets decides how many clean VMs of each pool each host should hold. Place finds hosts for work that a host lost,
// or is about to give up: it handles needs in order and subtracts what each takes, so that it never overbooks. A need
// that fits nowhere is returned as such, and does not hold back those behind it.
package placement

import (
	"cmp"
	"maps"
	"slices"

	"drover/core"
)

// Need is a request that needs a host, with the size of its pool's VMs.
type Need struct {
	Key       string
	Pool      string
	Priority  core.Priority
	Submitted int64 // ms since 1970

	core.Size // of a VM; 0: not known
}

// Move is the decision for one request. To is "" if it fits nowhere.
type Move struct {
	Key string
	To  string
}

// Compare orders needs by priority, then by time of submission, then by key, which makes the order unique.
func (n Need) Compare(other Need) int {
	priorities := core.Priorities()
	return cmp.Or(
		cmp.Compare(slices.Index(priorities, n.Priority), slices.Index(priorities, other.Priority)),
		cmp.Compare(n.Submitted, other.Submitted),
		cmp.Compare(n.Key, other.Key),
	)
}

// Place chooses a host for each need and returns the moves in the order of Compare. An idle VM costs nothing, so
// hosts that have one come first; elsewhere one more VM must be allowed and fit. Among equals it chooses the host
// with the least left over, then the first by name. Place does not change its arguments.
func Place(needs []Need, rooms []core.Room) []Move {
	free := make([]core.Room, len(rooms))
	for i, r := range rooms {
		free[i] = r
		free[i].Pools = maps.Clone(r.Pools)
	}
	ordered := slices.SortedFunc(slices.Values(needs), Need.Compare)
	moves := make([]Move, len(ordered))
	for i, n := range ordered {
		moves[i].Key = n.Key
		if best := n.best(free); best != nil {
			moves[i].To = best.Host
			n.claim(best)
		}
	}
	return moves
}

// best returns the best room for the need; nil if it fits nowhere.
func (n Need) best(free []core.Room) *core.Room {
	var best *core.Room
	for i := range free {
		if r := &free[i]; n.fits(*r) && (best == nil || n.prefer(*r, *best) < 0) {
			best = r
		}
	}
	return best
}

// fits reports whether a room can take the need.
func (n Need) fits(r core.Room) bool {
	pool := r.Pools[n.Pool]
	return pool.Idle > 0 || pool.More > 0 && r.Lacks(n.Size) == ""
}

// prefer orders rooms that both fit, the better one first.
func (n Need) prefer(a, b core.Room) int {
	idle, other := a.Pools[n.Pool].Idle, b.Pools[n.Pool].Idle
	switch {
	case idle > 0 && other > 0:
		return cmp.Or(cmp.Compare(idle, other), cmp.Compare(a.Host, b.Host))
	case idle > 0:
		return -1
	case other > 0:
		return 1
	}
	return cmp.Or(compare(a.Size, b.Size), cmp.Compare(a.Host, b.Host))
}

// claim subtracts what the need uses from a room.
func (n Need) claim(r *core.Room) {
	pool := r.Pools[n.Pool]
	if pool.Idle > 0 {
		pool.Idle--
	} else {
		pool.More--
		r.Size = r.Less(n.Size, 1)
	}
	r.Pools[n.Pool] = pool
}
