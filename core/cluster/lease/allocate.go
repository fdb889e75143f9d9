package lease

import (
	"cmp"
	"slices"
	"time"

	"drover/core"
)

// Allocate gives each reservation of a lease what it lacks, and returns the lease with it: for the time from now or its
// start until its end, its grace and the cleaning after it are over, beside what all other leases hold then. What a
// reservation that has not started holds and its lease cannot keep in that time is moved, and what it does not need is
// freed.
//
// Units go to hosts where something is held in that time before empty ones, and of those to the fullest, so that large
// units and whole hosts find room later. Whole hosts are first those that no lease ever touches. Within a lease, what
// is harder to place is placed first; that is a heuristic for several reservations, and exact for one.
//
// Returns INVALID if even the empty cluster could not hold it, and FULL with what is free when. Nothing is allocated
// then.
func (g Ground) Allocate(l core.Lease) (core.Lease, error) {
	in := g.window(&l)
	if in.empty() {
		return l, core.Errorf(core.CodeInvalid, l.ID, "the lease ends at %s, and it is %s: choose a later end", moment(in.to), moment(g.Now))
	}
	b := newBook(&g, g.Hosts, l.ID, in)
	needs, err := b.needs(&l)
	if err != nil {
		return l, err
	}
	out := l.Clone()
	short := b.allocate(&out, needs, in)
	if short == nil {
		return out, nil
	}
	if err := g.never(l); err != nil {
		return l, err
	}
	return l, g.full(l, short, needs[short.reservation], in)
}

// needs returns what each reservation of a lease asks for; nil for those that ask for nothing any more.
func (b *book) needs(l *core.Lease) ([]*need, error) {
	needs := make([]*need, len(l.Reservations))
	for i := range l.Reservations {
		if r := &l.Reservations[i]; open(r) {
			var err error
			if needs[i], err = b.need(r); err != nil {
				return nil, err
			}
		}
	}
	return needs, nil
}

// shortage is what there is too little of.
type shortage struct {
	reservation int
	found       int // units or hosts that there are
	why         string
}

// allocate changes the lease as Allocate does, and the book with it; it returns the first shortage.
func (b *book) allocate(l *core.Lease, needs []*need, in span) *shortage {
	for i, n := range needs {
		if n != nil {
			if s := b.keep(l, i, n, in); s != nil {
				return s
			}
		}
	}
	for _, i := range hardest(needs, l.Reservations) {
		r := &l.Reservations[i]
		if missing := r.Needs() - r.Held(); missing > 0 {
			grants := b.place(needs[i], b.has(r), missing, in)
			if found := sum(grants); found < missing {
				if r.Affinity == core.AffinityTrue {
					found = b.most(needs[i], b.has(r), in)
				}
				return &shortage{reservation: i, found: r.Held() + found}
			}
			b.hold(l, i, needs[i], grants, in)
		}
	}
	for i, n := range needs {
		r := &l.Reservations[i]
		if n != nil && n.whole {
			b.hold(l, i, n, b.place(n, nil, r.MaxHosts-r.Held(), in), in)
		}
		prune(r)
	}
	return nil
}

// most returns the most units that one host can hold.
func (b *book) most(n *need, has map[int]int, in span) int {
	most := 0
	for _, c := range b.candidates(n, in) {
		if len(has) == 0 || has[c.at] > 0 {
			most = max(most, c.fits)
		}
	}
	return most
}

// hardest returns the places of reservations that ask for something, those that fewest hosts can hold first.
func hardest(needs []*need, all []core.Reservation) []int {
	var order []int
	for i, n := range needs {
		if n != nil {
			order = append(order, i)
		}
	}
	rank := func(i int) int {
		switch {
		case needs[i].whole:
			return 0
		case needs[i].affinity == core.AffinityTrue:
			return 1
		case needs[i].affinity == core.AffinityFalse:
			return 2
		}
		return 3
	}
	size := func(i int) int64 {
		if needs[i].whole {
			return 0
		}
		return needs[i].lots[0].size.Memory * int64(all[i].Units)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(rank(i), rank(j)), cmp.Compare(size(j), size(i)))
	})
	return order
}

func sum(grants []grant) int {
	n := 0
	for _, x := range grants {
		n += x.units
	}
	return n
}

// keep enters what a reservation holds into the book, and ends what it cannot keep or does not need. What is out of
// order on hosts is left to Heal. What is in use already cannot be moved for a change of its lease.
func (b *book) keep(l *core.Lease, i int, n *need, in span) *shortage {
	r := &l.Reservations[i]
	most := r.Needs()
	if n.whole {
		most = max(most, r.MaxHosts)
	}
	held, losses := 0, []loss(nil)
	has := make(map[int]int)
	for j := range r.Allocations {
		a := &r.Allocations[j]
		at, known := b.at[a.Host]
		if a.State != core.AllocationHeld {
			continue
		}
		if !known {
			held += a.Units
			continue
		}
		keeps, why := b.keeps(at, n, r, a, has, in)
		if surplus := held + keeps - most; surplus > 0 {
			keeps, why = keeps-surplus, "fewer are needed"
		}
		if keeps < a.Units {
			losses = append(losses, loss{j, a.Units - keeps, why})
		}
		if keeps > 0 {
			b.add(at, b.block(l, i, j, keeps, in))
		}
		held, has[at] = held+keeps, has[at]+keeps
	}
	active := r.State == core.ReservationActive
	for _, x := range losses {
		if active && x.why != "fewer are needed" {
			a := &r.Allocations[x.index]
			return &shortage{reservation: i, why: "host " + a.Host + " " + x.why}
		}
	}
	for _, x := range losses {
		state := core.AllocationMoved
		if x.why == "fewer are needed" {
			state = core.AllocationFreed
		}
		lose(r, x, state, b.ground.Now)
	}
	return nil
}

// keeps returns how many units of an allocation its host can go on holding in a time, and why not more.
func (b *book) keeps(at int, n *need, r *core.Reservation, a *core.Allocation, has map[int]int, in span) (int, string) {
	if why := n.unfit(&b.hosts[at]); why != "" {
		return 0, why
	}
	switch {
	case n.affinity == core.AffinityTrue && len(has) > 0 && has[at] == 0:
		return 0, "is another one than that of the other units"
	case n.affinity == core.AffinityFalse && has[at] > 0:
		return 0, "has another unit"
	}
	fits, _ := b.fits(at, b.held[at], n.lot(), in)
	switch {
	case n.affinity == core.AffinityFalse:
		fits = min(fits, 1)
	case n.affinity == core.AffinityTrue && fits < r.Needs() && (fits < a.Units || r.State == core.ReservationPending):
		fits = 0
	}
	return min(a.Units, fits), "has no room for it beside other leases then"
}

// moment writes a moment as people read it.
func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04 UTC") }
