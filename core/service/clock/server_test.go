package clock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShared(t *testing.T) {
	t.Parallel()
	asked, ahead, away := 0, 25*time.Hour, error(nil)
	s := NewShared(func(context.Context) (time.Duration, error) {
		asked++
		return ahead, away
	})
	near := func(want time.Duration) {
		t.Helper()
		require.InDelta(t, -want, time.Until(s.Now()), float64(time.Minute))
	}
	near(25 * time.Hour)
	near(25 * time.Hour)
	require.Equal(t, 1, asked, "it asks now and then")
	// Somebody sets this machine's clock right.
	ahead = 0
	near(25 * time.Hour)
	s.asked = s.asked.Add(-sharedEvery - time.Second)
	near(0)
	require.Equal(t, 2, asked)
	// The server is away: what it said last goes on.
	ahead, away = time.Hour, errors.New("it is away")
	s.asked = s.asked.Add(-sharedEvery - time.Second)
	near(0)
	require.Equal(t, 3, asked)

	never := NewShared(func(context.Context) (time.Duration, error) { return time.Hour, away })
	require.InDelta(t, 0, time.Until(never.Now()), float64(time.Minute))
}
