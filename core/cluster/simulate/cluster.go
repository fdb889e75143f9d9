package simulate

import (
	"time"

	"drover/core"
	"drover/core/cluster/placement"
)

// cluster is the cluster at one moment of virtual time.
type cluster struct {
	trace    Trace
	now      int64 // ms since the trace began; below 0 while the first VMs are made
	events   events
	pools    []*pool
	number   map[string]int // of a pool, by name
	hosts    []*host
	queued   int
	ended    int
	round    int64 // when the last round of placement was
	rang     bool  // work waits that no host has a VM for
	changed  bool  // since the last round
	measured *measure
	given    int      // hosts that are always there
	elastic  *elastic // nil: no hosts come or go
	look     func()   // after each step; for tests
}

// pool is a pool of the simulated cluster.
type pool struct {
	core.Pool
	size  core.Size
	makes time.Duration
	queue *queue
	use   core.Use
	ready []int  // hosts that have a clean VM and a free slot, and did not find work; others may be among them
	is    []bool // by host: it is in ready

	learned int // as the last round had it
	asleep  bool

	clean, creating, busy int
	oldest                []int // requests in order of submission; those in front may be claimed already
}

// host is a host of the simulated cluster.
type host struct {
	Host
	serves []int // pools
	free   core.Size
	vms    int
	slots  int // that are free
	turn   int
	down   bool // no machine of a group is there
	taken  bool // one comes
	drain  bool
	life   int
	cells  []cell // by pool
}

// cell is one pool on one host.
type cell struct {
	core.Target

	clean, creating, busy int
	surplus               int64 // since when it has more than it should, plus 1; 0: it has not
}

// lead is for how long placement works before the first request, so that VMs that are kept warm are there.
const lead = int64(5 * time.Minute / time.Millisecond)

// epoch is what placement sees as the beginning of the trace, in ms since 1970.
const epoch = int64(1_000_000_000_000)

func newCluster(t Trace, s Settings) *cluster {
	c := &cluster{trace: t, now: -lead, round: -lead, number: make(map[string]int), measured: newMeasure(t, len(s.Pools))}
	for i, p := range s.Pools {
		c.number[p.Name] = i
		c.pools = append(c.pools, &pool{Pool: p, size: p.Size(), makes: s.makes(p.Name), queue: newQueue(p.Running), is: make([]bool, len(s.Hosts))})
	}
	for _, h := range s.Hosts {
		its := &host{Host: h, free: h.Size, slots: h.Slots, cells: make([]cell, len(s.Pools))}
		for i, p := range s.Pools {
			if h.serves(p.Name) {
				its.serves = append(its.serves, i)
			}
		}
		if its.Serves == nil {
			for _, p := range s.Pools {
				its.Serves = append(its.Serves, p.Name)
			}
		}
		c.hosts = append(c.hosts, its)
	}
	c.given = len(c.hosts)
	if s.Group != nil {
		c.elastic = newElastic(*s.Group)
		for range s.Group.Max {
			its := &host{Host: Host{Serves: []string{}}, down: true, cells: make([]cell, len(s.Pools))}
			for i, p := range s.Pools {
				if s.Group.Serves(p) {
					its.serves, its.Serves = append(its.serves, i), append(its.Serves, p.Name)
				}
			}
			c.hosts = append(c.hosts, its)
		}
		for _, p := range c.pools {
			p.is = make([]bool, len(c.hosts))
		}
	}
	return c
}

// stuck reports whether nothing more can happen, so that requests would wait forever.
func (c *cluster) stuck() bool {
	if c.events.first() != nil || c.changed {
		return false
	}
	return c.elastic == nil || c.now-c.elastic.moved > 2*c.elastic.Filled().Goal.Milliseconds()+hour
}

// run goes on until each request has ended.
func (c *cluster) run() error {
	next := 0
	c.changed = true
	c.place()
	for c.ended < len(c.trace) {
		if next == len(c.trace) && c.stuck() {
			return core.Errorf(core.CodeInvalid, "simulate", "%d requests wait for VMs that no host makes: check the hosts' room and the pools' max", c.queued)
		}
		at, what := c.nextRound(), c.place
		if e := c.events.first(); e != nil && e.at <= at {
			at, what = e.at, func() { c.handle(c.events.pop()) }
		}
		if next < len(c.trace) && c.trace[next].At < at {
			at, what = c.trace[next].At, func() { c.submit(next); next++ }
		}
		if c.elastic != nil {
			if c.elastic.next < at {
				at, what = c.elastic.next, c.rescale
			}
			if c.now >= 0 {
				c.elastic.advance(at - c.now)
			}
		}
		c.measured.advance(c, at)
		c.now = at
		what()
		if c.look != nil {
			c.look()
		}
	}
	return nil
}

// nextRound is when the next round of placement is.
func (c *cluster) nextRound() int64 {
	if c.rang {
		return max(c.now, c.round+placement.ShortPause.Milliseconds())
	}
	return c.round + placement.Every(c.up()).Milliseconds()
}

// up is how many hosts there are.
func (c *cluster) up() int {
	n := 0
	for _, h := range c.hosts {
		if !h.down {
			n++
		}
	}
	return n
}

// submit puts a request into its queue, and a host that has a clean VM takes it at once.
func (c *cluster) submit(request int) {
	r := &c.trace[request]
	n := c.number[r.Pool]
	p := c.pools[n]
	soon := isSoon(r.Due, c.now)
	p.queue.add(r.Priority, r.Submitter, request, soon)
	if later := r.Due - dueSoon - c.now; later > 0 {
		c.events.push(event{at: r.Due - dueSoon, what: isDueSoon, pool: n, request: request})
	}
	p.oldest = append(p.oldest, request)
	c.queued++
	c.changed = true
	c.wake(n)
}

// wake lets a host that has a clean VM of a pool look for work; if there is none, placement looks.
func (c *cluster) wake(n int) {
	p := c.pools[n]
	for len(p.ready) > 0 {
		at := p.ready[0]
		p.ready, p.is[at] = p.ready[1:], false
		if h := c.hosts[at]; h.cells[n].clean > 0 && h.slots > 0 && !h.drain {
			c.work(at)
			return
		}
	}
	c.rang = true
}

// work lets a host claim what it can. Its pools take turns.
func (c *cluster) work(at int) {
	h := c.hosts[at]
	if h.down || h.drain {
		return
	}
	h.turn++
	took := false
	for i := range h.serves {
		n := h.serves[(h.turn+i)%len(h.serves)]
		p, its := c.pools[n], &h.cells[n]
		if able := min(h.slots, its.clean); able > 0 {
			for _, request := range p.queue.take(able) {
				c.claim(at, n, request)
				took = true
			}
		}
	}
	for _, n := range h.serves {
		if p := c.pools[n]; h.slots > 0 && h.cells[n].clean > 0 && !p.is[at] {
			p.ready, p.is[at] = append(p.ready, at), true
		}
	}
	if took {
		c.refill(at)
	}
}

// claim starts a request on a clean VM.
func (c *cluster) claim(at, n, request int) {
	h, p := c.hosts[at], c.pools[n]
	h.cells[n].clean--
	h.cells[n].busy++
	h.slots--
	p.clean--
	p.busy++
	p.use.Claims++
	c.queued--
	c.changed = true
	c.measured.claimed(request, c.now)
	c.events.push(event{at: c.now + c.trace[request].Run, what: runEnds, host: at, pool: n, life: h.life, request: request})
}

// handle does what an event says.
func (c *cluster) handle(e event) {
	h, p := c.hosts[e.host], c.pools[e.pool]
	its := &h.cells[e.pool]
	if e.what == hostJoins {
		c.join(e)
		return
	}
	if e.what != isDueSoon && e.life != h.life {
		return
	}
	switch r := &c.trace[e.request]; e.what {
	case isDueSoon:
		p.queue.hasten(r.Priority, r.Submitter, e.request)
		return
	case runEnds:
		p.queue.end(r.Priority, r.Submitter)
		its.busy--
		p.busy--
		h.slots++
		h.free, h.vms = h.free.Less(p.size, -1), h.vms-1
		c.ended++
		c.measured.end(e.request, c.now)
	case vmMade:
		its.creating--
		its.clean++
		p.creating--
		p.clean++
		c.measured.made[e.pool]++
	case surplusLasts, hostJoins:
	}
	c.changed = true
	c.work(e.host)
	c.refill(e.host)
	if e.what == runEnds && p.Running > 0 && p.queue.waiting > 0 {
		c.wake(e.pool) // another one of its submitter may begin now
	}
}

// surplusAfter is how long a vmfactory keeps more clean VMs than it should have.
const surplusAfter = int64(10 * time.Second / time.Millisecond)

// refill lets a host's vmfactory make VMs up to the targets, and destroy those that are too many: at once if another
// pool needs the room, else when they have been too many for a while.
func (c *cluster) refill(at int) {
	short := c.make(at)
	h := c.hosts[at]
	again := false
	for _, n := range h.serves {
		its, p := &h.cells[n], c.pools[n]
		more := its.clean + its.creating - its.wants(p)
		if more <= 0 {
			its.surplus = 0
			continue
		}
		if its.surplus == 0 {
			its.surplus = c.now + lead + 1
			c.events.push(event{at: c.now + surplusAfter, what: surplusLasts, host: at, pool: n, life: h.life})
		}
		if more = min(more, its.clean); short || c.now+lead+1-its.surplus >= surplusAfter {
			its.clean, p.clean = its.clean-more, p.clean-more
			h.free, h.vms = h.free.Less(p.size, -more), h.vms-more
			c.changed, again = true, again || more > 0
		}
	}
	if short && again {
		c.make(at)
	}
}

// make begins to make the VMs that a host should have more, and reports whether one has no room.
func (c *cluster) make(at int) (short bool) {
	h := c.hosts[at]
	for _, n := range h.serves {
		its, p := &h.cells[n], c.pools[n]
		for want := its.wants(p); its.clean+its.creating < want; {
			if h.free.Lacks(p.size) != "" || h.MaxVMs > 0 && h.vms >= h.MaxVMs {
				short = true
				break
			}
			its.creating++
			p.creating++
			h.free, h.vms = h.free.Less(p.size, 1), h.vms+1
			c.changed = true
			c.events.push(event{at: c.now + p.makes.Milliseconds(), what: vmMade, host: at, pool: n, life: h.life})
		}
	}
	return short
}

// wants is how many clean VMs the host should have of the pool, made and in creation: see vmfactory's plan.
func (c *cell) wants(p *pool) int {
	return max(0, min(max(c.Warm, min(p.queue.able(), c.Most-c.busy)), p.Max-c.busy))
}

// place is a round of placement, as an overseer does it.
func (c *cluster) place() {
	c.round, c.rang = c.now, false
	now := c.now + epoch
	pools := make([]placement.Pool, len(c.pools))
	for i, p := range c.pools {
		p.use = placement.Learn(p.use, now)
		asleep := placement.Asleep(p.Pool, p.use, p.queue.waiting, p.busy, now)
		learned := 0
		if p.WarmMost > 0 {
			learned = min(p.WarmMost, placement.WarmFor(p.use.Rate, p.makes))
		}
		c.changed = c.changed || learned != p.learned || asleep != p.asleep
		p.learned, p.asleep = learned, asleep
		pools[i] = placement.Pool{Pool: p.Pool, Waiting: p.queue.able(), Learned: learned, Asleep: asleep}
		if first := c.first(p); first >= 0 {
			pools[i].Oldest = c.trace[first].At + epoch
		}
	}
	if !c.changed {
		return // the round would decide what the last one did
	}
	c.changed = false
	targets := placement.Targets(c.ground(), pools)
	for at, h := range c.hosts {
		if h.down {
			continue
		}
		for _, n := range h.serves {
			h.cells[n].Target = targets[h.Name][c.pools[n].Name]
		}
		c.refill(at)
	}
}

// first returns the request of a pool that waits longest; -1 if none waits.
func (c *cluster) first(p *pool) int {
	for len(p.oldest) > 0 && c.measured.isClaimed(p.oldest[0]) {
		p.oldest = p.oldest[1:]
	}
	if len(p.oldest) == 0 {
		return -1
	}
	return p.oldest[0]
}

// ground is what placement knows of the hosts.
func (c *cluster) ground() []placement.Host {
	all := make([]placement.Host, 0, len(c.hosts))
	for _, h := range c.hosts {
		if h.down || h.drain {
			continue
		}
		vms := make(map[string]placement.VMs, len(h.serves))
		for _, n := range h.serves {
			if its := h.cells[n]; its.clean+its.creating+its.busy > 0 {
				vms[c.pools[n].Name] = placement.VMs{Clean: its.clean + its.creating, Busy: its.busy}
			}
		}
		all = append(all, placement.Host{Name: h.Name, Size: h.Size, MaxVMs: h.MaxVMs, Serves: h.Serves, VMs: vms})
	}
	return all
}
