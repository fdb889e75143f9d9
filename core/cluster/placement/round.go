package placement

import (
	"cmp"
	"container/heap"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"drover/core"
)

// round deals out VMs. Hosts are known by their numbers in order of their names.
type round struct {
	hosts []Host
	free  []core.Size // of each host: without what stays and what was dealt out
	vms   []int       // of each host: more VMs that it may have
	owes  []bool      // of each host: others are to leave room there, which is reserved
	ranks ranking
	lots  []*lot // in the order in which equals get theirs
	lot   map[string]*lot
}

// lot is a pool during a round.
type lot struct {
	Pool
	rank   int
	size   core.Size
	cells  map[int]*cell // by host: where it has VMs or gets some
	kept   []int         // hosts that have VMs which it did not get yet
	served bits          // hosts that may get some
	others bits          // those of them that may have room for others
	total  int           // VMs that stay, and got
	got    int
	spare  int  // how many it wants beyond what it got for waiting work; in the last step, with these
	spread int  // hosts where it got some
	last   int  // host of its last VM, for next-fit
	short  bool // it did not get what it wants
}

// cell is one pool on one host.
type cell struct {
	VMs
	held int // have room already
	got  int

	reserved int // of those that it got
	ends     int // busy ones whose room another pool gets
}

const unbounded = int(^uint(0) >> 2)

func newRound(hosts []Host, pools []Pool) *round {
	r := &round{
		hosts: slices.SortedFunc(slices.Values(hosts), func(a, b Host) int { return strings.Compare(a.Name, b.Name) }),
		free:  make([]core.Size, len(hosts)), vms: make([]int, len(hosts)), owes: make([]bool, len(hosts)),
		lot: make(map[string]*lot, len(pools)),
	}
	for _, p := range pools {
		l := &lot{Pool: p, size: p.Size(), cells: make(map[int]*cell), served: newBits(len(hosts)), last: -1}
		r.lots, r.lot[p.Name] = append(r.lots, l), l
	}
	slices.SortFunc(r.lots, (*lot).order)
	for i, p := range r.lots {
		p.rank = i
	}
	for at := range r.hosts {
		h := &r.hosts[at]
		r.free[at], r.vms[at] = h.Size, cmp.Or(h.MaxVMs, unbounded)
		for name, vms := range h.VMs {
			if p := r.lot[name]; p != nil {
				r.stay(p, at, vms)
			}
		}
	}
	r.serve()
	r.ranks = newRanking(r.free)
	return r
}

// stay records the VMs of a pool that a host has.
func (r *round) stay(p *lot, at int, vms VMs) {
	p.cells[at] = &cell{VMs: vms}
	p.total += vms.Busy
	r.free[at], r.vms[at] = r.free[at].Less(p.size, vms.Busy), r.vms[at]-vms.Busy
}

// serve records where each pool may get VMs.
func (r *round) serve() {
	var served []*lot
	var names []string
	for at := range r.hosts {
		h := &r.hosts[at]
		if h.Opening > Late {
			continue
		}
		// Most hosts serve the same pools: their names are looked up once.
		if served == nil || !slices.Equal(names, h.Serves) {
			names, served = h.Serves, r.serves(h)
		}
		for _, p := range served {
			p.served.set(at)
		}
	}
	for _, p := range r.lots {
		p.others = slices.Clone(p.served)
		for _, at := range slices.Sorted(maps.Keys(p.cells)) {
			if p.cells[at].Clean > 0 && p.others.has(at) {
				p.kept, p.last = append(p.kept, at), at
			}
		}
	}
	for at := range r.hosts {
		for name, broken := range r.hosts[at].Broken {
			if p := r.lot[name]; p != nil && broken {
				p.others.clear(at)
			}
		}
	}
}

// hold begins to deal for something else, with the room of what was dealt out already: first anew, and the second time
// where it was before the first.
func (r *round) hold() {
	for _, p := range r.lots {
		p.total, p.got, p.spread, p.short = p.total-p.got, 0, 0, false
		for _, at := range slices.Sorted(maps.Keys(p.cells)) {
			c := p.cells[at]
			if c.got, c.held = c.held, max(c.held, c.got); c.got > 0 {
				p.total, p.got, p.spread = p.total+c.got, p.got+c.got, p.spread+1
			}
			if c.held > c.got && r.hosts[at].Opening <= Late && !slices.Contains(p.kept, at) {
				p.kept = append(p.kept, at)
			}
		}
	}
}

// serves returns the pools that a host serves, in the order of the round.
func (r *round) serves(h *Host) []*lot {
	served := make([]*lot, 0, len(h.Serves))
	for _, name := range h.Serves {
		if p := r.lot[name]; p != nil {
			served = append(served, p)
		}
	}
	slices.SortFunc(served, func(a, b *lot) int { return cmp.Compare(a.rank, b.rank) })
	return served
}

// fits reports whether a host has room for one more VM of the pool, made or to be made.
func (r *round) fits(p *lot, at int) bool {
	var c cell
	if has := p.cells[at]; has != nil {
		c = *has
	}
	if c.held > c.got {
		return true
	}
	h := &r.hosts[at]
	makes := !p.Paused && h.Opening != Late && (c.got == 0 || !h.Broken[p.Name])
	return c.Busy+c.got < p.Max && (makes || c.Clean > c.got) && r.vms[at] > 0 && r.free[at].Lacks(p.size) == ""
}

// cell returns a pool's cell on a host.
func (r *round) cell(p *lot, at int) *cell {
	if p.cells[at] == nil {
		p.cells[at] = &cell{}
	}
	return p.cells[at]
}

// give gives a host one more VM of the pool.
func (r *round) give(p *lot, at int) {
	c := r.cell(p, at)
	if c.got == 0 {
		p.spread++
	}
	if c.got >= c.Clean {
		p.last = at
	}
	c.got++
	p.got++
	p.total++
	if c.got > c.held {
		r.free[at], r.vms[at] = r.free[at].Less(p.size, 1), r.vms[at]-1
		r.ranks.moved(at)
	}
}

// dealAssigned deals out VMs for the requests that only one host takes.
func (r *round) dealAssigned() {
	for at := range r.hosts {
		h := &r.hosts[at]
		if h.Opening != Shut && len(h.Assigned) > 0 {
			served := slices.DeleteFunc(r.serves(h), func(p *lot) bool { return h.Assigned[p.Name] == 0 })
			r.dealOn(at, served, func(p *lot) int { return h.Assigned[p.Name] })
		}
	}
}

// dealWaiting deals out VMs for the requests that wait, and notes who wants spare ones.
func (r *round) dealWaiting() {
	r.deal(func(p *lot) int {
		if p.Paused {
			return 0
		}
		return p.Waiting
	})
	for _, p := range r.lots {
		if p.Paused {
			continue
		}
		if p.spare = p.Waiting - p.got; p.Waiting > 0 {
			p.spare += headroom
		}
		p.spare = max(0, p.spare)
	}
}

// dealSpare deals out the spare ones, beside what was dealt out for waiting work. It is the last step: the round goes on
// without the pools that want none.
func (r *round) dealSpare() {
	r.lots = slices.DeleteFunc(r.lots, func(p *lot) bool { return p.spare == 0 })
	r.hold()
	for _, p := range r.lots {
		p.spare += p.got
	}
	r.deal(func(p *lot) int { return p.spare })
}

// dealTrials deals out one VM for each pool that wants any on each host that gets nothing else of it: one on probation,
// or one where its VMs cannot be made. Only so it is found out that the host or the pool works again. Nothing relies on
// these VMs.
func (r *round) dealTrials(wants func(*lot) bool) {
	for at := range r.hosts {
		h := &r.hosts[at]
		if h.Opening == Shut || h.Opening == Late {
			continue
		}
		if h.Opening != Trial && len(h.Broken) == 0 {
			continue
		}
		tried := slices.DeleteFunc(r.serves(h), func(p *lot) bool { return !wants(p) || h.Opening == Open && !h.Broken[p.Name] })
		r.dealOn(at, tried, func(*lot) int { return 1 })
	}
}

// dealWarm deals out what pools keep warm on each host that serves them.
func (r *round) dealWarm() {
	var served []*lot
	var names []string
	for at := range r.hosts {
		h := &r.hosts[at]
		if h.Opening == Shut {
			continue
		}
		if served == nil || !slices.Equal(names, h.Serves) {
			names = h.Serves
			served = slices.DeleteFunc(r.serves(h), func(p *lot) bool { return p.Warm == 0 || p.Asleep })
		}
		r.dealOn(at, served, func(p *lot) int { return p.Warm })
	}
}

// dealOn deals out VMs on one host, each to the pool that has the fewest there, until each has what it wants there, or
// nothing fits.
func (r *round) dealOn(at int, lots []*lot, want func(*lot) int) {
	open := slices.Clone(lots)
	for has := 0; len(open) > 0; has++ {
		open = slices.DeleteFunc(open, func(p *lot) bool {
			var c cell
			if its := p.cells[at]; its != nil {
				c = *its
			}
			switch {
			case c.got >= want(p) || !r.fits(p, at):
				return true
			case c.Busy+c.got <= has:
				r.give(p, at)
			}
			return false
		})
	}
}

// deal deals out VMs on any host, each to the pool that has the fewest, until each has what it wants, or nothing fits.
func (r *round) deal(want func(*lot) int) {
	q := &queue{}
	for _, p := range r.lots {
		if p.got < want(p) {
			*q = append(*q, p)
		}
	}
	heap.Init(q)
	for q.Len() > 0 {
		p := (*q)[0]
		at := r.host(p)
		if at >= 0 {
			r.give(p, at)
		}
		if p.short = at < 0; p.short || p.got >= want(p) {
			heap.Pop(q)
		} else {
			heap.Fix(q, 0)
		}
	}
}

// makeWay keeps room for one more VM of each pool that is short: that of busy VMs of pools that have more, which are
// not replaced by others of their pools when they end. A pool whose VMs are all busy when a round is made would else be
// all that its hosts ever make, and one that has none would stay without. The next round gives the room away; one VM in
// a round is enough, since room that is free then goes to the pool that has the fewest anyway. Room that is free now is
// never kept: only where a pool gets nothing new, its target can say that what ends is not replaced.
func (r *round) makeWay() {
	var short []*lot // the one that has most first
	for _, p := range r.lots {
		if p.short && !p.Paused {
			short = append(short, p)
		}
	}
	slices.SortStableFunc(short, func(a, b *lot) int { return cmp.Compare(b.total, a.total) })
	busy := make([][]*lot, len(r.hosts)) // by host: those of them that have busy VMs there, and get no others
	for _, p := range short {
		for at, c := range p.cells {
			if c.Busy > 0 && c.got == 0 {
				busy[at] = append(busy[at], p)
			}
		}
	}
	for _, p := range slices.Backward(short) {
		at, least := -1, unbounded
		for host := 0; host < len(r.hosts) && least > 1; host++ {
			if n := r.leave(busy[host], p, host, least-1, false); n > 0 {
				at, least = host, n
			}
		}
		if at >= 0 {
			r.leave(busy[at], p, at, least, true)
		}
	}
}

// leave returns how many busy VMs of those of the others that have more have to end on a host before the pool's next one
// fits; 0 if it never does, or more than most have to. With marks, their room is kept.
func (r *round) leave(others []*lot, p *lot, at, most int, marks bool) int {
	h, c := &r.hosts[at], p.cells[at]
	if h.Opening != Open || r.owes[at] || !p.served.has(at) || h.Broken[p.Name] || c != nil && c.Busy+c.got >= p.Max {
		return 0
	}
	left, vms, n := r.free[at], r.vms[at], 0
	for _, other := range others {
		its := other.cells[at]
		for ends, total := its.ends, other.total; ends < r.mayEnd(other, at) && p.poorer(total); {
			if n == most {
				return 0
			}
			n, ends, total = n+1, ends+1, total-1
			if marks {
				its.ends, other.total = ends, total
			}
			if left, vms = left.Less(other.size, -1), vms+1; vms > 0 && left.Lacks(p.size) == "" {
				return n
			}
		}
	}
	return 0
}

// poorer reports whether one that has so many VMs is to leave one to the pool: while it has more even without it, or
// the pool has none. Two that have nearly the same would else only take turns, with room unused in between.
func (p *lot) poorer(total int) bool { return total > p.total+1 || p.total == 0 && total > 0 }

// host chooses the host for one more VM of the pool; -1 if it fits nowhere.
func (r *round) host(p *lot) int {
	kept := r.first(p, slices.Values(p.kept), func(at int) bool { c := p.cells[at]; return max(c.Clean, c.held) > c.got })
	if kept >= 0 && !p.crowds(kept) {
		return kept
	}
	other := r.first(p, r.preferred(p), p.others.has)
	if kept >= 0 && (other < 0 || p.crowds(other)) {
		return kept
	}
	return other
}

// crowds reports whether a VM on the host would be beside one of the pool, while the pool is on fewer hosts than it is
// to be.
func (p *lot) crowds(at int) bool {
	if p.spread >= p.Spread {
		return false
	}
	c := p.cells[at]
	return c != nil && c.got > 0
}

// first returns the first host, in the order in which they are given, on which the pool's next VM fits without
// crowding; else the first on which it fits; else -1.
func (r *round) first(p *lot, hosts iter.Seq[int], may func(at int) bool) int {
	crowded := -1
	for at := range hosts {
		switch {
		case !may(at):
		case !r.fits(p, at):
			p.others.clear(at) // room only shrinks: it never will in this round
		case !p.crowds(at):
			return at
		case crowded < 0:
			crowded = at
		}
	}
	return crowded
}

// preferred returns the hosts in the order of the pool's strategy.
func (r *round) preferred(p *lot) iter.Seq[int] {
	switch p.Strategy {
	case core.FirstFit:
		return p.others.from(0)
	case core.NextFit:
		return p.others.from(p.last + 1)
	case core.BestFit:
		return r.ranks.ascending(r.free)
	case core.WorstFit:
	}
	return r.ranks.descending(r.free) // the default
}

// queue is a heap of the pools that still want VMs, the one with the fewest first.
type queue []*lot

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].total, q[j].total), cmp.Compare(q[i].rank, q[j].rank)) < 0
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(x any) {
	if p, ok := x.(*lot); ok {
		*q = append(*q, p)
	}
}

func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// order orders pools that have equally many VMs. Those with the order maxmin come first, the largest of them first,
// and those with minmin last, the smallest first; between them the pool whose request waits longest.
func (p *lot) order(other *lot) int {
	place := map[core.PlacementOrder]int{core.MaxMin: -1, core.MinMin: 1}
	by := cmp.Compare(place[p.Order], place[other.Order])
	if by == 0 {
		switch p.Order {
		case core.MaxMin:
			by = compare(other.size, p.size)
		case core.MinMin:
			by = compare(p.size, other.size)
		default:
			by = cmp.Compare(cmp.Or(p.Oldest, math.MaxInt64), cmp.Or(other.Oldest, math.MaxInt64))
		}
	}
	return cmp.Or(by, strings.Compare(p.Name, other.Name))
}

// each sets targets by what was dealt out: where a pool got VMs, and, if it did not get all that it wants, where VMs of
// it are busy, whose room it may use next unless that is kept for another one.
func (r *round) each(out map[string]core.Targets, set func(*cell, *core.Target)) {
	for _, p := range r.lots {
		for at, c := range p.cells {
			goesOn := p.short && c.Busy > 0 && !r.owes[at] && p.served.has(at) && r.hosts[at].Opening == Open && !p.Paused && !r.hosts[at].Broken[p.Name]
			if c.got == 0 && !goesOn {
				continue
			}
			host := r.hosts[at].Name
			t := out[host][p.Name]
			if set(c, &t); t == (core.Target{}) {
				continue
			}
			if out[host] == nil {
				out[host] = make(core.Targets)
			}
			out[host][p.Name] = t
		}
	}
}
