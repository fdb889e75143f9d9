package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/store/storetest"
)

// A class has its own statistics, in which no other class shows.
func TestStatisticsOfAClass(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.end(t, "ann", "cs101/hw1", 1000, 50)
	spec := b.end(t, "bob", "cs101/hw2", 3000, 70)
	b.end(t, "eve", "cs102/hw1", 9000, 90)
	b.end(t, "eve", "experiment:cs101", 9000, 90)
	b.end(t, "eve", "", 9000, 90)
	bad := storetest.Spec("cleo")
	bad.Assignment = "cs101/hw1"
	_, _, err := b.Create(t.Context(), bad)
	require.NoError(t, err)
	r := storetest.Result(bad, "1.1")
	r.State, r.Blame = core.RequestFailed, core.BlameHarness
	_, err = b.Record(t.Context(), r)
	require.NoError(t, err)
	b.run(t)
	b.hands.Advance(24 * time.Hour)
	again, err := b.Rerun(t.Context(), spec.ID, 5)
	require.NoError(t, err)
	b.record(t, again, 2000, 60)
	b.run(t)
	now := b.hands.Now()
	read := func(class, by string) history.Stats {
		t.Helper()
		s, err := history.ReadClass(t.Context(), b.Store, class, by, now.AddDate(0, 0, -7), now.Add(time.Second), now)
		require.NoError(t, err)
		return s
	}
	totals := func(s history.Stats) map[string]int {
		got := map[string]int{}
		for _, row := range s.Rows {
			got[row.Value] = row.Total
		}
		return got
	}
	require.Equal(t, map[string]int{"hw1": 2, "hw2": 2}, totals(read("cs101", history.ByAssignment)))
	require.Equal(t, map[string]int{"2026-03-04": 3, "2026-03-05": 1}, totals(read("cs101", history.ByDay)))
	all := read("cs101", "")
	require.Empty(t, all.Rows)
	require.Equal(t, 4, all.Total.Total)
	require.Equal(t, 1, all.Total.Reruns)
	require.Equal(t, map[core.Blame]int{core.BlameHarness: 1}, all.Total.Faults)
	require.LessOrEqual(t, all.Total.Wait.Max, int64(3000), "of another class")
	require.Equal(t, map[string]int{"hw1": 1}, totals(read("cs102", history.ByAssignment)))
	require.Zero(t, read("cs10", "").Total.Total, "of no class that begins so")

	s, err := history.ReadClassSeries(t.Context(), b.Store, "cs101", now.AddDate(0, 0, -7), now.Add(time.Second), now)
	require.NoError(t, err)
	require.Len(t, s.Ended, 2)
	require.Equal(t, 3, s.Ended[0].Total)
	require.Equal(t, map[core.Blame]int{core.BlameHarness: 1}, s.Ended[0].Faults)
	require.EqualValues(t, 3000, s.Ended[0].Wait.P95)
	require.Empty(t, s.Samples)

	_, err = history.ReadClass(t.Context(), b.Store, "cs101", "submitter", now.Add(-time.Hour), now, now)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err), "students are not compared")
	_, err = history.ReadClassSeries(t.Context(), b.Store, "cs101", now, now, now)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
}
