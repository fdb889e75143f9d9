package classes_test

import (
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func TestViewMemberSeesWhatTheMemberSees(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	w.assignment("secret", concealed)
	require.NoError(t, w.reg.SetDeadline(t.Context(), w.as("tess"), school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Cutoff: theEnd + day}))
	v, err := w.reg.ViewMember(t.Context(), w.as("tina"), "cs101", "ann")
	require.NoError(t, err)
	require.Equal(t, "ann@example.org", v.Email)
	require.Len(t, v.Assignments, 1, "what is hidden from ann is not among them")
	require.True(t, v.Assignments[0].Extended)
	require.Equal(t, theEnd+day, v.Assignments[0].Cutoff)
	require.Nil(t, v.Assignments[0].Harness)
	v, err = w.reg.ViewMember(t.Context(), w.as("tess"), "cs101", "tina")
	require.NoError(t, err)
	require.Len(t, v.Assignments, 2)
	for _, user := range []string{"eve", "nobody", "No Name"} {
		_, err = w.reg.ViewMember(t.Context(), w.as("tess"), "cs101", user)
		requireCode(t, core.CodeNotFound, err)
	}
}

func TestPreviewSubmission(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	s := w.submit("ann", "hw1")
	w.grade(nil)
	mine, err := w.reg.ViewSubmission(t.Context(), w.as("ann"), s.ID)
	require.NoError(t, err)
	seen, err := w.reg.PreviewSubmission(t.Context(), w.as("tina"), s.ID)
	require.NoError(t, err)
	require.Equal(t, mine, seen)
	require.Empty(t, seen.Result.Stdout)
	for who, want := range map[string]core.Code{"cleo": core.CodeNotFound, "theo": core.CodeNotFound, "olga": core.CodeNotFound} {
		_, err = w.reg.PreviewSubmission(t.Context(), w.as(who), s.ID)
		requireCode(t, want, err)
	}

	as := w.assignment("exam")
	s = w.submit("ann", "exam")
	as.HideUntil = theEnd
	_, err = w.reg.EditAssignment(t.Context(), w.as("tess"), as)
	require.NoError(t, err)
	_, err = w.reg.PreviewSubmission(t.Context(), w.as("tess"), s.ID)
	requireCode(t, core.CodeNotFound, err)
}

func TestGradeHistory(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	w.submit("ann", "hw1")
	w.submit("cleo", "hw1")
	for i, user := range []string{"ann", "cleo", "ann"} {
		score := float64(i)
		_, err := w.reg.ChangeGrade(t.Context(), w.as("tina"), classes.GradeChange{Class: "cs101", Assignment: "hw1", User: user, Score: &score, Reason: "by hand"})
		require.NoError(t, err)
	}
	require.NoError(t, w.reg.SetDeadline(t.Context(), w.as("tess"), school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: theDue + hour}))
	all, err := w.reg.GradeHistory(t.Context(), w.as("tina"), "cs101", "hw1", "ann")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Contains(t, all[0].Text, "from 0 by tina to 2")
	require.Contains(t, all[1].Text, "from none to 0")
	_, err = w.reg.GradeHistory(t.Context(), w.as("tina"), "cs101", "hw1", "Not A Name")
	requireCode(t, core.CodeNotFound, err)
}

// In paths new stands for what is still to be made.
func TestNothingIsCalledNew(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, err := w.reg.CreateClass(t.Context(), w.as("root"), school.Class{Handle: "new", Title: "New"})
	requireCode(t, core.CodeInvalid, err)
	_, err = w.reg.CreateAssignment(t.Context(), w.as("tess"), school.Assignment{Class: "cs101", Handle: "new", Pool: pool})
	requireCode(t, core.CodeInvalid, err)
	require.Empty(t, w.log.names)
}
