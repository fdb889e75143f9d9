package sqlite

import (
	"testing"

	"drover/core"
	"drover/core/school"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// readSchool makes a store prepare what courses need of it, beside what
// resultstoretest.Calls does.
func readSchool(t *testing.T, s *Store) {
	t.Helper()
	storetest.School(t, s)
	sub := storetest.Submission("cs101", "hw1", "ann")
	spec, other := storetest.Grading(sub), storetest.Grading(sub)
	sub.Request, sub.Idempotency = spec.ID, "key"
	_, _, err := s.Create(t.Context(), other)
	require.NoError(t, err)
	for range 2 {
		_, _, err := s.CreateSubmission(t.Context(), sub, &spec)
		require.NoError(t, err)
	}
	is, err := s.Bind(t.Context(), sub.ID, spec.ID, other.ID)
	require.NoError(t, err)
	require.True(t, is)
	_, err = s.PutUser(t.Context(), storetest.User("ann")) // taken
	require.Error(t, err)
	for _, f := range []school.SubmissionFilter{
		{User: "a"},
		{Class: "a"},
		{Class: "a", User: "a"},
		{Class: "a", Assignment: "a"},
		{Class: "a", Assignment: "a", User: "a"},
		{Before: "z"},
		{User: "a", Before: "z"},
		{Class: "a", Before: "z"},
		{Class: "a", Assignment: "a", Before: "z"},
		{Class: "a", Assignment: "a", User: "a", Before: "z"},
	} {
		_, err := s.ListSubmissions(t.Context(), f)
		require.NoError(t, err)
	}
	for _, f := range []core.AuditFilter{{Class: "a"}, {Actor: "a"}, {Subject: "a"}, {Before: "z"}, {Class: "a", Actor: "a", Before: "z"}} {
		_, err := s.ListAuditEntries(t.Context(), f)
		require.NoError(t, err)
	}
	for _, user := range []string{"", "ann"} {
		for _, assignment := range []string{"", "hw1"} {
			_, err := s.Deadlines(t.Context(), "cs101", assignment, user)
			require.NoError(t, err)
		}
	}
}
