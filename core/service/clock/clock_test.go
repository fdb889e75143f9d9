package clock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/service/clock"
)

func TestManualWakesOnlyThoseWhoseTimeHasCome(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(1_000)
	c := clock.NewManual(start)
	soon, late := c.After(time.Second), c.After(time.Minute)
	require.Equal(t, 2, c.Sleepers())

	c.Advance(time.Second)
	require.Equal(t, start.Add(time.Second), <-soon)
	require.Equal(t, 1, c.Sleepers())
	select {
	case <-late:
		t.Fatal("woke before its time")
	default:
	}
	c.Advance(time.Minute)
	<-late
	require.Zero(t, c.Sleepers())
	<-c.After(0)
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(time.UnixMilli(0))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- clock.Sleep(ctx, c, time.Hour) }()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, clock.Sleep(context.Background(), c, 0))

	c = clock.NewManual(time.UnixMilli(0))
	go func() { ended <- clock.Sleep(context.Background(), c, time.Second) }()
	require.Eventually(t, func() bool { return c.Sleepers() > 0 }, 5*time.Minute, time.Millisecond)
	c.Advance(time.Hour)
	require.NoError(t, <-ended)
}

func TestRealMoves(t *testing.T) {
	t.Parallel()
	before := clock.Real{}.Now()
	<-clock.Real{}.After(time.Microsecond)
	require.True(t, clock.Real{}.Now().After(before))
}
