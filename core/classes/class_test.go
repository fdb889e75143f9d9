package classes_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unstaffed is an intake that takes no task.
type unstaffed struct{ classes.Intake }

func (unstaffed) SubmitTask(context.Context, core.Task) (core.Task, bool, error) {
	return core.Task{}, false, errBroken
}

// A class that is being deleted stays as it is, for its staff to see.
func TestDeleteClass(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	root, tess := w.as("root"), w.as("tess")
	as := w.graded("hw1")
	s := w.submit("ann", "hw1")
	w.grade(func(r *core.Result) { r.State, r.Blame = core.RequestFailed, core.BlameHarness })
	was := w.reg.Intake
	w.reg.Intake = unstaffed{was}
	requireCode(t, core.CodeUnavailable, done(w.reg.DeleteClass(ctx, root, "cs101")))
	w.reg.Intake = was // it was closed, and nothing deletes it: the same call again mends that
	task, err := w.reg.DeleteClass(ctx, root, "cs101")
	require.NoError(t, err)
	assert.Equal(t, []string{school.KindDeleteClass, "cs101", "root"}, []string{task.Kind, task.About, task.Requester})
	assert.JSONEq(t, `{"class":"cs101"}`, string(task.Args))
	second := core.Actor{Handle: "local-root", Roles: []core.UserRole{core.RoleAdmin}}
	for _, a := range []core.Actor{root, second} {
		again, err := w.reg.DeleteClass(ctx, a, "cs101")
		require.NoError(t, err)
		assert.Equal(t, task.ID, again.ID, "both calls share one task")
	}
	w.endTask(task.ID, core.TaskDead)
	again, err := w.reg.DeleteClass(ctx, root, "cs101")
	require.NoError(t, err)
	assert.NotEqual(t, task.ID, again.ID, "it is started anew")

	c, err := w.reg.ViewClass(ctx, tess, "cs101")
	require.NoError(t, err)
	assert.True(t, c.Deleting)
	requireCode(t, core.CodeNotFound, done(w.reg.ViewClass(ctx, w.as("ann"), "cs101")))
	score := 1.0
	for _, change := range []func() error{
		func() error { return done(w.reg.EditClass(ctx, tess, c.Class)) },
		func() error { return w.reg.Enrol(ctx, tess, "cs101", "nick", core.RoleStudent) },
		func() error { return w.reg.Drop(ctx, tess, "cs101", "ann") },
		func() error {
			return done(w.reg.ImportRoster(ctx, tess, "cs101", strings.NewReader("handle\nnick\n"), classes.ImportOptions{DryRun: false}))
		},
		func() error { return done(w.reg.CreateAssignment(ctx, tess, as)) },
		func() error { return done(w.reg.EditAssignment(ctx, tess, as)) },
		func() error {
			return done(w.reg.SetHarness(ctx, tess, "cs101", "hw1", bytes.NewReader(harnessTar(t))))
		},
		func() error {
			return w.reg.SetDeadline(ctx, tess, school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: 1})
		},
		func() error {
			return done(w.reg.ChangeGrade(ctx, tess, classes.GradeChange{Class: "cs101", Assignment: "hw1", User: "ann", Score: &score, Reason: "x"}))
		},
		func() error {
			return done(w.reg.StartTask(ctx, tess, school.KindGradebook, args(school.GradebookArgs{Class: "cs101"})))
		},
		func() error { return w.reg.Resubmit(ctx, tess, s.ID) },
		func() error { return done(w.reg.Submit(ctx, tess, newSubmission("hw1"))) },
	} {
		requireCode(t, core.CodeConflict, change())
	}
}

func TestDeleteAssignment(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	tess := w.as("tess")
	w.assignment("hw1")
	s := w.submit("ann", "hw1")
	task, err := w.reg.DeleteAssignment(ctx, tess, "cs101", "hw1")
	require.NoError(t, err)
	assert.Equal(t, []string{school.KindDeleteAssignment, "cs101/hw1"}, []string{task.Kind, task.About})
	requireCode(t, core.CodeNotFound, done(w.reg.ViewSubmission(ctx, w.as("ann"), s.ID)))
	requireCode(t, core.CodeNotFound, done(w.reg.Submit(ctx, w.as("ann"), newSubmission("hw1"))))
	requireCode(t, core.CodeConflict, done(w.reg.RemoveHarness(ctx, tess, "cs101", "hw1")))
	e, err := w.reg.ViewAssignment(ctx, tess, "cs101", "hw1")
	require.NoError(t, err)
	assert.True(t, e.Deleting)
}

func TestClasses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	root := w.as("root")
	requireCode(t, core.CodeInvalid, done(w.reg.CreateClass(ctx, root, school.Class{Handle: "mine", Title: "Mine"})))
	requireCode(t, core.CodeInvalid, done(w.reg.CreateClass(ctx, root, school.Class{Handle: "cs303"})))
	requireCode(t, core.CodeConflict, done(w.reg.CreateClass(ctx, root, school.Class{Handle: "cs101", Title: "Again"})))
	c, err := w.reg.CreateClass(ctx, root, school.Class{Handle: "cs303", Title: "New", Term: "2026", Deleting: true})
	require.NoError(t, err)
	assert.False(t, c.Deleting)
	all, err := w.reg.ListClasses(ctx, root, "cs101", 1)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, "cs202", all[0].Handle)
	mine, err := w.reg.ListClasses(ctx, w.as("tina"), "", 10)
	require.NoError(t, err)
	require.Len(t, mine, 1)
	assert.Equal(t, core.RoleAssistant, mine[0].Role)
}

func TestAssignments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	tess := w.as("tess")
	base := school.Assignment{Class: "cs101", Handle: "hw1", Title: "One", Pool: pool, Due: theDue, Cutoff: theEnd}
	for name, c := range map[string]struct {
		change func(as *school.Assignment)
		code   core.Code
	}{
		"cutoff before due": {func(as *school.Assignment) { as.Cutoff = theDue - 1 }, core.CodeInvalid},
		"no title":          {func(as *school.Assignment) { as.Title = "" }, core.CodeInvalid},
		"an unknown pool":   {func(as *school.Assignment) { as.Pool = "p9" }, core.CodeNotFound},
		"more than a pool":  {func(as *school.Assignment) { as.Limits.Memory = 1 << 40 }, core.CodeInvalid},
		"an unknown class":  {func(as *school.Assignment) { as.Class = "cs999" }, core.CodeNotFound},
		"a bad priority":    {func(as *school.Assignment) { as.Priority = "urgent" }, core.CodeInvalid},
	} {
		as := base
		c.change(&as)
		_, err := w.reg.CreateAssignment(ctx, tess, as)
		assert.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
	}
	forged := base
	forged.Harness, forged.Deleting = &school.Harness{}, true
	as, err := w.reg.CreateAssignment(ctx, tess, forged)
	require.NoError(t, err)
	assert.Nil(t, as.Harness)
	assert.False(t, as.Deleting)

	for name, tar := range map[string][]byte{"nothing": nil, "no tar": []byte("#!/bin/sh\n"), "too much": make([]byte, 65<<20)} {
		_, err := w.reg.SetHarness(ctx, tess, "cs101", "hw1", bytes.NewReader(tar))
		assert.Contains(t, []core.Code{core.CodeInvalid, core.CodeLimit}, core.CodeOf(err), "%s: %v", name, err)
	}
	with, err := w.reg.SetHarness(ctx, tess, "cs101", "hw1", bytes.NewReader(stockTar(t)))
	require.NoError(t, err)
	assert.True(t, with.Harness.Stock)
	with.Title, with.Harness = "Two", nil
	edited, err := w.reg.EditAssignment(ctx, tess, with)
	require.NoError(t, err)
	require.NotNil(t, edited.Harness, "an edit leaves the harness alone")
	requireCode(t, core.CodeConflict, done(w.reg.EditAssignment(ctx, tess, retitled(with))))
	bare, err := w.reg.RemoveHarness(ctx, tess, "cs101", "hw1")
	require.NoError(t, err)
	assert.Nil(t, bare.Harness)
	w.assignment("essay", func(as *school.Assignment) { as.Pool = "" })
	requireCode(t, core.CodeInvalid, done(w.reg.SetHarness(ctx, tess, "cs101", "essay", bytes.NewReader(harnessTar(t)))))
}

func retitled(as school.Assignment) school.Assignment {
	as.Title = "Three"
	return as
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	tess, ann := w.as("tess"), w.as("ann")
	w.assignment("hw1")
	w.assignment("exam", concealed)
	for name, d := range map[string]school.Deadline{
		"cutoff before its due":   {User: "ann", Due: theDue, Cutoff: theDue - 1},
		"cutoff before their due": {User: "ann", Cutoff: theDue - 1},
	} {
		d.Class, d.Assignment = "cs101", "hw1"
		assert.Equal(t, core.CodeInvalid, core.CodeOf(w.reg.SetDeadline(ctx, tess, d)), name)
	}
	requireCode(t, core.CodeNotFound, w.reg.SetDeadline(ctx, tess, school.Deadline{Class: "cs101", Assignment: "hw1", User: "eve", Due: theDue}))
	for _, assignment := range []string{"hw1", "exam"} {
		d := school.Deadline{Class: "cs101", Assignment: assignment, User: "ann", Due: theDue + hour, Reason: "ill"}
		require.NoError(t, w.reg.SetDeadline(ctx, tess, d))
	}
	all, err := w.reg.Deadlines(ctx, tess, "cs101", "", "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, "tess", all[0].By)
	own, err := w.reg.Deadlines(ctx, ann, "cs101", "", "ann")
	require.NoError(t, err)
	require.Len(t, own, 1, "none of what is hidden")
	requireCode(t, core.CodeForbidden, done(w.reg.Deadlines(ctx, ann, "cs101", "", "cleo")))

	e, err := w.reg.ViewAssignment(ctx, ann, "cs101", "hw1")
	require.NoError(t, err)
	assert.Equal(t, []int64{theDue + hour, theEnd}, []int64{e.Due, e.Cutoff})
	require.NoError(t, w.reg.SetDeadline(ctx, tess, school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann"}))
	e, err = w.reg.ViewAssignment(ctx, ann, "cs101", "hw1")
	require.NoError(t, err)
	assert.Equal(t, theDue, e.Due)
	w.log.clear()
	require.NoError(t, w.reg.SetDeadline(ctx, tess, school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann"}))
	assert.Empty(t, w.log.names, "there is none to take back")
}
