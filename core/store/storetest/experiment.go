package storetest

import (
	"slices"
	"testing"

	"drover/core"
	"drover/core/coretest"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func experiments(t *testing.T, s school.ResultStore) {
	aClass(t, s)
	mustAssignment(t, s, Assignment("cs101", "hw2"))
	a := Experiment("cs101", "hw1")
	a.Harness, a.Users, a.Repeat = Harness(1), []string{"ann", "bob"}, 3
	a = mustExperiment(t, s, a)
	b := mustExperiment(t, s, Experiment("cs101", "hw1"))
	mustExperiment(t, s, Experiment("cs101", "hw2"))
	for _, state := range []school.ExperimentState{school.ExperimentReady, school.ExperimentApplying, school.ExperimentApplied} {
		a.State, a.Requests, a.DecidedBy, a.Decided = state, 6, "tom", 9
		a = mustExperiment(t, s, a)
	}
	got, err := s.GetExperiment(t.Context(), a.ID)
	require.NoError(t, err)
	require.Equal(t, a, got)
	all, err := s.ListExperiments(t.Context(), "cs101", "hw1", 10)
	require.NoError(t, err)
	require.Equal(t, []school.Experiment{b, a}, all, "newest first")
	all, err = s.ListExperiments(t.Context(), "cs101", "hw1", 1)
	require.NoError(t, err)
	require.Equal(t, []school.Experiment{b}, all)
	require.NoError(t, s.DeleteAssignment(t.Context(), "cs101", "hw1"))
	_, err = s.GetExperiment(t.Context(), a.ID)
	requireCode(t, core.CodeNotFound, err)
	_, err = s.PutExperiment(t.Context(), a)
	requireCode(t, core.CodeNotFound, err)
}

func experimentsRefuse(t *testing.T, s school.ResultStore) {
	aClass(t, s)
	for name, c := range map[string]struct {
		change func(e *school.Experiment)
		want   core.Code
	}{
		"id":         {func(e *school.Experiment) { e.ID = "" }, core.CodeInvalid},
		"assignment": {func(e *school.Experiment) { e.Assignment = "hw9" }, core.CodeNotFound},
		"class":      {func(e *school.Experiment) { e.Class = "cs102" }, core.CodeNotFound},
	} {
		e := Experiment("cs101", "hw1")
		c.change(&e)
		_, err := s.PutExperiment(t.Context(), e)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	_, err := s.ListExperiments(t.Context(), "cs101", "hw1", 0)
	requireCode(t, core.CodeInvalid, err)
	all, err := s.ListExperiments(t.Context(), "cs101", "hw1", 10)
	require.NoError(t, err)
	require.Empty(t, all)
}

// experimentsMove tries every move: the store makes those of the transition table and no other.
func experimentsMove(t *testing.T, s school.ResultStore) {
	aClass(t, s)
	states := []string{""}
	for _, tr := range school.Transitions() {
		if !slices.Contains(states, tr.To) {
			states = append(states, tr.To)
			require.Equal(t, []string{"PutExperiment"}, tr.By)
		}
	}
	require.Len(t, states, 6)
	for _, from := range states {
		for _, to := range states[1:] {
			was := Experiment("cs101", "hw1")
			was.State = school.ExperimentState(from)
			was = coretest.PutExperiment(t, s, was)
			e := was
			e.State = school.ExperimentState(to)
			_, err := s.PutExperiment(t.Context(), e)
			if from == to || was.State.MayBecome(e.State) {
				require.NoError(t, err, "%s → %s", from, to)
				continue
			}
			require.Equal(t, core.CodeConflict, core.CodeOf(err), "%s → %s", from, to)
			is, err := s.GetExperiment(t.Context(), e.ID)
			if from == "" {
				requireCode(t, core.CodeNotFound, err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, was, is)
		}
	}
}
