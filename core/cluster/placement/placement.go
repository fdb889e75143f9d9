// Package placement says which host takes which work: pure functions without
// clock, chance or I/O, so that whoever computes gets the same answer.
//
// Work that a host lost, or is about to give up, is placed in rounds. A round
// takes needs in their order and claims what each takes, so that it never
// overbooks; what fits nowhere is told as such, and holds back nobody behind it.
package placement

import (
	"cmp"
	"maps"
	"slices"

	"drover/core"
)

// Need is a request that looks for a host, with the size of its pool's VMs.
type Need struct {
	Key       string
	Pool      string
	Priority  core.Priority
	Submitted int64 // ms since 1970

	CPU    int64 // thousandths of a processor; 0: the pool does not say
	Memory int64 // bytes
	Disk   int64 // bytes
}

// Move is where a request goes. To is "" if it fits nowhere.
type Move struct {
	Key string
	To  string
}

// Compare orders needs: the heavier class first, then who was submitted earlier;
// the key, so that there is one order only.
func (n Need) Compare(other Need) int {
	priorities := core.Priorities()
	return cmp.Or(
		cmp.Compare(slices.Index(priorities, n.Priority), slices.Index(priorities, other.Priority)),
		cmp.Compare(n.Submitted, other.Submitted),
		cmp.Compare(n.Key, other.Key),
	)
}

// Place finds a host for each need, in the order of Compare, and answers in it.
// An idle VM costs nothing more, so hosts that have one come first; elsewhere one
// more VM must be allowed and fit, exactly is enough. Among equals it is the host
// where the least is left over, then the first by name. What it is given it leaves as it is.
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

// best is the room that takes the need; nil if none does.
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
	within := func(need, free int64) bool { return need == 0 || need <= free }
	return pool.Idle > 0 ||
		pool.More > 0 && within(n.CPU, r.CPU) && within(n.Memory, r.Memory) && within(n.Disk, r.Disk)
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
	return cmp.Or(
		cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.Disk, b.Disk), cmp.Compare(a.Host, b.Host),
	)
}

// claim takes what the need uses of a room.
func (n Need) claim(r *core.Room) {
	pool := r.Pools[n.Pool]
	if pool.Idle > 0 {
		pool.Idle--
	} else {
		pool.More--
		r.CPU, r.Memory, r.Disk = r.CPU-n.CPU, r.Memory-n.Memory, r.Disk-n.Disk
	}
	r.Pools[n.Pool] = pool
}
