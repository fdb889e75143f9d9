package lease

import (
	"cmp"
	"slices"

	"drover/core"
)

// grant is units that a reservation gets on a host.
type grant struct{ at, units int }

// candidate is a host that has room for at least one unit.
type candidate struct {
	at, fits int
	empty    bool // nothing is held there in the time
}

// candidates returns the hosts that can hold units in a time, in the order of packing: those where something is held
// first, and of them those that hold the fewest more.
func (b *book) candidates(n *need, in span) []candidate {
	var out []candidate
	for at := range b.hosts {
		if n.refuses(&b.hosts[at]) != "" {
			continue
		}
		if fits, beside := b.fits(at, b.held[at], n.lot(), in); fits > 0 {
			out = append(out, candidate{at, fits, !beside})
		}
	}
	slices.SortFunc(out, func(x, y candidate) int {
		if x.empty != y.empty {
			if x.empty {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(x.fits, y.fits), cmp.Compare(x.at, y.at))
	})
	return out
}

// place returns where so many more units or hosts of a reservation can be in a time, beside what it has on the given
// hosts. What it returns is as many as there are: fewer than asked for, or none of units that must be together.
func (b *book) place(n *need, has map[int]int, missing int, in span) []grant {
	switch {
	case missing <= 0:
		return nil
	case n.whole:
		return b.whole(n, missing, in)
	}
	all := b.candidates(n, in)
	switch n.affinity {
	case core.AffinityTrue:
		return together(all, has, missing)
	case core.AffinityFalse:
		return apart(all, has, missing)
	default:
		return packed(all, missing)
	}
}

// together places units on one host: the one where the reservation has units already, else the fullest.
func together(all []candidate, has map[int]int, missing int) []grant {
	for _, c := range all {
		if c.fits >= missing && (len(has) == 0 || has[c.at] > 0) {
			return []grant{{c.at, missing}}
		}
	}
	return nil
}

// apart places units each on another host.
func apart(all []candidate, has map[int]int, missing int) []grant {
	var out []grant
	for _, c := range all {
		if has[c.at] == 0 && len(out) < missing {
			out = append(out, grant{c.at, 1})
		}
	}
	return out
}

// packed fills hosts one after the other. Empty ones come last, and then as few as can be: the smallest that holds all
// that is left, or the largest.
func packed(all []candidate, missing int) []grant {
	var out []grant
	take := func(c candidate) {
		out = append(out, grant{c.at, min(c.fits, missing)})
		missing -= min(c.fits, missing)
	}
	for len(all) > 0 && missing > 0 {
		if !all[0].empty {
			take(all[0])
			all = all[1:]
			continue
		}
		enough := min(missing, all[len(all)-1].fits)
		i, _ := slices.BinarySearchFunc(all, enough, func(c candidate, enough int) int {
			return cmp.Or(cmp.Compare(c.fits, enough), 1) // the first by name of those that hold as many
		})
		take(all[i])
		all = slices.Delete(all, i, i+1)
	}
	return out
}

// whole places whole hosts: first those where no lease holds anything at any time.
func (b *book) whole(n *need, missing int, in span) []grant {
	var out []grant
	for _, touched := range []bool{false, true} {
		for at := range b.hosts {
			if len(out) < missing && b.touched[at] == touched && !b.used(at, in) && n.refuses(&b.hosts[at]) == "" {
				out = append(out, grant{at, 1})
			}
		}
	}
	return out
}

// used reports whether anything is held on a host in a time.
func (b *book) used(at int, in span) bool {
	return slices.ContainsFunc(b.held[at], func(n block) bool { return n.overlaps(in) })
}

// has returns how many units of a reservation are held on each host of the book.
func (b *book) has(r *core.Reservation) map[int]int {
	out := make(map[int]int)
	for i := range r.Allocations {
		a := &r.Allocations[i]
		if at, known := b.at[a.Host]; known && a.State == core.AllocationHeld && a.Units > 0 {
			out[at] += a.Units
		}
	}
	return out
}
