package storetest

import (
	"fmt"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// User makes a user with an e-mail address.
func User(handle string) school.User {
	return school.User{Handle: handle, Name: "Name of " + handle, Email: handle + "@school.example", Created: 1_700_000_000_000}
}

// Class makes a class.
func Class(handle string) school.Class {
	return school.Class{Handle: handle, Title: "Class " + handle, Term: "2026", Created: 1_700_000_000_000}
}

// Assignment makes an assignment without a harness.
func Assignment(class, handle string) school.Assignment {
	return school.Assignment{Class: class, Handle: handle, Title: "Assignment " + handle, Pool: "default", Priority: core.PriorityNormal, Created: 1_700_000_000_000}
}

// Harness makes a harness; equal numbers have equal files.
func Harness(n int) *school.Harness {
	return &school.Harness{File: core.File{Path: "harness.tar", Digest: digest(n), Size: 7}, Config: []byte(`{"timeout":5}`)}
}

func digest(n int) string { return fmt.Sprintf("sha256:%064x", n) }

// Submission makes a submission that is not graded; later ones are newer.
func Submission(class, assignment, user string) school.Submission {
	return school.Submission{
		ID: NewID(), Class: class, Assignment: assignment, User: user, Kind: "public", At: 1_700_000_000_000,
		Files: []core.File{{Path: "main.c", Digest: digest(1), Size: 7}},
	}
}

// Experiment makes an experiment that runs.
func Experiment(class, assignment string) school.Experiment {
	return school.Experiment{ID: NewID(), Class: class, Assignment: assignment, Repeat: 1, State: school.ExperimentRunning, By: "tess", Created: 1_700_000_000_000}
}

// Grading makes the spec of a request for a submission.
func Grading(sub school.Submission) core.Spec {
	spec := Spec(sub.User)
	spec.Submission, spec.Assignment = sub.ID, sub.Class+"/"+sub.Assignment
	return spec
}

// aClass fills a store with class cs101, its assignment hw1, and users.
func aClass(t *testing.T, s school.ResultStore, users ...string) {
	t.Helper()
	mustClass(t, s, Class("cs101"))
	mustAssignment(t, s, Assignment("cs101", "hw1"))
	for _, user := range users {
		mustUser(t, s, User(user))
	}
}

func mustUser(t *testing.T, s school.ResultStore, u school.User) school.User {
	t.Helper()
	revision, err := s.PutUser(t.Context(), u)
	require.NoError(t, err)
	require.Equal(t, u.Revision+1, revision)
	u.Revision = revision
	return u
}

func mustClass(t *testing.T, s school.ResultStore, c school.Class) school.Class {
	t.Helper()
	revision, err := s.PutClass(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, c.Revision+1, revision)
	c.Revision = revision
	return c
}

func mustAssignment(t *testing.T, s school.ResultStore, a school.Assignment) school.Assignment {
	t.Helper()
	revision, err := s.PutAssignment(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, a.Revision+1, revision)
	a.Revision = revision
	return a
}

func mustExperiment(t *testing.T, s school.ResultStore, e school.Experiment) school.Experiment {
	t.Helper()
	revision, err := s.PutExperiment(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, e.Revision+1, revision)
	e.Revision = revision
	return e
}

// mustEnrol puts users into cs101 as students.
func mustEnrol(t *testing.T, s school.ResultStore, users ...string) {
	t.Helper()
	for _, user := range users {
		require.NoError(t, s.Enrol(t.Context(), school.Enrolment{Class: "cs101", User: user, Role: core.RoleStudent, Since: 5}))
	}
}

// mustCreateSubmission makes a submission that is new and not graded.
func mustCreateSubmission(t *testing.T, s school.ResultStore, sub school.Submission) school.Submission {
	t.Helper()
	mustSubmission(t, s, sub, nil)
	return sub
}

func mustSubmission(t *testing.T, s school.ResultStore, sub school.Submission, grading *core.Spec) {
	t.Helper()
	got, is, err := s.CreateSubmission(t.Context(), sub, grading)
	require.NoError(t, err)
	require.True(t, is, "created")
	require.Equal(t, sub, got)
}

// Graded makes a submission for cs101/hw1 and the spec of the request that grades it.
func Graded(user string) (school.Submission, core.Spec) {
	sub := Submission("cs101", "hw1", user)
	spec := Grading(sub)
	spec.ID, sub.Request = sub.ID, sub.ID
	return sub, spec
}

// mustSubmit makes a submission for cs101/hw1 with its request, as a submit does.
func mustSubmit(t *testing.T, s school.ResultStore, user string) (school.Submission, core.Spec) {
	t.Helper()
	sub, spec := Graded(user)
	mustSubmission(t, s, sub, &spec)
	return sub, spec
}

// scored is a result with a score of at most 10.
func scored(spec core.Spec, token string, score float64) core.Result {
	r, most := Result(spec, token), 10.0
	r.Score, r.MaxScore = &score, &most
	return r
}
