package worker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drover/core"
	"drover/core/worker"

	"github.com/stretchr/testify/require"
)

func TestLostReplyStrandsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		bad  fault
	}{
		{"the call is lost", fault{before: errNet}},
		{"the answer is lost", fault{after: errNet}},
		{"the answer is slower than the call may take", fault{delay: time.Minute}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.addVMs(4)
				f.submitN(4)
				var said []string
				cfg := config(4)
				cfg.Notice = func(text string, err error) { said = append(said, fmt.Sprint(text, err)) }
				d := open(t, f, cfg)
				f.on("exchange", c.bad)
				time.AfterFunc(time.Minute, f.calm)
				w := next(t, d)
				f.on("exchange", c.bad)
				time.AfterFunc(time.Minute, f.calm)
				finish(t, d, w)
				require.Equal(t, []core.Outcome{core.OutcomeDone}, f.outcomes(w.Key))
				require.Zero(t, f.slots(runner))
				require.Len(t, f.waiting(), 3)
				require.Len(t, said, 4, "told once that it fails and once that it works, twice: %v", said)
				require.Positive(t, d.Stats().Repeats)
				closeWorker(t, d)
			})
		})
	}
}

func TestRedisAwayForMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		f := newFake()
		f.addVMs(n)
		f.submitN(n)
		d := open(t, f, config(n))
		var running atomic.Int32
		away := make(chan struct{})
		workers := work(t, d, n, func(w *worker.Work) {
			running.Add(1)
			<-away
			time.Sleep(time.Duration(rand.IntN(300)) * time.Second)
			require.NoError(t, w.Cause(), "Redis being away does not stop work")
		})
		synctest.Wait()
		require.EqualValues(t, n, running.Load())
		f.on("", fault{before: errNet})
		close(away)
		began := f.count("exchange")
		time.Sleep(6 * time.Minute)
		require.Equal(t, n, f.slots(runner))
		require.Less(t, f.count("exchange")-began, 6*60*4, "it backs off")
		f.calm()
		for d.Stats().Finished < n {
			time.Sleep(10 * time.Millisecond)
		}
		d.Drain()
		workers.Wait()
		for i := range n {
			require.Equal(t, []core.Outcome{core.OutcomeDone}, f.outcomes(fmt.Sprintf("r%05d-1", i)))
		}
		closeWorker(t, d)
	})
}

// Redis was away for some beats, and a lane is the first to reach it again. Its call was made
// when no heartbeat was due; its repeat is one, because another may be long in coming.
func TestARepeatIsAHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		w := next(t, d)
		back := time.Now().Add(5 * beat)
		f.mu.Lock()
		f.disturb = func(op string) fault {
			if op == "beat" {
				return fault{before: errNet, delay: time.Minute} // nobody answers on that connection
			}
			if time.Now().Before(back) {
				return fault{before: errNet}
			}
			return fault{}
		}
		f.mu.Unlock()
		finish(t, d, w)
		require.False(t, time.Now().Before(back))
		require.True(t, time.Now().Before(f.owners[runner].due), "late, though Redis just heard of it")
		f.calm()
		closeWorker(t, d)
	})
}

func TestFinishGoesThroughAfterItsContextEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		w := next(t, d)
		f.on("exchange", fault{before: errNet})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := d.Finish(ctx, w, core.OutcomeDone)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, moved, err := d.FinishNext(ctx, w, core.OutcomeDone)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.False(t, moved)
		f.calm()
		moved, err = d.Finish(t.Context(), w, core.OutcomeDone)
		require.NoError(t, err)
		require.True(t, moved)
		closeWorker(t, d)
	})
}

// Redis went back to an older copy: a finish that it had answered is undone.
func TestStrangeSlotIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(3)
		f.submit("a-1", "b-1", "c-1")
		d := open(t, f, config(3))
		a, b := next(t, d), next(t, d)
		f.mu.Lock()
		before := f.owners[runner].slots[a.Key]
		f.mu.Unlock()
		finish(t, d, a)
		f.mu.Lock()
		f.owners[runner].slots[a.Key] = before
		f.owners[runner].slots["z-1"] = core.Held{Key: "z-1", Token: "0.5"} // of an older epoch: not the worker's
		f.mu.Unlock()
		time.Sleep(3 * beat)
		require.Equal(t, []core.Outcome{core.OutcomeDone, core.OutcomeRelease}, f.outcomes("a-1"))
		require.Equal(t, 2, f.slots(runner), "b-1 in hand and z-1")
		require.NoError(t, b.Cause())
		f.mu.Lock()
		delete(f.owners[runner].slots, "z-1")
		f.mu.Unlock()
		finish(t, d, b)
		closeWorker(t, d)
	})
}

// stopped requires that work is stopped within some beats.
func stopped(t *testing.T, w *worker.Work) {
	t.Helper()
	select {
	case <-w.Cancelled:
	case <-time.After(10 * beat):
		t.Fatalf("%s goes on", w.Key)
	}
}

// A slot that was taken back stops its work, at once if somebody says so, else with a
// heartbeat; what is claimed while the worker looks is left alone.
func TestTakenSlotStopsItsWork(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprint("told ", told), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.addVMs(3)
				f.submit("a-1", "b-1", "c-1")
				d := open(t, f, config(2))
				a, b := next(t, d), next(t, d)
				f.mu.Lock()
				delete(f.owners[runner].slots, a.Key)
				notice := f.owners[runner].notice
				f.mu.Unlock()
				if told {
					time.Sleep(beat / 10)
					ring(notice)
				}
				began := time.Now()
				stopped(t, a)
				require.True(t, core.Is(a.Cause(), core.CodeStale), "%v", a.Cause())
				if told {
					require.Zero(t, time.Since(began))
				}
				require.NoError(t, b.Cause())
				require.EqualValues(t, 1, d.Stats().Taken)
				c := next(t, d)
				require.Equal(t, "c-1", c.Key, "its place is free")
				moved, err := d.Finish(t.Context(), a, core.OutcomeDone)
				require.NoError(t, err)
				require.False(t, moved)
				time.Sleep(3 * beat)
				require.NoError(t, b.Cause())
				require.NoError(t, c.Cause())
				finish(t, d, b)
				finish(t, d, c)
				require.Empty(t, f.outcomes("a-1"))
				closeWorker(t, d)
			})
		})
	}
}

// What is claimed between the look at Redis and its answer has its slot.
func TestALookDoesNotTakeWhatIsClaimedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(3)
		f.submit("a-1", "b-1")
		f.disturb = func(op string) fault {
			if op == "reclaim" {
				return fault{delay: beat} // its answer is of before
			}
			return fault{}
		}
		d := open(t, f, config(3))
		a, b := next(t, d), next(t, d)
		f.mu.Lock()
		delete(f.owners[runner].slots, a.Key)
		f.mu.Unlock()
		time.Sleep(beat)
		f.submit("c-1")
		c := next(t, d)
		stopped(t, a)
		require.NoError(t, b.Cause())
		require.NoError(t, c.Cause())
		finish(t, d, b)
		finish(t, d, c)
		closeWorker(t, d)
	})
}

// Work that was taken back may come again to the same worker, before that looked.
func TestTakenWorkComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(2)
		f.submit("a-1")
		d := open(t, f, config(2))
		old := next(t, d)
		f.mu.Lock()
		delete(f.owners[runner].slots, old.Key)
		f.mu.Unlock()
		f.submit("a-1")
		again := next(t, d)
		require.NotEqual(t, old.Token, again.Token)
		require.True(t, core.Is(old.Cause(), core.CodeStale), "%v", old.Cause())
		time.Sleep(3 * beat)
		require.NoError(t, again.Cause())
		finish(t, d, again)
		require.Zero(t, d.Stats().InHand)
		closeWorker(t, d)
	})
}

// Every kind of fault, cancels and impatient workers, in many random runs: each
// job ends done exactly once, nothing stays in a slot.
func TestStorm(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { storm(t, seed) })
		})
	}
}

func storm(t *testing.T, seed uint64) {
	const jobs, workers = 300, 20
	rnd := rand.New(rand.NewPCG(seed, 1))
	f := newFake()
	f.disturb = func(op string) fault {
		bad := fault{delay: time.Duration(rnd.IntN(3000)) * time.Microsecond}
		switch {
		case op == "register" || op == "deregister":
			return fault{}
		case rnd.IntN(8) == 0:
			bad.before = errNet
		case rnd.IntN(8) == 0:
			bad.after = errNet
		case rnd.IntN(50) == 0:
			bad.delay = 15 * time.Second
		}
		return bad
	}
	f.addVMs(workers / 2)
	f.submitN(jobs)
	cfg := config(workers)
	cfg.Batch = 1 + rnd.IntN(64)
	cfg.Lanes = 1 + rnd.IntN(4)
	d := open(t, f, cfg)
	var done atomic.Int32
	for i := range workers {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)+2))
		go func() {
			for {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(2000))*time.Millisecond)
				w, err := d.Next(ctx)
				cancel()
				for err == nil {
					time.Sleep(time.Duration(rnd.IntN(5)) * time.Millisecond)
					var moved bool
					outcome := core.OutcomeDone
					if rnd.IntN(5) == 0 {
						outcome = core.OutcomeRetry
					} else {
						done.Add(1)
					}
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(2000))*time.Millisecond)
					last := w
					w, moved, err = d.FinishNext(ctx, w, outcome)
					cancel()
					if err == nil && !moved {
						t.Errorf("%s under %s was not its slot's", last.Key, last.Token)
					}
				}
				if core.Is(err, core.CodeConflict) {
					return
				}
			}
		}()
	}
	for done.Load() < jobs {
		time.Sleep(time.Second)
	}
	f.calm()
	closeWorker(t, d)
	synctest.Wait()
	require.EqualValues(t, jobs, done.Load())
	require.Empty(t, f.waiting())
	require.Empty(t, f.owners)
	for i := range jobs {
		times := 0
		for _, o := range f.outcomes(fmt.Sprintf("r%05d-1", i)) {
			if o == core.OutcomeDone {
				times++
			}
		}
		require.Equal(t, 1, times)
	}
}
