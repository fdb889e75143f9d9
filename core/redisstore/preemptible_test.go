package redisstore_test

import (
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// Preemptible requests get what the others leave, whatever their number and order, and when they are due.
func TestPreemptibleRequestsGoLast(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		spare := specs("p", 5, "ann")
		for i := range spare {
			spare[i].Priority = core.PriorityPreemptible
		}
		x.Submit(t, x.dueIn(t, time.Minute, spare...)...)
		low := specs("l", 4, "bob")
		for i := range low {
			low[i].Priority = core.PriorityLow
		}
		x.Submit(t, low...)
		x.AddVMs(t, 9)
		got := x.Exchange(t, 1, 3).Claims
		require.Len(t, got, 3)
		for _, c := range got {
			require.Equal(t, core.PriorityLow, c.ReadSpec().Priority)
		}
		require.Len(t, x.preceding(t, "p4-1").Waiting, len(core.Priorities()))
		require.Equal(t, 5, x.preceding(t, "p4-1").Waiting[core.PriorityPreemptible])
		require.False(t, x.preceding(t, "p4-1").Soon)
		load, err := x.Store.Load(t.Context(), "h1", []string{"p1"})
		require.NoError(t, err)
		require.Equal(t, 6, load.Pools[0].Waiting)

		got = x.Exchange(t, 2, 4).Claims
		require.Len(t, got, 4)
		require.Equal(t, "l3-1", got[0].Key)
		require.Equal(t, []string{"p0-1", "p1-1", "p2-1"}, []string{got[1].Key, got[2].Key, got[3].Key})
		x.Submit(t, specs("n", 1, "eve")...)
		got = x.Exchange(t, 3, 2).Claims
		require.Len(t, got, 2)
		require.Equal(t, []string{"n0-1", "p3-1"}, []string{got[0].Key, got[1].Key}, "what comes later goes before them")
		require.Error(t, x.Store.RemovePool(t.Context(), "p1", true), "one waits")
	})
}
