package student_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"drover/core"
)

// Groups have their points; one whose tests all passed is closed, and groups inside others are indented.
func TestPointsByGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1", sent{"files", "a.py", "x"})
	w.grade(func(r *core.Result) {
		r.Tests = []core.Test{
			{Name: "s/1", Group: "s", Verdict: "accepted", Score: 1, MaxScore: 1},
			{Name: "s/a/1", Group: "s/a", Verdict: "accepted", Score: 20, MaxScore: 20},
			{Name: "s/a/2", Group: "s/a", Verdict: "wrong_answer", MaxScore: 20},
			{Name: "b/1", Group: "b", Verdict: "skipped", MaxScore: 5},
		}
	})
	body := w.get("ann", at)
	assert.Regexp(t, `(?s)<li>\s*<details>\s*<summary>[^/]*.*?<strong>s</strong>\s*1 of 1\s*<small>· 1 of 1 tests passed`, body)
	assert.Regexp(t, `(?s)<li class="deep">\s*<details open>\s*<summary>.*?<strong>s/a</strong>\s*20 of 40\s*<small>· 1 of 2 tests passed.*?href="#t3"`, body)
	assert.Regexp(t, `(?s)o-cancelled.*?<strong>b</strong>\s*0 of 5`, body)
}
