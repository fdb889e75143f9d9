package storetest

import (
	"fmt"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// purgeSpares shows that no purge by age removes a request that a submission names, or named.
func purgeSpares(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub, first := mustSubmit(t, s, "ann")
	second, trial := mustCreate(t, s, Grading(sub)), mustCreate(t, s, Grading(sub))
	trial2 := mustCreate(t, s, Grading(sub))
	for _, spec := range []core.Spec{first, second, trial, trial2} {
		mustRecord(t, s, scored(spec, "1.1", 5), true)
	}
	is, err := s.Bind(t.Context(), sub.ID, first.ID, second.ID)
	require.NoError(t, err)
	require.True(t, is)
	is, err = s.Bind(t.Context(), sub.ID, first.ID, trial.ID)
	require.NoError(t, err)
	require.False(t, is, "refused, so trial is named by nothing")

	n, err := s.Purge(t.Context(), soon(), 100)
	require.NoError(t, err)
	require.Equal(t, 2, n, "the trials")
	for _, spec := range []core.Spec{first, second} {
		require.Equal(t, core.RequestCompleted, mustGet(t, s, spec.ID).State)
		history, err := s.Attempts(t.Context(), spec.ID)
		require.NoError(t, err)
		require.Len(t, history, 1)
	}
	again, err := s.Rerun(t.Context(), second.ID, 5)
	require.NoError(t, err)
	mustRecord(t, s, scored(again, "2.1", 6), true)
	n, err = s.Purge(t.Context(), soon(), 100)
	require.NoError(t, err)
	require.Zero(t, n, "a rerun changes nothing of that")
	require.InDelta(t, 6, *mustStandings(t, s, "", 10)[0].Score, 0)
}

// racePurge shows that a purge that runs while requests get bound removes them before that, or never.
func racePurge(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	var subs [racers]school.Submission
	var specs [racers]core.Spec
	for i := range subs {
		subs[i] = mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
		specs[i] = mustCreate(t, s, Grading(subs[i]))
		mustRecord(t, s, Result(specs[i], "1.1"), true)
	}
	var bound [racers]bool
	together(t, 2*racers, func(i int) (err error) {
		if i%2 == 1 {
			_, err = s.Purge(t.Context(), soon(), 1)
			return err
		}
		bound[i/2], err = s.Bind(t.Context(), subs[i/2].ID, "", specs[i/2].ID)
		if core.Is(err, core.CodeNotFound) {
			return nil
		}
		return err
	})
	for i, spec := range specs {
		_, err := s.Get(t.Context(), spec.ID)
		if bound[i] {
			require.NoError(t, err)
		} else {
			requireCode(t, core.CodeNotFound, err)
		}
	}
}

func deleteSubmissions(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann", "bob")
	mustAssignment(t, s, Assignment("cs101", "hw2"))
	other := mustCreateSubmission(t, s, Submission("cs101", "hw2", "ann"))
	plain := mustCreate(t, s, Spec("ann"))
	sub, first := mustSubmit(t, s, "ann")
	second, trial := mustCreate(t, s, Grading(sub)), Grading(sub)
	e := mustExperiment(t, s, Experiment("cs101", "hw1"))
	trial.Assignment = school.ExperimentAssignment(e.ID)
	mustCreate(t, s, trial)
	for _, spec := range []core.Spec{first, second, trial} {
		mustRecord(t, s, Result(spec, "1.1"), true)
		mustRecord(t, s, Result(spec, "1.2"), false)
	}
	waiting, last := mustSubmit(t, s, "bob")
	deleted := func(removed, left int) {
		t.Helper()
		gotRemoved, gotLeft, err := s.DeleteSubmissions(t.Context(), "cs101", "hw1", 10)
		require.NoError(t, err)
		require.Equal(t, []int{removed, left}, []int{gotRemoved, gotLeft}, "removed and left")
	}
	deleted(1, 1)
	for _, spec := range []core.Spec{first, second, trial} {
		_, err := s.Get(t.Context(), spec.ID)
		requireCode(t, core.CodeNotFound, err)
		_, err = s.Attempts(t.Context(), spec.ID)
		requireCode(t, core.CodeNotFound, err)
		ended, err := s.Terminal(t.Context(), []string{spec.Key()})
		require.NoError(t, err)
		require.Empty(t, ended)
	}
	_, err := s.GetSubmission(t.Context(), sub.ID)
	requireCode(t, core.CodeNotFound, err)
	_, err = s.GetSubmission(t.Context(), waiting.ID)
	require.NoError(t, err)
	deleted(0, 1)
	mustRecord(t, s, Result(last, "1.1"), true)
	deleted(1, 0)
	deleted(0, 0)
	_, err = s.GetSubmission(t.Context(), other.ID)
	require.NoError(t, err, "another assignment's")
	require.Equal(t, plain, mustGet(t, s, plain.ID).Spec)

	requireCode(t, core.CodeConflict, s.DeleteAssignment(t.Context(), "cs101", "hw2"))
	require.NoError(t, s.DeleteAssignment(t.Context(), "cs101", "hw1"))
	_, err = s.GetAssignment(t.Context(), "cs101", "hw1")
	requireCode(t, core.CodeNotFound, err)
	_, err = s.GetExperiment(t.Context(), e.ID)
	requireCode(t, core.CodeNotFound, err)
	requireCode(t, core.CodeNotFound, s.DeleteAssignment(t.Context(), "cs101", "hw1"))
	for _, limit := range []int{0, -1, 10_001} {
		_, _, err = s.DeleteSubmissions(t.Context(), "cs101", "hw2", limit)
		requireCode(t, core.CodeInvalid, err)
	}
}

// deleteSubmissionsBatches deletes more than any batch, past those that wait.
func deleteSubmissionsBatches(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	const waiting, ended = 130, 250
	together(t, waiting+ended, func(i int) error {
		sub := Submission("cs101", "hw1", "ann")
		spec := Grading(sub)
		sub.ID, sub.Request = fmt.Sprintf("s%03d", i), spec.ID // the waiting ones first
		spec.Submission = sub.ID
		_, _, err := s.CreateSubmission(t.Context(), sub, &spec)
		if err == nil && i >= waiting {
			_, err = s.Record(t.Context(), Result(spec, "1.1"))
		}
		return err
	})
	for _, want := range []struct{ limit, removed, left int }{{120, 120, waiting}, {1000, ended - 120, waiting}, {1000, 0, waiting}} {
		removed, left, err := s.DeleteSubmissions(t.Context(), "cs101", "hw1", want.limit)
		require.NoError(t, err)
		require.Equal(t, want.removed, removed)
		require.Equal(t, want.left, left)
	}
	rows, err := s.List(t.Context(), core.Filter{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, rows, waiting)
}

// digestsSchool shows that a purge gets every digest in coursework.
func digestsSchool(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	want := map[string]bool{}
	name := func(n int) int { want[digest(n)] = true; return n }
	a := Assignment("cs101", "hw2")
	a.Harness = Harness(name(1))
	mustAssignment(t, s, a)
	a.Harness, a.Revision = Harness(name(2)), 1
	a.Harness.Handout = []core.File{{Path: "a", Digest: digest(name(6))}, {Path: "b", Digest: digest(name(7))}}
	mustAssignment(t, s, a)
	delete(want, digest(1)) // its old one
	e := Experiment("cs101", "hw1")
	e.Harness = Harness(name(3))
	e.Harness.Handout = []core.File{{Path: "a", Digest: digest(name(8))}}
	mustExperiment(t, s, e)
	mustExperiment(t, s, Experiment("cs101", "hw1")) // has none
	for range 120 {                                  // more than a page
		mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	}
	sub := Submission("cs101", "hw1", "ann")
	sub.Files = nil
	mustCreateSubmission(t, s, sub)
	sub = Submission("cs101", "hw1", "ann")
	sub.Files = []core.File{{Path: "a", Digest: digest(name(4))}, {Path: "b", Digest: digest(name(5))}}
	mustCreateSubmission(t, s, sub)
	want[digest(1)] = true // of the other submissions
	got := map[string]bool{}
	require.NoError(t, s.Digests(t.Context(), func(digest string) error { got[digest] = true; return nil }))
	require.Equal(t, want, got)
	for range 2 {
		_, _, err := s.DeleteSubmissions(t.Context(), "cs101", "hw1", 1000)
		require.NoError(t, err)
	}
	got = map[string]bool{}
	require.NoError(t, s.Digests(t.Context(), func(digest string) error { got[digest] = true; return nil }))
	require.Equal(t, map[string]bool{digest(2): true, digest(3): true, digest(6): true, digest(7): true, digest(8): true}, got)

	calls, stop := 0, core.Errorf(core.CodeInternal, "", "stop")
	require.ErrorIs(t, s.Digests(t.Context(), func(string) error { calls++; return stop }), stop)
	require.Equal(t, 1, calls, "nothing is read on after an error")
}
