package scale_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/scale"
)

// Whatever happens, limits hold, a token has one machine, and machines of others are left alone. Once all works again
// and nothing waits, what is left is what the groups always have, and nothing is decided any more.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			w.machines["other"] = core.Machine{Foreign: "other", Token: "burst-000001", Cluster: "another", Group: "burst", Created: 1}
			w.machines["stray"] = core.Machine{Foreign: "stray", Token: "burst-999999", Cluster: mine, Group: "burst", Created: 1}
			for range 300 {
				w.mishap()
				w.pass(time.Duration(1+w.random.IntN(20)) * time.Second)
				w.happen()
				w.round()
			}
			w.calm()
			for range 500 {
				w.pass(30 * time.Second)
				w.happen()
				w.round()
			}
			require.Empty(t, scale.Decide(w.cluster()).Steps, w.String())
			require.Len(t, w.alive(), 1, w.String())
			require.Equal(t, 1, w.states()[core.InstanceJoined])
			require.Equal(t, len(w.instances)-1, w.states()[core.InstanceTerminated], w.String())
			require.Empty(t, w.waiting["small"]+w.waiting["big"])
		})
	}
}

// mishap is something that may happen to a cluster.
func (w *world) mishap() {
	switch w.random.IntN(16) {
	case 0, 1, 2:
		w.arrive("small", w.random.IntN(60))
	case 3:
		w.arrive("big", w.random.IntN(5))
	case 4:
		w.silent = !w.silent
	case 5:
		w.refuses = float64(w.random.IntN(3)) / 2
	case 6:
		w.crashes = float64(w.random.IntN(4)) / 4
	case 7:
		w.joins = !w.joins
	case 8: // a host is lost, with its machine or without
		for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
			if w.random.IntN(3) == 0 {
				w.hosts[name].State, w.hosts[name].Deadline = core.HostDown, w.now
			}
		}
	case 9: // the provider ends a machine, or says that it will
		for _, name := range slices.Sorted(maps.Keys(w.machines)) {
			m := w.machines[name]
			if m.Cluster == mine && w.random.IntN(5) == 0 {
				if m.Notice = w.now + 120_000; w.random.IntN(2) == 0 {
					m.Gone = true
				}
				w.machines[name] = m
			}
		}
	case 10: // it forgets what has ended
		maps.DeleteFunc(w.machines, func(_ string, m core.Machine) bool { return m.Gone })
	case 11:
		w.groups[0].Paused = !w.groups[0].Paused
	case 13: // a clock that was ahead is set back; heartbeats reach a minute ahead at most
		if w.random.IntN(4) == 0 {
			w.pass(-12 * time.Hour)
			for _, h := range w.hosts {
				h.Deadline = min(h.Deadline, w.now+60_000)
			}
		}
	case 14: // it is set forward, which nobody's heartbeats bear out
		step := time.Duration(1+w.random.IntN(40)) * 24 * time.Hour
		w.endsNothing(func() {
			w.pass(step)
			w.clock.Gaps = append(w.clock.Gaps, core.Gap{To: w.now, Lasted: step})
		})
	case 15: // Redis is emptied, and this round comes before the hosts are back
		w.endsNothing(func() {
			w.hosts = map[string]*core.HostInfo{}
			w.clock = core.RedisClock{Began: w.now, SetBack: w.now, Gaps: []core.Gap{{To: w.now, Lasted: time.Duration(w.now) * time.Millisecond}}}
		})
	case 12:
		w.groups[w.random.IntN(2)].Max = 1 + w.random.IntN(6)
		for i := range w.groups { // an operator may lower a limit, but not below what there is, in this test
			n := 0
			for _, one := range w.instances {
				if one.Group == w.groups[i].Name && one.State != core.InstanceTerminated {
					n++
				}
			}
			w.groups[i].Max = max(w.groups[i].Max, n)
		}
	}
}

// endsNothing requires that a round begins to end no machine.
func (w *world) endsNothing(change func()) {
	for range 3 { // what was due before
		w.round()
	}
	before := maps.Clone(w.instances)
	change()
	w.round()
	for id, i := range w.instances {
		if was := before[id].State; i.State == core.InstanceTerminating && was != core.InstanceTerminating {
			w.t.Errorf("%s was %s and is ended: %s", id, was, i.Why)
		}
	}
}

// calm ends all mishaps.
func (w *world) calm() {
	w.silent, w.joins, w.refuses, w.crashes = false, true, 0, 0
	w.groups[0].Paused, w.groups[0].Max = false, 6
	for name, m := range w.machines {
		if m.Notice > 0 {
			m.Gone = true // the provider keeps its word
			w.machines[name] = m
		}
	}
	for name, h := range w.hosts {
		if w.machines["m-"+name].Gone {
			h.State, h.Deadline = core.HostDown, w.now
		}
	}
}

// settle passes time in rounds.
func (w *world) settle(rounds int) {
	for range rounds {
		w.pass(5 * time.Second)
		w.happen()
		w.round()
	}
}

// A load that stays the same leads to hosts that stay.
func TestNothingFlapsUnderASteadyLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.settle(40)
	for range 1000 {
		w.arrive("small", 12)
		w.settle(1)
	}
	made, drains := w.created, w.drains
	for range 2000 {
		w.arrive("small", 12)
		w.settle(1)
	}
	require.Equal(t, made, w.created)
	require.Equal(t, drains, w.drains)
	require.Less(t, w.waiting["small"], 30)
	w.settle(400)
	require.Len(t, w.alive(), 1, "and they go once it ends")
}

func TestWhichMachineIsMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*world)
		want   []string
	}{
		"the smallest that holds all":                {func(w *world) { w.arrive("small", 3) }, []string{"little"}},
		"a larger one":                               {func(w *world) { w.arrive("small", 20) }, []string{"large"}},
		"one that holds one":                         {func(w *world) { w.arrive("big", 1) }, []string{"large"}},
		"several":                                    {func(w *world) { w.arrive("small", 36) }, []string{"large", "little"}},
		"within the limits of cores and cost":        {func(w *world) { w.arrive("small", 1000) }, []string{"large", "large", "little", "little"}},
		"no host, no group that serves the pool":     {func(w *world) { w.pools[1].Requires = "gpu=yes"; w.arrive("small", 9) }, nil},
		"its label":                                  {func(w *world) { w.pools[1].Requires, w.groups[0].Labels = "gpu=yes", "gpu=yes"; w.arrive("small", 9) }, []string{"large"}},
		"the pool is paused":                         {func(w *world) { w.pools[1].Paused = true; w.arrive("small", 9) }, nil},
		"the group is paused":                        {func(w *world) { w.groups[0].Paused = true; w.arrive("small", 9) }, nil},
		"two pools share what one of them asked for": {func(w *world) { w.arrive("big", 1); w.pass(time.Second); w.arrive("small", 4) }, []string{"large"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.groups = w.groups[:1]
			c.change(w)
			var got []string
			for _, s := range w.round().Steps {
				got = append(got, s.Instance.Type)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Hosts that could do the work get the time to show it.
func TestAGoalIsForWhatWaitsLonger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.groups = w.groups[:1]
	w.hosts["fixed"] = &core.HostInfo{
		Name: "fixed", State: core.HostUp, Ready: true, Memory: 1 << 30, Serves: []string{"small"}, Settings: core.HostSettings{Reserve: &core.Size{}},
		VMsOf: map[string]map[core.VMState]int{"small": {core.VMClaimed: 4}},
	}
	w.arrive("small", 30)
	w.rate["small"] = 1
	require.Empty(t, w.round().Steps, "it has just begun to wait")
	w.pass(16 * time.Second)
	require.Empty(t, w.round().Steps, "it waits for half of its goal")
	w.rate["small"] = 0.25
	steps := w.round().Steps
	require.Len(t, steps, 1)
	require.Equal(t, "little", steps[0].Instance.Type, "twice as long as it may: as many VMs again")
	require.Equal(t, "burst-000001", steps[0].Instance.ID)
	require.Equal(t, scale.Create, w.round().Steps[0].Do)
	require.Empty(t, w.round().Steps, "the one that comes is counted")
}

// A provider that fails is asked three times for one machine, then the group pauses, longer each time, and tries one.
func TestABrokenProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.groups, w.refuses = w.groups[:1], 1
	w.arrive("small", 1000)
	for range 60 {
		w.pass(2 * time.Second)
		w.round()
	}
	fails := scale.Fails(w.groups[0], slices.Collect(maps.Values(w.instances)))
	require.Equal(t, 4, fails.Times)
	require.Equal(t, "no", fails.Why)
	require.Equal(t, 12, w.created, "four machines, three times each")
	for range 3000 {
		w.pass(2 * time.Second)
		w.round()
	}
	require.Less(t, w.created, 24)
	require.Greater(t, w.created, 12)
	w.refuses = 0
	w.arrive("small", 1000)
	for range 3600 {
		w.pass(2 * time.Second)
		w.happen()
		w.round()
	}
	require.Zero(t, scale.Fails(w.groups[0], slices.Collect(maps.Values(w.instances))).Times)
}

// A machine whose host never registers is ended, and its group counts as failing.
func TestAHostThatNeverRegisters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.groups, w.joins = w.groups[:1], false
	w.arrive("big", 1)
	w.settle(62)
	require.Equal(t, 1, scale.Fails(w.groups[0], slices.Collect(maps.Values(w.instances))).Times)
	require.Contains(t, w.instances["burst-000001"].Why, "did not register within 5m0s")
	require.Empty(t, w.alive())
}

// A host that a Redis which was set back does not know has the time to say that it is there.
func TestAHostThatRedisForgotIsNotEndedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.groups = w.groups[:1]
	w.arrive("big", 1)
	w.settle(20)
	require.Equal(t, core.InstanceJoined, w.instances["burst-000001"].State)
	w.pass(2 * core.AbsentLong)
	delete(w.hosts, "burst-000001")
	w.clock.Began = w.now
	w.round()
	require.Equal(t, core.InstanceJoined, w.instances["burst-000001"].State)
	w.pass(core.AbsentLong)
	w.round()
	require.Equal(t, core.InstanceTerminating, w.instances["burst-000001"].State)
}

// What is drained is taken back when work comes, but not what its provider takes back.
func TestADrainIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, reclaimed := range []bool{false, true} {
		w := newWorld(t, 1)
		w.groups = w.groups[:1]
		w.arrive("big", 1)
		w.settle(20)
		h := w.hosts["burst-000001"]
		require.NotNil(t, h)
		h.VMsOf = map[string]map[core.VMState]int{"big": {core.VMClaimed: 1}} // it is busy when the drain begins
		m := w.machines["m-burst-000001"]
		if reclaimed {
			m.Notice = w.now + 120_000
			w.machines["m-burst-000001"] = m
		} else {
			i := w.instances["burst-000001"]
			i.State, i.Deadline = core.InstanceDraining, w.now+600_000
			w.instances["burst-000001"] = i
		}
		w.round()
		require.Equal(t, core.InstanceDraining, w.instances["burst-000001"].State)
		require.True(t, h.Drain)
		h.VMsOf = map[string]map[core.VMState]int{"big": {core.VMClaimed: 1}}
		w.arrive("big", 1)
		w.round()
		if reclaimed {
			require.Equal(t, core.InstanceDraining, w.instances["burst-000001"].State)
			require.Contains(t, w.instances, "burst-000002", "another one is made instead")
			w.pass(2 * time.Minute)
			w.round()
			require.True(t, w.machines["m-burst-000001"].Gone)
		} else {
			require.Equal(t, core.InstanceJoined, w.instances["burst-000001"].State)
			require.False(t, h.Drain)
			require.NotContains(t, w.instances, "burst-000002")
		}
	}
}

// A host that an operator drained stays drained.
func TestAnOperatorsDrainIsNotEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.groups = w.groups[:1]
	w.arrive("big", 1)
	w.settle(20)
	w.drained["burst-000001"], w.hosts["burst-000001"].Drain = "olga", true
	w.arrive("big", 1)
	w.round()
	require.True(t, w.hosts["burst-000001"].Drain)
	require.Contains(t, w.instances, "burst-000002")

	i := w.instances["burst-000001"]
	i.State, i.Deadline = core.InstanceDraining, w.now+600_000
	w.instances["burst-000001"] = i
	w.hosts["burst-000001"].VMsOf = map[string]map[core.VMState]int{"big": {core.VMClaimed: 1}}
	w.arrive("big", 2)
	w.round()
	require.True(t, w.hosts["burst-000001"].Drain)
	require.Equal(t, core.InstanceDraining, w.instances["burst-000001"].State)
}

// A machine that its provider does not list yet is not lost; one that it does not list for a minute is.
func TestAListThatIsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.groups, w.joins = w.groups[:1], false
	w.arrive("big", 1)
	w.settle(2)
	clear(w.machines)
	w.pass(50 * time.Second)
	w.round()
	require.Equal(t, core.InstanceRunning, w.instances["burst-000001"].State)
	w.pass(10 * time.Second)
	w.round()
	require.Equal(t, core.InstanceTerminating, w.instances["burst-000001"].State)
	require.True(t, w.instances["burst-000001"].Failed)
}

// After a host was made none of its group is drained for a while, however long it was idle.
func TestACooldown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.groups = w.groups[:1]
	w.groups[0].IdleAfter, w.groups[0].Cooldown = time.Minute, 10*time.Minute
	w.arrive("big", 1)
	w.settle(100)
	require.Equal(t, core.InstanceJoined, w.instances["burst-000001"].State)
	w.settle(40)
	require.Equal(t, core.InstanceTerminated, w.instances["burst-000001"].State)
}

// Who decides while a provider does not answer does without its list.
func TestAProviderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.groups = w.groups[:1]
	w.machines["stray"] = core.Machine{Foreign: "stray", Token: "burst-999999", Cluster: mine, Group: "burst", Created: 1}
	w.arrive("big", 1)
	w.settle(20)
	w.silent = true
	for name, m := range w.machines {
		m.Gone = name != "stray"
		w.machines[name] = m
	}
	w.settle(20)
	require.Equal(t, core.InstanceJoined, w.instances["burst-000001"].State)
}

// Of a paused group nothing is made or ended, whatever happens; what is seen is written down.
func TestAPausedGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.groups = w.groups[:1]
	w.arrive("big", 3)
	w.settle(20)
	require.Equal(t, 2, w.states()[core.InstanceJoined], w.String())
	w.groups[0].Paused = true
	w.machines["stray"] = core.Machine{Foreign: "stray", Token: "burst-999999", Cluster: mine, Group: "burst", Created: 1}
	m := w.machines["m-burst-000001"]
	m.Notice = w.now + 120_000
	w.machines["m-burst-000001"] = m
	w.hosts["burst-000002"].State, w.hosts["burst-000002"].Deadline = core.HostDown, w.now
	w.arrive("big", 9)
	created := w.created
	w.settle(300)
	require.Equal(t, created, w.created)
	require.Len(t, w.alive(), 3)
	require.Equal(t, 2, w.states()[core.InstanceJoined], w.String())
	w.groups[0].Paused = false
	w.settle(1)
	require.True(t, w.machines["m-burst-000002"].Gone)
	require.True(t, w.machines["stray"].Gone)
}
