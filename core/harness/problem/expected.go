package problem

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"drover/core"
)

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Unmet says what of the submission's expectations did not come true, "" if all did: by a grading as students have it, and
// by one that ran all tests.
func (s *Submission) Unmet(graded, every *core.Result) string {
	for i := range s.Expected {
		if why := s.Expected[i].unmet(graded, every); why != "" {
			return why
		}
	}
	return ""
}

func (e *Expectation) unmet(graded, every *core.Result) string {
	of := func(r *core.Result) []core.Test {
		if e.Tests == "" {
			return r.Tests
		}
		which := expand(e.Tests)
		return slices.DeleteFunc(slices.Clone(r.Tests), func(t core.Test) bool { return !matches(which, t.Name) && t.Verdict != core.TestBuildError })
	}
	tests := of(every)
	if len(tests) == 0 {
		return fmt.Sprintf("no test is called %s", e.Tests)
	}
	required := len(e.Required) == 0
	for i := range tests {
		t := &tests[i]
		is := outcomeOf(t)
		if is == "" && t.Verdict != core.TestSkipped {
			is = Accepted
		}
		if len(e.Permitted) > 0 && !among(e.Permitted, is) {
			return fmt.Sprintf("%s: %s, and %s is permitted", t.Name, t.Verdict, Either(e.Permitted))
		}
		required = required || among(e.Required, is)
	}
	if !required {
		return fmt.Sprintf("no test ends with %s, which is required", Either(e.Required))
	}
	if len(e.Score) > 0 {
		score := 0.0
		for _, t := range of(graded) {
			score += t.Score
		}
		if e.Tests == "" && graded.Score != nil { // a grader has computed it
			score = *graded.Score
		}
		const near = 1e-6
		if score < e.Score[0]-near || score > e.Score[1]+near || math.IsNaN(score) {
			return fmt.Sprintf("%s points, and %s to %s are expected", number(score), number(e.Score[0]), number(e.Score[1]))
		}
	}
	if e.Message != "" && !said(every, tests, e.Message) {
		return fmt.Sprintf("no message for judges contains %q", e.Message)
	}
	return ""
}

// said reports whether what the validator has said to judges about one of the tests contains a text.
func said(r *core.Result, tests []core.Test, text string) bool {
	about := ""
	for line := range strings.SplitSeq(r.Stderr, "\n") {
		for i := range r.Tests {
			if strings.HasPrefix(line, r.Tests[i].Name+": ") {
				about = r.Tests[i].Name
			}
		}
		if strings.Contains(line, text) && slices.ContainsFunc(tests, func(t core.Test) bool { return t.Name == about }) {
			return true
		}
	}
	return false
}
