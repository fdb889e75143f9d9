package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"drover/core"
	"drover/core/worker"

	"github.com/stretchr/testify/require"
)

// A Redis that comes back without its memory, or with an old one, stops no work and loses no finish, by whichever call the
// worker notices it, and whichever of the calls that put the work back is lost.
func TestWorkGoesOnWhenRedisForgets(t *testing.T) {
	t.Parallel()
	notices := map[string]func(d *worker.Worker, w *worker.Work) error{
		"a heartbeat": func(*worker.Worker, *worker.Work) error {
			time.Sleep(2 * beat)
			return nil
		},
		"a report": func(d *worker.Worker, w *worker.Work) error {
			err := d.Progress(context.Background(), w, "running", time.Minute)
			if core.Is(err, core.CodeUnavailable) {
				return nil // it is repeated
			}
			return err
		},
		"a finish": func(*worker.Worker, *worker.Work) error { return nil },
		"a claim": func(d *worker.Worker, _ *worker.Work) error {
			ctx, cancel := context.WithTimeout(context.Background(), 2*beat)
			defer cancel()
			if _, err := d.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("there is nothing to claim: %w", err)
			}
			return nil
		},
	}
	for name, notice := range notices {
		for _, forgets := range []bool{true, false} {
			for _, lost := range []string{"", "register", "reclaim"} {
				t.Run(fmt.Sprintf("%s, forgets %v, lost %q", name, forgets, lost), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { goesOn(t, notice, forgets, lost) })
				})
			}
		}
	}
}

func goesOn(t *testing.T, notice func(*worker.Worker, *worker.Work) error, forgets bool, lost string) {
	f := newFake()
	f.addVMs(3)
	f.submit("a-1", "b-1")
	cfg := config(3)
	var putBack int
	cfg.Recalled = func(_ *worker.Worker, n, gone int, left []core.Held) {
		putBack += n
		require.Zero(t, gone)
		require.Empty(t, left)
	}
	d, _, err := worker.Open(t.Context(), f, f, cfg)
	require.NoError(t, err)
	a, b := next(t, d), next(t, d)
	f.restore(forgets)
	once := 0
	f.mu.Lock()
	f.disturb = func(op string) fault {
		if op == lost {
			if once++; once == 1 {
				return fault{after: errNet}
			}
		}
		return fault{}
	}
	f.mu.Unlock()
	require.NoError(t, notice(d, a))
	moved, err := d.Finish(t.Context(), a, core.OutcomeDone)
	require.NoError(t, err)
	if forgets {
		require.True(t, moved, "else Redis may not have had it yet; the result store has the end")
	}
	time.Sleep(2 * beat)
	require.NoError(t, b.Cause(), "it goes on")
	finish(t, d, b)
	require.Equal(t, []core.Outcome{core.OutcomeDone}, f.outcomes("b-1"))
	if lost != "reclaim" { // else its repeat found them there
		require.Positive(t, putBack)
	}
	closeWorker(t, d)
}

// Work that another owner has claimed since is stopped; so is all work if somebody else has the name by now.
func TestWhatOthersHaveIsNotPutBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(2)
		f.submit("a-1", "b-1")
		d := open(t, f, config(2))
		a, b := next(t, d), next(t, d)
		f.restore(false)
		f.mu.Lock()
		f.ended["a-1"] = []core.Outcome{core.OutcomeDone}
		f.mu.Unlock()
		stopped(t, a)
		require.True(t, core.Is(a.Cause(), core.CodeStale), "%v", a.Cause())
		require.NoError(t, b.Cause())

		f.restore(true)
		_, err := f.Register(t.Context(), core.Registration{Owner: runner, Beat: time.Minute})
		require.NoError(t, err)
		f.mu.Lock()
		f.epochs[runner] += 100 // epochs follow the clock
		f.owners[runner].epoch += 100
		f.mu.Unlock()
		stopped(t, b)
		require.True(t, core.Is(b.Cause(), core.CodeFenced), "%v", b.Cause())
		<-d.Lost()
		closeWorker(t, d)
	})
}
