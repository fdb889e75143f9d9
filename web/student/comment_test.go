package student_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Staff comment on lines, release, and the student finds the comment from home at its line.
func TestCommentsAtLines(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1", sent{"files", "a.py", "x = 1\ny = 2\nz = 3\nend\n"})
	require.Contains(t, w.get("tess", at+"/code"), `href="?lines=2#L2"`, "a number leads to the form")
	require.NotContains(t, w.get("ann", at+"/files/a.py?lines=2"), `action="`+at+`/comments"`)
	form := w.get("tess", at+"/files/a.py?lines=2-3")
	require.Contains(t, form, `name="last" value="3"`)
	rec := w.post("tess", at+"/comments", url.Values{"file": {"a.py"}, "line": {"2"}, "last": {"3"}, "text": {"Name **it** <script>alert(1)</script>"}})
	require.Equal(t, http.StatusSeeOther, rec.Code, "%s", rec.Body)
	require.Contains(t, rec.Header().Get("Location"), at+"/files/a.py?lines=2-3#c-")
	page := w.get("tess", at+"/files/a.py")
	require.Contains(t, between(t, page, `id="L3"`, `id="L4"`), "Name <strong>it</strong>")
	require.NotContains(t, page, "<script>alert")
	require.NotContains(t, w.get("ann", at+"/files/a.py"), "<strong>it</strong>", "a draft")
	require.NotContains(t, w.get("ann", "/"), "New for you")

	require.Equal(t, http.StatusSeeOther, w.post("tess", at+"/release", nil).Code)
	home := w.get("ann", "/")
	require.Contains(t, home, "New for you")
	require.Contains(t, home, `href="`+at+`/comments"`)
	require.Contains(t, w.get("tess", at+"/comments"), "a.py:2–3")
	require.Contains(t, w.get("ann", at+"/files/a.py"), "<strong>it</strong>")
	require.NotContains(t, w.get("ann", "/"), "New for you", "it was seen")

	bad := w.post("tess", at+"/comments", url.Values{"file": {"a.py"}, "line": {"x"}, "text": {"kept text"}})
	require.Equal(t, http.StatusUnprocessableEntity, bad.Code)
	require.Contains(t, bad.Body.String(), "kept text")
	require.Equal(t, http.StatusForbidden, w.post("ann", at+"/comments", url.Values{"text": {"x"}}).Code)
	require.Equal(t, http.StatusNotFound, w.status("cleo", http.MethodGet, at+"/comments"))
}

func TestQuestionsAreAskedAndAnswered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	require.NotContains(t, w.get("tess", at+"/comments"), at+"/answer", "there is nothing to answer")
	require.Equal(t, http.StatusUnprocessableEntity, w.post("ann", at+"/ask", url.Values{"text": {" "}}).Code)
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/ask", url.Values{"text": {"Why *so*?"}}).Code)
	staff := w.get("tess", at+"/comments")
	require.Contains(t, staff, "Why <em>so</em>?")
	require.Contains(t, staff, `<span class="badge warn">open</span>`)
	require.Contains(t, w.get("tess", "/"), "1 open question")
	require.Contains(t, w.get("tess", "/classes/cs101"), `href="/classes/cs101/assignments/hw1/submissions?only=asked"`)
	require.Equal(t, http.StatusSeeOther, w.post("tess", at+"/answer", url.Values{"text": {"Because."}}).Code)
	require.NotContains(t, w.get("tess", at+"/comments"), `<span class="badge warn">open</span>`)
	require.NotContains(t, w.get("tess", "/"), "open question")
	require.Contains(t, w.get("ann", "/"), "1 answer")
	page := w.get("ann", at+"/comments")
	require.Contains(t, page, "Because.")
	require.Contains(t, page, `<span class="badge calm">new</span>`)
	require.NotContains(t, w.get("ann", at+"/comments"), `<span class="badge calm">new</span>`)

	edit := between(t, page, at+"/comments?edit=", "#")
	require.Contains(t, w.get("ann", at+"/comments?edit="+edit), "Why *so*?</textarea>")
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/comments/"+edit, url.Values{"text": {"Why, please?"}}).Code)
	require.Contains(t, w.get("tess", at+"/comments"), "Why, please?")
	require.Equal(t, http.StatusSeeOther, w.post("ann", at+"/comments/"+edit+"/delete", nil).Code)
	require.NotContains(t, w.get("tess", at+"/comments"), "Why, please?")
	require.Equal(t, 1, strings.Count(w.get("ann", at+"/comments"), "<article"))
}
