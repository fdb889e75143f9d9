package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/coretest"
)

func TestOverseersGiveSigns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		o, err := x.Store.Overseen(ctx)
		require.NoError(t, err)
		require.True(t, o.Late)
		require.Zero(t, o.At)

		require.NoError(t, x.Store.Oversee(ctx, 5*time.Minute))
		require.NoError(t, x.Store.Oversee(ctx, time.Millisecond), "one that runs all the time, beside one from cron")
		o, err = x.Store.Overseen(ctx)
		require.NoError(t, err)
		require.False(t, o.Late)
		require.NotZero(t, o.At)

		meta := x.key("meta")
		require.NoError(t, x.b.Admin.HSet(ctx, meta, "overseen", "1000|2000").Err())
		o, err = x.Store.Overseen(ctx)
		require.NoError(t, err)
		require.True(t, o.Late)
		require.EqualValues(t, 1000, o.At)

		require.NoError(t, x.b.Admin.HSet(ctx, meta, "overseen", "9000000000000|9000000000000").Err())
		require.NoError(t, x.Store.Oversee(ctx, 0), "Redis' clock was set back")
		require.NoError(t, x.Store.Oversee(ctx, -time.Minute))
		due := x.b.Admin.HGet(ctx, meta, "overseen").Val()
		require.NotContains(t, due, "9000000000000")
	})
}

// However many times there were without a sign, none of them counts as time that passed.
func TestManyTimesWithoutASign(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	at := start
	for range 40 {
		require.NoError(t, x.Store.Oversee(t.Context(), time.Minute))
		at = at.Add(time.Hour)
		x.b.Mini.SetTime(at)
	}
	require.NoError(t, x.Store.Oversee(t.Context(), time.Minute))
	c, err := x.Store.ReadClock(t.Context())
	require.NoError(t, err)
	require.Less(t, len(c.Gaps), 40)
	require.LessOrEqual(t, c.Age(start.UnixMilli()), time.Minute, "a heartbeat of then was good for so long")
}
