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

// room is what VMs may take: of a whole host, or what is left of it.
type room struct {
	vms int
	core.Size
}

const unbounded = int(^uint(0) >> 2)

// less is the room without n VMs of a pool.
func (r room) less(s *share, n int) room {
	return room{vms: r.vms - n, Size: r.Less(s.d.Pool.Size(), n)}
}

// holds reports whether one more VM of a pool has room.
func (r room) holds(s *share) bool { return r.vms > 0 && r.Lacks(s.d.Pool.Size()) == "" }

// plan brings every pool to its target, max(warm, min(waiting, max)), on a host with the given room for VMs, with at
// most begin creations now. Waiting work comes before warm VMs, and the pool with the fewest VMs before the others, so
// that no pool starves another; idle VMs make room.
func plan(pools []demand, whole room, begin int) []move {
	ps := make([]*share, len(pools))
	idle, free, leaving := whole, whole, room{} // idle: without the VMs that stay whatever the plan says
	for i := range pools {
		s := newShare(&pools[i])
		ps[i] = s
		idle = idle.less(s, pools[i].InUse+pools[i].Quarantined)
		free = free.less(s, s.total())
		leaving = leaving.less(s, -pools[i].Dirty)
	}
	idle = deal(ps, idle, func(s *share) *int { return &s.target }, func(s *share) int { return s.urgent })
	deal(ps, idle, func(s *share) *int { return &s.target }, func(s *share) int { return s.want })

	missing := room{}
	for _, s := range ps {
		missing = missing.less(s, -s.fits())
	}
	now := free
	now.vms = min(free.vms, max(0, begin))
	dealCreations(ps, now)
	giveWay(ps, missing.beyond(free).beyond(leaving))

	moves := make([]move, len(ps))
	for i, s := range ps {
		moves[i] = move{
			pool: s.d.Pool.Name, target: s.target, create: s.create, retire: s.retire,
			surplus: max(0, min(s.d.Clean, s.supply()-s.target)-s.retire),
		}
	}
	return moves
}

// beyond is what of the room is not in another one.
func (r room) beyond(other room) room {
	part := func(a, b int64) int64 { return max(0, a-max(0, b)) }
	return room{
		vms:  int(part(int64(r.vms), int64(other.vms))),
		Size: core.Size{CPU: part(r.CPU, other.CPU), Memory: part(r.Memory, other.Memory), Disk: part(r.Disk, other.Disk)},
	}
}

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

// deal distributes VMs one by one, always to the pool with the fewest, up to each one's limit and as long as there is
// room, and returns the remaining room. Among equals a pool keeps its VMs, so that nothing is destroyed for a tie; then
// the pools take turns.
func deal(ps []*share, left room, got func(*share) *int, limit func(*share) int) room {
	rest := left
	for _, s := range ps {
		rest = rest.less(s, max(0, limit(s)-*got(s)))
	}
	if rest.vms >= 0 && rest.CPU >= 0 && rest.Memory >= 0 && rest.Disk >= 0 {
		for _, s := range ps {
			*got(s) = max(*got(s), limit(s))
		}
		return rest
	}
	for {
		open := slices.DeleteFunc(slices.Clone(ps), func(s *share) bool { return *got(s) >= limit(s) || !left.holds(s) })
		if len(open) == 0 {
			return left
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
		left = left.less(next, 1)
	}
}

// keeps returns 1 if the pool already has the VM that it would be given next.
func keeps(s *share, got int) int {
	if s.supply() > got {
		return 1
	}
	return 0
}

// dealCreations shares out what may be created now, first to those whose work waits.
func dealCreations(ps []*share, left room) {
	made := func(s *share) *int { return &s.create }
	left = deal(ps, left, made, func(s *share) int { return min(s.fits(), max(0, s.urgent-s.supply())) })
	deal(ps, left, made, (*share).fits)
}

// giveWay takes clean VMs from the pools that have most above their target, until
// that makes the room that is needed.
func giveWay(ps []*share, need room) {
	// A VM that takes nothing of what is short helps nobody.
	spare := func(s *share) int {
		its := s.d.Pool.Size()
		if need.vms <= 0 && (need.CPU <= 0 || its.CPU == 0) && (need.Memory <= 0 || its.Memory == 0) && (need.Disk <= 0 || its.Disk == 0) {
			return 0
		}
		return min(s.d.Clean, s.supply()-s.target) - s.retire
	}
	for len(ps) > 0 {
		most := slices.MaxFunc(ps, func(a, b *share) int { return cmp.Compare(spare(a), spare(b)) })
		if spare(most) <= 0 {
			return
		}
		most.retire++
		need = need.less(most, 1)
	}
}
