package coretest

import (
	"context"
	"slices"
	"testing"

	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// PutExperiment makes an experiment and takes it to the state that it names.
func PutExperiment(t testing.TB, s school.Experiments, e school.Experiment) school.Experiment {
	t.Helper()
	for _, state := range wayTo(t, string(e.State)) {
		e.State = school.ExperimentState(state)
		var err error
		e.Revision, err = s.PutExperiment(context.Background(), e)
		require.NoError(t, err)
	}
	return e
}

// wayTo returns the states through which the transition table leads an experiment to one, which is the last.
func wayTo(t testing.TB, to string) []string {
	t.Helper()
	ways := [][]string{{}}
	for i := 0; i < len(ways); i++ {
		at := ""
		if n := len(ways[i]); n > 0 {
			at = ways[i][n-1]
		}
		if at == to {
			return ways[i]
		}
		for _, tr := range school.Transitions() {
			if tr.From == at && !slices.Contains(ways[i], tr.To) {
				ways = append(ways, append(slices.Clone(ways[i]), tr.To))
			}
		}
	}
	require.Fail(t, "the table does not lead there", to)
	return nil
}
