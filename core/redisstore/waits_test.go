package redisstore_test

import (
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// A request waits since it was submitted, until it was in a hand or Redis had lost it.
func TestWaits(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	x := newSuite(t, b, false)
	claims := x.start(t, 2)
	start := time.Now()
	b.Mini.SetTime(start)
	ctx, key := t.Context(), claims[0].Key
	waits := func(keys ...string) []time.Duration {
		out, err := x.Store.Waits(ctx, keys)
		require.NoError(t, err)
		return out
	}
	require.Negative(t, waits(key)[0])
	x.Exchange(t, 2, 0, end(claims[0], core.OutcomeRelease))
	b.Mini.SetTime(start.Add(time.Hour))
	got := waits(key, claims[1].Key, "nobody-1")
	require.InDelta(t, time.Hour, got[0], float64(time.Minute))
	require.Negative(t, got[1])
	require.Negative(t, got[2])

	// Of what Redis does not have nothing is noted.
	require.NoError(t, x.Store.WaitAnew(ctx, []string{claims[1].Key, "nobody-1"}))
	require.Equal(t, 0, int(waits(claims[1].Key)[0]/time.Minute))
	require.Negative(t, waits("nobody-1")[0])

	// The clock is set back: they wait since then, and not until that time comes again.
	b.Mini.SetTime(start.Add(-24 * time.Hour))
	require.Zero(t, waits(key)[0])
	b.Mini.SetTime(start.Add(-23 * time.Hour))
	require.InDelta(t, time.Hour, waits(key)[0], float64(time.Minute))
	coretest.RequireSound(t, x.Store)
}
