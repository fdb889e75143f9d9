package worker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"drover/core"
	"drover/core/worker"

	"github.com/stretchr/testify/require"
)

func TestIdleWorkerWaitsOnceAndWakesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(100)
		d := open(t, f, config(50))
		got := make(chan *worker.Work, 50)
		workers := work(t, d, 50, func(w *worker.Work) { got <- w })
		synctest.Wait()
		require.Equal(t, map[string]int{"h1": 1}, f.waits, "one goroutine waits for the bell")
		asked := f.count("exchange")
		require.LessOrEqual(t, asked, 4)

		began := time.Now()
		f.submit("a-1")
		w := <-got
		require.Equal(t, "a-1", w.Key)
		require.Zero(t, time.Since(began), "woken by the bell, not by the poll")
		synctest.Wait()
		require.Equal(t, 50, f.exchanged[asked].Want, "one call asks for all idle workers")
		require.LessOrEqual(t, f.count("exchange"), asked+2)
		d.Drain()
		workers.Wait()
		closeWorker(t, d)
	})
}

func TestPollIsTheTruth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		cfg := config(1)
		cfg.Poll = 7 * time.Second
		d := open(t, f, cfg)
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.queue = append(f.queue, "a-1") // and no bell rings
		}()
		w := next(t, d)
		require.Equal(t, cfg.Poll, time.Since(began))
		finish(t, d, w)
		closeWorker(t, d)
	})
}

func TestIdleWorkerBeatsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		d := open(t, f, config(1))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(beat / 10) {
			f.mu.Lock()
			require.False(t, time.Now().After(f.owners[runner].due), "late")
			f.mu.Unlock()
		}
		_, err := d.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.InDelta(t, 40, f.count("beat"), 1)
		require.Less(t, time.Since(d.Stats().LastBeat), beat)
		closeWorker(t, d)
	})
}

func TestCancelledWaiterHandsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.on("exchange", fault{delay: time.Second})
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(2))
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error)
		go func() {
			_, err := d.Next(ctx)
			first <- err
		}()
		synctest.Wait() // its call is in flight
		cancel()
		require.ErrorIs(t, <-first, context.Canceled)
		w := next(t, d)
		require.Equal(t, "a-1", w.Key)
		finish(t, d, w)
		require.Equal(t, []core.Outcome{core.OutcomeDone}, f.outcomes("a-1"))
		closeWorker(t, d)
	})
}

func TestClaimForNobodyIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.on("exchange", fault{delay: time.Second})
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(2))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := d.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = d.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded, "an ended context asks for nothing")
		time.Sleep(5 * time.Second)
		require.Equal(t, []core.Outcome{core.OutcomeRelease}, f.outcomes("a-1"))
		require.Equal(t, []string{"a-1"}, f.waiting())
		require.Equal(t, int64(1), d.Stats().Released)
		require.Zero(t, d.Stats().InHand)
		closeWorker(t, d)
	})
}

// The claim and the end of its waiter's testTimeout come at the same moment.
func TestClaimThatComesWithTheEndOfWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		d := open(t, f, config(1))
		for i := range 2000 {
			f.submit(fmt.Sprintf("r%d-1", i))
			ctx, cancel := context.WithCancel(t.Context())
			f.mu.Lock()
			f.disturb = func(string) fault {
				cancel()
				return fault{}
			}
			f.mu.Unlock()
			w, err := d.Next(ctx)
			f.calm()
			if err == nil {
				finish(t, d, w)
			}
			synctest.Wait()
			require.Zero(t, d.Stats().InHand)
			require.Zero(t, f.slots(runner))
		}
		closeWorker(t, d)
	})
}

// A worker that got its work by another way while it listened has taken a ring
// that it does not need: it must pass it on to the host's other workers.
func TestRingIsPassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(2))
		a := next(t, d)
		second := make(chan *worker.Work)
		go func() {
			w, err := d.Next(t.Context())
			if err != nil {
				t.Error(err)
			}
			second <- w
		}()
		synctest.Wait()
		require.Equal(t, 1, f.waits["h1"])
		f.mu.Lock()
		f.queue = append(f.queue, "b-1") // its ring was taken by somebody else
		f.mu.Unlock()
		finish(t, d, a)
		b := <-second
		require.Equal(t, "b-1", b.Key, "the finish took the waiter along")
		require.Equal(t, 1, f.waits["h1"], "still in its Wait, though nobody here waits any more")
		f.addVMs(1)
		f.submit("c-1")
		synctest.Wait()
		select {
		case <-f.bell:
		default:
			t.Fatal("the ring for c-1 was swallowed")
		}
		finish(t, d, b)
		closeWorker(t, d)
	})
}

// The same while finishes are on their way: a call that only finishes passes nothing on.
func TestRingIsPassedOnAfterFinishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(2)
		f.submit("a-1", "b-1")
		cfg := config(3)
		cfg.Lanes = 1
		d := open(t, f, cfg)
		a, b := next(t, d), next(t, d)
		third := make(chan *worker.Work)
		go func() {
			w, err := d.Next(t.Context())
			if err != nil {
				t.Error(err)
			}
			third <- w
		}()
		synctest.Wait()
		f.mu.Lock()
		f.queue = append(f.queue, "c-1") // its ring was taken by somebody else
		f.mu.Unlock()
		finish(t, d, a)
		c := <-third
		f.on("exchange", fault{delay: time.Second})
		var finishing sync.WaitGroup
		for _, w := range []*worker.Work{b, c} {
			finishing.Go(func() { finish(t, d, w) })
			synctest.Wait() // the first is in flight, the second queued
		}
		f.addVMs(1)
		f.submit("d-1") // the listener takes this ring
		finishing.Wait()
		time.Sleep(2 * time.Second)
		select {
		case <-f.bell:
		default:
			t.Fatal("the ring for d-1 was swallowed")
		}
		closeWorker(t, d)
	})
}

func TestBellThatRingsInVainIsNotAnsweredForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		d := open(t, f, config(1))
		f.on("wait", fault{})
		f.mu.Lock()
		f.disturb = func(string) fault {
			ring(f.bell) // somebody's pair that this worker may not take
			return fault{delay: 50 * time.Microsecond}
		}
		f.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := d.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, f.count("exchange"), 250)
		closeWorker(t, d)
	})
}

func TestNextAfterLongIdlenessAsksAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		d := open(t, f, config(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := d.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		f.mu.Lock()
		f.queue = append(f.queue, "a-1") // and no bell rings
		f.mu.Unlock()
		began := time.Now()
		finish(t, d, next(t, d))
		require.Zero(t, time.Since(began))
		closeWorker(t, d)
	})
}
