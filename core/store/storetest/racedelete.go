package storetest

import (
	"fmt"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// raceDelete deletes things while others hang something on them: whatever is there in the end,
// nothing hangs on what is gone.
func raceDelete(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	for round := range 8 {
		raceDeleteAssignment(t, s, fmt.Sprintf("c%d", round))
		raceDeleteClass(t, s, fmt.Sprintf("d%d", round), fmt.Sprintf("u%d", round))
	}
}

// lost is the error of a call, unless another one was faster.
func lost(err error) error {
	if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeConflict) || core.Is(err, core.CodeUnavailable) {
		return nil
	}
	return err
}

func raceDeleteAssignment(t *testing.T, s school.ResultStore, class string) {
	ctx := t.Context()
	mustClass(t, s, Class(class))
	mustAssignment(t, s, Assignment(class, "hw1"))
	race(t, func(i int) error {
		if i%4 == 0 {
			return lost(s.DeleteAssignment(ctx, class, "hw1"))
		}
		if i%4 == 1 { // so does the sweep, at any time
			_, err := s.Unfinished(ctx, "", 100)
			return err
		}
		sub := Submission(class, "hw1", "ann")
		spec := Grading(sub)
		sub.Request = spec.ID
		_, _, err := s.CreateSubmission(ctx, sub, &spec)
		return lost(err)
	})
	handed, err := s.ListSubmissions(ctx, school.SubmissionFilter{Class: class})
	require.NoError(t, err)
	if _, err := s.GetAssignment(ctx, class, "hw1"); err != nil {
		requireCode(t, core.CodeNotFound, err)
		require.Empty(t, handed)
	}
	rows, err := s.List(ctx, core.Filter{Assignment: class + "/hw1"})
	require.NoError(t, err)
	require.Len(t, rows, len(handed), "a request for each")
}

func raceDeleteClass(t *testing.T, s school.ResultStore, class, user string) {
	ctx := t.Context()
	mustClass(t, s, Class(class))
	mustUser(t, s, User(user))
	race(t, func(i int) error {
		switch i % 4 {
		case 0:
			return lost(s.DeleteClass(ctx, class))
		case 1:
			return lost(s.DeleteUser(ctx, user))
		case 2:
			return lost(s.Enrol(ctx, school.Enrolment{Class: class, User: user, Role: core.RoleStudent}))
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
