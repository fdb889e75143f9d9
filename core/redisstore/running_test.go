package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// running sets how many of a submitter and priority run at once.
func (x *suite) running(t *testing.T, n int) {
	t.Helper()
	p := core.DefaultPool("p1")
	p.Running = n
	require.NoError(t, x.Store.SetPool(t.Context(), p))
}

// No submitter has more running than the pool allows, in each priority, and the others go on.
func TestMostRunningOfASubmitter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.running(t, 2)
		x.AddVMs(t, 30)
		high := specs("high", 3, "ann")
		for i := range high {
			high[i].Priority = core.PriorityHigh
		}
		x.Submit(t, append(append(specs("ann", 9, "ann"), high...), specs("bob", 3, "bob")...)...)
		x.Submit(t, x.dueIn(t, time.Minute, specs("soon", 2, "ann")...)...)
		count := func(got core.Exchanged) map[string]int {
			out := map[string]int{}
			for _, c := range got.Claims {
				s := c.ReadSpec()
				out[s.Submitter+" "+string(s.Priority)]++
			}
			return out
		}
		first := x.Exchange(t, 1, 20)
		require.Equal(t, map[string]int{"ann normal": 2, "ann high": 2, "bob normal": 2}, count(first))
		require.Empty(t, x.Exchange(t, 2, 5).Claims)
		require.Equal(t, 2, x.preceding(t, "ann8-1").Running)

		// Whatever ends makes place: its end, a retry, a release.
		var ends []core.Finish
		for i, c := range first.Claims {
			if c.ReadSpec().Submitter == "ann" && c.ReadSpec().Priority == core.PriorityNormal {
				ends = append(ends, core.Finish{Key: c.Key, Token: c.Token, Outcome: []core.Outcome{core.OutcomeDone, core.OutcomeRelease}[i%2]})
			}
		}
		require.Equal(t, map[string]int{"ann normal": 2}, count(x.Exchange(t, 3, 5, ends...)))
		x.running(t, 3)
		require.Equal(t, map[string]int{"ann normal": 1, "ann high": 1, "bob normal": 1}, count(x.Exchange(t, 4, 9)))
		x.running(t, 0)
		require.Len(t, x.Exchange(t, 5, 20).Claims, 17-1-9, "of 17 one has ended and nine run; without a limit all run")
	})
}

// One who may run is found by the first call, behind hundreds of submitters who may not.
func TestWhoMayRunIsFoundBehindManyWhoMayNot(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		const many = 500
		p := core.DefaultPool("p1")
		p.Running = 1
		require.NoError(t, x.Store.SetPool(t.Context(), p))
		var all []core.Spec
		for i := range 2 {
			for u := range many {
				all = append(all, coretest.Spec(fmt.Sprintf("n%d-%d", u, i), "p1", fmt.Sprintf("u%d", u)))
			}
		}
		x.Submit(t, all...)
		x.AddVMs(t, many+3)
		seq := int64(0)
		for n := 0; n < many; {
			seq++
			n += len(x.Exchange(t, seq, 100).Claims)
		}
		x.Submit(t, coretest.Spec("yan", "p1", "yan"), coretest.Spec("zoe", "p1", "zoe"))
		for _, who := range []string{"yan", "zoe"} {
			seq++
			got := x.Exchange(t, seq, 1).Claims
			require.Len(t, got, 1)
			require.Equal(t, who, got[0].ReadSpec().Submitter)
		}
		require.Empty(t, x.Exchange(t, seq+1, 1).Claims)
	})
}

// An end on one host wakes another one that has VMs and found nobody whose turn it could be.
func TestAnEndWakesWhoCouldNotBegin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.running(t, 1)
		x.AddVMs(t, 3)
		x.Submit(t, specs("a", 3, "ann")...)
		got := x.Exchange(t, 1, 2)
		require.Len(t, got.Claims, 1)
		require.NoError(t, x.b.Admin.Del(t.Context(), x.key("bell", "h1")).Err())
		done := x.Exchange(t, 2, 0, core.Finish{Key: got.Claims[0].Key, Token: got.Claims[0].Token, Outcome: core.OutcomeDone})
		require.Equal(t, []bool{true}, done.Finished)
		rings, err := x.b.Admin.LLen(t.Context(), x.key("bell", "h1")).Result()
		require.NoError(t, err)
		require.EqualValues(t, 1, rings)
	})
}

// Placement makes no VMs for what could not run at once.
func TestPlacementKnowsWhatCanRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.running(t, 2)
		x.Submit(t, append(specs("a", 9, "ann"), coretest.Spec("b", "p1", "bob"))...)
		g, err := x.Store.Ground(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4, g.Waiting["p1"])
	})
}
