package lease

import (
	"slices"

	"drover/core"
)

// keeper finds what hosts go on holding of a lease beside older allocations.
type keeper struct {
	book  *book
	lease *core.Lease
	kept  []map[place]int // by host, once it was asked for: units that stay of each allocation; nil if all stay
	known []bool
}

// place names an allocation.
type place struct {
	lease              string
	reservation, index int
}

func newKeeper(b *book, l *core.Lease) *keeper {
	return &keeper{book: b, lease: l, kept: make([]map[place]int, len(b.hosts)), known: make([]bool, len(b.hosts))}
}

// keeps returns how many units of an allocation its host goes on holding, and why not more.
func (k *keeper) keeps(n *need, a *core.Allocation, i, j int) (int, string) {
	at, known := k.book.at[a.Host]
	switch {
	case k.book.ground.Gone[a.Host]:
		return 0, "is gone"
	case !known || k.book.ground.Far || k.book.hosts[at].Keeps:
		return a.Units, ""
	}
	host := k.book.hosts[at]
	host.Broken = slices.DeleteFunc(slices.Clone(host.Broken), func(pool string) bool { return slices.Contains(host.Flaps, pool) })
	if why := n.refuses(&host); why != "" {
		return 0, why
	}
	if !k.known[at] {
		k.kept[at], k.known[at] = k.on(at), true
	}
	if k.kept[at] == nil {
		return a.Units, ""
	}
	units := k.kept[at][place{k.lease.ID, i, j}]
	if n.whole {
		return units, "is held by another lease too"
	}
	return units, "does not have room for all that is held there any more"
}

// on returns what a host goes on holding: the oldest first, of each as much as fits beside the older ones. It returns
// nil if that is all. What the host cannot hold for another reason does not count: it goes in any case. What is ending
// stays in any case.
func (k *keeper) on(at int) map[place]int {
	b := k.book
	over := false
	b.excess(at, b.held[at], span{b.ground.Now, forever}, func(int64, string) { over = true })
	if !over {
		return nil
	}
	all := slices.Clone(b.held[at])
	slices.SortFunc(all, func(x, y block) int { return x.older(&y) })
	out, staying := make(map[place]int), make([]block, 0, len(all))
	needs := make(map[place]*need)
	for _, n := range all {
		if n.ending {
			staying = append(staying, n)
			continue
		}
		of := place{n.lease, n.reservation, 0}
		if needs[of] == nil {
			needs[of] = k.need(of)
		}
		if needs[of].refuses(&b.hosts[at]) != "" {
			continue
		}
		fits, _ := b.fits(at, staying, n.lot, n.span)
		if n.together && fits < n.units {
			fits = 0
		}
		if n.units = min(n.units, fits); n.units > 0 {
			staying = append(staying, n)
			out[place{n.lease, n.reservation, n.index}] = n.units
		}
	}
	return out
}

// need returns what a reservation of any lease asks for; nothing can be held of one that asks for what there is not.
func (k *keeper) need(of place) *need {
	l := k.lease
	if of.lease != l.ID {
		i := slices.IndexFunc(k.book.ground.Leases, func(other core.Lease) bool { return other.ID == of.lease })
		l = &k.book.ground.Leases[i]
	}
	if n, err := k.book.need(&l.Reservations[of.reservation]); err == nil {
		return n
	}
	return &need{lots: []*lot{{}}}
}
