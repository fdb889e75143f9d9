package experiment_test

import (
	"context"
	"strings"
	"testing"

	"drover/core"
	"drover/core/classes/experiment"
	"drover/core/harness"
	"drover/core/school"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`).Draw(t, "class")
		require.NoError(t, core.CheckName("submitter", experiment.Submitter(class)))
		id, sub := strings.ToLower(ulid.Make().String()), strings.ToLower(ulid.Make().String())
		run := rapid.IntRange(0, school.MaxRepeat-1).Draw(t, "run")
		require.NoError(t, core.CheckName("task id", experiment.PartID(id, sub, run)))
		request := experiment.RequestID(id, sub, run)
		parsed, err := ulid.ParseStrict(request)
		require.NoError(t, err)
		require.Equal(t, request, strings.ToLower(parsed.String()))
		require.Equal(t, ulid.MustParseStrict(id).Time(), parsed.Time(), "it sorts where its experiment does")
		require.Equal(t, request, experiment.RequestID(id, sub, run))
		require.NotEqual(t, request, experiment.RequestID(id, sub, run+1))
		require.NotEqual(t, request, experiment.RequestID(sub, sub, run))
	})
	long := strings.Repeat("a", core.MaxNameLen)
	require.NotEqual(t, experiment.Submitter(long), experiment.Submitter(long[1:]+"b"))
}

// results are rows in a list, newest first.
type results []core.Row

func (r results) Get(_ context.Context, id string) (core.Row, error) {
	for _, row := range r {
		if row.Spec.ID == id {
			return row, nil
		}
	}
	return core.Row{}, core.Errorf(core.CodeNotFound, id, "no request %s", id)
}

func (r results) List(_ context.Context, f core.Filter) (page []core.Row, err error) {
	for _, row := range r {
		if row.Spec.Assignment == f.Assignment && (f.Before == "" || row.Spec.ID < f.Before) && len(page) < f.Limit {
			page = append(page, row)
		}
	}
	return page, nil
}

func row(id, submission, assignment, instead string, state core.RequestState, score float64) core.Row {
	spec := core.Spec{ID: id, Submission: submission, Assignment: assignment, Instead: instead}
	if !state.Terminal() {
		return core.Row{Spec: spec, State: state}
	}
	full := 10.0
	r := &core.Result{State: state, Score: &score, MaxScore: &full}
	if state != core.RequestCompleted {
		r.Score, r.MaxScore = nil, nil
	}
	return core.Row{Spec: spec, State: state, Result: r}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	id := strings.ToLower(ulid.Make().String())
	e := school.Experiment{ID: id, Repeat: 3}
	name := school.ExperimentAssignment(id)
	const ended, dead, open, stopped = core.RequestCompleted, core.RequestDead, core.RequestQueued, core.RequestCancelled
	var all results
	for _, s := range []struct {
		sub    string
		old    float64 // -1: it was never graded, -2: that is gone
		states [3]core.RequestState
		scores [3]float64
	}{
		{"same", 5, [3]core.RequestState{ended, ended, ended}, [3]float64{5, 5, 5}},
		{"better", 5, [3]core.RequestState{ended, ended, ended}, [3]float64{10, 10, 10}},
		{"other-score", 5, [3]core.RequestState{ended, ended, ended}, [3]float64{6, 6, 6}},
		{"flaky", 5, [3]core.RequestState{ended, ended, ended}, [3]float64{5, 5, 0}},
		{"second", 5, [3]core.RequestState{dead, ended, stopped}, [3]float64{0, 0, 0}},
		{"none", 5, [3]core.RequestState{dead, open, stopped}, [3]float64{}},
		{"new", -1, [3]core.RequestState{ended, open, open}, [3]float64{10, 0, 0}},
		{"gone", -2, [3]core.RequestState{ended, ended, open}, [3]float64{5, 5, 0}},
		{"unmade", 5, [3]core.RequestState{"", ended, ""}, [3]float64{0, 5, 0}},
	} {
		old := ""
		if s.old != -1 {
			old = "old-" + s.sub
		}
		if s.old >= 0 {
			all = append(all, row(old, s.sub, "cs/hw1", "", ended, s.old))
		}
		for run, state := range s.states {
			if state != "" {
				all = append(all, row(experiment.RequestID(id, s.sub, run), s.sub, name, old, state, s.scores[run]))
			}
		}
	}
	got, err := experiment.Outcomes(t.Context(), all, e)
	require.NoError(t, err)
	by := map[string]experiment.Outcome{}
	for _, o := range got {
		require.Len(t, o.Runs, 3)
		by[o.Submission] = o
	}
	type says struct {
		counts         int // the number of the run; -1: none
		differs, flaky bool
	}
	for sub, want := range map[string]says{
		"same": {0, false, false}, "better": {0, true, false}, "other-score": {0, true, false}, "flaky": {0, false, true},
		"second": {1, true, false}, "none": {-1, false, false}, "new": {0, true, false}, "gone": {0, true, false}, "unmade": {1, false, false},
	} {
		o := by[sub]
		is := says{-1, o.Differs, o.Flaky}
		if first := o.Counts(); first != nil {
			for run := range o.Runs {
				if first.Request == experiment.RequestID(id, sub, run) {
					is.counts = run
				}
			}
		}
		require.Equal(t, want, is, sub)
	}
	require.InDelta(t, 5, *by["better"].Difference, 0)
	require.InDelta(t, -5, *by["second"].Difference, 0)
	require.Nil(t, by["new"].Difference)
	require.Equal(t, experiment.Ungraded, by["new"].Old.Verdict)

	sum := experiment.Summarize(got)
	require.Equal(t, experiment.Summary{
		Submissions: 9, Verdicts: 4, Differ: 5, Missing: 1, Repeated: 5, Flaky: 1, Gain: 2, Lose: 1, Tests: []experiment.TestChange{},
		Matrix: []experiment.Cell{
			{Old: experiment.Ungraded, New: harness.Partial, Count: 1},
			{Old: experiment.Ungraded, New: harness.Passed, Count: 1},
			{Old: harness.Partial, New: harness.Failed, Count: 1},
			{Old: harness.Partial, New: harness.Partial, Count: 4},
			{Old: harness.Partial, New: harness.Passed, Count: 1},
			{Old: harness.Partial, New: harness.PlatformFault, Count: 1},
		},
		Outcomes: []experiment.OutcomeChange{
			{Outcome: core.ResultFull, New: 2},
			{Outcome: core.ResultPartial, Old: 7, New: 5},
			{Outcome: core.ResultFailed, New: 1},
			{Outcome: core.ResultFault, New: 1},
			{Outcome: core.ResultReceived, Old: 2},
		},
	}, sum)
	require.InDelta(t, 0.2, sum.FlakeRate(), 1e-9)
	require.Equal(t, "4 of 9 submissions get another verdict, 5 another verdict or score; 2 gain points, 1 lose; flaky: 1 of 5 (20.0 %); without a result: 1", sum.Sentence())
}
