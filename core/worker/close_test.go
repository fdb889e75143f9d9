package worker_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"drover/core"
	"drover/core/worker"

	"github.com/stretchr/testify/require"
)

func TestCloseWaitsForWorkInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(2)
		f.submitN(9)
		d := open(t, f, config(3))
		workers := work(t, d, 3, func(*worker.Work) { time.Sleep(time.Hour) })
		synctest.Wait()
		began := time.Now()
		var closers sync.WaitGroup
		for range 3 {
			closers.Go(func() {
				if err := d.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		closers.Wait()
		workers.Wait()
		require.Equal(t, time.Hour, time.Since(began))
		require.Empty(t, f.owners)
		require.Len(t, f.waiting(), 7)
		_, err := d.Next(t.Context())
		require.ErrorIs(t, err, worker.ErrDrained)
	})
}

// A call on its way that wants work could take again what a draining worker gives back: the
// worker says nothing before that call's answer.
func TestDrainGivesBackAfterTheLastWish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(2)
		f.submit("a-1")
		d := open(t, f, config(2))
		w := next(t, d)
		f.mu.Lock()
		f.disturb = func(string) fault { return fault{delay: time.Second} }
		f.mu.Unlock()
		began := time.Now()
		asking := make(chan error)
		go func() {
			_, err := d.Next(t.Context())
			asking <- err
		}()
		synctest.Wait() // the wish is on its way
		d.Drain()
		require.ErrorIs(t, <-asking, worker.ErrDrained)
		f.mu.Lock()
		f.disturb = nil
		f.mu.Unlock()
		moved, err := d.Finish(t.Context(), w, core.OutcomeRelease)
		require.NoError(t, err)
		require.True(t, moved)
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, []string{"a-1"}, f.waiting())
		require.NoError(t, d.Close(t.Context()))
	})
}

func TestCloseReleasesWhatIsInHandInTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1", "b-1")
		d := open(t, f, config(2))
		w := next(t, d)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, d.Close(ctx))
		<-w.Cancelled
		require.Equal(t, core.CodeUnavailable, core.CodeOf(w.Cause()))
		require.Equal(t, []core.Outcome{core.OutcomeRelease}, f.outcomes("a-1"))
		require.Equal(t, []string{"a-1", "b-1"}, f.waiting())
		require.Empty(t, f.owners)
		moved, err := d.Finish(t.Context(), w, core.OutcomeDone)
		require.NoError(t, err)
		require.True(t, moved, "the answer is that of the release")
	})
}

func TestCloseWithRedisAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(2))
		w := next(t, d)
		f.on("", fault{before: errNet})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err := d.Close(ctx)
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
		require.LessOrEqual(t, time.Since(began), time.Minute+5*time.Second)
		require.Equal(t, core.CodeUnavailable, core.CodeOf(w.Cause()))
		_, err = d.Finish(t.Context(), w, core.OutcomeDone)
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	})
}

func TestDrainSendsWaitersAwayAndKeepsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(3))
		w := next(t, d)
		waiting := make(chan error)
		go func() {
			_, err := d.Next(t.Context())
			waiting <- err
		}()
		synctest.Wait()
		d.Drain()
		require.ErrorIs(t, <-waiting, worker.ErrDrained)
		require.NoError(t, w.Cause())
		got, moved, err := d.FinishNext(t.Context(), w, core.OutcomeDone)
		require.ErrorIs(t, err, worker.ErrDrained)
		require.Nil(t, got)
		require.True(t, moved)
		closeWorker(t, d)
	})
}

func TestDrainReleasesClaimsOnTheirWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		f.on("exchange", fault{delay: time.Second})
		waiting := make(chan error)
		go func() {
			_, err := d.Next(t.Context())
			waiting <- err
		}()
		synctest.Wait()
		closeWorker(t, d)
		require.ErrorIs(t, <-waiting, worker.ErrDrained)
		require.Equal(t, []core.Outcome{core.OutcomeRelease}, f.outcomes("a-1"))
	})
}

// While a call of a drained worker is on its way that may bring claims, what was done goes out
// at once, and what is given back waits for it.
func TestDrainHoldsBackOnlyWhatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.renew = false
		f.addVMs(3)
		f.submit("a-1", "b-1")
		d := open(t, f, config(3))
		a, b := next(t, d), next(t, d)
		f.on("exchange", fault{before: errNet, delay: time.Minute}) // nobody answers on that connection
		go func() { _, _ = d.Next(t.Context()) }()
		require.NoError(t, d.Serve([]string{"p1"}))
		synctest.Wait()
		f.calm()
		d.Drain()
		began := time.Now()
		finish(t, d, a)
		require.Zero(t, time.Since(began))
		moved, err := d.Finish(t.Context(), b, core.OutcomeRelease)
		require.NoError(t, err)
		require.True(t, moved)
		require.Positive(t, time.Since(began))
		require.Equal(t, []core.Outcome{core.OutcomeRelease}, f.outcomes("b-1"), "it was not taken again")
		closeWorker(t, d)
	})
}

func TestDrainingHostGivesNoWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		f.drain = true
		cfg := config(1)
		cfg.Poll = time.Second
		d := open(t, f, cfg)
		time.AfterFunc(time.Minute, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.drain = false
		})
		began := time.Now()
		w := next(t, d)
		require.GreaterOrEqual(t, time.Since(began), time.Minute)
		require.False(t, d.Stats().Draining)
		finish(t, d, w)
		closeWorker(t, d)
	})
}
