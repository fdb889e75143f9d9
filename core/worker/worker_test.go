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

// work runs workers that take, hold and finish until the worker is drained.
func work(t *testing.T, d *worker.Worker, workers int, hold func(*worker.Work)) *sync.WaitGroup {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			w, err := d.Next(context.Background())
			for err == nil {
				hold(w)
				w, _, err = d.FinishNext(context.Background(), w, core.OutcomeDone)
			}
			if !core.Is(err, core.CodeConflict) {
				t.Errorf("a worker stopped with %v", err)
			}
		})
	}
	return &all
}

func TestBusyWorkersShareCalls(t *testing.T) {
	t.Parallel()
	const jobs = 5000
	for _, c := range []struct {
		slots int
		most  float64 // calls a job
	}{{1, 1.01}, {64, 0.1}, {100, 0.1}, {1000, 0.1}} {
		t.Run(fmt.Sprint(c.slots), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.on("", fault{delay: 100 * time.Microsecond})
				f.addVMs(2 * c.slots)
				f.submitN(jobs)
				d := open(t, f, config(c.slots))
				workers := work(t, d, c.slots, func(*worker.Work) {})
				for d.Stats().Finished < jobs {
					time.Sleep(time.Millisecond)
				}
				calls := float64(f.count("exchange")) / jobs
				require.LessOrEqual(t, calls, c.most)
				require.Zero(t, f.count("beat"), "a busy worker's beats ride along")
				d.Drain()
				workers.Wait()
				closeWorker(t, d)
				for i := range jobs {
					require.Equal(t, []core.Outcome{core.OutcomeDone}, f.outcomes(fmt.Sprintf("r%05d-1", i)))
				}
			})
		})
	}
}

func TestSlotsBoundWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(10)
		f.submitN(10)
		d := open(t, f, config(3))
		var got []*worker.Work
		for range 3 {
			got = append(got, next(t, d))
		}
		fourth := make(chan *worker.Work)
		go func() {
			w, err := d.Next(t.Context())
			if err != nil {
				t.Error(err)
			}
			fourth <- w
		}()
		synctest.Wait()
		require.Equal(t, 3, f.slots(runner))
		finish(t, d, got[0])
		got[0] = <-fourth
		require.Equal(t, 3, f.slots(runner))
		for _, w := range got {
			finish(t, d, w)
		}
		closeWorker(t, d)
	})
}

func TestFinishTwiceAnswersTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		w := next(t, d)
		finish(t, d, w)
		moved, err := d.Finish(t.Context(), w, core.OutcomeRetry)
		require.NoError(t, err)
		require.True(t, moved)
		require.Equal(t, []core.Outcome{core.OutcomeDone}, f.outcomes("a-1"))
		closeWorker(t, d)
	})
}

func TestVerdictPerItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(5)
		f.submitN(5)
		d := open(t, f, config(5))
		var all []*worker.Work
		for range 5 {
			all = append(all, next(t, d))
		}
		f.mu.Lock()
		delete(f.owners[runner].slots, all[2].Key) // somebody settled it
		f.mu.Unlock()
		moved := make([]bool, len(all))
		var group sync.WaitGroup
		for i, w := range all {
			group.Go(func() {
				var err error
				moved[i], err = d.Finish(t.Context(), w, core.OutcomeDone)
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		require.Equal(t, []bool{true, true, false, true, true}, moved)
		closeWorker(t, d)
	})
}

func TestRotatesAmongPools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(3)
		f.submitN(3)
		cfg := config(1)
		cfg.Pools = []string{"p1", "p2", "p3"}
		d := open(t, f, cfg)
		for range 3 {
			finish(t, d, next(t, d))
		}
		closeWorker(t, d)
		var first []string
		for _, x := range f.exchanged {
			if x.Want > 0 {
				first = append(first, x.Pools[0])
			}
		}
		require.Equal(t, []string{"p1", "p2", "p3"}, first)
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		w := next(t, d)
		require.NoError(t, d.Progress(t.Context(), w, "running", 0))
		require.Equal(t, "running", f.owners[runner].slots["a-1"].Phase)
		finish(t, d, w)
		err := d.Progress(t.Context(), w, "running", 0)
		require.Equal(t, core.CodeStale, core.CodeOf(err))
		closeWorker(t, d)
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*worker.Config){
		"no pool":    func(c *worker.Config) { c.Pools = nil },
		"bad pool":   func(c *worker.Config) { c.Pools = []string{"A B"} },
		"bad owner":  func(c *worker.Config) { c.Registration.Owner = "me" },
		"other host": func(c *worker.Config) { c.Registration.Host = "h2" },
		"slots":      func(c *worker.Config) { c.Slots = -1 },
		"batch":      func(c *worker.Config) { c.Batch = 65 },
		"lanes":      func(c *worker.Config) { c.Lanes = 17 },
		"negative":   func(c *worker.Config) { c.BeatEvery = -1 },
		"beat":       func(c *worker.Config) { c.Registration.Beat = -1 },
		"poll":       func(c *worker.Config) { c.Poll = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, cfg := newFake(), config(1)
			change(&cfg)
			_, _, err := worker.Open(t.Context(), f, f, cfg)
			require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%v", err)
			require.Zero(t, f.count("register"))
		})
	}
}

func TestFinishRefusesWhatIsNoOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		w := next(t, d)
		_, err := d.Finish(t.Context(), w, "fine")
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
		_, _, err = d.FinishNext(t.Context(), w, "")
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
		finish(t, d, w)
		closeWorker(t, d)
	})
}
