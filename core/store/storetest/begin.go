package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func begin(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	begins := func(key, by string, want bool) {
		t.Helper()
		is, err := s.BeginRequest(ctx, key, by)
		require.NoError(t, err)
		require.Equal(t, want, is)
	}
	spec, other, ended := mustCreate(t, s, Spec("ann")), mustCreate(t, s, Spec("ann")), mustCreate(t, s, Spec("ann"))
	mustRecord(t, s, Result(ended, "1.1"), true)
	begun := func(want map[string]string) {
		t.Helper()
		got, err := s.BegunRequests(ctx, []string{spec.Key(), core.Key(spec.ID, 2), other.Key(), ended.Key(), core.Key(NewID(), 1)})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	begun(map[string]string{})
	begins(spec.Key(), "a", true)
	begins(spec.Key(), "b", false)
	begins(spec.Key(), "a", true)
	begins(ended.Key(), "a", false)
	begun(map[string]string{spec.Key(): "a"})
	require.Equal(t, core.Row{Spec: spec, State: core.RequestQueued}, mustGet(t, s, spec.ID), "it has no end")

	mustRecord(t, s, Result(spec, "1.1"), true)
	begins(spec.Key(), "a", false)
	_, err := s.Rerun(ctx, spec.ID, 5)
	require.NoError(t, err)
	begun(map[string]string{})
	begins(spec.Key(), "b", false) // a former generation
	begins(core.Key(spec.ID, 2), "b", true)
	begins(core.Key(spec.ID, 2), "a", false)
	begun(map[string]string{core.Key(spec.ID, 2): "b"})

	for _, key := range []string{core.Key(NewID(), 1), core.Key(spec.ID, 3)} {
		_, err := s.BeginRequest(ctx, key, "a")
		requireCode(t, core.CodeNotFound, err)
	}
	for _, wrong := range [][2]string{{"none", "a"}, {other.Key(), ""}} {
		_, err := s.BeginRequest(ctx, wrong[0], wrong[1])
		requireCode(t, core.CodeInvalid, err)
	}
	_, err = s.BegunRequests(ctx, []string{"none"})
	requireCode(t, core.CodeInvalid, err)
}

func raceBegin(t *testing.T, s school.ResultStore) { RaceBegin(t, s, s) }

// RaceBegin begins one request by different claims from many goroutines, in turn through both handles of one store: one
// of the claims may.
func RaceBegin(t *testing.T, a, b school.ResultStore) {
	t.Helper()
	for range 10 {
		spec := mustCreate(t, a, Spec("ann"))
		var may atomic.Int32
		race(t, func(i int) error {
			is, err := []school.ResultStore{a, b}[i%2].BeginRequest(t.Context(), spec.Key(), fmt.Sprintf("1.%d", i/2)) // every claim twice
			if is {
				may.Add(1)
			}
			return err
		})
		require.EqualValues(t, 2, may.Load(), "one claim, asked twice")
	}
}
