package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"drover/core"
	"drover/core/worker"

	"github.com/stretchr/testify/require"
)

func TestCancelReachesWork(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]bool{"by notice": true, "by beat": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.addVMs(2)
				f.submit("a-1", "b-1")
				d := open(t, f, config(2))
				a, b := next(t, d), next(t, d)
				synctest.Wait()
				began := time.Now()
				f.mu.Lock()
				f.marks["a-1"] = "ann"
				if notice {
					ring(f.owners[runner].notice)
				}
				f.mu.Unlock()
				<-a.Cancelled
				if notice {
					require.Zero(t, time.Since(began))
				}
				require.LessOrEqual(t, time.Since(began), beat)
				require.Equal(t, core.CodeCancelled, core.CodeOf(a.Cause()))
				require.EqualError(t, a.Cause(), "cancelled by ann")
				require.ErrorIs(t, a.Context().Err(), context.Canceled)
				require.NoError(t, b.Cause())
				finish(t, d, a)
				finish(t, d, b)
				closeWorker(t, d)
			})
		})
	}
}

// A worker with slots left waits for its notices twice: with the bell, for callers that want
// work, and without, for the held work. Whichever gets a notice, the work is stopped.
func TestACancelArrivesByEitherWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(2)
		f.submit("a-1", "b-1")
		d := open(t, f, config(3))
		inHand := []*worker.Work{next(t, d), next(t, d)}
		go func() { _, _ = d.Next(t.Context()) }()
		synctest.Wait()
		require.Equal(t, map[string]int{"": 1, "h1": 1}, f.waits)
		began := time.Now()
		for _, w := range inHand { // who waits the longest gets it: one each
			f.mark(w.Key, "ann")
			<-w.Cancelled
			synctest.Wait()
		}
		require.Zero(t, time.Since(began))
		for _, w := range inHand {
			finish(t, d, w)
		}
		closeWorker(t, d)
	})
}

func TestCancelledBeforeItWasClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.mark("a-1", "ann")
		f.submit("a-1")
		d := open(t, f, config(1))
		w := next(t, d)
		<-w.Cancelled
		require.Equal(t, core.CodeCancelled, core.CodeOf(w.Cause()))
		require.EqualError(t, w.Cause(), "cancelled by ann")
		finish(t, d, w)
		closeWorker(t, d)
	})
}

func TestWorkerInHandListensForNoticesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		w := next(t, d)
		synctest.Wait()
		require.Equal(t, map[string]int{"": 1}, f.waits, "a full worker leaves the bell to others")
		finish(t, d, w)
		closeWorker(t, d)
	})
}
