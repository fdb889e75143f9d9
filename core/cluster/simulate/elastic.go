package simulate

import (
	"cmp"
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/scale"
)

// Group is a host group whose machines come and go while a trace is replayed, as package scale decides.
type Group struct {
	core.HostGroup

	Boot  time.Duration // from the order of a machine until its host takes work
	Slots int           // requests that one of its hosts runs at once; 0: one for each processor
}

// Machines is what a group's machines were.
type Machines struct {
	Made  int     `json:"made"`
	Most  int     `json:"most"`  // at once
	Hours float64 `json:"hours"` // from the order until the end of each
	Cost  int64   `json:"cost"`  // of these hours, as core.MachineType has it
}

// scaleEvery is how often overseers decide how many machines there are.
const scaleEvery = int64(5 * time.Second / time.Millisecond)

// lists is how many instances that have ended are still known.
const lists = 50

// elastic is a group at one moment of virtual time.
type elastic struct {
	Group

	at        map[string]int // by instance: its host
	instances map[string]core.Instance
	machines  map[string]core.Machine
	drained   map[string]string
	next      int64 // when it is decided again
	moved     int64 // when something was last decided
	sum       Machines
	spent     float64 // machine-time × cost, ms
	time      float64 // machine-time, ms
}

func newElastic(g Group) *elastic {
	return &elastic{Group: g, at: map[string]int{}, instances: map[string]core.Instance{}, machines: map[string]core.Machine{}, drained: map[string]string{}, next: -lead}
}

// advance counts the time of machines.
func (e *elastic) advance(d int64) {
	for id, m := range e.machines {
		if !m.Gone {
			e.time += float64(d)
			e.spent += float64(d) * float64(e.instances[id].Cost)
		}
	}
}

// told returns what the group's machines were.
func (e *elastic) told() *Machines {
	e.sum.Hours, e.sum.Cost = e.time/hourMs, int64(e.spent/hourMs)
	return &e.sum
}

// rescale decides how many machines there are, as an overseer does it, until nothing is to be done at once.
func (c *cluster) rescale() {
	e := c.elastic
	e.next = c.now + scaleEvery
	if len(e.at) == 0 && c.queued == 0 && e.Min == 0 {
		return // there is nothing to decide
	}
	for again := true; again; {
		again = false
		plan := scale.Decide(c.observed())
		for _, s := range plan.Steps {
			if s.Put || s.Do != scale.None {
				e.moved = c.now
			}
			again = again || s.Instance.Revision == 0
			c.follow(s)
		}
	}
	e.forget()
}

// forget drops the oldest of the instances that have ended.
func (e *elastic) forget() {
	var over []string
	for id, i := range e.instances {
		if i.State == core.InstanceTerminated {
			over = append(over, id)
		}
	}
	slices.Sort(over)
	for _, id := range over[:max(0, len(over)-lists)] {
		delete(e.instances, id)
		delete(e.machines, id)
	}
}

// observed is the cluster as scale sees it.
func (c *cluster) observed() scale.Cluster {
	e, now := c.elastic, c.now+epoch
	g := core.Ground{Now: now, Waiting: map[string]int{}, Oldest: map[string]int64{}, Use: map[string]core.Use{}}
	for _, p := range c.pools {
		g.Pools = append(g.Pools, p.Pool)
		g.Waiting[p.Name], g.Use[p.Name] = p.queue.waiting, p.use
		c.first(p) // those before it are claimed
		i := slices.IndexFunc(p.oldest, func(q int) bool { return !c.measured.isClaimed(q) })
		if i >= 0 {
			g.Oldest[p.Name] = c.trace[p.oldest[i]].At + epoch
		}
	}
	for _, h := range c.hosts {
		if h.down {
			continue
		}
		info := core.HostInfo{Name: h.Name, State: core.HostUp, Ready: true, Drain: h.drain, Serves: h.Serves, MaxVMs: h.MaxVMs, VMsOf: map[string]map[core.VMState]int{}}
		info.Settings = core.HostSettings{Reserve: &core.Size{}, Overcommit: core.Overcommit{CPU: 1}} // its size is what it has for VMs
		info.CPU, info.Memory, info.Disk = int(known(h.Size.CPU)/1000), known(h.Size.Memory), known(h.Size.Disk)
		for _, n := range h.serves {
			if busy := h.cells[n].busy; busy > 0 {
				info.VMsOf[c.pools[n].Name] = map[core.VMState]int{core.VMClaimed: busy}
			}
		}
		g.Hosts = append(g.Hosts, info)
	}
	one := scale.Group{HostGroup: e.HostGroup, Listed: true}
	for _, i := range e.instances {
		one.Instances = append(one.Instances, i)
	}
	for _, m := range e.machines {
		one.Machines = append(one.Machines, m)
	}
	return scale.Cluster{ID: simulated, Ground: g, Clock: core.RedisClock{Now: now}, Groups: []scale.Group{one}, Drained: e.drained}
}

// known returns a figure as hosts report it: 0 for Unlimited.
func known(n int64) int64 {
	if n == core.Unlimited {
		return 0
	}
	return n
}

// simulated is the id of the cluster that is simulated.
const simulated = "simulated"

// follow does one step.
func (c *cluster) follow(s scale.Step) {
	e, id := c.elastic, s.Instance.ID
	put := func(i core.Instance) {
		i.Revision++
		e.instances[id] = i
	}
	if s.Put {
		put(s.Instance)
	}
	switch s.Do {
	case scale.Create:
		e.machines[id] = core.Machine{Foreign: id, Token: id, Cluster: simulated, Group: e.Name, Created: c.now + epoch}
		put(scale.Made(e.instances[id], id, c.now+epoch))
		e.sum.Made++
		on := 0
		for _, m := range e.machines {
			if !m.Gone {
				on++
			}
		}
		e.sum.Most = max(e.sum.Most, on)
		at := slices.IndexFunc(c.hosts, func(h *host) bool { return h.down && !h.taken })
		c.hosts[at].taken, e.at[id] = true, at
		c.events.push(event{at: c.now + e.Boot.Milliseconds(), what: hostJoins, host: at, instance: id})
	case scale.Terminate:
		m := e.machines[id]
		m.Gone = true
		e.machines[id] = m
		if at, is := e.at[id]; is {
			c.leave(at)
			delete(e.at, id)
		}
		delete(e.drained, id)
	case scale.Drain, scale.Undrain:
		h := c.hosts[e.at[id]]
		if h.drain = s.Do == scale.Drain; h.drain {
			e.drained[id] = scale.By
		} else {
			delete(e.drained, id)
		}
		c.changed, c.rang = true, true
	case scale.None, scale.Label:
	}
}

// join makes the host of a machine take work.
func (c *cluster) join(e event) {
	h, i := c.hosts[e.host], c.elastic.instances[e.instance]
	if at, is := c.elastic.at[e.instance]; !is || at != e.host {
		return // it was ended before
	}
	h.Name, h.Size, h.free, h.down = e.instance, i.Size.Known(), i.Size.Known(), false
	h.Slots = cmp.Or(c.elastic.Slots, i.Cores, int(min(i.Size.CPU/1000, maxSlots)), 1)
	h.slots = h.Slots
	c.changed, c.rang = true, true
	c.rescale()
}

// maxSlots bounds what a host of unknown size runs at once.
const maxSlots = 1000

// leave ends a host. It is idle: others are not drained.
func (c *cluster) leave(at int) {
	h := c.hosts[at]
	for n := range h.cells {
		its := &h.cells[n]
		c.pools[n].clean -= its.clean
		c.pools[n].creating -= its.creating
		*its = cell{}
	}
	h.down, h.taken, h.drain, h.vms, h.slots = true, false, false, 0, 0
	h.life++ // what is under way there is of no use
	c.changed = true
}

// Tried is how a goal fared.
type Tried struct {
	Goal   time.Duration `json:"goal_ns"`
	Report Report        `json:"report"`
}

// Goals replays a trace once for each goal of the settings' group.
func Goals(t Trace, s Settings, goals []time.Duration) ([]Tried, error) {
	all := make([]Tried, len(goals))
	for i, goal := range goals {
		g := *s.Group
		g.Goal = goal
		s.Group = &g
		r, err := Run(t, s)
		if err != nil {
			return nil, err
		}
		all[i] = Tried{goal, r}
	}
	return all, nil
}

// Recommend returns the place of the goal with the fewest machine-hours (by cost, if machines have one) of those with
// which 95 of 100 requests wait at most so long; of none that does, the one with the shortest waits.
func Recommend(all []Tried, within time.Duration) int {
	return slices.IndexFunc(all, func(t Tried) bool {
		return t.Goal == slices.MinFunc(all, func(a, b Tried) int { return better(a, b, within) }).Goal
	})
}

func better(a, b Tried, within time.Duration) int {
	late := func(t Tried) int64 { return max(0, t.Report.Wait.P95-within.Milliseconds()) }
	return cmp.Or(
		cmp.Compare(late(a), late(b)), cmp.Compare(a.Report.Machines.Cost, b.Report.Machines.Cost),
		cmp.Compare(a.Report.Machines.Hours, b.Report.Machines.Hours), cmp.Compare(a.Report.Wait.P95, b.Report.Wait.P95),
	)
}
