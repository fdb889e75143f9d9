package placement

import (
	"cmp"
	"iter"
	"slices"

	"drover/core"
)

// ranking orders hosts by their room, and follows as it shrinks. Moves are collected until the order is asked for.
type ranking struct {
	order []int       // hosts, the one with the least room first; among equals the last by name
	room  []core.Size // by host, as they are ordered
	stale []int       // hosts whose room has changed since
	is    []bool      // by host: it is in stale
}

func newRanking(free []core.Size) ranking {
	r := ranking{order: make([]int, len(free)), room: slices.Clone(free), is: make([]bool, len(free))}
	for at := range r.order {
		r.order[at] = at
	}
	r.sort()
	return r
}

func (r *ranking) compare(a, b int) int {
	return cmp.Or(compare(r.room[a], r.room[b]), cmp.Compare(b, a))
}

func (r *ranking) sort() { slices.SortFunc(r.order, r.compare) }

// moved notes that a host's room has changed.
func (r *ranking) moved(at int) {
	if !r.is[at] {
		r.is[at], r.stale = true, append(r.stale, at)
	}
}

// few hosts are moved one by one; more than these are sorted with all others.
const few = 64

// follow brings the order up to date.
func (r *ranking) follow(free []core.Size) {
	all := len(r.stale) > few
	for _, at := range r.stale {
		r.is[at] = false
		if all {
			r.room[at] = free[at]
			continue
		}
		from, _ := slices.BinarySearchFunc(r.order, at, r.compare)
		r.order = slices.Delete(r.order, from, from+1)
		r.room[at] = free[at]
		to, _ := slices.BinarySearchFunc(r.order, at, r.compare)
		r.order = slices.Insert(r.order, to, at)
	}
	if all {
		r.sort()
	}
	r.stale = r.stale[:0]
}

// ascending returns the hosts, the one with the least room first.
func (r *ranking) ascending(free []core.Size) iter.Seq[int] {
	r.follow(free)
	return slices.Values(r.order)
}

// descending returns the hosts, the one with the most room first.
func (r *ranking) descending(free []core.Size) iter.Seq[int] {
	r.follow(free)
	return func(yield func(int) bool) {
		for i := len(r.order) - 1; i >= 0; i-- {
			if !yield(r.order[i]) {
				return
			}
		}
	}
}

// bits are a set of hosts.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) set(at int) { b[at/64] |= 1 << (at % 64) }

func (b bits) clear(at int) { b[at/64] &^= 1 << (at % 64) }

func (b bits) has(at int) bool { return b[at/64]&(1<<(at%64)) != 0 }

// from returns the hosts of the set from one on, and then those before it.
func (b bits) from(start int) iter.Seq[int] {
	return func(yield func(int) bool) {
		n := len(b) * 64
		for i := range n {
			at := (start + i) % n
			if b[at/64] == 0 {
				continue
			}
			if b.has(at) && !yield(at) {
				return
			}
		}
	}
}
