package intake_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// What was accepted is not checked anew by a repeat, nor refused, whatever has changed since.
func TestRepeatIsLookedUpFirst(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *fixture, p *core.Pool) (also core.Spec){
		"no room now": func(w *fixture, p *core.Pool) core.Spec {
			p.MaxWaiting = 1
			require.NoError(t, w.in.SetPool(t.Context(), *p))
			_, _, err := w.in.Submit(t.Context(), spec()) // and that is remembered for a while
			require.Equal(t, core.CodeFull, core.CodeOf(err))
			return core.Spec{}
		},
		"lower limits": func(w *fixture, p *core.Pool) core.Spec {
			p.Limits.Timeout = time.Second
			require.NoError(t, w.in.SetPool(t.Context(), *p))
			return core.Spec{Limits: core.Limits{Timeout: 5 * time.Second}}
		},
		"a webhook that is gone": func(*fixture, *core.Pool) core.Spec {
			return core.Spec{Notify: []string{"gone"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, coretest.Real(t))
			s := spec()
			s.Idempotency = "k1"
			row := w.submit(s)
			p := core.DefaultPool(pool)
			also := change(w, &p)
			s.Limits, s.Notify = also.Limits, also.Notify
			again, created, err := w.in.Submit(t.Context(), s)
			require.NoError(t, err, "it was accepted")
			require.False(t, created)
			require.Equal(t, row, again)
		})
	}
}

// A repeat of what has ended gets its whole result.
func TestRepeatGetsTheResult(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	s := spec()
	s.Idempotency = "k1"
	row := w.submit(s)
	_, err := w.store.Record(t.Context(), core.Result{ID: row.Spec.ID, Generation: 1, State: core.RequestCompleted, Token: "1.1", VM: "v", Stdout: "out"})
	require.NoError(t, err)
	again, _, err := w.in.Submit(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "out", again.Result.Stdout)
}

func TestRepeatOfATaskIsLookedUpFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	_, err := w.store.PutWebhook(t.Context(), core.Webhook{ID: "hook", By: "ann", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", URL: "https://example.org/", Events: []string{core.EventTaskEnded}})
	require.NoError(t, err)
	task := w.task(core.Task{ID: newID(), Kind: "k", Requester: "ann", Notify: []string{"hook"}})
	require.NoError(t, w.store.DeleteWebhook(t.Context(), "hook"))
	_, created, err := w.in.SubmitTask(t.Context(), task)
	require.NoError(t, err, "it was accepted")
	require.False(t, created)
}

// crowded is a queue in which room comes between the refusal of a request and its end.
type crowded struct {
	core.Queue
	w        *fixture
	enqueues int
	claims   []core.Claim
	marked   func() // after a mark; nil: the request is claimed before that
}

func (q *crowded) Enqueue(ctx context.Context, specs []core.Spec) ([]error, error) {
	q.enqueues++
	if q.enqueues == 1 {
		return q.Queue.Enqueue(ctx, specs)
	}
	q.w.run(q.w.claim(1)) // what was in the way
	verdicts, err := q.Queue.Enqueue(ctx, specs)
	if q.marked == nil {
		q.claims = q.w.claim(1)
	}
	return verdicts, err
}

func (q *crowded) Cancel(ctx context.Context, key, by string, scope core.CancelScope) (core.Place, error) {
	p, err := q.Queue.Cancel(ctx, key, by, scope)
	if p.State != "" && q.marked != nil {
		q.marked()
	}
	return p, err
}

// newCrowded returns a queue with room for one, which is taken, and an intake on it.
func newCrowded(t *testing.T) (*fixture, *crowded) {
	t.Helper()
	w := newFixture(t, coretest.Real(t))
	p := core.DefaultPool(pool)
	p.MaxWaiting = 1
	require.NoError(t, w.in.SetPool(t.Context(), p))
	w.submit(spec())
	return w, &crowded{Queue: w.cluster.Store, w: w}
}

// Who is told that there is no room must not find it run.
func TestRefusedIsNotRun(t *testing.T) {
	t.Parallel()
	w, q := newCrowded(t)
	row, _, err := w.intake(w.store, q, w.cluster.Store, w.cluster.Store).Submit(t.Context(), spec())
	require.Len(t, q.claims, 1, "it was begun")
	require.NoError(t, err, "so it is accepted")
	w.run(q.claims)
	require.Equal(t, core.RequestCompleted, w.row(row.Spec.ID).State)
	w.requireWhole()
}

// Whichever answer is lost on the way to a refusal, for good or but once: what is said to be
// accepted is run, what is said to be refused is not, and the idempotency key tells of the rest.
func TestRefusalWhoseAnswersAreLost(t *testing.T) {
	t.Parallel()
	for _, way := range []struct{ once, room bool }{{}, {once: true}, {room: true}, {once: true, room: true}} {
		for n, steps := 1, 0; steps >= n-1; n++ {
			w, q := newCrowded(t)
			q.marked = func() {}
			var queue core.Queue = w.cluster.Store
			if way.room { // it comes meanwhile
				queue = q
			}
			m := &coretest.Mortal{Steps: n, Once: way.once}
			in := w.intake(mortalStore{w.store, m}, mortalQueue{queue, m}, w.cluster.Store, w.cluster.Store)
			s := spec()
			s.ID, s.Idempotency = newID(), "k1"
			_, _, said := in.Submit(t.Context(), s)
			steps = len(m.Names)
			w.heal()
			w.requireWhole()
			row, err := w.store.Get(t.Context(), s.ID)
			what := fmt.Sprintf("%v after %v, %+v", said, m.Names, way)
			switch core.CodeOf(said) {
			case "":
				require.Equal(t, core.RequestCompleted, row.State, what)
			case core.CodeFull:
				require.Equal(t, core.RequestCancelled, row.State, what)
			default:
				if err == nil && row.State == core.RequestCancelled {
					_, _, err = w.in.Submit(t.Context(), s)
					require.NoError(t, err, "there is room now")
				}
			}
		}
	}
}

// A refusal whose mark a claim met is recorded by that claim's owner, in its own words. It
// is a refusal all the same: the submitter is told, and may try again.
func TestRefusalThatAClaimMet(t *testing.T) {
	t.Parallel()
	w, q := newCrowded(t)
	q.marked = func() { w.run(w.claim(1)) }
	s := spec()
	s.Idempotency = "k1"
	_, _, err := w.intake(w.store, q, w.cluster.Store, w.cluster.Store).Submit(t.Context(), s)
	require.Equal(t, core.CodeFull, core.CodeOf(err))
	row, created, err := w.in.Submit(t.Context(), s)
	require.NoError(t, err, "there is room now")
	require.False(t, created)
	require.Equal(t, core.RequestQueued, row.State)
	require.Equal(t, 2, row.Spec.Generation)
}
