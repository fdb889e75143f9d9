package lease

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"drover/core"
)

// unbounded is a number of VMs that no host can have.
const unbounded = int(^uint(0) >> 2)

// lot is a pool, with the size of one unit.
type lot struct {
	core.Pool
	size core.Size
}

// block is units of a pool, or one whole host, that a reservation holds on a host for a time.
type block struct {
	span
	lot   *lot // nil for a whole host
	units int

	since       int64
	lease       string
	reservation int
	together    bool // all units or none
	ending      bool // its lease does not get other room any more: it stays until nothing runs there
	index       int  // of its allocation
}

// older orders blocks by age, after those that cannot go. The last of them are the first to go.
func (b *block) older(other *block) int {
	if b.ending != other.ending {
		if b.ending {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.since, other.since), cmp.Compare(b.lease, other.lease),
		cmp.Compare(b.reservation, other.reservation), cmp.Compare(b.index, other.index))
}

// book is who holds what on which host. Hosts are known by their numbers in order of their names.
type book struct {
	ground  *Ground
	hosts   []Host
	at      map[string]int
	lots    map[string]*lot
	held    [][]block // by host
	touched []bool    // by host: an open lease holds something there, at any time from now on
	journal []int     // hosts that got blocks since the book was made
	edges   []edge    // scratch space of sweep
}

// newBook returns what the ground's leases, but for the excepted one, hold on the given hosts in a time.
func newBook(g *Ground, hosts []Host, except string, in span) *book {
	b := &book{
		ground: g, at: make(map[string]int, len(hosts)), lots: make(map[string]*lot, len(g.Pools)),
		hosts: slices.SortedFunc(slices.Values(hosts), func(a, b Host) int { return strings.Compare(a.Name, b.Name) }),
		held:  make([][]block, len(hosts)), touched: make([]bool, len(hosts)),
	}
	for at := range b.hosts {
		b.at[b.hosts[at].Name] = at
	}
	for _, p := range g.Pools {
		b.lots[p.Name] = &lot{p, p.Size()}
	}
	for i := range g.Leases {
		if l := &g.Leases[i]; l.ID != except && l.State.Open() {
			b.enter(l, span{l.Start, g.until(l)}, in)
		}
	}
	return b
}

// enter adds what a lease holds for a time.
func (b *book) enter(l *core.Lease, its, in span) {
	if its.to <= b.ground.Now {
		return
	}
	for i := range l.Reservations {
		r := &l.Reservations[i]
		for j := range r.Allocations {
			a := &r.Allocations[j]
			if a.State != core.AllocationHeld {
				continue
			}
			at, known := b.at[a.Host]
			if !known {
				continue
			}
			if b.touched[at] = true; its.overlaps(in) {
				b.held[at] = append(b.held[at], b.block(l, i, j, a.Units, its))
			}
		}
	}
}

// block returns what an allocation holds, with so many units of it.
func (b *book) block(l *core.Lease, i, j, units int, its span) block {
	r := &l.Reservations[i]
	n := block{
		span: its, units: units, lease: l.ID, reservation: i, index: j,
		since: r.Allocations[j].Since, together: r.WholeHosts() || r.Affinity == core.AffinityTrue,
		ending: l.State == core.LeaseTerminating || l.State == core.LeaseDeleting,
	}
	if !r.WholeHosts() {
		n.lot = b.pool(r.Pools[0])
	}
	return n
}

// pool returns a pool. One that is unknown takes nothing.
func (b *book) pool(name string) *lot {
	if p := b.lots[name]; p != nil {
		return p
	}
	return &lot{Pool: core.Pool{Name: name, Max: unbounded}}
}

// add adds a block on a host, until the book is turned back.
func (b *book) add(at int, n block) {
	b.held[at], b.journal = append(b.held[at], n), append(b.journal, at)
}

// back removes what was added since the journal had so many lines.
func (b *book) back(lines int) {
	for len(b.journal) > lines {
		at := b.journal[len(b.journal)-1]
		b.held[at], b.journal = b.held[at][:len(b.held[at])-1], b.journal[:len(b.journal)-1]
	}
}

// usage is what is held on a host at one moment.
type usage struct {
	size  core.Size
	vms   int
	units int // of the pool that was asked for
	whole int // reservations of the whole host
	all   int // blocks, these included
}

func (u *usage) add(n *block, p *lot, times int) {
	u.all += times
	if n.lot == nil {
		u.whole += times
		return
	}
	u.size, u.vms = u.size.Less(n.lot.size, -times*n.units), u.vms+times*n.units
	if p != nil && n.lot.Name == p.Name {
		u.units += times * n.units
	}
}

// edge is the begin or end of a block.
type edge struct {
	at    int64
	block *block
	times int // 1 or -1
}

// sweep calls visit for each stretch of a time in which the same blocks are held, in order, with their sum.
func (b *book) sweep(blocks []block, p *lot, in span, visit func(in span, u *usage)) {
	var u usage
	edges := b.edges[:0]
	for i := range blocks {
		n := &blocks[i]
		if !n.overlaps(in) {
			continue
		}
		if n.from > in.from {
			edges = append(edges, edge{n.from, n, 1})
		} else {
			u.add(n, p, 1)
		}
		if n.to < in.to {
			edges = append(edges, edge{n.to, n, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	from := in.from
	for i, e := range edges {
		if e.at > from {
			visit(span{from, e.at}, &u)
			from = e.at
		}
		u.add(edges[i].block, p, e.times)
	}
	visit(span{from, in.to}, &u)
	b.edges = edges
}

// fits returns how many more units of a pool, or whole hosts for nil, fit on a host beside the blocks at every moment of a time, and whether any
// of them is there in it. What counts is the most that is held at one moment: blocks that follow each other share room.
func (b *book) fits(at int, blocks []block, p *lot, in span) (n int, beside bool) {
	n = unbounded
	b.sweep(blocks, p, in, func(_ span, u *usage) {
		room, _ := b.room(at, p, u)
		n, beside = min(n, room), beside || u.all > 0
	})
	return n, beside
}

// room returns how many more units of a pool, or whole hosts for nil, fit on a host at one moment, and what there is not
// enough of for another.
func (b *book) room(at int, p *lot, u *usage) (int, string) {
	switch {
	case u.whole > 0 || p == nil && u.all > 0:
		return 0, "other leases"
	case p == nil:
		return 1, "their number"
	}
	h := &b.hosts[at]
	n, scarce := unbounded, ""
	less := func(left int, what string) {
		if left < n {
			n, scarce = max(left, 0), what
		}
	}
	per := func(has, used, one int64, what string) {
		if one > 0 {
			less(int(max(has-used, 0)/one), what)
		}
	}
	less(p.Max-u.units, "max of pool "+p.Name)
	less(cmp.Or(h.MaxVMs, unbounded)-u.vms, "max VMs of the host")
	per(h.Size.Memory, u.size.Memory, p.size.Memory, "memory")
	per(h.Size.Disk, u.size.Disk, p.size.Disk, "disk")
	per(h.Size.CPU, u.size.CPU, p.size.CPU, "processors")
	return n, scarce
}

// excess returns what is held on a host beyond what it has, in words; nil if nothing is.
func (b *book) excess(at int, blocks []block, in span, visit func(at int64, what string)) {
	h := &b.hosts[at]
	pools := make(map[*lot]bool)
	for i := range blocks {
		if blocks[i].overlaps(in) {
			pools[blocks[i].lot] = true
		}
	}
	b.sweep(blocks, nil, in, func(s span, u *usage) {
		if u.whole > 1 || u.whole > 0 && u.all > u.whole {
			visit(s.from, "a lease that reserves it whole, and another one")
		}
		if lacks := h.Size.Lacks(u.size); lacks != "" {
			visit(s.from, "more "+lacks+" than it has")
		}
		if h.MaxVMs > 0 && u.vms > h.MaxVMs {
			visit(s.from, "more VMs than it may have")
		}
	})
	delete(pools, nil)
	for _, p := range slices.SortedFunc(maps.Keys(pools), func(a, b *lot) int { return strings.Compare(a.Name, b.Name) }) {
		b.sweep(blocks, p, in, func(s span, u *usage) {
			if u.units > p.Max {
				visit(s.from, "more VMs of pool "+p.Name+" than its max")
			}
		})
	}
}
