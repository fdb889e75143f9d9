package scale

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// shows is the part of its goal for which a pool's first request has waited before more hosts are made beside those
// that could run it: short jobs are over by then.
const shows = 4

// bin is room for VMs on a host that is there, comes, or may be taken back.
type bin struct {
	free   core.Size
	vms    int // more VMs that it may have
	serves func(core.Pool) bool
	busy   map[string]int // VMs by pool that keep their room
	step   *Step          // of an instance that is draining: its host is taken back if the room is needed
}

// unbounded is a number of VMs without a limit.
const unbounded = 1 << 30

// takes takes room for at most n VMs of a pool, and returns for how many there was room.
func (b *bin) takes(p core.Pool, n int) int {
	if n <= 0 || !b.serves(p) {
		return 0
	}
	k := core.Room{Size: b.free}.Holds(p.Size(), min(n, p.Max-b.busy[p.Name], b.vms))
	if k > 0 {
		b.free, b.vms = b.free.Less(p.Size(), k), b.vms-k
		b.busy[p.Name] += k
	}
	return k
}

// lack is work of a pool that waits.
type lack struct {
	core.Pool
	waiting int // that no host has room for now
	has     int // VMs that are in use, or for which there is room
	could   bool
	oldest  int64
}

// grow makes hosts for work that is expected to wait too long, and those that are always there.
func (r *round) grow() {
	open := r.open()
	coming := r.coming()
	for _, l := range r.lacks(open) {
		need := r.needs(l)
		for _, b := range coming {
			if b.step == nil {
				need -= b.takes(l.Pool, need)
			}
		}
		for _, b := range coming {
			if b.step != nil {
				if k := b.takes(l.Pool, need); k > 0 {
					need -= k
					r.takeBack(b.step, "pool "+l.Name+" waits")
					b.step = nil // the rest of its room is there for others
				}
			}
		}
		for need > 0 {
			b := r.makeFor(l.Pool, need)
			if b == nil {
				break
			}
			coming = append(coming, b)
			need -= max(1, b.takes(l.Pool, need))
		}
	}
	for _, g := range r.groups {
		for _, s := range g.steps {
			if g.alive() < g.Min && s.Instance.State == core.InstanceDraining && r.mayTakeBack(g, s) {
				r.takeBack(s, fmt.Sprintf("its group has at least %d hosts", g.Min))
			}
		}
		for g.alive() < g.Min && r.mayMake(g) {
			kinds := slices.SortedFunc(slices.Values(g.Kinds()), smaller)
			at := slices.IndexFunc(kinds, g.affords)
			if at < 0 {
				break
			}
			r.make(g, kinds[at], fmt.Sprintf("its group has at least %d hosts", g.Min))
		}
	}
}

// open is the room of hosts that take work.
func (r *round) open() []*bin {
	sizes := make(map[string]core.Size, len(r.Ground.Pools))
	for _, p := range r.Ground.Pools {
		sizes[p.Name] = p.Size()
	}
	var bins []*bin
	for i := range r.Ground.Hosts {
		h := &r.Ground.Hosts[i]
		if !takesWork(h) {
			continue
		}
		b := &bin{free: h.Capacity(), vms: unbounded, busy: make(map[string]int)}
		if h.MaxVMs > 0 {
			b.vms = h.MaxVMs
		}
		for pool, states := range h.VMsOf {
			for state, n := range states {
				switch state {
				case core.VMClean, core.VMCreating, core.VMDirty, core.VMDestroying:
				default:
					b.busy[pool] += n
				}
			}
		}
		for pool, n := range r.Ground.Assigned[h.Name] {
			b.busy[pool] += n
		}
		for pool, n := range b.busy {
			b.free, b.vms = b.free.Less(sizes[pool], n), b.vms-n
		}
		b.serves = func(p core.Pool) bool { return h.Broken[p.Name] == "" && slices.Contains(h.Serves, p.Name) }
		bins = append(bins, b)
	}
	return bins
}

func takesWork(h *core.HostInfo) bool {
	return h.State == core.HostUp && !h.Drain && h.Failed == nil && h.Probation == nil && h.Ready
}

// coming is the room of machines that are to become hosts, and of hosts that can be taken back.
func (r *round) coming() (bins []*bin) {
	for _, g := range r.groups {
		for _, s := range g.steps {
			b := &bin{free: s.Instance.Size.Known(), vms: unbounded, serves: g.Serves, busy: make(map[string]int)}
			switch s.Instance.State {
			case core.InstanceValid, core.InstanceCreating, core.InstanceRunning:
			case core.InstanceJoined: // its vmfactory may not be ready yet
				if h := r.hosts[s.Instance.ID]; h == nil || h.State != core.HostUp || h.Ready && h.Serves != nil {
					continue
				}
			case core.InstanceDraining:
				if b.step = s; !r.mayTakeBack(g, s) {
					continue
				}
			default:
				continue
			}
			bins = append(bins, b)
		}
	}
	return bins
}

// mayTakeBack reports whether a drain was the group's own.
func (r *round) mayTakeBack(g *group, s *Step) bool {
	h, by := r.hosts[s.Instance.ID], r.Drained[s.Instance.ID]
	return !g.Paused && !s.Instance.Reclaim && h != nil && h.State == core.HostUp && (by == "" || by == By)
}

func (r *round) takeBack(s *Step, why string) {
	r.move(s, core.InstanceJoined, why)
	s.Do = Undrain
}

// lacks returns the pools whose work has no room now, those that wait longest first.
func (r *round) lacks(open []*bin) []*lack {
	var all []*lack
	for _, p := range r.Ground.Pools {
		n := r.Ground.Waiting[p.Name]
		for _, its := range r.Ground.Assigned {
			n -= its[p.Name]
		}
		if n > 0 && !p.Paused {
			all = append(all, &lack{Pool: p, waiting: n, oldest: r.Ground.Oldest[p.Name]})
		}
	}
	slices.SortFunc(all, func(a, b *lack) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.oldest, math.MaxInt64), cmp.Or(b.oldest, math.MaxInt64)), strings.Compare(a.Name, b.Name))
	})
	for _, l := range all {
		for _, g := range r.groups {
			g.wanted = g.wanted || g.Serves(l.Pool)
		}
		for _, b := range open {
			if b.serves(l.Pool) {
				l.has += b.busy[l.Name]
				k := b.takes(l.Pool, l.waiting)
				l.waiting, l.has = l.waiting-k, l.has+k
			}
		}
		for i := range r.Ground.Hosts {
			h := &r.Ground.Hosts[i]
			l.could = l.could || takesWork(h) && slices.Contains(h.Serves, l.Name) && h.Broken[l.Name] == "" && h.Capacity().Lacks(l.Size()) == ""
		}
	}
	return all
}

// needs returns for how many of a pool's requests that wait more VMs are needed, to bring the expected wait to its goal.
// The expected wait is the time in which all that wait are claimed at the rate of late, and at least how long the first
// has waited already.
func (r *round) needs(l *lack) int {
	goal := time.Duration(0)
	for _, g := range r.groups {
		if !g.Paused && g.Serves(l.Pool) && (goal == 0 || g.Goal < goal) {
			goal = g.Goal
		}
	}
	waited := time.Duration(0)
	if l.oldest > 0 {
		waited = r.Clock.Age(l.oldest)
	}
	switch {
	case goal == 0:
		return 0
	case !l.could: // nothing there could ever run it
		return l.waiting
	case waited < goal/shows:
		return 0
	}
	expected := time.Duration(math.MaxInt64)
	if rate := r.Ground.Use[l.Name].Rate; rate > 0 {
		if s := float64(r.Ground.Waiting[l.Name]) / rate; s < (365 * 24 * time.Hour).Seconds() {
			expected = time.Duration(s * float64(time.Second))
		}
	}
	expected = max(expected, waited)
	if expected <= goal {
		return 0
	}
	more := math.Ceil(float64(max(1, l.has)) * (float64(expected)/float64(goal) - 1))
	return int(min(float64(l.waiting), more))
}

// alive is how many hosts a group has or gets, without those that go.
func (g *group) alive() int {
	n := 0
	for _, s := range g.steps {
		switch s.Instance.State {
		case core.InstanceValid, core.InstanceCreating, core.InstanceRunning, core.InstanceJoined:
			n++
		default:
		}
	}
	return n
}

// mayMake reports whether a group may make a machine now. One that gave up tries a single one.
func (r *round) mayMake(g *group) bool {
	if g.Paused || g.made >= maxNew || r.pauses(g) {
		return false
	}
	return g.failing.Times == 0 || !slices.ContainsFunc(g.steps, func(s *Step) bool {
		state := s.Instance.State
		return state == core.InstanceValid || state == core.InstanceCreating || state == core.InstanceRunning
	})
}

// affords reports whether a group's limits allow a machine of the type. Those that are ending still cost.
func (g *group) affords(m core.MachineType) bool {
	n, cores, cost := 1, m.Cores, m.Cost
	for _, s := range g.steps {
		if s.Instance.State != core.InstanceTerminated {
			n, cores, cost = n+1, cores+s.Instance.Cores, cost+s.Instance.Cost
		}
	}
	return n <= g.Max && (g.MaxCores == 0 || cores <= g.MaxCores) && (g.MaxCost == 0 || cost <= g.MaxCost)
}

// smaller orders types: the cheapest first, then the smallest.
func smaller(a, b core.MachineType) int {
	as, bs := a.Size.Known(), b.Size.Known()
	return cmp.Or(
		cmp.Compare(a.Cost, b.Cost), cmp.Compare(as.Memory, bs.Memory), cmp.Compare(as.CPU, bs.CPU),
		cmp.Compare(as.Disk, bs.Disk), strings.Compare(a.Name, b.Name),
	)
}

// makeFor makes the machine that fits n requests of a pool best: the smallest that holds all of them, else the one that
// holds the most. It returns its room; nil if no group may make one.
func (r *round) makeFor(p core.Pool, n int) *bin {
	var in *group
	var best core.MachineType
	for _, g := range r.groups {
		if !g.Serves(p) || !r.mayMake(g) {
			continue
		}
		for _, m := range g.Kinds() {
			if k := min(n, m.Holds(p)); k > 0 && g.affords(m) {
				if in == nil || cmp.Or(cmp.Compare(min(n, best.Holds(p)), k), smaller(m, best)) < 0 {
					in, best = g, m
				}
			}
		}
	}
	if in == nil {
		return nil
	}
	r.make(in, best, "pool "+p.Name+" waits")
	return &bin{free: best.Size.Known(), vms: unbounded, serves: in.Serves, busy: make(map[string]int)}
}

// make writes down one more machine of a group.
func (r *round) make(g *group, m core.MachineType, why string) {
	g.last++
	g.made++
	g.steps = append(g.steps, &Step{Put: true, Instance: core.Instance{
		ID: Name(g.Name, g.last), Group: g.Name, State: core.InstanceValid, Type: m.Name, Size: m.Size, Cores: m.Cores, Cost: m.Cost,
		Created: r.now, Since: r.now, Why: bounded(why),
	}})
}
