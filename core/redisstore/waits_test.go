package redisstore_test

import (
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// A request waits since it was submitted, until it was in a hand or Redis had lost it.
func TestWaitingSince(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	x := newSuite(t, b, false)
	claims := x.start(t, 2)
	start := time.Now()
	b.Mini.SetTime(start)
	ctx, key := t.Context(), claims[0].Key
	since := func(keys ...string) []int64 {
		out, err := x.Store.WaitingSince(ctx, keys)
		require.NoError(t, err)
		return out
	}
	require.Equal(t, []int64{0}, since(key))
	x.Exchange(t, 2, 0, end(claims[0], core.OutcomeRelease))
	require.Equal(t, []int64{start.UnixMilli(), 0, 0}, since(key, claims[1].Key, "nobody-1"))

	// Of what Redis does not have nothing is noted.
	b.Mini.SetTime(start.Add(time.Hour))
	require.NoError(t, x.Store.WaitAnew(ctx, []string{claims[1].Key, "nobody-1"}))
	require.Equal(t, []int64{start.UnixMilli(), start.Add(time.Hour).UnixMilli(), 0}, since(key, claims[1].Key, "nobody-1"))
	coretest.RequireSound(t, x.Store)
}
