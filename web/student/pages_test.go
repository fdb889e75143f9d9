package student_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

// A student goes from the first page to a result.
func TestTheWayFromHomeToAResult(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	home := w.get("ann", "/")
	require.Contains(t, home, `href="/classes/cs101"`)
	require.Contains(t, home, `href="/classes/cs101/assignments/hw1"`)
	require.Contains(t, home, "not submitted yet")
	require.NotContains(t, home, "cs202")
	require.Contains(t, w.get("ann", "/classes/cs101"), "The hw1")
	as := w.get("ann", "/classes/cs101/assignments/hw1")
	require.Contains(t, as, "<strong>sort</strong>")
	require.Contains(t, as, `enctype="multipart/form-data"`)

	once := []sent{{"key", "", "once"}, {"files", "main.py", "print()"}}
	at := w.submitTo("ann", "hw1", once...)
	require.Equal(t, at, w.submitTo("ann", "hw1", once...), "a double click is one submission")
	waits := w.get("ann", at)
	require.Contains(t, waits, "</svg>waiting</span>")
	require.Contains(t, waits, "data-events=")
	require.Contains(t, waits, "Stop its tests")
	w.grade(func(r *core.Result) {
		r.Tests = []core.Test{{Name: "sorts", Score: 7, MaxScore: 10, Message: "nearly *right*", Parts: []core.Part{{Name: "one", Score: 1, MaxScore: 2}}}}
	})
	done := w.get("ann", at)
	require.Contains(t, done, "7 of 10")
	require.Contains(t, done, "nearly <em>right</em>")
	require.NotContains(t, done, "data-events=")
	require.NotContains(t, done, "hidden test 3", "what a harness prints is for staff")
	require.Contains(t, w.get("tess", at), `<summary>What the harness printed</summary><pre tabindex="0">hidden test 3`, "its report is below what was read of it")
	home = w.get("ann", "/")
	require.Contains(t, home, `<a class="quiet" href="`+at+`"><span class="pill o-partial">`, "the newest submission and how it stands")
	require.Contains(t, home, `<span class="points">7 of 10</span>`)
	require.Contains(t, w.get("ann", "/classes/cs101/assignments/hw1"), `href="`+at+`"`)
}

// What ended long ago is shown on demand.
func TestOldAssignmentsAreCounted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	w.pass(30 * day)
	require.NotContains(t, w.get("ann", "/"), "The hw1")
	require.Contains(t, w.get("ann", "/classes/cs101"), "(1 more")
	require.Contains(t, w.get("ann", "/?all=1"), "The hw1")
	require.Equal(t, http.StatusUnprocessableEntity, w.upload("ann", "/classes/cs101/assignments/hw1", sent{"files", "a.py", "x"}).Code)
	require.Contains(t, w.get("ann", "/classes/cs101/assignments/hw1"), "Submissions are closed")
}

// A build that failed is not one of the tests, and the list does not call it tested.
func TestABuildThatFailedPassesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	w.grade(func(r *core.Result) {
		*r.Score = 0
		r.Tests = []core.Test{
			{Name: "build", Verdict: "build error", Message: "build error: it ended with exit code 1"},
			{Name: "one", MaxScore: 5, Verdict: "skipped"},
			{Name: "two", MaxScore: 5, Verdict: "skipped"},
		}
	})
	require.Contains(t, w.get("ann", at), "0 of 2 tests passed")
	for _, path := range []string{at, "/", "/classes/cs101/assignments/hw1"} {
		require.Contains(t, w.get("ann", path), `<span class="pill o-build_error">`, path)
	}
}

// A test that was not run is no fault of its own, and is not opened.
func TestSkippedTestsTellNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	w.grade(func(r *core.Result) {
		r.Tests = []core.Test{
			{Name: "g/first", Group: "g", MaxScore: 1, Verdict: "wrong answer"},
			{Name: "g/second", Group: "g", MaxScore: 1, Verdict: "skipped", Message: "an earlier test was not passed"},
			{Name: "third", Group: "h", Score: 1, MaxScore: 1},
		}
	})
	page := w.get("ann", at)
	require.Contains(t, page, `<details class="card test" id="t1" open>`)
	require.NotRegexp(t, `id="t[23]" open>`, page)
	require.NotContains(t, page, "an earlier test was not passed")
	require.Regexp(t, `Not run:\s*<span id="t2">`, page)
	require.Contains(t, page, "1 of 3 tests passed")
	require.Contains(t, page, "<small>· h</small>")
	require.NotContains(t, page, "<small>· g</small>", "its name says so")
}
