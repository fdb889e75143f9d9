package storetest

import (
	"fmt"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// raceDelete deletes things while others hang something on them: whatever is there in the end,
// nothing hangs on what is gone.
func raceDelete(t *testing.T, s core.ResultStore) {
	ctx := t.Context()
	mustUser(t, s, User("ann"))
	lost := func(err error) error { // to whoever was faster
		if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeConflict) || core.Is(err, core.CodeUnavailable) {
			return nil
		}
		return err
	}
	for round := range 8 {
		class := fmt.Sprintf("c%d", round)
		mustClass(t, s, Class(class))
		mustAssignment(t, s, Assignment(class, "hw1"))
		race(t, func(i int) error {
			if i%4 == 0 {
				return lost(s.DeleteAssignment(ctx, class, "hw1"))
			}
			_, _, err := s.CreateSubmission(ctx, Submission(class, "hw1", "ann"))
			return lost(err)
		})
		handed, err := s.ListSubmissions(ctx, core.SubmissionFilter{Class: class})
		require.NoError(t, err)
		if _, err := s.GetAssignment(ctx, class, "hw1"); err != nil {
			requireCode(t, core.CodeNotFound, err)
			require.Empty(t, handed)
		}

		class, user := "d"+class, fmt.Sprintf("u%d", round)
		mustClass(t, s, Class(class))
		mustUser(t, s, User(user))
		race(t, func(i int) error {
			switch i % 4 {
			case 0:
				return lost(s.DeleteClass(ctx, class))
			case 1:
				return lost(s.DeleteUser(ctx, user))
			case 2:
				return lost(s.Enrol(ctx, core.Enrolment{Class: class, User: user, Role: core.RoleStudent}))
			}
			_, err := s.PutAssignment(ctx, Assignment(class, fmt.Sprintf("hw%d", i)))
			return lost(err)
		})
		members, err := s.Members(ctx, class, "", 10)
		require.NoError(t, err)
		if _, err := s.GetClass(ctx, class); err != nil {
			requireCode(t, core.CodeNotFound, err)
			require.Empty(t, members)
			left, err := s.ListAssignments(ctx, class, "", 10)
			require.NoError(t, err)
			require.Empty(t, left)
		}
		if _, err := s.GetUser(ctx, user); err != nil {
			requireCode(t, core.CodeNotFound, err)
			require.Empty(t, members)
		}
	}
}
