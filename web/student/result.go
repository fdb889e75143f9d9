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
	Headline string
	Build    *build  // what the compiler said; nil unless the build failed
	Tests    []test  // those with something to say of their own
	Hidden   []test  // those whose input and output are not shown, in a line
	Skipped  []test  // those that did not run, in a line
	Strip    []test  // all, as squares
	Groups   []group // of them; nil for fewer than two
	Passed   int     // of the tests
	Count    int     // of the tests; a build that failed is none
	Wait     int64   // ms from its submission to its start; -1 if it was never run
	Ran      int64   // ms that it ran; -1 if it did not
	Timed    bool    // there are times to show
	Exit     bool    // its exit status is worth showing
}

type test struct {
	core.Test
	N       int // its place in the result, from 1
	Badge   badge
	Outcome core.ResultOutcome
	Lead    string // Markdown
	Columns []column
	Blanks  bool   // the columns show blanks
	Of      string // its group, unless its name contains it
	Open    bool   // its details are shown at once
}

// readResult reads a result for pages. Files are those that its tests were about; below is the path of the pages that
// show them, "" if there are none.
func readResult(r *page.Request, is *core.Result, files []core.File, below string) *result {
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
	var all []test
	for i := range is.Tests {
		t := &is.Tests[i]
		if t.FailedBuild() && res.Build == nil {
			res.Build = readBuild(t, files, below)
		}
		if t.BuildOnly() {
			continue
		}
		res.Count++
		if t.Passed() {
			res.Passed++
		}
		all = append(all, readTest(r, t, res.Count))
	}
	res.sort(all)
	res.Groups = groupsOf(r, all)
	res.Headline = res.headline(r, all)
	return res
}

// readTest reads the test at a place of its result.
func readTest(r *page.Request, t *core.Test, n int) test {
	m := readMessage(t.Message)
	one := test{Test: *t, N: n, Badge: judged(r, *t), Outcome: outcomeOfTest(t), Lead: t.Message}
	if one.Columns = columns(m); one.Columns != nil {
		one.Lead, one.Blanks = m.lead, blanksCount(one.Columns)
	}
	if !strings.HasPrefix(t.Name, t.Group+"/") {
		one.Of = t.Group
	}
	return one
}

// outcomeOfTest returns what a test's square looks like.
func outcomeOfTest(t *core.Test) core.ResultOutcome {
	switch {
	case t.Passed():
		return core.ResultFull
	case t.Verdict == cases.Skipped:
		return core.ResultCancelled
	case t.FailedBuild():
		return core.ResultBuildError
	case t.Score > 0:
		return core.ResultPartial
	}
	return core.ResultFailed
}

// sort parts tests by how they are shown, and opens the first one that was not passed.
func (res *result) sort(all []test) {
	res.Strip = all
	opened := false
	for _, t := range all {
		switch {
		case t.Verdict == cases.Skipped || res.Build != nil && t.FailedBuild():
			res.Skipped = append(res.Skipped, t)
		case t.Hidden && t.Columns == nil && t.Parts == nil && !strings.Contains(t.Lead, "\n"):
			res.Hidden = append(res.Hidden, t)
		default:
			t.Open = !t.Passed() && !opened
			opened = opened || t.Open
			res.Tests = append(res.Tests, t)
		}
	}
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
	if t.Verdict != "" {
		b.Text = r.TestVerdict(t.Verdict)
	}
	return b
}
