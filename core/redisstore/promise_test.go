package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// would asks for as many VMs as a host with nothing would make.
func (x *suite) would(t *testing.T, host string, clean, creating, more int) int {
	t.Helper()
	got, err := x.Store.Promise(t.Context(), host, []core.VMWant{{Pool: "p1", Clean: clean, Creating: creating, More: more}})
	require.NoError(t, err)
	require.Len(t, got, 1)
	return got[0]
}

// What waits is made once, and one more, however many hosts could make it.
func TestWaitingWorkIsSharedOutAmongHosts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		cluster := func(creating map[string]int, more int) (made map[string]int, total int) {
			made = map[string]int{}
			for i := range 30 {
				host := fmt.Sprintf("host%d", i)
				if n := x.would(t, host, 0, creating[host], more); n+creating[host] > 0 {
					made[host] = n + creating[host]
					total += n
				}
			}
			return made, total
		}
		x.Submit(t, specs("a", 1, "ann")...)
		made, total := cluster(nil, 8)
		require.Equal(t, 2, total)
		_, total = cluster(made, 8) // they are in creation now
		require.Zero(t, total)
		// Nobody makes anything any more: it failed. Others may.
		for host := range made {
			require.Zero(t, x.would(t, host, 0, 0, 0))
		}
		require.Equal(t, 2, x.would(t, "host29", 0, 0, 8))
		require.Zero(t, x.would(t, "host28", 0, 0, 8))
		require.Zero(t, x.would(t, "host29", 2, 0, 8), "it has them: they are clean, and wanted by nobody else")
		x.Submit(t, specs("b", 20, "bob")...)
		_, total = cluster(nil, 8)
		require.Equal(t, 22, total)
	})
}

// Who promised and died, or has no room after all, holds nobody up for long.
func TestPromisesThatAreNotKept(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	x.Submit(t, specs("a", 1, "ann")...)
	require.Equal(t, 2, x.would(t, "dead", 0, 0, 8))
	require.Zero(t, x.would(t, "h1", 0, 0, 8))
	now := start
	pass := func(d time.Duration) {
		now = now.Add(d)
		x.b.Mini.SetTime(now)
	}
	pass(16 * time.Second)
	require.Equal(t, 2, x.would(t, "h1", 0, 0, 8), "the dead do not come back to it")
	for range 5 {
		pass(2 * time.Second)
		require.Equal(t, 2, x.would(t, "h1", 0, 0, 8), "it makes room")
		require.Zero(t, x.would(t, "h2", 0, 0, 8))
	}
	pass(2 * time.Second)
	require.Equal(t, 2, x.would(t, "h2", 0, 0, 8), "the other begins nothing")
	// The clock is set back by a day: what is promised for then is nothing.
	pass(-24 * time.Hour)
	require.Equal(t, 2, x.would(t, "h3", 0, 0, 8))
	coretest.RequireSound(t, x.Store)
}

// What is assigned to a host is made there, whatever others promised.
func TestWhatIsAssignedIsMadeThere(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	x.other(t, "h2")
	claims := x.start(t, 3)
	var items []core.Settlement
	for _, c := range claims {
		items = append(items, settlement(c, core.OutcomeRelease, "h2"))
	}
	_, err := x.Store.Settle(t.Context(), x.Runner, x.lose(t), items, 0)
	require.NoError(t, err)
	require.Equal(t, 4, x.would(t, "h3", 0, 0, 8))
	require.Equal(t, 3, x.would(t, "h2", 0, 0, 8))
	coretest.RequireSound(t, x.Store)
}

// A host that plans while a pool is removed makes nothing of it, and leaves nothing of it in Redis.
func TestNothingIsPromisedOfARemovedPool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		require.NoError(t, x.Store.RemovePool(t.Context(), "p1", false))
		require.Zero(t, x.would(t, "h1", 0, 0, 8))
		left, err := x.b.Admin.Exists(t.Context(), x.key("promises", "p1")).Result()
		require.NoError(t, err)
		require.Zero(t, left)
	})
}
