package coretest

import (
	"context"
	"slices"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// Way returns the states through which the transition table leads to one, which is the last.
func Way(t testing.TB, kind core.Entity, to string) []string {
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
		for _, tr := range core.Transitions() {
			if tr.Entity == kind && tr.From == at && !slices.Contains(ways[i], tr.To) {
				ways = append(ways, append(slices.Clone(ways[i]), tr.To))
			}
		}
	}
	require.Fail(t, "the table does not lead there", "%s %s", kind, to)
	return nil
}

// PutExperiment makes an experiment and takes it to the state that it names.
func PutExperiment(t testing.TB, s core.Experiments, e core.Experiment) core.Experiment {
	t.Helper()
	for _, state := range Way(t, core.EntityExperiment, string(e.State)) {
		e.State = core.ExperimentState(state)
		var err error
		e.Revision, err = s.PutExperiment(context.Background(), e)
		require.NoError(t, err)
	}
	return e
}
