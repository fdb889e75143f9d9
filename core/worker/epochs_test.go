package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/worker"
)

// lives are epochs that end with an error after a time, which the nth is asked for.
type lives struct {
	last  func(n int) time.Duration
	err   error
	began []time.Time
	ended []time.Time
	heard int // notices
}

func (l *lives) run(ctx context.Context, drain <-chan struct{}) error {
	return worker.Epochs(ctx, drain, func(string, error) { l.heard++ }, func() error {
		l.began = append(l.began, time.Now())
		if l.last != nil {
			time.Sleep(l.last(len(l.began)))
		}
		l.ended = append(l.ended, time.Now())
		return l.err
	})
}

// pause is how long nobody lived before the nth epoch.
func (l *lives) pause(n int) time.Duration { return l.began[n-1].Sub(l.ended[n-2]) }

var errFenced = core.Errorf(core.CodeFenced, runner, "over")

func TestEpochsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		l := &lives{}
		require.NoError(t, l.run(ctx, nil))
		for _, code := range []core.Code{core.CodeBusy, core.CodeVersion, core.CodeInvalid, core.CodeForbidden} {
			l.err = core.Errorf(code, runner, "no")
			require.Equal(t, code, core.CodeOf(l.run(ctx, nil)))
		}
		require.Len(t, l.began, 5)
		require.Zero(t, l.heard)
	})
}

func TestEpochsThatFailComeEverLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		l := &lives{err: errFenced, last: func(n int) time.Duration {
			if n == 40 {
				return 2 * time.Minute
			}
			return time.Second
		}}
		require.NoError(t, l.run(ctx, nil))
		require.Greater(t, len(l.began), 100)
		require.GreaterOrEqual(t, l.heard, len(l.began)-1)
		require.Less(t, l.pause(2), time.Second)
		require.Greater(t, l.pause(40), 2*time.Second, "a second process under the same name fences again and again")
		require.Less(t, l.pause(41), time.Second, "an epoch that lasted is not one of that row")
	})
}

func TestADrainBetweenEpochs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		drain := make(chan struct{})
		close(drain)
		l := &lives{err: core.Errorf(core.CodeUnavailable, "", "Redis is away")}
		require.NoError(t, l.run(ctx, drain))
		require.Len(t, l.began, 1)
	})
}

func TestListen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		wake, calls := make(chan struct{}, 1), 0
		worker.Listen(ctx, wake, func(context.Context) error {
			calls++
			time.Sleep(time.Second)
			return errNet
		})
		require.Empty(t, wake)
		require.Less(t, calls, 30, "it does not spin")

		ctx, stop = context.WithCancel(t.Context())
		worker.Listen(ctx, wake, func(context.Context) error {
			if len(wake) > 0 {
				stop()
			}
			return nil
		})
		require.Len(t, wake, 1)
	})
}

// A process that calls under our name and epoch makes our lane stale: the epoch is over.
func TestStaleIsTheEndOfTheEpoch(t *testing.T) {
	t.Parallel()
	p, _, err := worker.Join(t.Context(), newFake(), worker.PresenceConfig{Registration: core.Registration{Owner: runner}})
	require.NoError(t, err)
	require.False(t, p.Over(t.Context(), p.Epoch(), errNet))
	require.NoError(t, p.Context().Err())
	require.True(t, p.Over(t.Context(), p.Epoch(), core.Errorf(core.CodeStale, runner, "the lane is further")))
	<-p.Lost()
	require.Equal(t, core.CodeFenced, core.CodeOf(context.Cause(p.Context())))
	p.Stop()
}
