package classes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// tested are the tests of a result: steady passes always, shaky as it is told.
func tested(shaky float64, ms int64) func(r *core.Result) {
	return func(r *core.Result) {
		r.Tests = []core.Test{
			{Name: "steady", Score: 1, MaxScore: 1, Usage: &core.Usage{WallMs: ms}},
			{Name: "shaky", Group: "all", Score: shaky, MaxScore: 1},
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	tess := w.as("tess")
	rep, err := w.reg.Report(t.Context(), tess, "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, classes.Report{Tests: []classes.TestReport{}}, rep)

	ann := w.submit("ann", "hw1")
	w.grade(tested(1, 10))
	w.submit("cleo", "hw1")
	w.grade(tested(0, 30))
	w.submit("cleo", "hw1")
	w.grade(func(r *core.Result) { tested(1, 1)(r); r.State, r.Blame = core.RequestDead, core.BlamePlatform })
	rep, err = w.reg.Report(t.Context(), tess, "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, classes.Report{Results: 2, Submissions: 2, Tests: []classes.TestReport{
		{Name: "shaky", Group: "all", Runs: 2, Passed: 1},
		{Name: "steady", Runs: 2, Passed: 2, Timed: 2, P50: 10, P95: 30},
	}}, rep, "what the platform failed does not count, nor do two submissions make a test flaky")

	require.NoError(t, w.reg.Resubmit(t.Context(), tess, ann.ID))
	w.grade(tested(0, 20))
	rep, err = w.reg.Report(t.Context(), tess, "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, 1, rep.Repeated)
	require.Equal(t, classes.TestReport{Name: "shaky", Group: "all", Runs: 3, Passed: 1, Repeated: 1, Flaky: 1}, rep.Tests[0])
	require.Equal(t, classes.TestReport{Name: "steady", Runs: 3, Passed: 3, Repeated: 1, Timed: 3, P50: 20, P95: 30}, rep.Tests[1])
}

// Runs of experiments count with those of the same harness only.
func TestReportHoldsHarnessesApart(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	as := w.graded("hw1")
	s := w.submit("ann", "hw1")
	w.grade(tested(1, 10))
	e := w.experiment("hw1", school.ExperimentReady)
	run := func(digest string, shaky float64) {
		spec := core.Spec{
			ID: newID(), Generation: 1, Pool: pool, Priority: core.PriorityLow, Submitter: "tess", Submission: s.ID,
			Assignment: school.ExperimentAssignment(e.ID), Harness: &core.File{Path: "harness.tar", Digest: digest, Size: 1}, Submitted: start,
		}
		_, _, err := w.store.Create(t.Context(), spec)
		require.NoError(t, err)
		res := core.Result{ID: spec.ID, Generation: 1, State: core.RequestCompleted}
		tested(shaky, 10)(&res)
		_, err = w.store.Record(t.Context(), res)
		require.NoError(t, err)
	}
	run(strings.Repeat("ab", 32), 0)
	rep, err := w.reg.Report(t.Context(), w.as("tina"), "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, 2, rep.Results)
	require.Zero(t, rep.Tests[0].Flaky, "another harness may end otherwise")
	run(as.Harness.File.Digest, 0)
	rep, err = w.reg.Report(t.Context(), w.as("tina"), "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, 1, rep.Tests[0].Flaky)
	require.Equal(t, 1, rep.Submissions)
}

// many is a store with more results than a report reads.
type many struct {
	classes.Store
	calls int
}

func (m *many) List(_ context.Context, f core.Filter) ([]core.Row, error) {
	m.calls++
	rows := make([]core.Row, f.Limit)
	for i := range rows {
		n := m.calls*f.Limit + i
		r := core.Result{State: core.RequestCompleted}
		for j := range 2 {
			r.Tests = append(r.Tests, core.Test{Name: fmt.Sprintf("test %d", 2*n+j), Score: 1, MaxScore: 1})
		}
		rows[i] = core.Row{Spec: core.Spec{ID: fmt.Sprintf("r%d", n), Generation: 2, Submission: fmt.Sprintf("s%d", n), Harness: &core.File{Digest: "x"}}, State: r.State, Result: &r}
	}
	return rows, nil
}

func (m *many) Attempts(context.Context, string) ([]core.Attempt, error) {
	m.calls++
	return nil, nil
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	m := &many{Store: w.reg.Store}
	w.reg.Store = m
	rep, err := w.reg.Report(t.Context(), w.as("tess"), "cs101", "hw1")
	require.NoError(t, err)
	require.True(t, rep.Older)
	require.Equal(t, 480, rep.Results, "500 are read, of which 20 have a history without anything in it")
	require.Len(t, rep.Tests, 500)
	require.Equal(t, 460, rep.Omitted)
	require.LessOrEqual(t, m.calls, 6+20)
}
