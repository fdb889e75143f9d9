package redisstore_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// hourly lets five at once, and then one each hour.
var hourly = core.Rate{Every: time.Hour, Burst: 5}

func (x *suite) take(t testing.TB, name string, r core.Rate, n int) core.Allowance {
	t.Helper()
	a, err := x.Store.Take(t.Context(), name, r, n)
	require.NoError(t, err)
	return a
}

func TestTake(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		require.Equal(t, core.Allowance{Allowed: true, Remaining: 5}, x.take(t, "sign-in:ann", hourly, 0), "looking takes nothing")
		a := x.take(t, "sign-in:ann", hourly, 2)
		require.True(t, a.Allowed)
		require.Equal(t, 3, a.Remaining)
		require.Zero(t, a.Retry)
		require.InDelta(t, 2*time.Hour, a.Reset, float64(time.Minute))
		a = x.take(t, "sign-in:ann", hourly, 4)
		require.False(t, a.Allowed, "four of three")
		require.Equal(t, 3, a.Remaining, "all or none")
		require.InDelta(t, time.Hour, a.Retry, float64(time.Minute))
		require.True(t, x.take(t, "sign-in:ann", hourly, 3).Allowed)
		for _, n := range []int{0, 1} {
			a = x.take(t, "sign-in:ann", hourly, n)
			require.False(t, a.Allowed)
			require.Zero(t, a.Remaining)
			require.InDelta(t, time.Hour, a.Retry, float64(time.Minute))
			require.InDelta(t, 5*time.Hour, a.Reset, float64(time.Minute))
		}
		require.True(t, x.take(t, "sign-in:bob", hourly, 5).Allowed, "each name has its own")
		require.True(t, x.take(t, "\x00 *|\n", hourly, 5).Allowed, "any name will do")
		require.False(t, x.take(t, "\x00 *|\n", hourly, 1).Allowed)
	})
}

// With time, as many become possible as the rate says, and never more than the burst.
func TestTakeRecovers(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		x := newSuite(t, coretest.Mini(t), twice)
		at := start
		after := func(d time.Duration) {
			at = at.Add(d)
			x.b.Mini.SetTime(at)
			x.b.Mini.FastForward(d)
		}
		require.True(t, x.take(t, "a", hourly, 5).Allowed)
		after(time.Hour - time.Millisecond)
		require.False(t, x.take(t, "a", hourly, 1).Allowed)
		after(time.Millisecond)
		require.True(t, x.take(t, "a", hourly, 1).Allowed)
		require.False(t, x.take(t, "a", hourly, 1).Allowed)
		after(100 * time.Hour)
		require.Equal(t, 5, x.take(t, "a", hourly, 0).Remaining)
		require.True(t, x.take(t, "a", hourly, 5).Allowed)
		require.False(t, x.take(t, "a", hourly, 1).Allowed)

		at = start.Add(-1000 * time.Hour) // Redis' clock is set back
		x.b.Mini.SetTime(at)
		a := x.take(t, "a", hourly, 1)
		require.False(t, a.Allowed)
		require.LessOrEqual(t, a.Retry, hourly.Every, "nobody is shut out for longer than the rate says")
	}
}

// What a name leaves goes by itself, not before the rate is whole again.
func TestTakeLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		before := x.picture(t)
		x.take(t, "api:ann", hourly, 0)
		require.Empty(t, before.To(x.picture(t)))
		a := x.take(t, "api:ann", hourly, 2)
		keys, err := x.b.Admin.Keys(t.Context(), x.key("rate", "api", "*")).Result()
		require.NoError(t, err)
		require.Len(t, keys, 1)
		require.NotContains(t, keys[0], "ann")
		ttl, err := x.b.Admin.PTTL(t.Context(), keys[0]).Result()
		require.NoError(t, err)
		require.InDelta(t, a.Reset, ttl, float64(time.Minute))
		x.take(t, "no word:ann", hourly, 1)
		keys, err = x.b.Admin.Keys(t.Context(), x.key("rate", "other", "*")).Result()
		require.NoError(t, err)
		require.Len(t, keys, 1)
	})
}

func TestTakeAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		if x.twice {
			t.Skip("a repeat that another call comes before counts again")
		}
		var allowed atomic.Int32
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				if a, err := x.Store.Take(context.Background(), "a", hourly, 1); err == nil && a.Allowed {
					allowed.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, hourly.Burst, allowed.Load())
	})
}

func TestTakeRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		a := x.take(t, "", core.Rate{}, 1)
		require.True(t, a.Allowed, "no rate does not bound")
		for why, c := range map[string]struct {
			name string
			r    core.Rate
			n    int
		}{
			"no name":      {"", hourly, 1},
			"long name":    {strings.Repeat("x", 257), hourly, 1},
			"no burst":     {"a", core.Rate{Every: time.Hour}, 1},
			"no rhythm":    {"a", core.Rate{Burst: 1}, 1},
			"backwards":    {"a", core.Rate{Every: -1, Burst: 1}, 1},
			"too seldom":   {"a", core.Rate{Every: 1000 * time.Hour, Burst: 1}, 1},
			"large burst":  {"a", core.Rate{Every: 1, Burst: 1 << 30}, 1},
			"below none":   {"a", hourly, -1},
			"never enough": {"a", hourly, 6},
		} {
			_, err := x.Store.Take(t.Context(), c.name, c.r, c.n)
			require.Equal(t, core.CodeInvalid, core.CodeOf(err), why)
		}
	})
}
