package intake_test

import (
	"context"
	"strings"
	"testing"

	"drover/core"
	"drover/core/coretest"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()

	waiting := w.submit(spec())
	state, err := w.in.Cancel(ctx, waiting.Spec.ID, "ann")
	require.NoError(t, err)
	require.Equal(t, core.RequestCancelled, state)
	got := w.row(waiting.Spec.ID)
	require.Equal(t, core.RequestCancelled, got.State)
	require.Equal(t, "cancelled by ann", got.Result.Reason)
	require.Equal(t, core.BlameNone, got.Result.Blame)
	require.Positive(t, got.Result.Times.Finished)
	require.EqualValues(t, -1, got.Result.Times.Claimed)
	require.Empty(t, w.claim(1))
	state, err = w.in.Cancel(ctx, waiting.Spec.ID, "bob")
	require.NoError(t, err, "cancelling twice is fine")
	require.Equal(t, core.RequestCancelled, state)

	running := w.submit(spec())
	claims := w.claim(1)
	for range 2 {
		state, err = w.in.Cancel(ctx, running.Spec.ID, "ann")
		require.NoError(t, err)
		require.Equal(t, core.RequestCancelling, state)
	}
	require.Equal(t, core.RequestQueued, w.row(running.Spec.ID).State, "its owner ends it")
	w.seq++
	require.Equal(t, map[string]string{claims[0].Key: "ann"}, w.cluster.Exchange(t, w.seq, 0).Cancelled)
	w.run(claims)

	state, err = w.in.Cancel(ctx, running.Spec.ID, "ann")
	require.Equal(t, core.CodeEnded, core.CodeOf(err))
	require.Equal(t, core.RequestCompleted, state)
	_, err = w.in.Cancel(ctx, newID(), "ann")
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
	for _, by := range []string{"", strings.Repeat("x", 200), "a\nb"} {
		_, err = w.in.Cancel(ctx, running.Spec.ID, by)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	}
	w.requireWhole()
}

// claimer claims a request between its mark and the record of its end.
type claimer struct {
	core.Queue
	w      *fixture
	claims *[]core.Claim
}

func (q claimer) Cancel(ctx context.Context, key, by string, scope core.CancelScope) (core.Place, error) {
	p, err := q.Queue.Cancel(ctx, key, by, scope)
	*q.claims = append(*q.claims, q.w.claim(1)...)
	return p, err
}

func TestClaimDuringCancelHearsOfIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	row := w.submit(spec())
	var claims []core.Claim
	in := w.intake(w.store, claimer{w.cluster.Store, w, &claims}, w.cluster.Store, w.cluster.Store)
	state, err := in.Cancel(t.Context(), row.Spec.ID, "ann")
	require.NoError(t, err)
	require.Equal(t, core.RequestCancelled, state)
	require.Len(t, claims, 1)
	require.Equal(t, "ann", claims[0].Cancelled)
	w.run(claims)
	w.requireWhole()
}

// finisher lets a result arrive between the mark and the record.
type finisher struct {
	school.ResultStore
	state core.RequestState
}

func (s finisher) Record(ctx context.Context, r core.Result) (bool, error) {
	theirs := core.Result{ID: r.ID, Generation: r.Generation, State: s.state, Token: "1.1", VM: "vm-1"}
	if _, err := s.ResultStore.Record(ctx, theirs); err != nil {
		return false, err
	}
	return s.ResultStore.Record(ctx, r)
}

func TestCancelThatComesSecond(t *testing.T) {
	t.Parallel()
	for state, code := range map[core.RequestState]core.Code{
		core.RequestCompleted: core.CodeEnded,
		core.RequestCancelled: "",
	} {
		w := newFixture(t, coretest.Real(t))
		row := w.submit(spec())
		in := w.intake(finisher{w.store, state}, w.cluster.Store, w.cluster.Store, w.cluster.Store)
		got, err := in.Cancel(t.Context(), row.Spec.ID, "ann")
		require.Equal(t, code, core.CodeOf(err))
		require.Equal(t, state, got)
		w.requireWhole()
	}
}
