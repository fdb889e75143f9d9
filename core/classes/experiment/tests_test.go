package experiment_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes/experiment"
	"drover/core/school"
)

// Old and new tests are side by side: by test in sum, and by submission.
func TestTestsAreCompared(t *testing.T) {
	t.Parallel()
	const id = "01kexperiment0000000000000"
	tested := func(r core.Row, scores map[string]float64, names ...string) core.Row {
		for _, name := range names {
			r.Result.Tests = append(r.Result.Tests, core.Test{Name: name, Score: scores[name], MaxScore: 2})
		}
		r.Result.Tests = append(r.Result.Tests, core.Test{Name: "build", Verdict: "build error"})
		return r
	}
	e, of := school.Experiment{ID: id, Repeat: 1}, school.ExperimentAssignment(id)
	var all results
	for _, s := range []struct {
		name     string
		old, new map[string]float64
		was, is  float64
	}{
		{"s1", map[string]float64{"a": 2}, map[string]float64{"a": 1, "b": 2, "c": 2}, 2, 5},
		{"s2", map[string]float64{"a": 2, "b": 2, "x": 2}, map[string]float64{"a": 2}, 6, 2},
	} {
		all = append(all,
			tested(row(experiment.RequestID(id, s.name, 0), s.name, of, "old-"+s.name, core.RequestCompleted, s.is), s.new, "a", "b", "c"),
			tested(row("old-"+s.name, s.name, "cs/hw", "", core.RequestCompleted, s.was), s.old, "a", "b", "x"))
	}
	outcomes, err := experiment.Outcomes(t.Context(), all, e)
	require.NoError(t, err)
	sum := experiment.Summarize(outcomes)
	require.Equal(t, []int{1, 1}, []int{sum.Gain, sum.Lose})
	require.Contains(t, sum.Sentence(), "1 gain points, 1 lose")
	var names []string
	for _, c := range sum.Tests {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"a", "b", "c", "build", "x"}, names)
	a, b, c, build, x := sum.Tests[0], sum.Tests[1], sum.Tests[2], sum.Tests[3], sum.Tests[4]
	require.Equal(t, []int{2, 1, 0, 1}, []int{a.Before, a.After, a.Gained, a.Lost})
	require.Equal(t, []int{1, 1, 1, 1}, []int{b.Before, b.After, b.Gained, b.Lost})
	require.Equal(t, []int{0, 0, 2, 1}, []int{c.Old, c.Before, c.New, c.After})
	require.Equal(t, []int{0, 0}, []int{build.Before, build.After}, "without points, the verdict says")
	require.Equal(t, []int{2, 1, 0}, []int{x.Old, x.Before, x.New})
	require.Equal(t, []experiment.Move{experiment.Lost, experiment.Gained, experiment.Won, experiment.Fails, experiment.Gone}, outcomes[0].Cells(sum.Tests))
	require.Equal(t, []experiment.Move{experiment.Stays, experiment.Lost, experiment.Added, experiment.Fails, experiment.Gone}, outcomes[1].Cells(sum.Tests))
}
