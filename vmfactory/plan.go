package vmfactory

import (
	"cmp"
	"slices"

	"drover/core"
)

// demand is the state of one pool on this host, for the plan.
type demand struct {
	core.PoolLoad
	most int   // most creations that may begin now; 0 while the pool cannot be made here
	turn int64 // when the pool last got a VM, counted in creations of this host: the smaller goes first
}

// move is what the plan wants to do for one pool.
type move struct {
	pool    string
	target  int // clean VMs, made and in creation, that the pool should have
	create  int // to begin now
	retire  int // clean VMs to destroy now, because another pool's work needs the room
	surplus int // further clean VMs above the target: to destroy if the surplus lasts
}

// plan brings every pool to its target, max(warm, min(waiting, max)), on a host that holds at most room VMs (0: no
// limit), with at most begin creations now. Waiting work comes before warm VMs, and the pool with the fewest VMs
// before the others, so that no pool starves another; idle VMs make room.
func plan(pools []demand, room, begin int) []move {
	ps := make([]*share, len(pools))
	used, leaving := 0, 0 // used: VMs that stay in any case
	total := 0
	for i := range pools {
		ps[i] = newShare(&pools[i])
		used += pools[i].InUse + pools[i].Quarantined
		leaving += pools[i].Dirty
		total += ps[i].total()
	}
	idle, free := unbounded, unbounded
	if room > 0 {
		idle, free = max(0, room-used), max(0, room-total)
	}
	idle = deal(ps, idle, func(s *share) *int { return &s.target }, func(s *share) int { return s.urgent })
	deal(ps, idle, func(s *share) *int { return &s.target }, func(s *share) int { return s.want })

	missing := 0
	for _, s := range ps {
		missing += s.fits()
	}
	dealCreations(ps, min(free, max(0, begin)))
	giveWay(ps, missing-min(missing, free)-leaving)

	moves := make([]move, len(ps))
	for i, s := range ps {
		moves[i] = move{
			pool: s.d.Pool.Name, target: s.target, create: s.create, retire: s.retire,
			surplus: max(0, min(s.d.Clean, s.supply()-s.target)-s.retire),
		}
	}
	return moves
}

const unbounded = int(^uint(0) >> 2)

// share is one pool's part of the host while the plan is made.
type share struct {
	d              *demand
	urgent, want   int // clean VMs: urgent for waiting work, want in all
	target         int
	create, retire int
}

func newShare(d *demand) *share {
	s := &share{d: d}
	waiting := min(d.Waiting, d.Pool.Max)
	reach := min(d.Pool.Max-d.InUse-d.Quarantined, s.supply()+max(0, d.most))
	if d.Pool.Paused {
		waiting, reach = 0, min(reach, s.supply())
	}
	s.urgent = max(0, min(waiting, reach))
	s.want = max(0, min(max(d.Pool.Warm, waiting), reach))
	return s
}

func (s *share) supply() int { return s.d.Clean + s.d.Creating }

func (s *share) total() int { return s.supply() + s.d.InUse + s.d.Dirty + s.d.Quarantined }

// fits returns how many VMs the pool lacks, up to its own limit now.
func (s *share) fits() int {
	return max(0, min(s.target-s.supply(), s.d.Pool.Max-s.total()))
}

// deal distributes n VMs one by one, always to the pool with the fewest, up to each one's limit, and returns the
// rest. Among equals a pool keeps its VMs, so that nothing is destroyed for a tie; then the pools take turns.
func deal(ps []*share, n int, got func(*share) *int, limit func(*share) int) int {
	if lacking := lack(ps, got, limit); lacking <= n {
		for _, s := range ps {
			*got(s) = max(*got(s), limit(s))
		}
		return n - lacking
	}
	for ; n > 0; n-- {
		open := slices.DeleteFunc(slices.Clone(ps), func(s *share) bool { return *got(s) >= limit(s) })
		if len(open) == 0 {
			break
		}
		next := slices.MinFunc(open, func(a, b *share) int {
			return cmp.Or(
				cmp.Compare(a.d.InUse+*got(a), b.d.InUse+*got(b)),
				-cmp.Compare(keeps(a, *got(a)), keeps(b, *got(b))),
				cmp.Compare(a.d.turn, b.d.turn),
				cmp.Compare(a.d.Pool.Name, b.d.Pool.Name),
			)
		})
		*got(next)++
	}
	return n
}

// keeps returns 1 if the pool already has the VM that it would be given next.
func keeps(s *share, got int) int {
	if s.supply() > got {
		return 1
	}
	return 0
}

func lack(ps []*share, got func(*share) *int, limit func(*share) int) int {
	n := 0
	for _, s := range ps {
		n += max(0, limit(s)-*got(s))
	}
	return n
}

// dealCreations distributes n creations, first to pools with waiting work.
func dealCreations(ps []*share, n int) {
	made := func(s *share) *int { return &s.create }
	n = deal(ps, n, made, func(s *share) int { return min(s.fits(), max(0, s.urgent-s.supply())) })
	deal(ps, n, made, (*share).fits)
}

// giveWay takes n clean VMs from the pools that have most above their target.
func giveWay(ps []*share, n int) {
	spare := func(s *share) int { return min(s.d.Clean, s.supply()-s.target) - s.retire }
	for ; n > 0; n-- {
		most := slices.MaxFunc(ps, func(a, b *share) int { return cmp.Compare(spare(a), spare(b)) })
		if spare(most) <= 0 {
			return
		}
		most.retire++
	}
}
