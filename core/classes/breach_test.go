package classes_test

import (
	"archive/zip"
	"bytes"
	"context"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However a student asks for an assignment, its harness stays with its staff.
func TestHarnessIsForStaff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	for who, sees := range map[string]bool{"ann": false, "tina": true, "root": true} {
		as, err := w.reg.FindAssignment(t.Context(), w.as(who), "cs101/hw1")
		require.NoError(t, err)
		assert.Equal(t, sees, as.Harness != nil, who)
	}
}

// A task's file is as secret as what its arguments name, whatever it says it is about.
func TestDownloadNeedsTheRightToWhatIsInIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	theos := func(kind, args string) func(*core.Task) {
		return func(t *core.Task) { t.Kind, t.Requester, t.About, t.Args = kind, "theo", "cs202", []byte(args) }
	}
	for name, args := range map[string][2]string{
		"archive":   {school.KindArchive, `{"class":"cs101","assignment":"hw1"}`},
		"scores":    {school.KindAssignmentCSV, `{"class":"cs101","assignment":"hw1"}`},
		"gradebook": {school.KindGradebook, `{"class":"cs101"}`},
	} {
		foreign := w.task(theos(args[0], args[1]))
		w.endTask(foreign.ID, core.TaskDone)
		_, content, err := w.reg.OpenDownload(t.Context(), w.as("theo"), foreign.ID)
		requireCode(t, core.CodeForbidden, closed(content, err))
		again := w.task(theos(args[0], args[1]))
		w.endTask(again.ID, core.TaskDead)
		requireCode(t, core.CodeForbidden, done(w.reg.RetryTask(t.Context(), w.as("theo"), again.ID)))
		own := w.task(theos(school.KindGradebook, `{"class":"cs202"}`))
		w.endTask(own.ID, core.TaskDone)
		_, content, err = w.reg.OpenDownload(t.Context(), w.as("theo"), own.ID)
		require.NoError(t, closed(content, err), name)
	}
}

// A submission's zip unpacks into one folder on any system.
func TestZipKeepsToItself(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	h := newSubmission("hw1")
	h.Files = files(`..\..\Startup\evil.bat`, "1", `C:\boot.ini`, "2", "con.txt", "3", "A.py", "4", "a.py", "5", "x\u202eyp.exe", "6")
	s, err := w.reg.Submit(t.Context(), w.as("ann"), h)
	require.NoError(t, err)
	z, err := w.reg.OpenZip(t.Context(), w.as("tina"), s.ID)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, z.Write(t.Context(), &b))
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	assert.Equal(t, []string{".._.._Startup_evil.bat", "C__boot.ini", "_con.txt", "A.py", "a-2.py", "x_yp.exe"}, names)
}

// counted counts the questions that list tasks.
type counted struct {
	classes.Store
	lists *int
}

func (c counted) ListTasks(ctx context.Context, f core.TaskFilter) ([]core.Task, error) {
	*c.lists++
	return c.Store.ListTasks(ctx, f)
}

// One page of tasks that somebody may not see costs the store few questions.
func TestListTasksOfOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 20 {
		w.task(func(t *core.Task) { t.Requester = "tina" })
	}
	n := 0
	w.reg.Store = counted{w.reg.Store, &n}
	all, err := w.reg.ListTasks(t.Context(), w.as("eve"), core.TaskFilter{Requester: "tina", Limit: 1})
	require.NoError(t, err)
	assert.Empty(t, all)
	assert.Less(t, n, 3)
	all, err = w.reg.ListTasks(t.Context(), w.as("tess"), core.TaskFilter{Requester: "tina", Limit: 7})
	require.NoError(t, err)
	assert.Len(t, all, 7)
	rest, err := w.reg.ListTasks(t.Context(), w.as("tess"), core.TaskFilter{Requester: "tina", Before: all[6].ID, Limit: 50})
	require.NoError(t, err)
	assert.Len(t, rest, 13)
}

// What somebody writes as a reason does not look like another entry, nor run backwards.
func TestAuditEntriesArePlain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	require.NoError(t, w.reg.SetDeadline(t.Context(), w.as("tina"), school.Deadline{
		Class: "cs101", Assignment: "hw1", User: "ann", Due: theDue + day, Reason: "ill\n\u2028root \u202egrades\u2066 all \u00fcber 5 \u20ac",
	}))
	entries := w.entries()
	assert.Contains(t, entries[len(entries)-1], "because: ill  root  grades  all \u00fcber 5 \u20ac")
}

// A key that was used while an assignment was not graded does not start a request that
// nothing names.
func TestKeyFromBeforeTheHarness(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	h := newSubmission("hw1")
	h.Idempotency = "k"
	first, err := w.reg.Submit(t.Context(), w.as("ann"), h)
	require.NoError(t, err)
	_, err = w.reg.SetHarness(t.Context(), w.as("tess"), "cs101", "hw1", bytes.NewReader(harnessTar(t)))
	require.NoError(t, err)
	h.Files = files("main.py", "print()")
	again, err := w.reg.Submit(t.Context(), w.as("ann"), h)
	require.NoError(t, err)
	assert.Equal(t, first.ID, again.ID)
	open, err := w.store.List(t.Context(), core.Filter{Submitter: "ann", States: []core.RequestState{core.RequestQueued}})
	require.NoError(t, err)
	assert.Empty(t, open, "a request of no submission waits")
}
