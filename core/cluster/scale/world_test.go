package scale_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/scale"
)

const mine = "mine"

// world is a cluster with its groups, and a provider that makes each token's machine once.
type world struct {
	t         *testing.T
	random    *rand.Rand
	now       int64
	clock     core.RedisClock
	groups    []core.HostGroup
	pools     []core.Pool
	instances map[string]core.Instance
	machines  map[string]core.Machine // by foreign name
	hosts     map[string]*core.HostInfo
	drained   map[string]string
	waiting   map[string]int
	oldest    map[string]int64
	rate      map[string]float64
	busy      map[string]int // by host

	silent  bool    // the provider does not list
	refuses float64 // part of creations that fail
	crashes float64 // part of steps between whose writing and doing the overseer dies
	joins   bool    // machines become hosts
	created int
	drains  int
}

func pool(name string, memory int64) core.Pool {
	p := core.DefaultPool(name)
	p.Limits.Memory, p.Max = memory, 100
	return p
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{
		t: t, random: rand.New(rand.NewPCG(seed, 16)), now: 1_000_000_000,
		pools:     []core.Pool{pool("big", 3<<30), pool("small", 256<<20)},
		instances: map[string]core.Instance{}, machines: map[string]core.Machine{}, hosts: map[string]*core.HostInfo{},
		drained: map[string]string{}, waiting: map[string]int{}, oldest: map[string]int64{}, rate: map[string]float64{},
		busy: map[string]int{}, joins: true,
		groups: []core.HostGroup{
			{Name: "burst", Provider: core.CloudCommand, Max: 6, MaxCores: 20, MaxCost: 1_500_000, Types: []core.MachineType{
				{Name: "large", Size: core.Size{Memory: 8 << 30}, Cores: 8, Cost: 400_000},
				{Name: "little", Size: core.Size{Memory: 2 << 30}, Cores: 2, Cost: 100_000},
			}},
			{Name: "floor", Provider: core.CloudCommand, Min: 1, Max: 2, Size: core.Size{Memory: 1 << 30}, Cooldown: 30 * time.Second},
		},
	}
}

// pass lets time pass. Back, it sets the clock back, which Redis notes.
func (w *world) pass(d time.Duration) {
	if w.now += d.Milliseconds(); d < 0 {
		w.clock.SetBack = w.now
		w.clock.Gaps = slices.DeleteFunc(w.clock.Gaps, func(g core.Gap) bool { return g.To > w.now })
	}
}

// cluster is what an overseer reads.
func (w *world) cluster() scale.Cluster {
	g := core.Ground{Now: w.now, Pools: w.pools, Waiting: map[string]int{}, Oldest: map[string]int64{}, Use: map[string]core.Use{}}
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		g.Hosts = append(g.Hosts, *w.hosts[name])
	}
	for _, p := range w.pools {
		g.Waiting[p.Name], g.Use[p.Name] = w.waiting[p.Name], core.Use{Rate: w.rate[p.Name]}
		if w.waiting[p.Name] > 0 {
			g.Oldest[p.Name] = w.oldest[p.Name]
		}
	}
	w.clock.Now = w.now
	c := scale.Cluster{ID: mine, Ground: g, Clock: w.clock, Drained: w.drained}
	for _, group := range w.groups {
		one := scale.Group{HostGroup: group, Listed: !w.silent}
		for _, id := range slices.Sorted(maps.Keys(w.instances)) {
			if i := w.instances[id]; i.Group == group.Name {
				one.Instances = append(one.Instances, i)
			}
		}
		if one.Listed {
			for _, name := range slices.Sorted(maps.Keys(w.machines)) {
				one.Machines = append(one.Machines, w.machines[name])
			}
		}
		c.Groups = append(c.Groups, one)
	}
	return c
}

// round lets an overseer decide and do what it decided, unless it dies.
func (w *world) round() scale.Plan {
	plan := scale.Decide(w.cluster())
	for _, s := range plan.Steps {
		if s.Put && !w.put(s.Instance) {
			continue
		}
		if w.random.Float64() >= w.crashes {
			w.do(s)
		}
		w.check()
	}
	for _, s := range plan.Strays {
		require.Equal(w.t, mine, s.Machine.Cluster)
		w.terminate(s.Machine.Token, s.Machine.Foreign)
	}
	for _, h := range plan.Forget {
		delete(w.hosts, h)
		delete(w.drained, h)
	}
	w.check()
	return plan
}

// put is what a result store does.
func (w *world) put(i core.Instance) bool {
	former, is := w.instances[i.ID]
	if is && former.Revision != i.Revision || !is && i.Revision != 0 {
		return false
	}
	require.True(w.t, former.State == i.State || former.State.MayBecome(i.State), "%s: %s to %s", i.ID, former.State, i.State)
	i.Revision++
	w.instances[i.ID] = i
	return true
}

func (w *world) do(s scale.Step) {
	i := w.instances[s.Instance.ID]
	switch s.Do {
	case scale.Create:
		w.created++
		require.Equal(w.t, core.InstanceCreating, i.State)
		if w.random.Float64() < w.refuses {
			if w.random.IntN(2) == 0 {
				w.make(i) // its answer is lost
			}
			w.put(scale.Tried(i, core.Errorf(core.CodeUnavailable, i.ID, "no"), w.now))
			return
		}
		foreign := w.make(i)
		if w.random.Float64() >= w.crashes {
			w.put(scale.Made(i, foreign, w.now))
		}
	case scale.Terminate:
		w.terminate(i.ID, i.Foreign)
	case scale.Drain:
		w.drains++
		w.drained[i.ID] = scale.By
		if h := w.hosts[i.ID]; h != nil {
			h.Drain = true
		}
	case scale.Undrain:
		delete(w.drained, i.ID)
		if h := w.hosts[i.ID]; h != nil {
			h.Drain = false
		}
	case scale.Label, scale.None:
	}
}

// make makes a token's machine, at most once.
func (w *world) make(i core.Instance) string {
	foreign := "m-" + i.ID
	if _, is := w.machines[foreign]; !is {
		w.machines[foreign] = core.Machine{Foreign: foreign, Token: i.ID, Cluster: mine, Group: i.Group, Created: w.now}
	}
	return foreign
}

func (w *world) terminate(token, foreign string) {
	for name, m := range w.machines {
		if m.Cluster == mine && m.Token == token && (foreign == "" || m.Foreign == foreign) {
			m.Gone = true
			w.machines[name] = m
			if h := w.hosts[token]; h != nil {
				h.State, h.Deadline = core.HostDown, w.now
				w.busy[token] = 0
			}
		}
	}
}

// happen lets machines become hosts, and hosts take and end work.
func (w *world) happen() {
	for token, h := range w.hosts {
		if w.alive()[token] == 0 && h.State != core.HostDown {
			h.State, h.Deadline = core.HostDown, w.now
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.machines)) {
		m := w.machines[name]
		if _, is := w.hosts[m.Token]; !is && !m.Gone && m.Cluster == mine && w.joins && w.now-m.Created > 20_000 && w.instances[m.Token].Size.Memory > 0 {
			w.hosts[m.Token] = &core.HostInfo{
				Name: m.Token, State: core.HostUp, Ready: true, Memory: w.instances[m.Token].Size.Memory, Serves: []string{"big", "small"},
				Settings: core.HostSettings{Reserve: &core.Size{}}, VMsOf: map[string]map[core.VMState]int{},
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		h := w.hosts[name]
		if h.State != core.HostUp {
			h.VMsOf = nil
			continue
		}
		// What it had ends, and it takes what fits of what waits.
		free := h.Memory
		h.VMsOf = map[string]map[core.VMState]int{}
		for _, p := range w.pools {
			n := min(int(free/p.Limits.Memory), w.waiting[p.Name])
			if h.Drain || n == 0 {
				continue
			}
			free -= int64(n) * p.Limits.Memory
			w.waiting[p.Name] -= n
			h.VMsOf[p.Name] = map[core.VMState]int{core.VMClaimed: n}
			w.rate[p.Name] += float64(n) / 300
		}
	}
	for _, p := range w.pools {
		w.rate[p.Name] *= 0.95
	}
}

// arrive lets requests wait.
func (w *world) arrive(pool string, n int) {
	if w.waiting[pool] == 0 {
		w.oldest[pool] = w.now
	}
	w.waiting[pool] += n
}

// check is what holds at any time.
func (w *world) check() {
	for _, g := range w.groups {
		n, cores, cost := 0, 0, int64(0)
		for _, i := range w.instances {
			if i.Group == g.Name && i.State != core.InstanceTerminated {
				n, cores, cost = n+1, cores+i.Cores, cost+i.Cost
			}
		}
		require.LessOrEqual(w.t, n, g.Max)
		require.True(w.t, g.MaxCores == 0 || cores <= g.MaxCores)
		require.True(w.t, g.MaxCost == 0 || cost <= g.MaxCost)
	}
	for token, n := range w.alive() {
		require.Equal(w.t, 1, n, token)
	}
	require.False(w.t, w.machines["other"].Gone, "it is another cluster's")
}

// alive counts the machines of our cluster by token.
func (w *world) alive() map[string]int {
	n := map[string]int{}
	for _, m := range w.machines {
		if m.Cluster == mine && !m.Gone {
			n[m.Token]++
		}
	}
	return n
}

func (w *world) states() map[core.InstanceState]int {
	n := map[core.InstanceState]int{}
	for _, i := range w.instances {
		n[i.State]++
	}
	return n
}

func (w *world) String() string { return fmt.Sprint(w.states(), w.alive(), w.waiting) }
