package staff_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

// begun is the task that a form leads to.
func (w *fixture) begun(at string) core.Task {
	w.t.Helper()
	id, ok := strings.CutPrefix(at, "/tasks/")
	require.True(w.t, ok, at)
	task, err := w.reg.Store.GetTask(w.t.Context(), id)
	require.NoError(w.t, err)
	return task
}

func TestExportsAreTasks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	of := hw1 + "/tasks"
	for path, test := range map[string]struct {
		typed []string
		kind  string
		args  any
	}{
		of + "/archive":                  {[]string{"user", "ann", "latest", "true"}, school.KindArchive, school.ArchiveArgs{Class: "cs101", Assignment: "hw1", User: "ann", Latest: true}},
		of + "/archive?":                 {nil, school.KindArchive, school.ArchiveArgs{Class: "cs101", Assignment: "hw1"}},
		of + "/assignment_csv":           {[]string{"no-header", "true"}, school.KindAssignmentCSV, school.AssignmentCSVArgs{Class: "cs101", Assignment: "hw1", NoHeader: true}},
		"/classes/cs101/tasks/gradebook": {[]string{"fill", "-"}, school.KindGradebook, school.GradebookArgs{Class: "cs101", Fill: "-"}},
	} {
		task := w.begun(leads(t, w.post("tina", path, test.typed...)))
		want, err := json.Marshal(test.args)
		require.NoError(t, err)
		require.Equal(t, test.kind, task.Kind, path)
		require.JSONEq(t, string(want), string(task.Args), path)
		require.Equal(t, "tina", task.Requester)
	}
	text := again(t, w.post("tina", of+"/archive", "user", "No Name"+evil), "No Name")
	require.NotContains(t, text, "<script>alert")
	require.Contains(t, text, `value="No Name&#34;&gt;`)
	text = again(t, w.post("tina", "/classes/cs101/tasks/gradebook", "fill", strings.Repeat("x", 41)), "40 bytes")
	require.Contains(t, text, strings.Repeat("x", 41))
	text = w.shows("tina", "/classes/cs101/gradebook")
	require.Equal(t, 4, strings.Count(text, `<a href="/tasks/`), "her tasks of the class are there")
	require.NotContains(t, w.shows("tess", "/classes/cs101/gradebook"), `<a href="/tasks/`)
	require.NotContains(t, text, "/cluster/schedules")
	require.Contains(t, w.shows("root", "/classes/cs101/gradebook"), "/cluster/schedules")
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	leads(t, w.post("tess", "/classes/cs101/edit", "title", "T "+evil, "revision", "1"))
	leads(t, w.post("tina", hw1+"/deadlines", "user", "ann", "due", typedMoment(start+5*day), "reason", "ill"))
	text := w.shows("tess", "/classes/cs101/audit")
	require.Contains(t, text, "sets the deadlines of ann")
	require.Contains(t, text, "changes class cs101")
	require.NotContains(t, text, "<script>alert")
	text = w.shows("tess", "/classes/cs101/audit?actor=tina")
	require.NotContains(t, text, "changes class")
	text = w.shows("tess", "/classes/cs101/audit?subject=cs101/hw1/ann")
	require.Contains(t, text, "sets the deadlines of ann")
	require.NotContains(t, text, "changes class")
	require.Contains(t, w.shows("tess", "/classes/cs101/audit?actor=nobody"), "There is none.")
}
