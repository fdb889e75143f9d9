package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func submissions(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub := Submission("cs101", "hw1", "ann")
	sub.By, sub.Kind, sub.Late, sub.Idempotency = "tess", "final", true, "once"
	sub.Files = []core.File{{Path: "src/a b.c", Digest: digest(1), Size: 7, Mode: 0o755}, {Path: "ü", Digest: digest(2)}}
	spec := Grading(sub)
	sub.Request = spec.ID
	mustSubmission(t, s, sub, &spec)
	require.Equal(t, core.Row{Spec: spec, State: core.RequestQueued}, mustGet(t, s, spec.ID))
	got, err := s.GetSubmission(t.Context(), sub.ID)
	require.NoError(t, err)
	require.Equal(t, sub, got)
	_, err = s.GetSubmission(t.Context(), NewID())
	requireCode(t, core.CodeNotFound, err)
}

func submissionsAgain(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub, spec := mustSubmit(t, s, "ann")
	require.NoError(t, s.SetGrade(t.Context(), sub.ID, &school.Grade{Score: 1, By: "tess"}))
	again := sub
	again.At, again.Late = sub.At+5, true
	later := spec
	later.Submitted += 5
	got, is, err := s.CreateSubmission(t.Context(), again, &later)
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, spec, mustGet(t, s, spec.ID).Spec, "the first")
	sub.Grade = &school.Grade{Score: 1, By: "tess"}
	require.Equal(t, sub, got, "the first, with what became of it")
	for name, change := range map[string]func(sub *school.Submission){
		"files": func(sub *school.Submission) { sub.Files = []core.File{{Path: "main.c", Digest: digest(2), Size: 7}} },
		"kind":  func(sub *school.Submission) { sub.Kind = "final" },
		"user":  func(sub *school.Submission) { sub.User = "bob" },
		"class": func(sub *school.Submission) { sub.Class = "cs102" },
		"by":    func(sub *school.Submission) { sub.By = "tess" },
	} {
		other := again
		change(&other)
		_, _, err := s.CreateSubmission(t.Context(), other, &spec)
		require.Equal(t, core.CodeConflict, core.CodeOf(err), name)
	}
}

func submissionsIdempotent(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann", "bob")
	first, second, stranger := Submission("cs101", "hw1", "ann"), Submission("cs101", "hw1", "ann"), Submission("cs101", "hw1", "bob")
	for _, sub := range []*school.Submission{&first, &second, &stranger} {
		sub.Idempotency = "key"
	}
	second.Kind = "final"
	mustCreateSubmission(t, s, first)
	got, is, err := s.CreateSubmission(t.Context(), second, nil)
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, first, got)
	_, err = s.GetSubmission(t.Context(), second.ID)
	requireCode(t, core.CodeNotFound, err)
	mustCreateSubmission(t, s, stranger) // a key is its user's
	mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann")) // no key is no key

	// Who asks what a key stands for need not submit anything.
	for user, want := range map[string][]string{"ann": {first.ID}, "bob": {stranger.ID}, "cat": nil} {
		all, err := s.ListSubmissions(t.Context(), school.SubmissionFilter{User: user, Idempotency: "key"})
		require.NoError(t, err)
		var found []string
		for i := range all {
			found = append(found, all[i].Submission.ID)
		}
		require.Equal(t, want, found)
	}
	_, err = s.ListSubmissions(t.Context(), school.SubmissionFilter{Idempotency: "key"})
	requireCode(t, core.CodeInvalid, err)
}

func raceSubmissions(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	for round := range 5 {
		var made atomic.Int32
		var got sync.Map
		race(t, func(int) error {
			sub, spec := Graded("ann")
			sub.Idempotency = fmt.Sprintf("key %d", round)
			first, is, err := s.CreateSubmission(t.Context(), sub, &spec)
			if is {
				made.Add(1)
			}
			got.Store(first.ID, true)
			return err
		})
		require.EqualValues(t, 1, made.Load())
		n := 0
		got.Range(func(any, any) bool { n++; return true })
		require.Equal(t, 1, n, "different submissions")
		made.Store(0)
		same, spec := Graded("ann")
		race(t, func(int) error {
			_, is, err := s.CreateSubmission(t.Context(), same, &spec)
			if is {
				made.Add(1)
			}
			return err
		})
		require.EqualValues(t, 1, made.Load())
	}
	all, err := s.ListSubmissions(t.Context(), school.SubmissionFilter{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, all, 10)
	rows, err := s.List(t.Context(), core.Filter{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, rows, 10, "one for each, and none of those who lost")
	for i, st := range all {
		require.Equal(t, st.Submission.Request, rows[i].Spec.ID)
	}
}

// submissionsWithRequests shows that neither is there without the other: what refuses one of them
// leaves none.
func submissionsWithRequests(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann", "bob")
	stranger := mustCreate(t, s, Spec("ann"))
	deleting := mustAssignment(t, s, Assignment("cs101", "hw2"))
	deleting.Deleting = true
	mustAssignment(t, s, deleting)
	for name, c := range map[string]struct {
		change func(sub *school.Submission, spec *core.Spec)
		want   core.Code
	}{
		"no assignment":     {func(sub *school.Submission, _ *core.Spec) { sub.Assignment = "hw9" }, core.CodeNotFound},
		"no user":           {func(sub *school.Submission, _ *core.Spec) { sub.User = "nobody" }, core.CodeNotFound},
		"deleting":          {func(sub *school.Submission, _ *core.Spec) { sub.Assignment = "hw2" }, core.CodeConflict},
		"not its request":   {func(sub *school.Submission, _ *core.Spec) { sub.Request = "" }, core.CodeInvalid},
		"another's request": {func(_ *school.Submission, spec *core.Spec) { spec.Submission = stranger.ID }, core.CodeInvalid},
		"second generation": {func(_ *school.Submission, spec *core.Spec) { spec.Generation = 2 }, core.CodeInvalid},
		"a key of its own":  {func(_ *school.Submission, spec *core.Spec) { spec.Idempotency = "k" }, core.CodeInvalid},
		"taken":             {func(sub *school.Submission, spec *core.Spec) { sub.Request, spec.ID = stranger.ID, stranger.ID }, core.CodeConflict},
	} {
		sub, spec := Graded("ann")
		c.change(&sub, &spec)
		_, is, err := s.CreateSubmission(t.Context(), sub, &spec)
		require.Equal(t, c.want, core.CodeOf(err), "%s: %v", name, err)
		require.False(t, is)
	}
	all, err := s.ListSubmissions(t.Context(), school.SubmissionFilter{})
	require.NoError(t, err)
	require.Empty(t, all)
	specs, err := s.Unfinished(t.Context(), "", 100)
	require.NoError(t, err)
	require.Equal(t, []core.Spec{stranger}, specs)

	// A key stands for the first, graded or not; nothing is made of what comes under it later.
	first := Submission("cs101", "hw1", "ann")
	first.Idempotency = "k"
	mustCreateSubmission(t, s, first)
	again, spec := Graded("ann")
	again.Idempotency = "k"
	got, is, err := s.CreateSubmission(t.Context(), again, &spec)
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, first, got)
	_, err = s.Get(t.Context(), spec.ID)
	requireCode(t, core.CodeNotFound, err)

	// The two are there together, wherever one looks.
	sub, spec := mustSubmit(t, s, "bob")
	specs, err = s.Unfinished(t.Context(), "", 100)
	require.NoError(t, err)
	require.Equal(t, []core.Spec{stranger, spec}, specs)
	require.Equal(t, core.RequestQueued, mustStandings(t, s, "", 10)[1].State)
	mustRecord(t, s, Result(spec, "1.1"), true)
	n, err := s.Purge(t.Context(), soon(), 100)
	require.NoError(t, err)
	require.Zero(t, n, "no age takes it")
	require.Equal(t, core.RequestCompleted, mustGet(t, s, sub.Request).State)
}

func submissionsRefuse(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	for name, c := range map[string]struct {
		change func(sub *school.Submission)
		want   core.Code
	}{
		"id":            {func(sub *school.Submission) { sub.ID = "a/b" }, core.CodeInvalid},
		"no class":      {func(sub *school.Submission) { sub.Class = "" }, core.CodeInvalid},
		"assignment":    {func(sub *school.Submission) { sub.Assignment = "hw9" }, core.CodeNotFound},
		"user":          {func(sub *school.Submission) { sub.User = "nobody" }, core.CodeNotFound},
		"request alone": {func(sub *school.Submission) { sub.Request = NewID() }, core.CodeInvalid},
	} {
		sub := Submission("cs101", "hw1", "ann")
		c.change(&sub)
		_, is, err := s.CreateSubmission(t.Context(), sub, nil)
		require.Equal(t, c.want, core.CodeOf(err), "%s: %v", name, err)
		require.False(t, is)
	}
	all, err := s.ListSubmissions(t.Context(), school.SubmissionFilter{})
	require.NoError(t, err)
	require.Empty(t, all)
}

func bind(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub, first := mustSubmit(t, s, "ann")
	second := mustCreate(t, s, Grading(sub))
	bound := func(from, to string, want bool) {
		t.Helper()
		is, err := s.Bind(t.Context(), sub.ID, from, to)
		require.NoError(t, err)
		require.Equal(t, want, is)
	}
	bound(second.ID, second.ID, false)
	bound("", second.ID, false)
	bound(first.ID, second.ID, true)
	bound(first.ID, second.ID, false)
	got, err := s.GetSubmission(t.Context(), sub.ID)
	require.NoError(t, err)
	sub.Request = second.ID
	require.Equal(t, sub, got)
	bound(second.ID, first.ID, true)

	ungraded := mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	spec := mustCreate(t, s, Grading(ungraded))
	is, err := s.Bind(t.Context(), ungraded.ID, "", spec.ID)
	require.NoError(t, err)
	require.True(t, is)

	for to, want := range map[string]core.Code{"": core.CodeInvalid, "A": core.CodeInvalid, NewID(): core.CodeNotFound, spec.ID: core.CodeNotFound} {
		_, err := s.Bind(t.Context(), sub.ID, first.ID, to)
		require.Equal(t, want, core.CodeOf(err), to)
	}
	_, err = s.Bind(t.Context(), NewID(), first.ID, second.ID)
	requireCode(t, core.CodeNotFound, err)
}

func raceBind(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub, first := mustSubmit(t, s, "ann")
	var others [racers]core.Spec
	for i := range others {
		others[i] = mustCreate(t, s, Grading(sub))
	}
	var won atomic.Int32
	var winner atomic.Pointer[string]
	race(t, func(i int) error {
		is, err := s.Bind(t.Context(), sub.ID, first.ID, others[i].ID)
		if is {
			won.Add(1)
			winner.Store(&others[i].ID)
		}
		return err
	})
	require.EqualValues(t, 1, won.Load())
	got, err := s.GetSubmission(t.Context(), sub.ID)
	require.NoError(t, err)
	require.Equal(t, *winner.Load(), got.Request)
}

func grades(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	sub := mustCreateSubmission(t, s, Submission("cs101", "hw1", "ann"))
	most := 10.5
	for _, g := range []*school.Grade{
		{Score: 0.1, MaxScore: &most, By: "tess", Reason: "by hand:\n\tfine", At: 5},
		{Score: -1, By: "tom"},
		nil, nil,
	} {
		require.NoError(t, s.SetGrade(t.Context(), sub.ID, g))
		got, err := s.GetSubmission(t.Context(), sub.ID)
		require.NoError(t, err)
		require.Equal(t, g, got.Grade)
	}
	requireCode(t, core.CodeNotFound, s.SetGrade(t.Context(), NewID(), &school.Grade{By: "tess"}))
	requireCode(t, core.CodeNotFound, s.SetGrade(t.Context(), NewID(), nil))
	got, err := s.GetSubmission(t.Context(), sub.ID)
	require.NoError(t, err)
	require.Equal(t, sub, got)
}
