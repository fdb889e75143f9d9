package service_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/service"
	"drover/core/service/clock"
)

func TestEveryKeepsItsRhythmAndNotItsStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		last := time.Now()
		var gaps []time.Duration
		err := service.Every(ctx, clock.Real{}, time.Second, func(context.Context) error {
			gaps = append(gaps, time.Since(last))
			last = time.Now()
			if len(gaps) == 50 {
				cancel()
			}
			return nil
		})
		require.NoError(t, err)
		require.Zero(t, gaps[0], "the first call comes at once")
		distinct := map[time.Duration]bool{}
		for _, gap := range gaps[1:] {
			require.InDelta(t, time.Second, gap, float64(time.Second/10))
			distinct[gap] = true
		}
		require.Greater(t, len(distinct), 10)
	})
}

func TestEveryWaitsOnTheGivenClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewManual(time.UnixMilli(0))
		ctx, cancel := context.WithCancel(context.Background())
		calls, ended := make(chan struct{}), make(chan error)
		go func() {
			ended <- service.Every(ctx, c, time.Nanosecond, func(context.Context) error { calls <- struct{}{}; return nil })
		}()
		<-calls
		synctest.Wait()
		require.Equal(t, 1, c.Sleepers())
		c.Advance(time.Nanosecond)
		<-calls
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestEveryEndsWithAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broke")
	err := service.Every(context.Background(), clock.Real{}, time.Hour, func(context.Context) error { return broken })
	require.ErrorIs(t, err, broken)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, service.Every(ctx, clock.Real{}, time.Hour, func(context.Context) error { return broken }), "an ended context calls nothing")
}
