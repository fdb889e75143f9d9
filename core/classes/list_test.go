package classes_test

import (
	"fmt"
	"slices"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fill fills a fixture with assignments, submissions and tasks in every stage of life.
func fill(w *fixture) (assignments [][2]string, submissions, tasks []string) {
	ctx, store := w.t.Context(), w.reg.Store
	require.NoError(w.t, store.Enrol(ctx, school.Enrolment{Class: "cs202", User: "ann", Role: core.RoleStudent, Since: start}))
	require.NoError(w.t, store.Enrol(ctx, school.Enrolment{Class: "cs202", User: "tina", Role: core.RoleStudent, Since: start}))
	closed := school.Class{Handle: "cs303", Title: "Closed", Created: start}
	require.NoError(w.t, done(store.PutClass(ctx, closed)))
	for _, e := range []school.Enrolment{{User: "ann", Role: core.RoleStudent}, {User: "theo", Role: core.RoleTeacher}} {
		e.Class, e.Since = "cs303", start
		require.NoError(w.t, store.Enrol(ctx, e))
	}
	users := map[string][]string{"cs101": {"ann", "cleo", "tina"}, "cs202": {"ann", "eve", "theo"}, "cs303": {"ann"}}
	for _, class := range []string{"cs101", "cs202", "cs303"} {
		for i := range 4 {
			as := w.assignment(fmt.Sprintf("hw%d", i), func(as *school.Assignment) { as.Class = class })
			for _, user := range users[class] {
				s := school.Submission{ID: newID(), Class: class, Assignment: as.Handle, User: user, Kind: "public", At: start, Files: []core.File{}}
				require.NoError(w.t, done(first(store.CreateSubmission(ctx, s, nil))))
				submissions = append(submissions, s.ID)
				tasks = append(tasks, w.task(func(t *core.Task) { t.Requester, t.About = user, class+"/"+as.Handle }).ID)
			}
			switch i {
			case 1:
				concealed(&as)
				require.NoError(w.t, done(store.PutAssignment(ctx, as)))
			case 2:
				as.Deleting = true
				require.NoError(w.t, done(store.PutAssignment(ctx, as)))
			}
			assignments = append(assignments, [2]string{class, as.Handle})
		}
	}
	tasks = append(tasks, w.task(func(t *core.Task) { t.Kind, t.Requester, t.About, t.Args = core.KindPurge, "", "", nil }).ID)
	closed.Deleting, closed.Revision = true, 1
	require.NoError(w.t, done(store.PutClass(ctx, closed)))
	return assignments, submissions, tasks
}

func first[T any](v T, _ bool, err error) (T, error) { return v, err }

// What a list shows is what may be looked at, one by one: no more, no less.
func TestListsShowWhatMayBeViewed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	assignments, submissions, tasks := fill(w)
	everybody := []string{"root", "olga", "otto", "tess", "tina", "ann", "cleo", "theo", "eve", "nick"}
	handles := []string{"cs101", "cs202", "cs303"}

	for _, who := range everybody {
		a := w.as(who)
		listed, may := map[string]bool{}, map[string]bool{}
		add := func(to map[string]bool, name string, err error) {
			if err == nil {
				to[name] = true
			} else {
				require.Contains(t, []core.Code{core.CodeNotFound, core.CodeForbidden}, core.CodeOf(err))
			}
		}
		all, err := w.reg.ListClasses(ctx, a, "", 10)
		require.NoError(t, err)
		for _, c := range all {
			listed["class "+c.Handle] = true
		}
		for _, class := range handles {
			add(may, "class "+class, done(w.reg.ViewClass(ctx, a, class)))

			entries, _, err := w.reg.ListAssignments(ctx, a, classes.AssignmentFilter{Class: class, All: true})
			add(map[string]bool{}, "", err)
			for _, e := range entries {
				listed[e.Name()] = true
			}
			for _, f := range []school.SubmissionFilter{{Class: class}, {Class: class, User: who}} {
				handed, err := w.reg.ListSubmissions(ctx, a, f)
				add(map[string]bool{}, "", err)
				for _, s := range handed {
					listed["submission "+s.Submission.ID] = true
				}
			}
		}
		for _, as := range assignments {
			add(may, as[0]+"/"+as[1], done(w.reg.ViewAssignment(ctx, a, as[0], as[1])))
		}
		for _, id := range submissions {
			add(may, "submission "+id, done(w.reg.ViewSubmission(ctx, a, id)))
		}
		for _, f := range []core.TaskFilter{{}, {Class: "cs101"}, {Class: "cs202"}, {Class: "cs303"}} {
			some, err := w.reg.ListTasks(ctx, a, f)
			require.NoError(t, err)
			for _, task := range some {
				listed["task "+task.ID] = true
			}
		}
		for _, id := range tasks {
			add(may, "task "+id, done(w.reg.ViewTask(ctx, a, id)))
		}
		assert.Equal(t, keys(may), keys(listed), "%s", who)
		if who == "root" {
			assert.Len(t, may, len(handles)+len(assignments)+len(submissions)+len(tasks), "an admin sees all")
		}
	}
}

// Pages of any size make up the whole list.
func TestPagesMakeUpTheList(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	fill(w)
	rapid.Check(t, func(t *rapid.T) {
		ctx := w.t.Context()
		a := w.as(rapid.SampledFrom([]string{"root", "tess", "ann", "theo", "olga"}).Draw(t, "who"))
		size := rapid.IntRange(1, 5).Draw(t, "size")
		var paged []string
		for before := ""; ; {
			some, err := w.reg.ListTasks(ctx, a, core.TaskFilter{Before: before, Limit: size})
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range some {
				before, paged = task.ID, append(paged, task.ID)
			}
			if len(some) < size {
				break
			}
		}
		whole, err := w.reg.ListTasks(ctx, a, core.TaskFilter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(whole, paged, func(task core.Task, id string) bool { return task.ID == id }) {
			t.Fatalf("%s sees %d tasks in pages of %d, %d at once", a.Handle, len(paged), size, len(whole))
		}
	})
}

func TestListAssignments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	w.pass(30 * day)
	now := start + 30*day
	at := func(due, cutoff int64) func(as *school.Assignment) {
		return func(as *school.Assignment) { as.Due, as.Cutoff = due, cutoff }
	}
	w.assignment("never", at(0, 0))
	w.assignment("open", at(now+day, now+3*day))
	w.assignment("done", at(now+day, now+2*day))
	w.assignment("overdue", at(now-2*day, now+hour))
	w.assignment("late", at(now-3*day, now-2*day))
	w.assignment("mine", at(now-30*day, now-20*day))
	w.assignment("old", at(now-10*day, now-8*day))
	require.NoError(t, w.reg.SetDeadline(ctx, w.as("tess"), school.Deadline{Class: "cs101", Assignment: "mine", User: "ann", Due: now - 9*day, Cutoff: now - hour}))
	s := w.submit("ann", "done")

	all, left, err := w.reg.ListAssignments(ctx, w.as("ann"), classes.AssignmentFilter{})
	require.NoError(t, err)
	var got []string
	for _, e := range all {
		got = append(got, e.Handle+": "+e.Progress)
	}
	assert.Equal(t, []string{
		"overdue: overdue", "done: submitted", "open: not submitted yet", "never: not submitted yet", "mine: too late", "late: too late",
	}, got)
	assert.Equal(t, 1, left)
	assert.Equal(t, s.At, all[1].Submitted)
	assert.True(t, all[4].Extended)

	all, left, err = w.reg.ListAssignments(ctx, w.as("cleo"), classes.AssignmentFilter{})
	require.NoError(t, err)
	assert.Len(t, all, 5)
	assert.Equal(t, 2, left)
	all, left, err = w.reg.ListAssignments(ctx, w.as("cleo"), classes.AssignmentFilter{All: true})
	require.NoError(t, err)
	assert.Len(t, all, 7)
	assert.Zero(t, left)
}
