package storetest

import (
	"context"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func cancelled(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range Calls(spec) {
		err := call(ctx, s)
		require.ErrorIs(t, err, context.Canceled, name)
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err), name)
	}
	for range 20 { // whatever wins a race within
		require.NoError(t, s.Ping(t.Context())) // the store is idle again
		_, _, err := s.Create(ctx, Spec("ann"))
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, s.Ping(t.Context()))
	require.Equal(t, core.Row{Spec: spec, State: core.RequestQueued}, mustGet(t, s, spec.ID))
	rows, err := s.List(t.Context(), core.Filter{})
	require.NoError(t, err)
	require.Len(t, rows, 1, "what was cancelled before it was begun is not there")
}

func ping(t *testing.T, s school.ResultStore) {
	require.NoError(t, s.Ping(t.Context()))
	require.NoError(t, s.Ping(t.Context()))
}

func closed(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	require.NoError(t, s.Close())
	for name, call := range Calls(spec) {
		require.Equal(t, core.CodeUnavailable, core.CodeOf(call(t.Context(), s)), name)
	}
	require.NoError(t, s.Close(), "a second time")
}
