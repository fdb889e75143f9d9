package intake_test

import (
	"slices"
	"testing"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

// has says whether store and Redis have a pool.
func (w *fixture) has(name string) (stored, known bool) {
	w.t.Helper()
	is := func(p core.Pool) bool { return p.Name == name }
	all, err := w.store.Pools(w.t.Context())
	require.NoError(w.t, err)
	here, err := w.cluster.Store.ListPools(w.t.Context())
	require.NoError(w.t, err)
	return slices.ContainsFunc(all, is), slices.ContainsFunc(here, is)
}

func TestRemovePool(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	w.submit(spec())
	err := w.in.RemovePool(ctx, pool)
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	require.ErrorContains(t, err, "1 waiting requests")
	claims := w.claim(2)
	err = w.in.RemovePool(ctx, pool)
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	require.ErrorContains(t, err, "1 running requests")
	w.run(claims)

	require.NoError(t, w.in.RemovePool(ctx, pool))
	stored, known := w.has(pool)
	require.False(t, stored || known)
	vms, err := w.cluster.Store.ListVMs(ctx, "")
	require.NoError(t, err)
	for _, vm := range vms {
		require.Equal(t, core.VMDirty, vm.State)
	}
	w.cluster.AddVMs(t, 1) // they were in creation
	vms, err = w.cluster.Store.ListVMs(ctx, "")
	require.NoError(t, err)
	require.Len(t, vms, 3)
	for _, vm := range vms {
		require.Equal(t, core.VMDirty, vm.State)
	}
	coretest.RequireSound(t, w.cluster.Store)
	require.NoError(t, coretest.ErrOf(w.in.RestorePools(ctx)))
	stored, known = w.has(pool)
	require.False(t, stored || known, "it does not come back")
	require.Equal(t, core.CodeNotFound, core.CodeOf(w.in.RemovePool(ctx, pool)))
}

func TestCrashInRemovePool(t *testing.T) {
	t.Parallel()
	dies(t, func(*fixture) {}, func(w *fixture, in *intake.Intake) error {
		return in.RemovePool(w.t.Context(), pool)
	}, func(w *fixture, steps []string) {
		require.NoError(w.t, coretest.ErrOf(w.in.RestorePools(w.t.Context())))
		stored, known := w.has(pool)
		require.Equal(w.t, stored, known, "it is whole or gone")
		require.Equal(w.t, len(steps) < 2, known, "after %v", steps)
	})
}

// A request that came between the two steps keeps its pool.
func TestRemovePoolThatIsUsedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	s, err := w.in.Check(t.Context(), spec())
	require.NoError(t, err)
	require.NoError(t, w.store.RemovePool(t.Context(), pool))
	_, _, err = w.store.Create(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, coretest.ErrOf(w.cluster.Store.Enqueue(t.Context(), []core.Spec{s})))
	require.NoError(t, coretest.ErrOf(w.in.RestorePools(t.Context())))
	stored, known := w.has(pool)
	require.True(t, stored && known)
	w.heal()
	w.requireWhole()
}

// A batch whose requests are not all there yet keeps its pool.
func TestRemovePoolOfAnOpenBatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	m := &coretest.Mortal{Steps: 1}
	_, _, err := w.intake(mortalStore{w.store, m}, mortalQueue{w.cluster.Store, m}, w.cluster.Store, w.cluster.Store).SubmitBatch(t.Context(), batchOf(3, ""))
	require.Error(t, err)
	require.True(t, w.batches()[0].State.Open(), "it is accepted all the same")
	err = w.in.RemovePool(t.Context(), pool)
	require.Equal(t, core.CodeConflict, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "batch "+w.batches()[0].ID)
	w.heal()
	w.requireOnce(3, core.RequestCompleted)
	require.NoError(t, w.in.RemovePool(t.Context(), pool))
}

// A request whose pool was removed is not run again: it would wait forever.
func TestRerunInARemovedPool(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	row := w.submit(spec())
	w.run(w.claim(1))
	require.NoError(t, w.in.RemovePool(t.Context(), pool))
	_, err := w.in.Rerun(t.Context(), row.Spec.ID)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "no pool "+pool)
	w.heal()
	w.requireWhole()
}
