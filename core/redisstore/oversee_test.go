package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
