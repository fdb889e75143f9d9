package student_test

import (
	"fmt"
	"html"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
)

// Every end of a submission says whose fault it is, in both languages.
func TestEveryEnd(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/students.md")
	require.NoError(t, err)
	for _, test := range []struct {
		state      core.RequestState
		blame      core.Blame
		limit      string
		pill, says string
	}{
		{core.RequestCompleted, core.BlameNone, "", "received", ""},
		{core.RequestCancelled, core.BlameNone, "", "cancelled", "Nothing is wrong with this submission"},
		{core.RequestDead, core.BlamePlatform, "", "our fault", "tried several times"},
		{core.RequestFailed, core.BlamePlatform, "", "our fault", "This is not your fault"},
		{core.RequestFailed, core.BlameHarness, "", "our fault", "This is probably not your fault"},
		{core.RequestTimedOut, core.BlameHarness, core.LimitTime, "our fault", "This is probably not your fault"},
		{core.RequestFailed, core.BlameSubmission, "", "no points", "fix it and submit it again"},
		{core.RequestFailed, core.BlameSubmission, core.LimitMemory, "no points", "memory limit"},
		{core.RequestFailed, core.BlameSubmission, core.LimitPids, "no points", "limit of processes"},
		{core.RequestFailed, core.BlameSubmission, core.LimitOutput, "no points", "output limit"},
		{core.RequestTimedOut, core.BlameSubmission, core.LimitTime, "no points", "ran for too long"},
		{core.RequestTimedOut, core.BlameNone, core.LimitTime, "no points", "ran for too long"},
		{core.RequestTimedOut, core.BlameNone, "", "our fault", "waited too long"},
		{core.RequestFailed, core.BlameNone, "", "no points", "could not be completed"},
	} {
		t.Run(fmt.Sprint(test.state, test.blame, test.limit), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.graded("hw1")
			at := w.submitTo("ann", "hw1")
			w.grade(func(r *core.Result) {
				r.State, r.Blame, r.Limit, r.Score, r.MaxScore = test.state, test.blame, test.limit, nil, nil
				if test.state != core.RequestCompleted {
					r.Reason = "the <b>reason</b>"
				}
			})
			body := w.get("ann", at)
			assert.Contains(t, body, "</svg>"+test.pill+"</span>")
			assert.Contains(t, body, test.says)
			assert.Equal(t, test.state != core.RequestCompleted, strings.Contains(body, `class="note warn"`))
			assert.Equal(t, test.state != core.RequestCompleted, strings.Contains(body, "/resubmit"))
			assert.Equal(t, test.state != core.RequestCompleted, strings.Contains(body, "the &lt;b&gt;reason&lt;/b&gt;"))
			assert.NotContains(t, body, "data-events=")
			if test.says != "" {
				assert.Contains(t, string(guide), html.UnescapeString(between(t, body, `class="note warn">`, "</p>")), "students can read of it")
			}
			w.language = "de"
			german := w.get("ann", at)
			assert.Contains(t, german, `<html lang="de">`)
			if test.says != "" {
				assert.NotContains(t, german, test.says)
			}
		})
	}
}

// What is expected and what was printed is compared line by line.
func TestDifferenceOfATest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	w.grade(func(r *core.Result) {
		r.Tests = []core.Test{
			{Name: "one", MaxScore: 1, Verdict: "wrong answer", Message: "wrong answer: line 2\n\nExpected:\n```\nsame\n<b>two</b>\nlast\n```\n\nPrinted:\n````\nsame\n```  \nlast\n````\n"},
			{Name: "two", MaxScore: 1, Score: 1, Message: "Expected:\n```\na\n```\nPrinted:\n```\na\n```\n"},
			{Name: "three", MaxScore: 1, Message: "Expected:\nnothing fenced\nPrinted:\n```\nb\n```\n", Verdict: "odd <i>"},
			{Name: "four", MaxScore: 1, Message: "Expected:\n```\n```\n\nPrinted:\n```\nx\t\n```\n"},
		}
	})
	body := w.get("ann", at)
	require.Contains(t, body, "Wrong on one")
	require.Contains(t, body, `<span class="l">same`+"\n"+`</span><span class="l"><mark>&lt;b&gt;two&lt;/b&gt;</mark>`)
	require.Contains(t, body, "<mark>```  </mark>", "blanks do not count where the words differ")
	require.Contains(t, body, "<mark>x→\t</mark>", "a line that nobody expected")
	require.Equal(t, 3, strings.Count(body, `class="want"`))
	require.Equal(t, 1, strings.Count(body, `<details class="card test" id="t1" open`))
	require.Equal(t, 1, strings.Count(body, " open>"), "only the first one that failed")
	require.Contains(t, body, "1 of 4 tests passed")
	require.Contains(t, body, `href="#t3"`)
	require.Contains(t, body, "odd &lt;i&gt;")
	w.language = "de"
	require.Contains(t, w.get("ann", at), "falsche Antwort")
}

// A build that failed says first what the compiler said, and leads to the line.
func TestBuildThatFailed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1", sent{"files", "rle.c", "int main(void) {\n"})
	w.grade(func(r *core.Result) {
		r.Tests = []core.Test{
			{Name: "build", Verdict: core.TestBuildError, Message: "build error: exit code 1\n\n```\nIn file included from /usr/include/x.h:9:\n./rle.c:5:3: error: expected <b>\n```\n"},
			{Name: "runs", MaxScore: 4, Verdict: core.TestSkipped, Message: "skipped\n"},
			{Name: "large", MaxScore: 6, Verdict: core.TestSkipped, Message: "skipped\n"},
		}
	})
	body := w.get("ann", at)
	require.Contains(t, body, "Does not compile: rle.c line 5")
	require.Contains(t, body, "In file included from /usr/include/x.h:9:")
	require.Contains(t, body, `<a href="`+at+`/files/rle.c?lines=5#L5">./rle.c:5:3: error: expected &lt;b&gt;</a>`)
	require.Less(t, strings.Index(body, "What the compiler says"), strings.Index(body, "Not run:"))
	require.Contains(t, body, "0 of 2 tests passed")
	require.NotContains(t, body, `<details class="card test"`, "what did not run is said in a line")
}

// The plot and its words show the scores in order of time.
func TestPlotOfScores(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	const page = "/classes/cs101/assignments/hw1"
	for _, score := range []float64{0, 12, 5} {
		require.NotContains(t, w.get("ann", page), "3 scores")
		w.submitTo("ann", "hw1")
		w.grade(func(r *core.Result) { *r.Score = score })
		w.pass(hour)
	}
	body := w.get("ann", page)
	require.Contains(t, body, "3 scores, from 0 of 10 to 5 of 10.")
	line := strings.Fields(between(t, body, `points="`, `"`))
	require.Len(t, line, 3)
	require.True(t, strings.HasPrefix(line[0], "44,136"), "the first is at the left and worth nothing: %s", line)
	require.True(t, strings.HasPrefix(line[2], "428,"), "the last is at the right: %s", line)
	require.True(t, strings.HasSuffix(line[1], ",12"), "the best is at the top: %s", line)
}

// Without a harness nothing is tested, and nothing waits.
func TestWhatIsOnlyKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("essay")
	body := w.get("ann", w.submitTo("ann", "essay", sent{"kind", "", "final"}, sent{"files", "a.txt", "x"}))
	require.Contains(t, body, ">received</span>")
	require.Contains(t, body, "final")
	require.NotContains(t, body, "data-events=")
	require.NotContains(t, body, "/resubmit")
}
