package classes_test

import (
	"bytes"
	"strings"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is hidden, foreign or not there is refused in the same words.
func TestNothingIsGivenAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	w.assignment("exam", concealed)
	w.assignment("gone", func(as *school.Assignment) { as.Deleting = true })
	s := w.submit("ann", "hw1")
	task := w.task()
	ann, cleo, eve := w.as("ann"), w.as("cleo"), w.as("eve")

	refused := func(err error, name string) string {
		t.Helper()
		requireCode(t, core.CodeNotFound, err)
		return strings.ReplaceAll(err.Error(), name, "X")
	}
	for name, ask := range map[string]func(a core.Actor, name string) error{
		"view":  func(a core.Actor, n string) error { return done(w.reg.ViewAssignment(t.Context(), a, "cs101", n)) },
		"edit":  func(a core.Actor, n string) error { return done(w.reg.DeleteAssignment(t.Context(), a, "cs101", n)) },
		"score": func(a core.Actor, n string) error { return done(w.reg.Progress(t.Context(), a, "cs101", n)) },
		"submit": func(a core.Actor, n string) error {
			return done(w.reg.Submit(t.Context(), a, newSubmission(n)))
		},
		"list": func(a core.Actor, n string) error {
			return done(w.reg.ListSubmissions(t.Context(), a, school.SubmissionFilter{Class: "cs101", Assignment: n, User: a.Handle}))
		},
		"archive": func(a core.Actor, n string) error {
			return done(w.reg.StartTask(t.Context(), a, school.KindArchive, args(school.ArchiveArgs{Class: "cs101", Assignment: n, User: a.Handle})))
		},
		"find": func(a core.Actor, n string) error { return done(w.reg.FindAssignment(t.Context(), a, "cs101/"+n)) },
	} {
		missing := refused(ask(ann, "nonsense"), "nonsense")
		assert.Equal(t, missing, refused(ask(ann, "exam"), "exam"), "%s: hidden", name)
		assert.Equal(t, missing, refused(ask(ann, "gone"), "gone"), "%s: being deleted", name)
		assert.Equal(t, missing, refused(ask(eve, "hw1"), "hw1"), "%s: of another class", name)
	}
	for name, ask := range map[string]func(a core.Actor, class string) error{
		"view":   func(a core.Actor, c string) error { return done(w.reg.ViewClass(t.Context(), a, c)) },
		"roster": func(a core.Actor, c string) error { return done(w.reg.Roster(t.Context(), a, c, "", 9)) },
		"enrol":  func(a core.Actor, c string) error { return w.reg.Enrol(t.Context(), a, c, "eve", core.RoleStudent) },
		"audit": func(a core.Actor, c string) error {
			return done(w.reg.AuditEntries(t.Context(), a, core.AuditFilter{Class: c}))
		},
	} {
		assert.Equal(t, refused(ask(eve, "cs999"), "cs999"), refused(ask(eve, "cs101"), "cs101"), name)
	}
	none := newID()
	view := func(id string) string { return refused(done(w.reg.ViewSubmission(t.Context(), cleo, id)), id) }
	assert.Equal(t, view(none), view(s.ID))
	assert.Equal(t, view(none), refused(w.reg.Resubmit(t.Context(), cleo, s.ID), s.ID))
	show := func(id string) string { return refused(done(w.reg.ViewTask(t.Context(), cleo, id)), id) }
	assert.Equal(t, show(none), show(task.ID))
	assert.Equal(t, done(w.reg.ViewUser(t.Context(), eve, "ann")).Error(), strings.ReplaceAll(done(w.reg.ViewUser(t.Context(), eve, "nobody")).Error(), "nobody", "ann"))
}

// Who was dropped from a class loses its own work from view with it, and gets it back with it.
func TestEnrolmentCounts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	s := w.submit("ann", "hw1")
	w.grade(func(r *core.Result) { r.State, r.Blame = core.RequestDead, core.BlamePlatform })
	require.NoError(t, w.reg.Drop(t.Context(), w.as("tina"), "cs101", "ann"))
	ann := w.as("ann")
	requireCode(t, core.CodeNotFound, done(w.reg.Submit(t.Context(), ann, newSubmission("hw1"))))
	requireCode(t, core.CodeNotFound, done(w.reg.ViewSubmission(t.Context(), ann, s.ID)))
	requireCode(t, core.CodeNotFound, done(w.reg.OpenZip(t.Context(), ann, s.ID)))
	requireCode(t, core.CodeNotFound, w.reg.Resubmit(t.Context(), ann, s.ID))
	require.NoError(t, w.reg.Enrol(t.Context(), w.as("tina"), "cs101", "ann", core.RoleStudent))
	require.NoError(t, w.reg.Resubmit(t.Context(), w.as("ann"), s.ID))
}

// An assignment that is hidden again hides what was submitted for it.
func TestHiddenAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	as := w.graded("hw1")
	s := w.submit("ann", "hw1")
	as.HideUntil = start + day
	_, err := w.reg.EditAssignment(t.Context(), w.as("tess"), as)
	require.NoError(t, err)
	requireCode(t, core.CodeNotFound, done(w.reg.ViewSubmission(t.Context(), w.as("ann"), s.ID)))
	requireCode(t, core.CodeNotFound, done(w.reg.OpenZip(t.Context(), w.as("ann"), s.ID)))
	require.NoError(t, done(w.reg.ViewSubmission(t.Context(), w.as("tina"), s.ID)))
	w.pass(day)
	require.NoError(t, done(w.reg.ViewSubmission(t.Context(), w.as("ann"), s.ID)))
}

// Deadlines are those of the submission's owner, whether another user looks at it or submits for the owner.
func TestDeadlinesAreTheOwners(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	tess := w.as("tess")
	require.NoError(t, w.reg.SetDeadline(t.Context(), tess, school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: theEnd + day, Cutoff: theEnd + 2*day}))
	w.pass(2*day + hour)
	h := newSubmission("hw1")
	h.User = "ann"
	s, err := w.reg.Submit(t.Context(), tess, h)
	require.NoError(t, err)
	assert.False(t, s.Late, "ann's due date counts")
	assert.Equal(t, "tess", s.By)
	h.User = "cleo"
	s, err = w.reg.Submit(t.Context(), tess, h)
	require.NoError(t, err)
	assert.True(t, s.Late, "cleo has no other due date")
	require.NoError(t, done(w.reg.Submit(t.Context(), w.as("ann"), newSubmission("hw1"))))
	requireCode(t, core.CodeEnded, done(w.reg.Submit(t.Context(), w.as("cleo"), newSubmission("hw1"))))
}

// Scores are told with the submission that they belong to.
func TestScoresBelongToTheirSubmission(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	first := w.submit("ann", "hw1")
	w.grade(func(r *core.Result) { *r.Score = 1 })
	second := w.submit("ann", "hw1") // without a result
	third := w.submit("cleo", "hw1")
	w.grade(func(r *core.Result) { *r.Score = 3 })
	w.grade(func(r *core.Result) { *r.Score = 3 })
	all, err := w.reg.ListSubmissions(t.Context(), w.as("tess"), school.SubmissionFilter{Class: "cs101", Assignment: "hw1"})
	require.NoError(t, err)
	scores := map[string]float64{}
	for _, s := range all {
		scores[s.Submission.ID] = *s.Score
	}
	assert.Equal(t, map[string]float64{first.ID: 1, second.ID: 3, third.ID: 3}, scores)
}

// What waits is graded by the harness that it was submitted for.
func TestHarnessIsNotReplacedUnderTests(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	old := w.graded("hw1")
	s := w.submit("ann", "hw1")
	_, err := w.reg.SetHarness(t.Context(), w.as("tess"), "cs101", "hw1", bytes.NewReader(stockTar(t)))
	require.NoError(t, err)
	row, err := w.store.Get(t.Context(), s.Request)
	require.NoError(t, err)
	assert.Equal(t, old.Harness.File, *row.Spec.Harness)
}

// Staff of one class can do nothing in another, also where they name their own with it.
func TestStaffOfAnotherClass(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	s := w.submit("ann", "hw1")
	as := school.Assignment{Class: "cs202", Handle: "hw1", Title: "Theirs", Priority: core.PriorityNormal, Created: start}
	require.NoError(t, done(w.reg.Store.PutAssignment(t.Context(), as)))
	score := 1.0
	theo := w.as("theo")
	requireCode(t, core.CodeNotFound, done(w.reg.ChangeGrade(t.Context(), theo, classes.GradeChange{
		Class: "cs202", Assignment: "hw1", Submission: s.ID, Score: &score, Reason: "envy",
	})))
	requireCode(t, core.CodeNotFound, done(w.reg.ChangeGrade(t.Context(), theo, classes.GradeChange{
		Class: "cs101", Assignment: "hw1", Submission: s.ID, Score: &score, Reason: "envy",
	})))
}

// Students get no output of the harness, which may tell what its hidden tests are.
func TestOutputIsForStaff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	s := w.submit("ann", "hw1")
	w.grade(nil)
	v, err := w.reg.ViewSubmission(t.Context(), w.as("ann"), s.ID)
	require.NoError(t, err)
	assert.Empty(t, v.Result.Stdout)
	assert.Empty(t, v.Result.Host)
	assert.InDelta(t, 7, *v.Result.Score, 0)
	v, err = w.reg.ViewSubmission(t.Context(), w.as("tina"), s.ID)
	require.NoError(t, err)
	assert.Equal(t, "hidden test 3", v.Result.Stdout)

	e, err := w.reg.ViewAssignment(t.Context(), w.as("ann"), "cs101", "hw1")
	require.NoError(t, err)
	assert.Nil(t, e.Harness)
	assert.True(t, e.Graded)
}

// What a hidden test has used tells what it was given, if the program wants that: students
// get it in steps, and those who teach as it is.
func TestFiguresOfHiddenTests(t *testing.T) {
	t.Parallel()
	used := func() *core.Usage { return &core.Usage{CPUMs: 11, WallMs: 10, MemoryPeakBytes: 5<<20 + 1} }
	coarse := core.Usage{CPUMs: 20, WallMs: 10, MemoryPeakBytes: 6 << 20}
	for name, hidden := range map[string]bool{"hidden": true, "public": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.graded("hw1")
			s := w.submit("ann", "hw1")
			w.grade(func(r *core.Result) {
				r.Tests = []core.Test{{Name: "a", Usage: used()}, {Name: "b", Usage: used(), Hidden: hidden}, {Name: "c", Hidden: hidden}}
				r.Usage, r.Times = *used(), core.Times{Started: 3, Finished: 1234}
			})
			view := func(who string) *core.Result {
				v, err := w.reg.ViewSubmission(t.Context(), w.as(who), s.ID)
				require.NoError(t, err)
				return v.Result
			}
			staff := view("tina")
			require.Equal(t, *used(), *staff.Tests[1].Usage)
			require.Equal(t, int64(1234), staff.Times.Finished)
			student := view("ann")
			require.Equal(t, *used(), *student.Tests[0].Usage, "its input is known")
			require.Nil(t, student.Tests[2].Usage)
			if !hidden {
				require.Equal(t, staff.Tests, student.Tests)
				return
			}
			require.Equal(t, coarse, *student.Tests[1].Usage)
			require.Equal(t, coarse, student.Usage, "the whole tells it, too")
			require.Equal(t, []int64{10, 1240}, []int64{student.Times.Started, student.Times.Finished})
		})
	}
}
