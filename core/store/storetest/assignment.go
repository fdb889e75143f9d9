package storetest

import (
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// fullAssignment is an assignment with every field set.
func fullAssignment() school.Assignment {
	a := Assignment("cs101", "hw2")
	a.Text = "# Sort\n\n\tint main() { return '\u00fc' < 1; } <script>\n"
	a.Due, a.Cutoff, a.HideUntil = 1000, 2000, 500
	a.Harness, a.AllowFinal = Harness(3), true
	a.Harness.Stock = true
	a.Priority = core.PriorityHigh
	a.Limits = core.Limits{Timeout: time.Second, Memory: 1, Disk: 2, FileSize: 3, Pids: 4, CPU: 5, OpenFiles: 6, Output: 7}
	a.MaxFiles, a.MaxBytes = 8, 9
	return a
}

func assignments(t *testing.T, s school.ResultStore) {
	aClass(t, s)
	mustClass(t, s, Class("cs102"))
	a := mustAssignment(t, s, fullAssignment())
	got, err := s.GetAssignment(t.Context(), "cs101", "hw2")
	require.NoError(t, err)
	require.Equal(t, a, got)
	other := mustAssignment(t, s, Assignment("cs102", "hw2")) // a handle is its class's
	got, err = s.GetAssignment(t.Context(), "cs102", "hw2")
	require.NoError(t, err)
	require.Equal(t, other, got)
	_, err = s.GetAssignment(t.Context(), "cs102", "hw1")
	requireCode(t, core.CodeNotFound, err)

	a.Harness, a.Due, a.Cutoff = nil, 0, 0
	a = mustAssignment(t, s, a)
	first, err := s.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	for after, want := range map[string][]school.Assignment{"": {first, a}, "hw1": {a}, "hw2": nil, "hw1x": {a}} {
		all, err := s.ListAssignments(t.Context(), "cs101", after, 10)
		require.NoError(t, err)
		require.Equal(t, want, all, after)
	}
	all, err := s.ListAssignments(t.Context(), "cs101", "", 1)
	require.NoError(t, err)
	require.Equal(t, []school.Assignment{first}, all)
}

func assignmentsRefuse(t *testing.T, s school.ResultStore) {
	aClass(t, s)
	for name, c := range map[string]struct {
		change func(a *school.Assignment)
		want   core.Code
	}{
		"no class":      {func(a *school.Assignment) { a.Class = "" }, core.CodeInvalid},
		"unknown class": {func(a *school.Assignment) { a.Class = "cs102" }, core.CodeNotFound},
		"handle":        {func(a *school.Assignment) { a.Handle = "hw 2" }, core.CodeInvalid},
	} {
		a := Assignment("cs101", "hw2")
		c.change(&a)
		_, err := s.PutAssignment(t.Context(), a)
		require.Equal(t, c.want, core.CodeOf(err), "%s: %v", name, err)
	}
	_, err := s.ListAssignments(t.Context(), "cs101", "", 1001)
	requireCode(t, core.CodeInvalid, err)
	all, err := s.ListAssignments(t.Context(), "cs101", "hw1", 10)
	require.NoError(t, err)
	require.Empty(t, all)
}

// classDeleting shows what a class that is being deleted takes: nothing new.
func classDeleting(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	a, err := s.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	class, err := s.GetClass(t.Context(), "cs101")
	require.NoError(t, err)
	class.Deleting = true
	mustClass(t, s, class)
	_, err = s.PutAssignment(t.Context(), Assignment("cs101", "hw2"))
	requireCode(t, core.CodeConflict, err)
	_, err = s.PutAssignment(t.Context(), a)
	requireCode(t, core.CodeConflict, err)
	requireTakesNothing(t, s)
	a.Deleting = true
	mustAssignment(t, s, a)
	require.NoError(t, s.DeleteAssignment(t.Context(), "cs101", "hw1"))
	require.NoError(t, s.DeleteClass(t.Context(), "cs101"))
}

// assignmentDeleting shows the same of an assignment.
func assignmentDeleting(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	first := mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	a, err := s.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	a.Deleting = true
	a = mustAssignment(t, s, a)
	requireTakesNothing(t, s)
	got, is, err := s.CreateSubmission(t.Context(), first, nil)
	require.NoError(t, err, "a repeat finds the first one")
	require.False(t, is)
	require.Equal(t, first, got)
	a.Deleting = false
	mustAssignment(t, s, a)
	mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
}

func requireTakesNothing(t *testing.T, s school.ResultStore) {
	t.Helper()
	_, _, err := s.CreateSubmission(t.Context(), Submission("cs101", "hw1", "ann"), nil)
	requireCode(t, core.CodeConflict, err)
	_, err = s.PutExperiment(t.Context(), Experiment("cs101", "hw1"))
	requireCode(t, core.CodeConflict, err)
	requireCode(t, core.CodeConflict, s.PutDeadline(t.Context(), school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: 5, By: "tess"}))
}

func deadlines(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann", "bob")
	mustAssignment(t, s, Assignment("cs101", "hw2"))
	deadline := func(assignment, user string) school.Deadline {
		return school.Deadline{Class: "cs101", Assignment: assignment, User: user, Due: 5, Cutoff: 6, By: "tess", Reason: "was ill:\nsee note", Since: 4}
	}
	put := func(d school.Deadline) school.Deadline {
		t.Helper()
		require.NoError(t, s.PutDeadline(t.Context(), d))
		return d
	}
	ann1, bob1, ann2 := put(deadline("hw1", "ann")), put(deadline("hw1", "bob")), put(deadline("hw2", "ann"))
	ann1.Due, ann1.Reason = 0, "other"
	put(ann1) // instead of the first
	for _, c := range []struct {
		class, assignment, user string
		want                    []school.Deadline
	}{
		{"cs101", "", "", []school.Deadline{ann1, bob1, ann2}},
		{"cs101", "hw1", "", []school.Deadline{ann1, bob1}},
		{"cs101", "", "ann", []school.Deadline{ann1, ann2}},
		{"cs101", "hw2", "ann", []school.Deadline{ann2}},
		{"cs101", "hw2", "bob", nil},
		{"cs102", "", "", nil},
	} {
		got, err := s.Deadlines(t.Context(), c.class, c.assignment, c.user)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c)
	}
	bob1.Due, bob1.Cutoff = 0, 0
	put(bob1)
	put(bob1)
	got, err := s.Deadlines(t.Context(), "cs101", "hw1", "")
	require.NoError(t, err)
	require.Equal(t, []school.Deadline{ann1}, got)

	require.NoError(t, s.DeleteAssignment(t.Context(), "cs101", "hw1"))
	mustAssignment(t, s, Assignment("cs101", "hw1"))
	got, err = s.Deadlines(t.Context(), "cs101", "", "")
	require.NoError(t, err)
	require.Equal(t, []school.Deadline{ann2}, got, "they go with their assignment")
}

func deadlinesRefuse(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	for name, c := range map[string]struct {
		change func(d *school.Deadline)
		want   core.Code
	}{
		"class":      {func(d *school.Deadline) { d.Class = "" }, core.CodeInvalid},
		"assignment": {func(d *school.Deadline) { d.Assignment = "hw9" }, core.CodeNotFound},
		"user":       {func(d *school.Deadline) { d.User = "nobody" }, core.CodeNotFound},
	} {
		d := school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: 5, By: "tess"}
		c.change(&d)
		require.Equal(t, c.want, core.CodeOf(s.PutDeadline(t.Context(), d)), name)
	}
	_, err := s.Deadlines(t.Context(), "", "", "ann")
	requireCode(t, core.CodeInvalid, err)
	all, err := s.Deadlines(t.Context(), "cs101", "", "")
	require.NoError(t, err)
	require.Empty(t, all)
}

// assignmentsPages reads assignments page by page while some come and go.
func assignmentsPages(t *testing.T, s school.ResultStore) {
	mustClass(t, s, Class("cs101"))
	var want, got []string
	for i := range 10 {
		want = append(want, mustAssignment(t, s, Assignment("cs101", fmt.Sprintf("hw%d", i))).Handle)
	}
	for after := ""; ; {
		page, err := s.ListAssignments(t.Context(), "cs101", after, 3)
		require.NoError(t, err)
		for _, a := range page {
			got = append(got, a.Handle)
		}
		if len(page) < 3 {
			break
		}
		after = page[2].Handle
		require.NoError(t, s.DeleteAssignment(t.Context(), "cs101", after))
		mustAssignment(t, s, Assignment("cs101", "a"+after))
	}
	require.Equal(t, want, got)
}
