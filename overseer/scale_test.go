package overseer_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/overseer"
)

// From nothing to hosts and back.
func TestHostsAreMadeForWorkThatWaits(t *testing.T) {
	t.Parallel()
	e := newElastic(t)
	counts, err := e.scales(e.deps())
	require.NoError(t, err)
	require.Empty(t, counts, "nothing waits")
	e.submit("again", 6) // four fit on a host
	counts, err = e.scales(e.deps())
	require.NoError(t, err)
	require.Equal(t, overseer.Counts{"valid": 2, "creating": 2, "running": 2}, counts)
	require.Equal(t, []string{"burst-000001", "burst-000002"}, e.farm.alive())
	for _, o := range e.farm.orders {
		require.Equal(t, "secret of "+o.Token, o.Secret)
	}

	for _, h := range []string{"burst-000001", "burst-000002"} {
		e.hostWith(h, 24*time.Hour, 4)
	}
	e.goesOn(2)
	require.Equal(t, map[string]string{"zone": "a"}, e.hosts()["burst-000001"].Settings.Labels)
	require.Equal(t, core.InstanceJoined, e.records.state("burst-000001"))
	first := e.claim("burst-000001", "again", 3, 24*time.Hour)
	second := e.claim("burst-000002", "again", 3, 24*time.Hour)
	e.goesOn(10)
	require.Equal(t, core.InstanceJoined, e.records.state("burst-000002"), "both are busy")

	e.end("burst-000002", second, core.OutcomeDone)
	e.goesOn(7)
	require.Equal(t, core.InstanceTerminated, e.records.state("burst-000002"))
	require.Equal(t, core.InstanceJoined, e.records.state("burst-000001"))
	require.Equal(t, []string{"burst-000001"}, e.farm.alive())
	e.end("burst-000001", first, core.OutcomeDone)
	e.goesOn(7)
	require.Empty(t, e.farm.alive(), "to nothing")
	require.True(t, e.hosts()["burst-000001"].Drain)
}

// An overseer dies at each of its steps in turn, or only an answer is lost: what the next one does leads to the same
// end, and at no time there are more machines than there may be.
func TestAnOverseerThatDiesWhileItScales(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		for steps, died := 1, true; died; steps++ {
			t.Run(fmt.Sprint(steps, once), func(t *testing.T) {
				e := newElastic(t)
				m := &coretest.Mortal{Steps: steps, Once: once}
				died = false
				lives := func(rounds int) {
					for range rounds {
						e.pass(15 * time.Second)
						if _, err := e.scales(e.mortal(m)); errors.Is(err, coretest.ErrDead) {
							died = true
						} else {
							require.NoError(t, err)
						}
					}
				}
				id := e.submit("again", 1)[0]
				lives(2)
				e.goesOn(16)
				alive := e.farm.alive()
				require.Len(t, alive, 1)
				require.Equal(t, 1, e.records.most)
				e.hostWith(alive[0], 24*time.Hour, 4)
				lives(2)
				e.goesOn(2)
				require.Equal(t, core.InstanceJoined, e.records.state(alive[0]))
				claims := e.claim(alive[0], "again", 1, 24*time.Hour)
				e.end(alive[0], claims, core.OutcomeDone)
				require.NotEmpty(t, id)
				lives(8)
				e.goesOn(20)
				require.Empty(t, e.farm.alive())
				require.Equal(t, core.InstanceTerminated, e.records.state(alive[0]))
				require.Equal(t, 1, e.records.most)
			})
		}
	}
}

// Two overseers at once make what one would.
func TestOverseersScaleTogether(t *testing.T) {
	t.Parallel()
	e := newElastic(t)
	e.submit("again", 8)
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := e.scales(e.deps())
			done <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	e.goesOn(10)
	require.Len(t, e.farm.alive(), 2)
	require.Equal(t, 2, e.records.most)
	require.Len(t, e.farm.orders, 2, "each machine was asked for once")
}

// Machines that no instance knows are ended, but not those of another cluster.
func TestMachinesThatNobodyKnows(t *testing.T) {
	t.Parallel()
	e := newElastic(t)
	for token, cluster := range map[string]string{"burst-000007": "mine", "burst-000008": "another"} {
		e.farm.machines[token] = core.Machine{Foreign: "m-" + token, Token: token, Cluster: cluster, Group: "burst", Created: e.now.UnixMilli()}
	}
	e.goesOn(2)
	require.Len(t, e.farm.alive(), 2, "it may be new")
	e.goesOn(20)
	require.Equal(t, []string{"burst-000008"}, e.farm.alive())
}

// A provider takes a machine back: its host is drained before.
func TestAMachineIsTakenBack(t *testing.T) {
	t.Parallel()
	e := newElastic(t)
	e.submit("again", 1)
	e.goesOn(1)
	e.hostWith("burst-000001", 24*time.Hour, 4)
	e.goesOn(2)
	e.claim("burst-000001", "again", 1, 24*time.Hour)
	m := e.farm.machines["burst-000001"]
	m.Notice = e.now.Add(2 * time.Minute).UnixMilli()
	e.farm.machines["burst-000001"] = m
	e.goesOn(1)
	h := e.hosts()["burst-000001"]
	require.True(t, h.Drain)
	left := time.UnixMilli(m.Notice).Sub(time.UnixMilli(h.DrainUntil))
	require.Greater(t, left, 20*time.Second, "there is time to move what it has")
	require.Equal(t, "its provider takes it back", e.wish("burst-000001", core.WishDrain).Reason)
	e.goesOn(9)
	require.Empty(t, e.farm.alive())
}

// What an operator has drained stays drained by the operator, also while its machine is taken back.
func TestAnOperatorsDrainIsKept(t *testing.T) {
	t.Parallel()
	e := newElastic(t)
	e.submit("again", 1)
	e.goesOn(1)
	e.hostWith("burst-000001", 24*time.Hour, 4)
	e.goesOn(2)
	e.claim("burst-000001", "again", 1, 24*time.Hour)
	_, err := e.store.PutHostWish(t.Context(), core.HostWish{Host: "burst-000001", Kind: core.WishDrain, By: "olga", At: e.now.UnixMilli()})
	require.NoError(t, err)
	m := e.farm.machines["burst-000001"]
	m.Notice = e.now.Add(2 * time.Minute).UnixMilli()
	e.farm.machines["burst-000001"] = m
	e.goesOn(1)
	h := e.hosts()["burst-000001"]
	require.True(t, h.Drain)
	require.NotZero(t, h.DrainUntil)
	w := e.wish("burst-000001", core.WishDrain)
	require.Equal(t, "olga", w.By)
	require.False(t, w.Lifted)
}

// A provider that never works, and hosts that never register: the group gives up, and what waits for it fails after the
// pool's limit. It begins anew once a host registers.
func TestWorkOfAGroupThatGaveUpFails(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"a provider that never works": true, "a host that never registers": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newElastic(t)
			e.only(func(p *core.Pool) { p.BrokenFor = 10 * time.Minute })
			if broken {
				e.farm.fails = core.Errorf(core.CodeLimit, "", "no capacity in the region")
			}
			e.farm.created = e.now.UnixMilli()
			id, other := e.submit("again", 1)[0], e.submit("once", 1)[0]
			watches := func() overseer.Counts {
				o, err := overseer.New(overseer.Config{Beat: time.Minute, Suspect: time.Minute, Down: time.Hour}, e.deps())
				require.NoError(t, err)
				report, err := o.Once(t.Context())
				if !broken {
					require.NoError(t, err)
				}
				counts := countsOf(report, "outages")
				for what, n := range countsOf(report, "broken") {
					counts[what] += n
				}
				return counts
			}
			begun := 0
			for range 26 {
				e.pass(15 * time.Second)
				begun += watches()["begun"]
			}
			require.Equal(t, 2, begun, "of two pools")
			require.Contains(t, e.outage(), "host group burst got no host: ")
			if broken {
				require.Contains(t, e.outage(), "no capacity in the region")
			}
			require.Equal(t, core.RequestQueued, e.state(id))
			for range 40 {
				e.pass(15 * time.Second)
				watches()
			}
			require.Equal(t, core.RequestFailed, e.state(id))
			require.Equal(t, core.RequestQueued, e.state(other), "its pool lets it wait")
			require.LessOrEqual(t, len(e.farm.alive()), 1)

			e.farm.fails = nil
			for range 100 {
				e.pass(15 * time.Second)
				watches()
				if alive := e.farm.alive(); len(alive) > 0 {
					e.hostWith(alive[0], 24*time.Hour, 4)
					e.goesOn(1)
					break
				}
			}
			watches()
			require.Empty(t, e.outage())
		})
	}
}
