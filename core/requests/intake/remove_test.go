package intake_test

import (
	"testing"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

// requireGone checks that nothing is left of a request.
func (w *fixture) requireGone(s core.Spec) {
	w.t.Helper()
	ctx := w.t.Context()
	_, err := w.store.Get(ctx, s.ID)
	require.Equal(w.t, core.CodeNotFound, core.CodeOf(err))
	present, err := w.cluster.Store.Present(ctx, []string{s.Key()})
	require.NoError(w.t, err)
	require.Equal(w.t, []bool{false}, present)
	left, err := w.cluster.Store.Read(ctx, s.Key(), "1.1", "", 0)
	require.NoError(w.t, err)
	require.Empty(w.t, left)
	coretest.RequireSound(w.t, w.cluster.Store)
}

func TestRemove(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	waiting, ended, running, bystander := w.submit(spec()), w.submit(spec()), w.submit(spec()), w.submit(spec())

	gone, err := w.in.Remove(ctx, waiting.Spec.ID, "ann")
	require.NoError(t, err)
	require.True(t, gone, "what waits is gone at once")
	w.requireGone(waiting.Spec)

	w.run(w.claim(1))
	gone, err = w.in.Remove(ctx, ended.Spec.ID, "ann")
	require.NoError(t, err)
	require.True(t, gone)
	w.requireGone(ended.Spec)

	claims := w.claim(1)
	token := claims[0].Token
	require.NoError(t, w.cluster.Store.Append(ctx, claims[0].Key, token, []core.OutputChunk{{Stream: "stdout", Data: []byte("x")}}))
	for range 2 {
		gone, err = w.in.Remove(ctx, running.Spec.ID, "ann")
		require.NoError(t, err)
		require.False(t, gone, "its owner stops it first")
	}
	w.seq++
	require.Equal(t, map[string]string{claims[0].Key: "ann"}, w.cluster.Exchange(t, w.seq, 0).Cancelled)
	n, err := w.in.SweepRemoved(ctx)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = w.store.Record(ctx, core.Result{ID: running.Spec.ID, Generation: 1, State: core.RequestCancelled, Token: token, VM: "v"})
	require.NoError(t, err)
	n, err = w.in.SweepRemoved(ctx)
	require.NoError(t, err)
	require.Zero(t, n, "its owner still has it: if it died now, its work would be run again")
	w.seq++
	w.cluster.Exchange(t, w.seq, 0, core.Finish{Key: claims[0].Key, Token: token, Outcome: core.OutcomeDone})
	n, err = w.in.SweepRemoved(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	w.requireGone(running.Spec)
	left, err := w.cluster.Store.Read(ctx, claims[0].Key, token, "", 0)
	require.NoError(t, err)
	require.Empty(t, left, "its live output is gone, too")

	_, err = w.in.Remove(ctx, running.Spec.ID, "ann")
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
	_, err = w.in.Remove(ctx, bystander.Spec.ID, "")
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	w.heal()
	require.Equal(t, core.RequestCompleted, w.row(bystander.Spec.ID).State)
}

func TestCrashInRemove(t *testing.T) {
	t.Parallel()
	for name, claimed := range map[string]bool{"waiting": false, "running": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var row core.Row
			var claims []core.Claim
			dies(t, func(w *fixture) {
				row, claims = w.submit(spec()), nil
				if claimed {
					claims = w.claim(1)
				}
			}, func(w *fixture, in *intake.Intake) error {
				_, err := in.Remove(w.t.Context(), row.Spec.ID, "ann")
				return err
			}, func(w *fixture, steps []string) {
				w.run(claims)
				w.heal()
				if len(steps) == 0 {
					w.requireWhole()
					return
				}
				w.requireGone(row.Spec)
			})
		})
	}
}

// Redis loses a request whose removal was begun: it is stopped all the same.
func TestRemoveGoesOnAfterALoss(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	s, err := w.in.Check(t.Context(), spec())
	require.NoError(t, err)
	_, _, err = w.store.Create(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, w.store.MarkRemoved(t.Context(), s.ID))
	n, err := w.in.SweepRemoved(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	w.requireGone(s)
}

// A request of a batch that was left open is deleted for good: what makes the rest of the batch does not make it again.
func TestRemoveOfAnOpenBatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	m := &coretest.Mortal{Steps: 3}
	_, _, err := w.intake(mortalStore{w.store, m}, mortalQueue{w.cluster.Store, m}, w.cluster.Store, w.cluster.Store).SubmitBatch(ctx, batchOf(3, ""))
	require.NoError(t, err, "it is accepted")
	require.True(t, w.batches()[0].State.Open())
	row := w.rows()[0]
	gone, err := w.in.Remove(ctx, row.Spec.ID, "ann")
	require.NoError(t, err)
	require.True(t, gone)
	w.heal()
	w.requireGone(row.Spec)
	w.requireWhole()
	require.Len(t, w.rows(), 2)
}
