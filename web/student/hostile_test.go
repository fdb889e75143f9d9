package student_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

// evil is what a page must never have in it as it is.
const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>[x](javascript:alert(1))`

// What users and harnesses write reaches no page as more than text.
func TestNothingOfOthersRuns(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c, err := w.reg.Store.GetClass(t.Context(), "cs101")
	require.NoError(t, err)
	c.Title, c.Term = evil, evil
	_, err = w.reg.Store.PutClass(t.Context(), c)
	require.NoError(t, err)
	w.graded("hw1", func(as *school.Assignment) { as.Title, as.Text, as.ShowOutput = evil, evil, true })
	require.NoError(t, w.reg.Store.PutDeadline(t.Context(), school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: start + 2*day, By: "tess", Reason: evil, Since: start}))
	at := w.submitTo("ann", "hw1", sent{"files", `"><script>alert(1)</script>.py`, "x"})
	w.grade(func(r *core.Result) {
		r.State, r.Blame, r.Reason, r.Stdout, r.Stderr, r.Host = core.RequestFailed, core.BlameSubmission, evil, evil, evil, evil
		r.Tests = []core.Test{{
			Name: evil, Verdict: evil, Group: evil, Score: 1, MaxScore: 2, Parts: []core.Part{{Name: evil}},
			Message: evil + "\nExpected:\n```\n" + evil + "\n```\nPrinted:\n```\nx" + evil + "\n```\n",
		}}
	})
	require.NoError(t, w.reg.Store.SetGrade(t.Context(), strings.TrimPrefix(at, "/submissions/"), &school.Grade{Score: 1, By: "tess", Reason: evil, At: start}))
	archive := w.post("ann", "/classes/cs101/assignments/hw1/own-archive", nil).Header().Get("Location")
	_, err = w.in.Store.EndTask(t.Context(), core.TaskEnd{ID: strings.TrimPrefix(archive, "/tasks/"), Generation: 1, State: core.TaskDead, Note: evil, Progress: &core.TaskProgress{Done: 1, Total: 2, Text: evil}})
	require.NoError(t, err)
	refused := w.upload("ann", "/classes/cs101/assignments/hw1", sent{"kind", "", evil}, sent{"name", "", evil}, sent{"text", "", "x"}).Body.String()
	pages := map[string]string{"refused": refused}
	for _, path := range []string{"/", "/classes/cs101", "/classes/cs101/assignments/hw1", at, "/tasks", archive} {
		for _, who := range []string{"ann", "tess"} {
			if path != "/tasks" || who == "ann" {
				pages[path+" as "+who] = w.get(who, path)
			}
		}
	}
	for name, body := range pages {
		for _, bad := range []string{"<script>", "<img src=x", `href="javascript:`, "onerror=alert(1)>["} {
			assert.NotContains(t, body, bad, name)
		}
	}
	require.Contains(t, refused, "&lt;script&gt;")
}
