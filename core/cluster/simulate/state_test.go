package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
)

// At every moment time has not gone back, and no host has more VMs or runs more than it can.
func TestHostsNeverHoldMoreThanTheyCan(t *testing.T) {
	t.Parallel()
	p, q := core.DefaultPool("cpp"), core.DefaultPool("java")
	p.Limits.Memory, q.Limits.Memory = 1<<30, 3<<30
	p.WarmMost, q.WarmMost = 20, 20
	trace := Examples()[2].Trace()[:2000]
	s := Settings{Hosts: Hosts(2, core.Size{CPU: 64_000, Memory: 10 << 30, Disk: 1 << 40}, 4), VMTime: 2 * time.Second, Pools: []core.Pool{p, q}}
	s.Hosts[0].MaxVMs = 6
	require.NoError(t, s.check(trace))
	c := newCluster(trace, s)
	before, looks := c.now, 0
	c.look = func() {
		looks++
		require.GreaterOrEqual(t, c.now, before)
		before = c.now
		for _, h := range c.hosts {
			vms, busy, memory := 0, 0, int64(0)
			for n, its := range h.cells {
				require.GreaterOrEqual(t, min(its.clean, its.creating, its.busy), 0)
				all := its.clean + its.creating + its.busy
				vms, busy, memory = vms+all, busy+its.busy, memory+int64(all)*c.pools[n].size.Memory
				require.LessOrEqual(t, all, c.pools[n].Max)
			}
			require.Equal(t, h.vms, vms)
			require.True(t, h.MaxVMs == 0 || vms <= h.MaxVMs)
			require.Equal(t, h.Slots-h.slots, busy)
			require.GreaterOrEqual(t, h.slots, 0)
			require.LessOrEqual(t, memory, h.Size.Memory)
		}
	}
	require.NoError(t, c.run())
	require.Greater(t, looks, len(trace))
}

// In a cluster that is full of warm VMs, one gives way to a request that waits, and none to the spare one.
func TestWarmVMsDoNotGiveWayToASpareOne(t *testing.T) {
	t.Parallel()
	p, q := core.DefaultPool("cpp"), core.DefaultPool("java")
	p.Limits.Memory, q.Limits.Memory = 1<<30, 1<<30
	p.Warm, q.Warm = 0, 4
	trace := Trace{{At: 1000, Pool: "cpp", Priority: core.PriorityNormal, Submitter: "ann", Run: 60_000}}
	s := Settings{Hosts: Hosts(1, core.Size{CPU: 64_000, Memory: 4 << 30, Disk: 1 << 40}, 4), VMTime: 2 * time.Second, Pools: []core.Pool{p, q}}
	require.NoError(t, s.check(trace))
	c := newCluster(trace, s)
	fewest := q.Warm
	c.look = func() {
		if c.now >= 0 {
			fewest = min(fewest, c.hosts[0].cells[1].clean)
		}
	}
	require.NoError(t, c.run())
	require.Equal(t, 3, fewest)
}
