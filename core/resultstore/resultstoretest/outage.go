package resultstoretest

import (
	"context"
	"maps"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// Calls returns every call of the interface by name, each with good arguments.
func Calls(spec core.Spec) map[string]func(ctx context.Context, s core.ResultStore) error {
	all := map[string]func(ctx context.Context, s core.ResultStore) error{
		"Create": func(ctx context.Context, s core.ResultStore) error {
			_, _, err := s.Create(ctx, Spec("ann"))
			return err
		},
		"Get":  func(ctx context.Context, s core.ResultStore) error { _, err := s.Get(ctx, spec.ID); return err },
		"List": func(ctx context.Context, s core.ResultStore) error { _, err := s.List(ctx, core.Filter{}); return err },
		"Unfinished": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.Unfinished(ctx, "", 10)
			return err
		},
		"Record": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.Record(ctx, Result(spec, "1.1"))
			return err
		},
		"Terminal": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.Terminal(ctx, []string{spec.Key()})
			return err
		},
		"Rerun":    func(ctx context.Context, s core.ResultStore) error { _, err := s.Rerun(ctx, spec.ID, 5); return err },
		"Attempts": func(ctx context.Context, s core.ResultStore) error { _, err := s.Attempts(ctx, spec.ID); return err },
		"Purge":    func(ctx context.Context, s core.ResultStore) error { _, err := s.Purge(ctx, soon(), 10); return err },
		"Digests": func(ctx context.Context, s core.ResultStore) error {
			return s.Digests(ctx, func(string) error { return nil })
		},
		"PutPool":     func(ctx context.Context, s core.ResultStore) error { return s.PutPool(ctx, core.DefaultPool("p")) },
		"Pools":       func(ctx context.Context, s core.ResultStore) error { _, err := s.Pools(ctx); return err },
		"PutImage":    func(ctx context.Context, s core.ResultStore) error { return s.PutImage(ctx, Image("i", 1)) },
		"GetImage":    func(ctx context.Context, s core.ResultStore) error { _, err := s.GetImage(ctx, "i"); return err },
		"ListImages":  func(ctx context.Context, s core.ResultStore) error { _, err := s.ListImages(ctx); return err },
		"DeleteImage": func(ctx context.Context, s core.ResultStore) error { return s.DeleteImage(ctx, "i") },
		"ExpireOutputs": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.ExpireOutputs(ctx, "default", soon(), 10)
			return err
		},
		"ID":   func(ctx context.Context, s core.ResultStore) error { _, err := s.ID(ctx); return err },
		"Ping": func(ctx context.Context, s core.ResultStore) error { return s.Ping(ctx) },
	}
	maps.Copy(all, ledgerCalls())
	maps.Copy(all, schoolCalls())
	return all
}

func cancelled(t *testing.T, s core.ResultStore) {
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

func ping(t *testing.T, s core.ResultStore) {
	require.NoError(t, s.Ping(t.Context()))
	require.NoError(t, s.Ping(t.Context()))
}

func closed(t *testing.T, s core.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	require.NoError(t, s.Close())
	for name, call := range Calls(spec) {
		require.Equal(t, core.CodeUnavailable, core.CodeOf(call(t.Context(), s)), name)
	}
	require.NoError(t, s.Close(), "a second time")
}
