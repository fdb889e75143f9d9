package student_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/web/browsertest"
)

// What differs at the end of a long line is seen without scrolling sideways, on a phone, too.
func TestLongLinesInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	begins := strings.Repeat("1234567 ", 60) + strings.Repeat("x", 400)
	w.grade(func(r *core.Result) {
		r.Tests = []core.Test{{Name: "long", MaxScore: 1, Verdict: core.TestWrongAnswer, Message: "Expected:\n```\n" + begins + " 9\n```\n\nPrinted:\n```\n" + begins + " 10\n```\n"}}
	})
	tab := browsertest.Start(t).Tab(t)
	url := w.serve("ann") + at
	for _, width := range []int64{1280, 360} {
		tab.Screen(width, 900, false)
		tab.Goto(url)
		require.InDelta(t, 2, tab.Number(`document.querySelectorAll(".side mark").length`), 0)
		require.LessOrEqual(t, tab.Number(`Math.max(...[...document.querySelectorAll(".side mark")].map(m => m.getBoundingClientRect().right - m.closest("pre").getBoundingClientRect().right))`), 0.0)
		require.LessOrEqual(t, tab.Overflow(), 0)
	}
}
