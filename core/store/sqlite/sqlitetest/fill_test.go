package sqlitetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/core/store/sqlite/sqlitetest"
)

// What Fill wrote is what the store would have written: it reads, lists and counts it.
func TestFill(t *testing.T) {
	t.Parallel()
	s := sqlitetest.Open(t)
	sqlitetest.Fill(t, s, "p1", sqlitetest.Classes{Classes: 2, Students: 3, Assignments: 2, Each: 4})
	all, err := s.ListSubmissions(t.Context(), school.SubmissionFilter{Class: "c001", Assignment: "hw2", User: "c001-s002"})
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.InDelta(t, 7, *all[0].Score, 0)
	row, err := s.Get(t.Context(), all[0].Submission.Request)
	require.NoError(t, err)
	require.Equal(t, "ok\n", row.Result.Stdout)
	require.Equal(t, all[0].Submission.ID, row.Spec.Submission)
	require.Equal(t, "c001/hw2", row.Spec.Assignment)
	counting, err := s.Standings(t.Context(), "c000", "hw1", "", 100)
	require.NoError(t, err)
	require.Len(t, counting, 3)
	require.Equal(t, "c000", counting[0].Submission.Class)
	rows, err := s.List(t.Context(), core.Filter{Pool: "p1", Limit: 100})
	require.NoError(t, err)
	require.Len(t, rows, 2*3*2*4+1)
	members, err := s.Members(t.Context(), "c001", "", 10)
	require.NoError(t, err)
	require.Len(t, members, 3)
}

// A statement that reads more takes more steps; another one takes none.
func TestSteps(t *testing.T) {
	t.Parallel()
	s := sqlitetest.Open(t)
	sqlitetest.Fill(t, s, "p1", sqlitetest.Classes{Classes: 1, Students: 1, Assignments: 1, Each: 50})
	took := func(limit int) (sum int) {
		before := sqlitetest.Steps(t, s)
		_, err := s.List(t.Context(), core.Filter{Pool: "p1", Limit: limit})
		require.NoError(t, err)
		for query, n := range sqlitetest.Steps(t, s) {
			if n > before[query] {
				require.Contains(t, query, "pool = ?")
				sum += n - before[query]
			}
		}
		return sum
	}
	few := took(5)
	require.Positive(t, few)
	require.Greater(t, took(50), 5*few)
}
