package classes_test

import (
	"encoding/json"
	"testing"
	"time"

	"drover/core"
	"drover/core/classes"
	"drover/core/cluster/history"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// A replay of a submission's request changes nothing that a class or its students read: grades, attempts, lists, exports,
// reports and statistics.
func TestAReplayCountsForNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, tess, ann := t.Context(), w.as("tess"), w.as("ann")
	w.graded("hw1")
	s := w.submit("ann", "hw1")
	w.grade(nil)
	counter := history.Counter{Store: w.store, Now: time.Now, Keep: time.Hour * 24 * 30}
	until := time.Now().Add(time.Hour)
	from := until.Add(-24 * time.Hour)
	w.pass(until.UnixMilli() - start)
	read := func() string {
		t.Helper()
		_, err := counter.Count(ctx)
		require.NoError(t, err)
		var all []any
		add := func(v any, err error) {
			t.Helper()
			require.NoError(t, err)
			all = append(all, v)
		}
		stats, err := w.reg.Stats(ctx, tess, "cs101", history.ByAssignment, from, until)
		require.Equal(t, 1, stats.Total.Total)
		stats.From, stats.Until = 0, 0
		add(stats, err)
		report, err := w.reg.Report(ctx, tess, "cs101", "hw1")
		add(report, err)
		standings, err := w.reg.Standings(ctx, tess, "cs101", "hw1")
		add(standings, err)
		book, err := w.reg.Gradebook(ctx, tess, "cs101", classes.BookFilter{Limit: 100})
		add(book, err)
		counts, err := w.reg.Counts(ctx, ann, "cs101", "hw1", "ann")
		add(counts, err)
		progress, err := w.reg.Progress(ctx, tess, "cs101", "hw1")
		add(progress, err)
		grades, err := w.reg.GradeHistory(ctx, tess, "cs101", "hw1", "ann")
		add(grades, err)
		missing, err := w.reg.Missing(ctx, tess, "cs101", "hw1", "", 100)
		add(missing, err)
		for _, a := range []core.Actor{tess, ann} {
			list, err := w.reg.ListSubmissions(ctx, a, school.SubmissionFilter{Class: "cs101"})
			add(list, err)
			view, err := w.reg.ViewSubmission(ctx, a, s.ID)
			add(view, err)
		}
		tries, err := w.store.Attempts(ctx, s.Request)
		add(tries, err)
		text, err := json.Marshal(all)
		require.NoError(t, err)
		return string(text)
	}
	before := read()
	row, err := w.store.Get(ctx, s.Request)
	require.NoError(t, err)
	_, _, err = w.in.Submit(ctx, row.Spec.Replay("tess"))
	require.NoError(t, err)
	require.JSONEq(t, before, read(), "while it waits")
	w.grade(func(r *core.Result) {
		none := 0.0
		r.Score, r.Blame, r.Tests = &none, core.BlameSubmission, []core.Test{{Name: "another", MaxScore: 1}}
	})
	require.JSONEq(t, before, read())
}
