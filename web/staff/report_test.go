package staff_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestReport(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := hw1 + "/report"
	require.Contains(t, w.shows("tina", at), "no results of tests yet")
	s := w.submit("ann", "hw1")
	ended := func(shaky float64) func(r *core.Result) {
		return func(r *core.Result) {
			r.Tests = []core.Test{
				{Name: "quick", Score: 1, MaxScore: 1, Usage: &core.Usage{WallMs: 5}},
				{Name: "shaky " + evil, Score: shaky, MaxScore: 1, Usage: &core.Usage{WallMs: 1500}},
			}
		}
	}
	w.grade(ended(1))
	text := w.shows("tina", at)
	require.Contains(t, text, "Unknown: nothing")
	require.Contains(t, text, "1.5 s")
	require.Less(t, strings.Index(text, "shaky"), strings.Index(text, "quick"), "the slow ones first")
	require.NotContains(t, text, "<script>alert")
	require.NoError(t, w.reg.Resubmit(t.Context(), w.as("tess"), s.ID))
	w.grade(ended(1))
	require.Contains(t, w.shows("tina", at), "None: all repeated runs ended the same.")
	require.NoError(t, w.reg.Resubmit(t.Context(), w.as("tess"), s.ID))
	w.grade(ended(0))
	text = w.shows("tina", at)
	require.Contains(t, text, "<strong>1</strong>")
	require.Contains(t, text, "2 (66 %)")
	require.NotContains(t, text, "Unknown: nothing")
}
