package intake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

func TestSubmitRunsOnce(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		w := newFixture(t, b)
		row := w.submit(spec())
		require.Equal(t, core.RequestQueued, row.State)
		require.Equal(t, core.RequestQueued, w.place(row.Spec.Key()))
		claims := w.claim(5)
		require.Len(t, claims, 1)
		require.Equal(t, row.Spec, claims[0].ReadSpec())
		w.run(claims)
		w.requireWhole()
	})
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	s := spec()
	s.Idempotency = "k1"
	first := w.submit(s)
	again, created, err := w.in.Submit(t.Context(), s)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first.Spec, again.Spec)
	w.run(w.claim(5))
	again, created, err = w.in.Submit(t.Context(), s)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, core.RequestCompleted, again.State)
	require.Empty(t, w.claim(5), "it does not run again")
	w.requireWhole()
}

// The first submit died before Redis had it: the same submit again mends it.
func TestIdempotentSubmitMends(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	s := spec()
	s.Idempotency = "k1"
	m := &coretest.Mortal{Steps: 1}
	_, _, err := w.intake(mortalStore{w.store, m}, mortalQueue{w.cluster.Store, m}, w.cluster.Store, w.cluster.Store).Submit(t.Context(), s)
	require.Error(t, err)
	require.Empty(t, w.claim(1))
	_, created, err := w.in.Submit(t.Context(), s)
	require.NoError(t, err)
	require.False(t, created)
	require.Len(t, w.claim(1), 1)
}

// away is a Redis that does not answer.
type away struct {
	core.Queue
	core.Pools
}

var errAway = core.Wrap(errors.New("connection refused"), core.CodeUnavailable, "", "Redis did not do it")

func (away) Enqueue(context.Context, []core.Spec) ([]error, error) { return nil, errAway }
func (away) Cancel(context.Context, string, string, core.CancelScope) (core.Place, error) {
	return core.Place{}, errAway
}
func (away) GetPool(context.Context, string) (core.Pool, error) { return core.Pool{}, errAway }
func (away) SetPool(context.Context, core.Pool) error           { return errAway }
func (away) Present(context.Context, []string) ([]bool, error)  { return nil, errAway }
func (away) ListPools(context.Context) ([]core.Pool, error)     { return nil, errAway }
func (away) Capacities(context.Context) (map[string]core.Size, error) {
	return nil, errAway
}
func (away) Room(context.Context, ...core.Spec) error               { return errAway }
func (away) EnqueueTask(context.Context, core.Task) error           { return errAway }
func (away) PresentTasks(context.Context, []string) ([]bool, error) { return nil, errAway }

func TestSubmitWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	gone := away{}
	in := w.intake(w.store, gone, gone, w.cluster.Store)
	row, created, err := in.Submit(t.Context(), spec())
	require.NoError(t, err, "accepted means durable")
	require.True(t, created)
	_, err = in.Cancel(t.Context(), row.Spec.ID, "ann")
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	_, err = in.Sweep(t.Context())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	err = in.SetPool(t.Context(), core.DefaultPool("p2"))
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "saved")
	_, err = in.RestorePools(t.Context())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	w.heal()
	w.requireWhole()
	require.Equal(t, core.RequestCompleted, w.row(row.Spec.ID).State)
}

func TestFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	p := core.DefaultPool(pool)
	p.MaxWaiting = 2
	require.NoError(t, w.in.SetPool(t.Context(), p))
	w.submit(spec())
	w.submit(spec())
	s := spec()
	s.Idempotency = "k1"
	for range 5 {
		_, _, err := w.in.Submit(t.Context(), s)
		require.Equal(t, core.CodeFull, core.CodeOf(err), "%v", err)
	}
	bob := spec()
	bob.Submitter = "bob"
	w.submit(bob)
	rows, err := w.store.List(t.Context(), core.Filter{States: []core.RequestState{core.RequestCancelled}})
	require.NoError(t, err)
	require.Len(t, rows, 1, "a flood of refused submits leaves one row a second, not one each")
	require.Contains(t, rows[0].Result.Reason, "refused")
	require.Equal(t, core.BlamePlatform, rows[0].Result.Blame)
	_, err = w.in.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, core.RequestState(""), w.place(rows[0].Spec.Key()))

	w.run(w.claim(1))
	w.pass(2 * time.Second)
	row, created, err := w.in.Submit(t.Context(), s)
	require.NoError(t, err, "the key may try again")
	require.False(t, created)
	require.Equal(t, rows[0].Spec.ID, row.Spec.ID)
	require.Equal(t, 2, row.Spec.Generation)
	w.heal()
	w.requireWhole()
	require.Equal(t, core.RequestCompleted, w.row(row.Spec.ID).State)
}

// Redis' own refusal for want of memory is one: nobody is told that it was accepted, and no row
// is left that waits.
func TestAFullRedisRefusesSubmits(t *testing.T) {
	t.Parallel()
	b := coretest.Alone(t)
	w := newFixture(t, b)
	ctx := t.Context()
	kept := w.submit(spec())
	require.NoError(t, b.Admin.ConfigSet(ctx, "maxmemory", "1").Err())
	for i := range 5 {
		s := spec()
		s.Submitter = fmt.Sprintf("u%d", i)
		_, _, err := w.in.Submit(ctx, s)
		require.Equal(t, core.CodeFull, core.CodeOf(err), "%v", err)
	}
	waiting, err := w.store.List(ctx, core.Filter{States: []core.RequestState{core.RequestQueued}})
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.Equal(t, kept.Spec.ID, waiting[0].Spec.ID)
	late := w.submitAway(t)
	n, err := w.in.Sweep(ctx)
	require.NoError(t, err, "full is not trouble: it has to wait")
	require.Zero(t, n)
	require.Equal(t, core.RequestState(""), w.place(late.Key()))
	require.NoError(t, b.Admin.ConfigSet(ctx, "maxmemory", "0").Err())
	w.heal()
	w.requireWhole()
	require.Equal(t, core.RequestCompleted, w.row(late.ID).State, "what was accepted while Redis was full is queued later")
}

// submitAway makes a request that was accepted while Redis was away.
func (w *fixture) submitAway(t *testing.T) core.Spec {
	t.Helper()
	row, _, err := w.intake(w.store, away{}, w.cluster.Store, w.cluster.Store).Submit(t.Context(), spec())
	require.NoError(t, err)
	return row.Spec
}

// What was accepted once is not refused by a repeat that finds the queue full.
func TestRepeatOfAcceptedIsNotRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	s := spec()
	s.Idempotency = "k1"
	row, _, err := w.intake(w.store, away{}, w.cluster.Store, w.cluster.Store).Submit(t.Context(), s)
	require.NoError(t, err)
	p := core.DefaultPool(pool)
	p.MaxWaiting = 1
	require.NoError(t, w.in.SetPool(t.Context(), p))
	w.submit(spec())
	again, _, err := w.in.Submit(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, row.Spec.ID, again.Spec.ID)
	n, err := w.in.Sweep(t.Context())
	require.NoError(t, err, "full is not trouble: it has to wait")
	require.Zero(t, n)
	w.heal()
	w.requireWhole()
	require.Equal(t, core.RequestCompleted, w.row(row.Spec.ID).State)
}

// What is submitted with something else is refused before that is made, or is accepted: room that is
// taken meanwhile lets it wait in the store.
func TestSubmitWithWhenFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	p := core.DefaultPool(pool)
	p.MaxWaiting = 1
	require.NoError(t, w.in.SetPool(t.Context(), p))
	s := spec()
	s.Assignment, s.Supersede = "hw1", true
	var rows []core.Row
	with := func(before func(), in *intake.Intake, s core.Spec) error {
		return in.SubmitWith(t.Context(), s, func(ctx context.Context, spec core.Spec) (bool, error) {
			before()
			row, created, err := w.store.Create(ctx, spec)
			rows = append(rows, row)
			return created, err
		})
	}
	require.NoError(t, with(func() { w.submit(spec()) }, w.in, s), "there was room")
	require.Equal(t, core.RequestState(""), w.place(rows[0].Spec.Key()))
	other := s
	other.Assignment = "hw2"
	err := with(func() { t.Error("it is made") }, w.in, other)
	require.Equal(t, core.CodeFull, core.CodeOf(err), "%v", err)
	require.NoError(t, with(func() {}, w.in, s), "it takes the place of one that waits")
	require.Equal(t, core.RequestCancelled, w.row(rows[0].Spec.ID).State)
	gone := away{}
	require.NoError(t, with(func() {}, w.intake(w.store, gone, gone, w.cluster.Store), other), "accepted means durable")
	w.heal()
	w.requireWhole()
	for _, row := range rows[1:] {
		require.Equal(t, core.RequestCompleted, w.row(row.Spec.ID).State)
	}

	claims := w.submitAndClaim(s)
	require.NoError(t, with(func() {}, w.in, other))
	require.Equal(t, core.CodeFull, core.CodeOf(with(func() { t.Error("it is made") }, w.in, s)), "what runs makes no room")
	w.run(claims)
	w.heal()
	w.requireWhole()
}

// submitAndClaim makes a request that an owner has begun.
func (w *fixture) submitAndClaim(s core.Spec) []core.Claim {
	w.t.Helper()
	w.submit(s)
	return w.claim(1)
}

func TestSupersede(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	p := core.DefaultPool(pool)
	p.MaxWaiting = 4
	require.NoError(t, w.in.SetPool(t.Context(), p))
	s := spec()
	s.Assignment, s.Supersede = "hw1", true
	running := w.submit(s)
	claims := w.claim(1)
	waiting := w.submit(s)
	other, another, bobs := spec(), spec(), s
	other.Assignment = "hw2"
	bobs.Submitter = "bob"
	keep := []core.Row{w.submit(other), w.submit(another), w.submit(bobs)}
	for range 5 {
		newest := w.submit(s)
		require.Equal(t, core.RequestCancelled, w.row(waiting.Spec.ID).State)
		require.Contains(t, w.row(waiting.Spec.ID).Result.Reason, newest.Spec.ID)
		require.Equal(t, core.RequestState(""), w.place(waiting.Spec.Key()))
		waiting = newest
	}
	require.Equal(t, core.RequestClaimed, w.place(running.Spec.Key()), "what runs goes on")
	w.run(claims)
	require.Equal(t, core.RequestCompleted, w.row(running.Spec.ID).State)
	for _, k := range keep {
		require.Equal(t, core.RequestQueued, w.row(k.Spec.ID).State)
	}
	w.heal()
	w.requireWhole()
	older, err := w.in.Rerun(t.Context(), running.Spec.ID)
	require.NoError(t, err)
	newer, err := w.in.Rerun(t.Context(), waiting.Spec.ID)
	require.NoError(t, err)
	require.Equal(t, core.RequestQueued, w.place(older.Spec.Key()), "a rerun supersedes nothing")
	require.Equal(t, core.RequestQueued, w.place(newer.Spec.Key()))
	w.heal()
	w.requireWhole()
}

// The older one frees the room that the newer needs; if somebody else takes that
// room, the newer waits in the store: its submitter is never left with nothing.
func TestSupersedeNeverLosesBoth(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	p := core.DefaultPool(pool)
	p.MaxWaiting = 1
	require.NoError(t, w.in.SetPool(t.Context(), p))
	s := spec()
	s.Assignment, s.Supersede = "hw1", true
	old := w.submit(s)
	in := w.intake(w.store, thief{w.cluster.Store, w}, w.cluster.Store, w.cluster.Store)
	row, created, err := in.Submit(t.Context(), s)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, core.RequestCancelled, w.row(old.Spec.ID).State)
	require.Equal(t, core.RequestState(""), w.place(row.Spec.Key()))
	w.heal()
	w.requireWhole()
	require.Equal(t, core.RequestCompleted, w.row(row.Spec.ID).State)
}

// thief takes the room that a Withdraw made.
type thief struct {
	core.Queue
	w *fixture
}

func (q thief) Withdraw(ctx context.Context, key string) (bool, error) {
	was, err := q.Queue.Withdraw(ctx, key)
	q.w.submit(spec())
	return was, err
}

func TestRerun(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	row := w.submit(spec())
	_, err := w.in.Rerun(t.Context(), row.Spec.ID)
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	w.run(w.claim(1))
	again, err := w.in.Rerun(t.Context(), row.Spec.ID)
	require.NoError(t, err)
	require.Equal(t, 2, again.Spec.Generation)
	require.Equal(t, core.RequestQueued, w.place(again.Spec.Key()))
	require.Greater(t, again.Spec.Submitted, row.Spec.Submitted)
	w.run(w.claim(1))
	w.requireWhole()
	_, err = w.in.Rerun(t.Context(), newID())
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
}
