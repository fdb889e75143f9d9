package redisstore_test

import (
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

func TestPools(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		p := core.DefaultPool("p2")
		p.Max, p.Paused, p.MaxWait = 3, true, time.Hour
		before := x.picture(t)
		require.NoError(t, x.Store.SetPool(ctx, p))
		diff := before.To(x.picture(t))
		require.Contains(t, diff, "+ pool:p2 paused: 1")
		require.Contains(t, diff, "+ pool:p2 max_waiting: 10000")
		require.Contains(t, diff, "+ pool:p2 max: 3")
		got, err := x.Store.GetPool(ctx, "p2")
		require.NoError(t, err)
		require.Equal(t, p, got)
		all, err := x.Store.ListPools(ctx)
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, "p1", all[0].Name)
		p.Paused = false
		require.NoError(t, x.Store.SetPool(ctx, p))
		got, err = x.Store.GetPool(ctx, "p2")
		require.NoError(t, err)
		require.False(t, got.Paused)
	})
}

func TestAPoolThatIsRemovedWhileAllAreListedIsNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		require.NoError(t, x.Store.Client().SAdd(t.Context(), x.Store.Namespace().Key("pools"), "gone").Err())
		all, err := x.Store.ListPools(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, "p1", all[0].Name)
		require.NoError(t, x.Store.Client().SRem(t.Context(), x.Store.Namespace().Key("pools"), "gone").Err())
	})
}

func TestPoolsRefuse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		before := x.picture(t)
		_, err := x.Store.GetPool(ctx, "nosuch")
		refused(t, err, core.CodeNotFound)
		_, err = x.Store.GetPool(ctx, "No Name")
		refused(t, err, core.CodeInvalid)
		bad := core.DefaultPool("p2")
		bad.Max = 0
		refused(t, x.Store.SetPool(ctx, bad), core.CodeInvalid)
		x.changed(t, before)
	})
}

// A pool that is set again keeps its place in the order of priorities.
func TestSetPoolKeepsTheTurns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.claim(t, 1, "a")
		require.NoError(t, x.Store.SetPool(t.Context(), core.DefaultPool("p1")))
		require.Contains(t, x.picture(t), "pool:p1 tickets: 1")
	})
}
