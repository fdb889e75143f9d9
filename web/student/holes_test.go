package student_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

func dead(r *core.Result) { r.State, r.Blame = core.RequestDead, core.BlamePlatform }

// Who is not in a class hands nothing in there, sees nothing of it, and is told as
// little as of what is not there.
func TestEnrolmentIsChecked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	for _, who := range []string{"eve", "nick"} {
		rec := w.upload(who, "/classes/cs101/assignments/hw1", sent{"files", "a.py", "x"})
		assert.Equal(t, http.StatusNotFound, rec.Code, who)
		missing := w.upload(who, "/classes/cs101/assignments/none", sent{"files", "a.py", "x"}).Body.String()
		assert.Equal(t, text(missing), strings.ReplaceAll(text(rec.Body.String()), "hw1", "none"), who)
		for _, path := range []string{"/classes/cs101", "/classes/cs101/assignments/hw1", at, at + "/zip", at + "/files/main.py"} {
			assert.Equal(t, http.StatusNotFound, w.status(who, http.MethodGet, path), "%s: %s", who, path)
		}
	}
	require.NoError(t, w.reg.Store.Enrol(t.Context(), school.Enrolment{Class: "cs202", User: "ann", Role: core.RoleStudent}))
	_, err := w.reg.Store.Drop(t.Context(), "cs101", "ann")
	require.NoError(t, err)
	for _, path := range []string{at, at + "/zip", at + "/files/main.py", "/classes/cs101/assignments/hw1"} {
		assert.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, path), "dropped: %s", path)
	}
	assert.Equal(t, http.StatusNotFound, w.post("ann", at+"/resubmit", nil).Code)
}

// text is what the error page says.
func text(page string) string {
	_, rest, _ := strings.Cut(page, `<main id="main"`)
	main, _, _ := strings.Cut(rest, "</main>")
	return main
}

// Nothing is changed by following a link.
func TestNothingChangesByGet(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	w.grade(dead)
	id := strings.TrimPrefix(at, "/submissions/")
	for _, path := range []string{at + "/resubmit", at + "/cancel", "/classes/cs101/assignments/hw1/own-archive"} {
		assert.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, path), path)
		assert.Equal(t, http.StatusNotFound, w.status("ann", http.MethodHead, path), path)
	}
	row, err := w.reg.Store.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, 1, row.Spec.Generation)
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/resubmit", nil).Code)
	row, err = w.reg.Store.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, 2, row.Spec.Generation)
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/cancel", nil).Code)
	require.Contains(t, w.get("ann", at), "cancelled")
}

// Hidden objects are NOTFOUND, even at their exact address.
func TestHiddenAssignmentsAreNotThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	as, err := w.reg.Store.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	as.HideUntil = start + day
	_, err = w.reg.Store.PutAssignment(t.Context(), as)
	require.NoError(t, err)
	const page = "/classes/cs101/assignments/hw1"
	for _, path := range []string{page, at, at + "/zip", at + "/files/main.py"} {
		assert.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, path), path)
		assert.Equal(t, http.StatusOK, w.status("tess", http.MethodGet, path), path)
	}
	assert.Equal(t, http.StatusNotFound, w.upload("ann", page, sent{"files", "a.py", "x"}).Code)
	assert.Equal(t, http.StatusNotFound, w.post("ann", page+"/own-archive", nil).Code)
	for _, path := range []string{"/", "/classes/cs101"} {
		assert.NotContains(t, w.get("ann", path), "hw1")
		assert.Contains(t, w.get("tess", path), "hidden from students")
	}
}

// Another's submission is as little there as one that nobody made, for every entry.
func TestOthersSubmissionsAreNotThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	const none = "/submissions/01hzzzzzzzzzzzzzzzzzzzzzzz"
	for _, path := range []string{"", "/zip", "/files/main.py"} {
		assert.Equal(t, http.StatusNotFound, w.status("cleo", http.MethodGet, at+path), path)
		assert.Equal(t, http.StatusNotFound, w.status("cleo", http.MethodGet, none+path), path)
	}
	for _, path := range []string{"/cancel", "/resubmit"} {
		assert.Equal(t, http.StatusNotFound, w.post("cleo", at+path, url.Values{}).Code, path)
	}
	assert.NotContains(t, w.get("cleo", "/classes/cs101/assignments/hw1"), at)
	for _, path := range []string{"/files/../../x", "/files/%2e%2e/x", "/files/nothing.py", "/files/"} {
		assert.NotEqual(t, http.StatusOK, w.status("ann", http.MethodGet, at+path), path)
	}
}

// Names go back escaped, whatever is in them, and as downloads only.
func TestNamesOfFilesAreEscaped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	name := `100%#a b&amp'<img src=x onerror=alert(1)>.html`
	at := w.submitTo("ann", "hw1", sent{"files", name, "<script>alert(1)</script>"})
	body := w.get("ann", at)
	require.NotContains(t, body, "<img src=x")
	link := between(t, body, `href="`+at+`/files/`, `"`)
	require.NotContains(t, w.get("ann", html.UnescapeString(at+"/files/"+link)), "<script>alert")
	r := w.ask("ann", newGet(t, at+"/files/"+link+"?download=1"))
	require.Equal(t, http.StatusOK, r.Code)
	require.Equal(t, "<script>alert(1)</script>", r.Body.String())
	require.Contains(t, r.Header().Get("Content-Disposition"), "attachment")
	require.Equal(t, "application/octet-stream", r.Header().Get("Content-Type"))
	require.Equal(t, "nosniff", r.Header().Get("X-Content-Type-Options"))
	require.Contains(t, r.Header().Get("Content-Security-Policy"), "sandbox")
}
