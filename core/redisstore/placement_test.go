package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// ground reads the ground, and requires that it has a host's record.
func (x *suite) ground(t *testing.T) core.Ground {
	t.Helper()
	g, err := x.Store.Ground(t.Context())
	require.NoError(t, err)
	return g
}

// writeRound writes a round. Where each call is made twice, the second one is told that a round was written since.
func (x *suite) writeRound(t *testing.T, number int64, r core.Round) {
	t.Helper()
	next, err := x.Store.SetTargets(t.Context(), number, r)
	if x.twice {
		refused(t, err, core.CodeConflict)
		return
	}
	require.NoError(t, err)
	require.Greater(t, next, number)
}

// targets is what the vmfactory of h1 is told.
func (x *suite) targets(t *testing.T) core.Targets {
	t.Helper()
	l, err := x.Store.Load(t.Context(), x.Host, []string{x.Pool})
	require.NoError(t, err)
	return l.Targets
}

func TestARoundOfPlacement(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		g := x.ground(t)
		require.Negative(t, g.Age)
		require.Zero(t, g.Number)
		require.Nil(t, x.targets(t), "no round yet")

		x.hush(t)
		use := core.Use{Claims: 7, At: g.Now, Rate: 0.25, Rated: g.Now}
		r := core.Round{
			Targets: map[string]core.Targets{"h1": {"p1": {Warm: 3, Most: 4}}, "gone": {"p1": {Warm: 1}}},
			Use:     map[string]core.Use{"p1": use, "gone": use}, Lasts: time.Minute,
		}
		x.writeRound(t, g.Number, r)
		require.Equal(t, core.Targets{"p1": {Warm: 3, Most: 4}}, x.targets(t))
		require.True(t, x.rung(t, "factory_bell", "h1"))
		for _, gone := range []string{x.key("host", "gone"), x.key("pool", "gone")} {
			require.Zero(t, x.b.Admin.Exists(ctx, gone).Val(), "nothing is left of what is gone")
		}
		after := x.ground(t)
		require.EqualValues(t, 1, after.Number)
		require.GreaterOrEqual(t, after.Age, time.Duration(0))
		require.Equal(t, core.Use{Claims: 0, Counted: 7, At: g.Now, Rate: 0.25, Rated: g.Now}, after.Use["p1"])
		require.Equal(t, core.Targets{"p1": {Warm: 3, Most: 4}}, after.Hosts[0].Targets)

		_, err := x.Store.SetTargets(ctx, g.Number, r)
		refused(t, err, core.CodeConflict)

		// A host that nothing was decided of goes by itself again; one whose targets are none holds nothing.
		x.writeRound(t, 1, core.Round{Targets: map[string]core.Targets{"h1": nil}, Lasts: time.Minute})
		require.Nil(t, x.targets(t))
		x.writeRound(t, 2, core.Round{Targets: map[string]core.Targets{"h1": {}}, Lasts: time.Minute})
		require.Equal(t, core.Targets{}, x.targets(t))

		// No overseer places any more.
		x.writeRound(t, 3, core.Round{Lasts: -time.Second})
		l, err := x.Store.Load(ctx, x.Host, []string{x.Pool})
		require.NoError(t, err)
		require.Equal(t, core.Targets{}, l.Targets, "what is warm stays")
		require.False(t, l.Placed)
		require.NoError(t, x.b.Admin.HSet(ctx, x.key("meta"), "planned", "4|1|2").Err())
		require.Nil(t, x.targets(t))
		require.NoError(t, x.b.Admin.HSet(ctx, x.key("meta"), "planned", "4|9000000000000|9000000060000").Err())
		require.Nil(t, x.targets(t), "Redis' clock was set back")
	})
}

func TestTheGroundOfPlacement(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.hush(t)
		x.Submit(t, specs("a", 3, "ann")...)
		require.True(t, x.rung(t, "placement_bell"), "no host has a VM for it")
		x.AddVMs(t, 1)
		x.Exchange(t, 1, 1)
		assigned := coretest.Spec("b0", "p1", "bob")
		x.Submit(t, assigned)
		require.NoError(t, x.b.Admin.HSet(ctx, x.key("evacuations"), assigned.Key(), "scheduled|h0|h1|1|0|why").Err())
		require.NoError(t, x.b.Admin.RPush(ctx, x.key("assigned", "h1", "p1"), assigned.Key()).Err())
		x.unsound = true // it is in two places

		g := x.ground(t)
		require.Equal(t, map[string]int{"p1": 3}, g.Waiting)
		require.NotZero(t, g.Oldest["p1"])
		require.Equal(t, map[string]map[string]int{"h1": {"p1": 1}}, g.Assigned)
		require.EqualValues(t, 1, g.Use["p1"].Claims)
		require.Len(t, g.Pools, 1)
		require.Equal(t, 1, g.Hosts[0].VMsOf["p1"][core.VMClaimed])
	})
}

// A round of many hosts is written in several calls; another round in between ends it.
func TestARoundOfManyHosts(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	x := newSuite(t, b, false)
	r := core.Round{Targets: map[string]core.Targets{}, Lasts: time.Minute}
	for i := range 1200 {
		host := fmt.Sprintf("n%d", i)
		require.NoError(t, b.Admin.HSet(t.Context(), x.key("host", host), "state", "up").Err())
		r.Targets[host] = core.Targets{"p1": {Warm: i + 1}}
	}
	n, err := x.Store.SetTargets(t.Context(), 0, r)
	require.NoError(t, err)
	require.EqualValues(t, 24, n)
	for host, its := range r.Targets {
		require.JSONEq(t, fmt.Sprintf(`{"p1":{"warm":%d}}`, its["p1"].Warm), b.Admin.HGet(t.Context(), x.key("host", host), "targets").Val())
	}
}

func TestWaitPlacement(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.hush(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		woken := make(chan error, 1)
		go func() { woken <- x.Store.WaitPlacement(ctx, time.Minute) }()
		x.Submit(t, specs("a", 1, "ann")...)
		require.NoError(t, <-woken)
		require.NoError(t, ctx.Err())
	})
}
