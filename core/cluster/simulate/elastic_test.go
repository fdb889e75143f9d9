package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/simulate"
)

// rush is a burst of requests after a quiet hour, and another one an hour later.
func rush() (t simulate.Trace) {
	const minute = int64(60_000)
	for _, begin := range []int64{0, 60 * minute, 120 * minute} {
		for i := range int64(300) {
			t = append(t, simulate.Request{At: begin + i*20, Pool: "p", Priority: core.PriorityNormal, Submitter: "a", Run: 30_000})
		}
	}
	return t
}

// growing has one small host, and a group of at most ten.
func growing() simulate.Settings {
	size := core.Size{CPU: 4000, Memory: 4 << 30, Disk: core.Unlimited}
	pool := core.DefaultPool("p")
	pool.Max = 4
	return simulate.Settings{
		Hosts: simulate.Hosts(1, size, 4), Pools: []core.Pool{pool}, VMTime: time.Second,
		Group: &simulate.Group{Boot: time.Minute, HostGroup: core.HostGroup{
			Name: "burst", Provider: core.CloudCommand, Max: 40, IdleAfter: 5 * time.Minute,
			Types: []core.MachineType{{Name: "m", Size: core.Size{CPU: 4000, Memory: 4 << 30}, Cores: 4, Cost: 1_000_000}},
		}},
	}
}

// A shorter goal costs more machines and makes waits shorter, machines go when nothing waits, and all are counted.
func TestGoalsOfAGroup(t *testing.T) {
	t.Parallel()
	all, err := simulate.Goals(rush(), growing(), []time.Duration{30 * time.Second, 10 * time.Minute, 4 * time.Hour})
	require.NoError(t, err)
	fast, slow, never := all[0].Report, all[1].Report, all[2].Report
	require.Less(t, fast.Wait.P95, slow.Wait.P95)
	require.Less(t, slow.Wait.P95, never.Wait.P95)
	require.GreaterOrEqual(t, fast.Machines.Most, slow.Machines.Most)
	require.LessOrEqual(t, fast.Machines.Most, 40)
	require.Greater(t, fast.Machines.Made, fast.Machines.Most, "they went in between, and others came")
	require.Zero(t, never.Machines.Made)
	require.Zero(t, never.Machines.Cost)
	require.InDelta(t, fast.Machines.Hours, float64(fast.Machines.Cost)/1e6, 0.01)
	require.Less(t, fast.Machines.Hours, float64(fast.Machines.Most)*float64(fast.Lasts)/3.6e6)

	require.Equal(t, 2, simulate.Recommend(all, 24*time.Hour), "the cheapest, for any wait will do")
	require.Equal(t, 0, simulate.Recommend(all, time.Second), "the fastest, for none will do")
	again, err := simulate.Goals(rush(), growing(), []time.Duration{30 * time.Second})
	require.NoError(t, err)
	require.Equal(t, all[0], again[0], "it is always the same")
}

// A group may be all that there is.
func TestAGroupAlone(t *testing.T) {
	t.Parallel()
	s := growing()
	s.Hosts = nil
	r, err := simulate.Run(rush(), s)
	require.NoError(t, err)
	require.GreaterOrEqual(t, r.Wait.Most, time.Minute.Milliseconds(), "the first host must boot")
	s.Group.Min = 20
	always, err := simulate.Run(rush(), s)
	require.NoError(t, err)
	require.Less(t, always.Wait.P50, r.Wait.P50)
	s.Group.Boot = 0
	_, err = simulate.Run(rush(), s)
	require.ErrorContains(t, err, "between 1s and 1h")
}
