package storetest

import (
	"fmt"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func mustStandings(t *testing.T, s school.ResultStore, after string, limit int) []school.Standing {
	t.Helper()
	all, err := s.Standings(t.Context(), "cs101", "hw1", after, limit)
	require.NoError(t, err)
	return all
}

// standings shows what becomes of one submission, as both lists tell it.
func standings(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub, spec := mustSubmit(t, s, "ann")
	want := school.Standing{Submission: sub, State: core.RequestQueued, Outcome: core.ResultWaiting}
	is := func(why string) {
		t.Helper()
		require.Equal(t, []school.Standing{want}, mustStandings(t, s, "", 10), why)
		all, err := s.ListSubmissions(t.Context(), school.SubmissionFilter{})
		require.NoError(t, err)
		require.Equal(t, []school.Standing{want}, all, why)
	}
	is("it waits")
	r := scored(spec, "1.1", 7.25)
	r.State, r.Blame = core.RequestFailed, core.BlameSubmission
	mustRecord(t, s, r, true)
	mustRecord(t, s, scored(spec, "1.2", 9), false)
	want.State, want.Blame, want.Score, want.MaxScore, want.Outcome = r.State, r.Blame, r.Score, r.MaxScore, core.ResultFailed
	is("the first result counts")

	score, most := 3.5, 20.0
	grade := &school.Grade{Score: score, By: "tess"}
	require.NoError(t, s.SetGrade(t.Context(), sub.ID, grade))
	want.Submission.Grade, want.Score, want.Outcome = grade, &score, core.ResultPartial
	is("a grade goes before it")
	grade.MaxScore = &most
	require.NoError(t, s.SetGrade(t.Context(), sub.ID, grade))
	want.MaxScore = &most
	is("with what it is out of")
	require.NoError(t, s.SetGrade(t.Context(), sub.ID, nil))

	spec, err := s.Rerun(t.Context(), spec.ID, 5)
	require.NoError(t, err)
	want = school.Standing{Submission: sub, State: core.RequestQueued, Outcome: core.ResultWaiting}
	is("a rerun begins anew")
	r = Result(spec, "2.1")
	mustRecord(t, s, r, true)
	want.State, want.Outcome = core.RequestCompleted, core.ResultReceived
	is("without a score")

	other := mustCreate(t, s, Grading(sub))
	mustRecord(t, s, scored(other, "3.1", 0), true)
	is("a run that is not bound counts for nothing")
	bound, err := s.Bind(t.Context(), sub.ID, spec.ID, other.ID)
	require.NoError(t, err)
	require.True(t, bound)
	r = scored(other, "3.1", 0)
	want.Submission.Request, want.Score, want.MaxScore, want.Outcome = other.ID, r.Score, r.MaxScore, core.ResultFailed
	is("0 is a score")
}

// standingsOutcome shows that a list tells how a result stands without reading it.
func standingsOutcome(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub, spec := mustSubmit(t, s, "ann")
	r := scored(spec, "1.1", 0)
	r.Tests = []core.Test{{Name: "build", Verdict: core.TestBuildError}, {Name: "a", MaxScore: 10, Verdict: core.TestSkipped}}
	mustRecord(t, s, r, true)
	want := school.Standing{Submission: sub, State: r.State, Score: r.Score, MaxScore: r.MaxScore, Outcome: core.ResultBuildError}
	require.Equal(t, []school.Standing{want}, mustStandings(t, s, "", 10))

	spec, err := s.Rerun(t.Context(), spec.ID, 5)
	require.NoError(t, err)
	r = scored(spec, "2.1", 4)
	mustRecord(t, s, r, true)
	want.State, want.Score, want.Outcome = r.State, r.Score, core.ResultPartial
	require.Equal(t, []school.Standing{want}, mustStandings(t, s, "", 10), "of the newest generation")
}

func standingsUngraded(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub := mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	mustCreate(t, s, Grading(sub)) // an experiment's, say
	require.Equal(t, []school.Standing{{Submission: sub, Outcome: core.ResultReceived}}, mustStandings(t, s, "", 10))
	grade := &school.Grade{Score: 1, By: "tess"}
	require.NoError(t, s.SetGrade(t.Context(), sub.ID, grade))
	sub.Grade = grade
	require.Equal(t, []school.Standing{{Submission: sub, Score: &grade.Score, Outcome: core.ResultGraded}}, mustStandings(t, s, "", 10))
}

// standingsNewest shows each user's newest submission of that assignment alone.
func standingsNewest(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann", "bob", "cleo")
	mustAssignment(t, s, Assignment("cs101", "hw2"))
	mustClass(t, s, Class("cs102"))
	mustAssignment(t, s, Assignment("cs102", "hw1"))
	mustCreateSubmission(t, s, Submission("cs101", "hw1", "bob"))
	ann := mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	bob := mustCreateSubmission(t, s, Submission("cs101", "hw1", "bob"))
	mustCreateSubmission(t, s, Submission("cs101", "hw2", "ann"))
	mustCreateSubmission(t, s, Submission("cs102", "hw1", "ann"))
	mustCreateSubmission(t, s, Submission("cs101", "hw2", "cleo"))
	require.Equal(t, []school.Standing{{Submission: ann, Outcome: core.ResultReceived}, {Submission: bob, Outcome: core.ResultReceived}}, mustStandings(t, s, "", 10))
	require.Equal(t, []school.Standing{{Submission: bob, Outcome: core.ResultReceived}}, mustStandings(t, s, "ann", 10))
	require.Equal(t, []school.Standing{{Submission: ann, Outcome: core.ResultReceived}}, mustStandings(t, s, "", 1))
	none, err := s.Standings(t.Context(), "cs101", "hw9", "", 10)
	require.NoError(t, err)
	require.Empty(t, none)
	for _, limit := range []int{-1, 0, 1001} {
		_, err := s.Standings(t.Context(), "cs101", "hw1", "", limit)
		requireCode(t, core.CodeInvalid, err)
	}
}

// standingsPages reads standings page by page while more is submitted.
func standingsPages(t *testing.T, s school.ResultStore) {
	aClass(t, s)
	var want, got []string
	for i := range 10 {
		user := fmt.Sprintf("u%d", i)
		mustUser(t, s, User(user))
		for range 3 {
			mustCreateSubmission(t, s, Submission("cs101", "hw1", user))
		}
		want = append(want, user)
	}
	for after := ""; ; {
		page := mustStandings(t, s, after, 3)
		for _, standing := range page {
			got = append(got, standing.Submission.User)
		}
		if len(page) < 3 {
			break
		}
		mustCreateSubmission(t, s, Submission("cs101", "hw1", "u0")) // again, after it was read
		after = page[2].Submission.User
	}
	require.Equal(t, want, got)
}

func listSubmissions(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann", "bob")
	mustAssignment(t, s, Assignment("cs101", "hw2"))
	mustClass(t, s, Class("cs102"))
	mustAssignment(t, s, Assignment("cs102", "hw1"))
	a := mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	b := mustCreateSubmission(t, s, Submission("cs101", "hw1", "bob"))
	c := mustCreateSubmission(t, s, Submission("cs101", "hw2", "ann"))
	d := mustCreateSubmission(t, s, Submission("cs102", "hw1", "ann"))
	e := mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	for _, test := range []struct {
		filter school.SubmissionFilter
		want   []school.Submission
	}{
		{school.SubmissionFilter{}, []school.Submission{e, d, c, b, a}},
		{school.SubmissionFilter{Limit: 2}, []school.Submission{e, d}},
		{school.SubmissionFilter{Before: d.ID}, []school.Submission{c, b, a}},
		{school.SubmissionFilter{Class: "cs101"}, []school.Submission{e, c, b, a}},
		{school.SubmissionFilter{Class: "cs101", Assignment: "hw1"}, []school.Submission{e, b, a}},
		{school.SubmissionFilter{Class: "cs101", Assignment: "hw1", User: "ann"}, []school.Submission{e, a}},
		{school.SubmissionFilter{Class: "cs101", Assignment: "hw1", Before: e.ID, Limit: 1}, []school.Submission{b}},
		{school.SubmissionFilter{Class: "cs101", User: "ann"}, []school.Submission{e, c, a}},
		{school.SubmissionFilter{User: "ann", Before: e.ID}, []school.Submission{d, c, a}},
		{school.SubmissionFilter{User: "nobody"}, nil},
	} {
		all, err := s.ListSubmissions(t.Context(), test.filter)
		require.NoError(t, err)
		var got []school.Submission
		for _, one := range all {
			got = append(got, one.Submission)
		}
		require.Equal(t, test.want, got, "%+v", test.filter)
	}
	for _, f := range []school.SubmissionFilter{{Assignment: "hw1"}, {Limit: -1}, {Limit: 1001}} {
		_, err := s.ListSubmissions(t.Context(), f)
		requireCode(t, core.CodeInvalid, err)
	}
}

// submissionsPages reads submissions page by page while more are submitted.
func submissionsPages(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	var want, got []string
	for range 60 {
		want = append([]string{mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann")).ID}, want...)
	}
	all, err := s.ListSubmissions(t.Context(), school.SubmissionFilter{})
	require.NoError(t, err)
	require.Len(t, all, 50, "a page that names no limit")
	for f := (school.SubmissionFilter{Class: "cs101", Limit: 7}); ; {
		page, err := s.ListSubmissions(t.Context(), f)
		require.NoError(t, err)
		for _, one := range page {
			got = append(got, one.Submission.ID)
		}
		if len(page) < f.Limit {
			break
		}
		f.Before = page[len(page)-1].Submission.ID
		mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	}
	require.Equal(t, want, got)
}
