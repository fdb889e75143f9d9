package student

import (
	"strings"

	"drover/core"
	"drover/core/harness/cases"
	"drover/web/page"
)

// result is a result as pages show it.
type result struct {
	*core.Result
	Tests  []test
	Passed int   // of the tests
	Count  int   // of the tests; a build that failed is none
	Wait   int64 // ms from its submission to its start; -1 if it was never run
	Ran    int64 // ms that it ran; -1 if it did not
	Timed  bool  // there are times to show
	Exit   bool  // its exit status is worth showing
}

type test struct {
	core.Test
	Badge      badge
	Difference []change
	Of         string // its group, unless its name contains it
	Open       bool   // its details are shown at once
}

func readResult(r *page.Request, is *core.Result) *result {
	if is == nil {
		return nil
	}
	res := &result{Result: is, Wait: -1, Ran: -1}
	if t := is.Times; t.Started >= 0 && t.Submitted > 0 {
		res.Wait = t.Started
		if t.Finished >= t.Started {
			res.Ran = t.Finished - t.Started
		}
	}
	res.Timed = res.Wait >= 0 || is.Usage != core.Usage{} || is.Attempt > 0
	res.Exit = is.Host != "" || is.Signal != ""
	for _, t := range is.Tests {
		one := test{Test: t, Badge: judged(r, t), Difference: difference(t.Message)}
		one.Open = one.Badge.Kind != "good" && t.Verdict != cases.Skipped
		if !t.BuildOnly() {
			res.Count++
		}
		if t.Passed() {
			res.Passed++
		}
		if !strings.HasPrefix(t.Name, t.Group+"/") {
			one.Of = t.Group
		}
		res.Tests = append(res.Tests, one)
	}
	return res
}

// judged returns the badge of a test: by its points, in the harness's own word if there is one.
func judged(r *page.Request, t core.Test) badge {
	b := badge{"bad", r.T("failed")}
	switch {
	case t.Passed():
		b = badge{"good", r.T("passed")}
	case t.Score > 0:
		b = badge{"warn", r.T("partly")}
	case t.Verdict == cases.Skipped:
		b.Kind = "" // it has no meaning
	}
	switch known := verdicts[t.Verdict]; {
	case known != "":
		b.Text = r.T(known)
	case t.Verdict != "":
		b.Text = t.Verdict
	}
	return b
}

// verdicts are the texts for the stock harness's words; others are shown unchanged.
var verdicts = map[string]string{
	cases.Accepted:     page.Sentence("passed"),
	cases.WrongAnswer:  page.Sentence("wrong answer"),
	cases.TimeLimit:    page.Sentence("took too long"),
	cases.MemoryLimit:  page.Sentence("too much memory"),
	cases.ProcessLimit: page.Sentence("too many processes"),
	cases.OutputLimit:  page.Sentence("printed too much"),
	cases.RuntimeError: page.Sentence("crashed"),
	cases.BuildError:   page.Sentence("could not be built"),
	cases.Skipped:      page.Sentence("skipped"),
}
