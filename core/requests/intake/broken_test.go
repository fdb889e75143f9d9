package intake_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

// breaks gives the pool an outage that has lasted for an hour.
func (w *fixture) breaks(change func(*core.Pool)) {
	w.t.Helper()
	ctx := w.t.Context()
	p := core.DefaultPool(pool)
	p.BrokenFor = 30 * time.Minute
	if change != nil {
		change(&p)
	}
	require.NoError(w.t, w.in.SetPool(ctx, p))
	now, err := w.b.Admin.Time(ctx).Result()
	require.NoError(w.t, err)
	key := w.cluster.Store.Namespace().Key("pool", pool)
	require.NoError(w.t, w.b.Admin.HSet(ctx, key, "outage", fmt.Sprintf("%d|h1|no image", now.Add(-time.Hour).UnixMilli())).Err())
}

func TestFailBroken(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	require.NoError(t, w.in.SetPool(t.Context(), core.DefaultPool("p2")))
	running := w.submit(spec())
	claims := w.claim(1)
	retried := w.submit(spec())
	c := w.claim(1)[0]
	require.Equal(t, retried.Spec.Key(), c.Key)
	w.seq++
	w.cluster.Exchange(t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry})
	waiting := w.submit(spec())
	accepted := w.accept(1)[0]
	elsewhere := spec()
	elsewhere.Pool = "p2"
	kept := w.submit(elsewhere)
	w.breaks(nil)
	w.in.Batch = 2
	fail := func() int {
		total := 0
		for range 4 {
			n, err := w.in.FailBroken(t.Context())
			require.NoError(t, err)
			total += n
		}
		return total
	}
	require.Equal(t, 3, fail())
	for what, id := range map[string]string{"it waits": waiting.Spec.ID, "it pauses, and has run part": retried.Spec.ID, "Redis did not have it": accepted.ID} {
		row := w.row(id)
		require.Equal(t, core.RequestFailed, row.State, what)
		require.Equal(t, core.BlamePlatform, row.Result.Blame)
		require.Regexp(t, `no VM of pool p1 could be made on any of its hosts since 20.*Z, longer than it allows \(30m0s\); the last error, of host h1: no image; an operator`, row.Result.Reason)
		require.Equal(t, core.RequestState(""), w.place(row.Spec.Key()))
	}
	require.Equal(t, core.RequestQueued, w.row(kept.Spec.ID).State, "its pool works")
	require.Equal(t, core.RequestClaimed, w.place(running.Spec.Key()), "what runs is not ended")
	w.seq++
	require.Empty(t, w.cluster.Exchange(t, w.seq, 0).Cancelled, "nor marked")
	w.run(claims)
	require.Equal(t, core.RequestCompleted, w.row(running.Spec.ID).State)

	_, err := w.in.Rerun(t.Context(), waiting.Spec.ID)
	require.NoError(t, err)
	_, err = w.cluster.Store.SetOutage(t.Context(), pool, core.Outage{})
	require.NoError(t, err)
	require.Zero(t, fail(), "the pool works again")
	w.heal()
	w.requireWhole()
	require.Equal(t, core.RequestCompleted, w.row(waiting.Spec.ID).State)
}

// Requests wait on while the pool allows the outage, is paused, or does not limit it.
func TestFailBrokenOnlyAsThePoolSays(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*core.Pool){
		"never":  func(p *core.Pool) { p.BrokenFor = 0 },
		"later":  func(p *core.Pool) { p.BrokenFor = 2 * time.Hour },
		"paused": func(p *core.Pool) { p.Paused = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, coretest.Real(t))
			row := w.submit(spec())
			w.breaks(change)
			n, err := w.in.FailAllBroken(t.Context())
			require.NoError(t, err)
			require.Zero(t, n)
			require.Equal(t, core.RequestQueued, w.place(row.Spec.Key()))
		})
	}
}

// faster does something before a request is marked.
type faster struct {
	core.Queue
	before func()
}

func (q *faster) Cancel(ctx context.Context, key, by string, scope core.CancelScope) (core.Place, error) {
	if q.before != nil {
		q.before()
		q.before = nil
	}
	return q.Queue.Cancel(ctx, key, by, scope)
}

// What a request became after it was read wins: it is claimed, since the pool works again, or waits for another pool.
func TestFailBrokenLeavesWhatChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *fixture, row core.Row) []core.Claim{
		"claimed": func(w *fixture, _ core.Row) []core.Claim { return w.claim(1) },
		"another pool": func(w *fixture, row core.Row) []core.Claim {
			_, err := w.in.Change(w.t.Context(), row.Spec.ID, core.Change{Pool: "p2", By: "olga"})
			require.NoError(w.t, err)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, coretest.Real(t))
			require.NoError(t, w.in.SetPool(t.Context(), core.DefaultPool("p2")))
			row := w.submit(spec())
			w.breaks(nil)
			var claims []core.Claim
			q := &faster{Queue: w.cluster.Store, before: func() { claims = change(w, row) }}
			in := w.intake(w.store, q, w.cluster.Store, w.cluster.Store)
			n, err := in.FailBroken(t.Context())
			require.NoError(t, err)
			require.Zero(t, n)
			require.Equal(t, core.RequestQueued, w.row(row.Spec.ID).State)
			w.run(claims)
			w.heal()
			w.requireWhole()
			require.Equal(t, core.RequestCompleted, w.row(row.Spec.ID).State, "it is not marked")
		})
	}
}

func TestCrashInFailBroken(t *testing.T) {
	t.Parallel()
	var row core.Row
	dies(t, func(w *fixture) {
		row = w.submit(spec())
		w.breaks(nil)
	}, func(w *fixture, in *intake.Intake) error {
		_, err := in.FailBroken(w.t.Context())
		return err
	}, func(w *fixture, steps []string) {
		_, err := w.in.FailBroken(w.t.Context())
		require.NoError(w.t, err)
		w.heal()
		w.requireWhole()
		require.Equal(t, core.RequestFailed, w.row(row.Spec.ID).State, "after %v", steps)
	})
}
