package staff_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

// typedMoment is a moment as a browser sends it.
func typedMoment(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02T15:04:05") }

// typedAssignment is a form with all fields.
func typedAssignment(more ...string) []string {
	return append([]string{
		"handle", "hw9", "title", "Nine", "text", "**Do**\r\nit", "due", typedMoment(start + day), "cutoff", typedMoment(start + 2*day), "hide_until", typedMoment(start - day),
		"final", "yes", "show_output", "yes", "pool", pool, "priority", "low", "max_files", "7", "max_bytes", "10MiB",
		"timeout", "2.5", "memory", "64MiB", "disk", "8MiB", "file_size", "1MiB", "pids", "9", "open_files", "40", "output", "100KiB",
	}, more...)
}

func TestAssignmentIsMadeWithAllThatIsTyped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	require.Contains(t, w.shows("tess", "/classes/cs101/assignments/new"), `<option selected>p1</option>`)
	require.Equal(t, "/classes/cs101/assignments/hw9/harness", leads(t, w.post("tina", "/classes/cs101/assignments/new", typedAssignment()...)))
	as, err := w.reg.Store.GetAssignment(t.Context(), "cs101", "hw9")
	require.NoError(t, err)
	as.Created, as.Revision = 0, 0
	require.Equal(t, school.Assignment{
		Class: "cs101", Handle: "hw9", Title: "Nine", Text: "**Do**\nit", Due: start + day, Cutoff: start + 2*day, HideUntil: start - day,
		AllowFinal: true, ShowOutput: true, Pool: pool, Priority: core.PriorityLow, MaxFiles: 7, MaxBytes: 10 << 20,
		Limits: core.Limits{Timeout: 2500 * time.Millisecond, Memory: 64 << 20, Disk: 8 << 20, FileSize: 1 << 20, Pids: 9, OpenFiles: 40, Output: 100 << 10},
	}, as)

	// What the form of it shows is what was typed: saving it as it is changes nothing.
	text := w.shows("tina", "/classes/cs101/assignments/hw9/edit")
	for _, value := range []string{`value="10MiB"`, `value="2.5"`, `value="100KiB"`, `value="` + typedMoment(start+day) + `"`, `<option value="low" selected>`, "<details open>"} {
		require.Contains(t, text, value)
	}
}

func TestAssignmentIsChanged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	as := w.assignment("hw1")
	at, rev := "/classes/cs101/assignments/hw1/edit", strconv.FormatInt(as.Revision, 10)
	require.Equal(t, at, leads(t, w.post("tess", at, "title", evil, "pool", pool, "priority", "normal", "revision", rev, "text", evil)))
	text := w.shows("tess", at)
	require.NotContains(t, text, "<script>alert")
	now, err := w.reg.Store.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, evil, now.Title)
	require.Zero(t, now.Due, "what was left out is taken away")
	require.False(t, now.AllowFinal)
	again(t, w.post("tess", at, "title", "x", "pool", pool, "priority", "normal", "revision", rev), "changed")
}

func TestThePreviewChangesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	for _, at := range []string{"/classes/cs101/assignments/hw1/edit", "/classes/cs101/assignments/new"} {
		rec := w.post("tess", at, "do", "preview", "handle", "hw7", "title", "Typed", "text", "**bold** <script>alert(1)</script>", "due", "soon")
		require.Equal(t, http.StatusOK, rec.Code)
		text := rec.Body.String()
		require.Contains(t, text, "<strong>bold</strong>")
		require.NotContains(t, text, "<script>alert")
		require.Contains(t, text, `value="Typed"`)
		require.Contains(t, text, `value="soon"`, "what was typed comes back as it was")
	}
	as, err := w.reg.Store.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, "The hw1", as.Title)
	_, err = w.reg.Store.GetAssignment(t.Context(), "cs101", "hw7")
	require.True(t, core.Is(err, core.CodeNotFound))
}

func TestAWrongAssignmentComesBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := "/classes/cs101/assignments/new"
	for field, test := range map[string]struct{ typed, problem string }{
		"due":       {"tomorrow", `Due: "tomorrow" is not a date`},
		"cutoff":    {typedMoment(start), "cutoff"},
		"max_files": {"many", "Most files"},
		"max_bytes": {"-1", "Most bytes"},
		"timeout":   {"1e99", "Time"},
		"memory":    {"900GiB", "memory"},
		"pool":      {"sea", "sea"},
		"priority":  {"heavy", "priority"},
		"handle":    {"new", "another handle"},
		"title":     {string(make([]byte, 300)), "title"},
		"pids":      {"99999999999", "too large"},
	} {
		typed := typedAssignment()
		for i := 0; i < len(typed); i += 2 {
			if typed[i] == field {
				typed[i+1] = test.typed
			}
		}
		text := again(t, w.post("tess", at, typed...), test.problem)
		require.Contains(t, text, "**Do**", "with a wrong %s the rest is there", field)
		if field == "handle" || field == "due" {
			require.Contains(t, text, `value="`+test.typed+`"`)
		}
	}
}

func TestAssignmentIsDeletedOnceItsNameIsTyped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	again(t, w.post("tess", "/classes/cs101/assignments/hw1/delete", "name", "hw"), "Type hw1")
	require.Contains(t, leads(t, w.post("tess", "/classes/cs101/assignments/hw1/delete", "name", "hw1")), "/tasks/")
	as, err := w.reg.Store.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	require.True(t, as.Deleting)
}

// An assignment's form is of everybody's deadlines, also for who has its own.
func TestTheFormHasNobodysOwnDeadlines(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	require.NoError(t, w.reg.SetDeadline(t.Context(), w.as("tess"), school.Deadline{Class: "cs101", Assignment: "hw1", User: "tina", Cutoff: start + 9*day}))
	text := w.shows("tina", "/classes/cs101/assignments/hw1/edit")
	require.Contains(t, text, typedMoment(start+2*day))
	require.NotContains(t, text, typedMoment(start+9*day))
}
