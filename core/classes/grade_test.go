package classes_test

import (
	"math"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChangeGrade(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	tess := w.as("tess")
	w.graded("hw1")
	old := w.submit("ann", "hw1")
	w.grade(nil)
	newest := w.submit("ann", "hw1")
	w.grade(nil)
	num := func(f float64) *float64 { return &f }
	change := classes.GradeChange{Class: "cs101", Assignment: "hw1", User: "ann", Score: num(9), Reason: "test 3 was wrong"}

	got, err := w.reg.ChangeGrade(ctx, tess, change)
	require.NoError(t, err)
	assert.Equal(t, newest.ID, got.Submission.ID)
	assert.Equal(t, []float64{9, 10}, []float64{*got.Score, *got.MaxScore})
	v, err := w.reg.ViewSubmission(ctx, w.as("ann"), newest.ID)
	require.NoError(t, err)
	assert.Equal(t, []float64{9, 10}, []float64{*v.Score, *v.MaxScore})
	assert.Equal(t, "tess", v.Submission.Grade.By)

	change.Submission, change.MaxScore = old.ID, num(20)
	got, err = w.reg.ChangeGrade(ctx, tess, change)
	require.NoError(t, err)
	assert.Equal(t, old.ID, got.Submission.ID)
	assert.InDelta(t, 20, *got.MaxScore, 0)
	change.Score = nil
	got, err = w.reg.ChangeGrade(ctx, tess, change)
	require.NoError(t, err)
	assert.Equal(t, []float64{7, 10}, []float64{*got.Score, *got.MaxScore})
	assert.Contains(t, w.entries()[len(w.entries())-1], "from 9/20 by tess to 7/10, because: test 3 was wrong")

	for name, c := range map[string]struct {
		change func(c *classes.GradeChange)
		code   core.Code
	}{
		"no reason":           {func(c *classes.GradeChange) { c.Reason = "" }, core.CodeInvalid},
		"not a number":        {func(c *classes.GradeChange) { c.Score = num(math.NaN()) }, core.CodeInvalid},
		"huge":                {func(c *classes.GradeChange) { c.Score = num(1e13) }, core.CodeInvalid},
		"two bells":           {func(c *classes.GradeChange) { c.Reason = "a\a\a" }, core.CodeInvalid},
		"endless":             {func(c *classes.GradeChange) { c.Score = num(math.Inf(1)) }, core.CodeInvalid},
		"nothing submitted":   {func(c *classes.GradeChange) { c.User, c.Submission = "cleo", "" }, core.CodeNotFound},
		"another's":           {func(c *classes.GradeChange) { c.User = "cleo" }, core.CodeNotFound},
		"unknown":             {func(c *classes.GradeChange) { c.Submission = newID() }, core.CodeNotFound},
		"an unknown homework": {func(c *classes.GradeChange) { c.Assignment = "hw9" }, core.CodeNotFound},
	} {
		bad := change
		bad.Score = num(1)
		c.change(&bad)
		_, err := w.reg.ChangeGrade(ctx, tess, bad)
		assert.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	tess := w.as("tess")
	w.graded("hw1")
	p, err := w.reg.Progress(ctx, tess, "cs101", "hw1")
	require.NoError(t, err)
	assert.Equal(t, classes.Progress{Students: 2, Outcomes: []core.OutcomeCount{}}, p)

	for _, user := range []string{"s1", "s2", "s3"} {
		require.NoError(t, done(w.reg.Store.PutUser(ctx, school.User{Handle: user, Created: start})))
		require.NoError(t, w.reg.Enrol(ctx, tess, "cs101", user, core.RoleStudent))
	}
	score := func(user string, points float64) {
		w.submit(user, "hw1")
		w.grade(func(r *core.Result) { *r.Score = points })
	}
	score("ann", 2) // not her newest
	score("ann", 10)
	score("cleo", 4.9)
	score("tina", 10) // no student
	w.submit("s1", "hw1")
	w.grade(func(r *core.Result) { r.State, r.Score, r.MaxScore = core.RequestFailed, nil, nil })
	w.pass(day)
	h := newSubmission("hw1")
	h.Kind = harness.TestFinal
	require.NoError(t, done(w.reg.Submit(ctx, w.as("s2"), h)))

	p, err = w.reg.Progress(ctx, tess, "cs101", "hw1")
	require.NoError(t, err)
	assert.Equal(t, classes.Progress{
		Students: 5, Submitted: 4, Finals: 1, Late: 1, Waiting: 1, Ungraded: 1,
		Outcomes: []core.OutcomeCount{
			{Outcome: core.ResultFull, Count: 1},
			{Outcome: core.ResultPartial, Count: 1},
			{Outcome: core.ResultFailed, Count: 1},
			{Outcome: core.ResultWaiting, Count: 1},
		},
		Distribution: classes.Distribution{Max: 10, Mean: 14.9 / 3, Median: 4.9, Counts: [classes.Buckets]int{0: 1, 4: 1, 9: 1}},
	}, p)
}
