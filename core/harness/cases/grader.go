package cases

import (
	"fmt"
	"strconv"
	"strings"
)

// graderWords are what graders of Kattis call verdicts. What is none of these is a run-time error.
var graderWords = map[string]string{Accepted: "AC", WrongAnswer: "WA", TimeLimit: "TLE"}

// Results is the standard input of a grader: a line for each test that ran, with its title, verdict and points.
func (r *Report) Results(p *Plan) string {
	var b strings.Builder
	for i, t := range p.Tests() {
		o := &r.Outcomes[i]
		if o.Verdict == Skipped {
			continue
		}
		word := graderWords[o.Verdict]
		if word == "" {
			word = "RTE"
		}
		if o.Verdict == WrongAnswer && o.Share > 0 { // it has part of the points
			word = "AC"
		}
		fmt.Fprintf(&b, "%s %s %s\n", strings.ReplaceAll(t.Title(), " ", "_"), word, strconv.FormatFloat(o.Share*t.Points, 'g', -1, 64))
	}
	return b.String()
}

// Grade reads what a grader says of all tests: a verdict, and points, which count if it is AC.
func (c *Checker) Grade(said string) (points float64, fault string) {
	words := strings.Fields(said)
	if len(words) != 2 {
		return 0, "it does not print one verdict and the points"
	}
	switch words[0] {
	case "AC":
	case "WA", "TLE", "RTE":
		return 0, ""
	default:
		return 0, fmt.Sprintf("its verdict %q is not AC, WA, TLE or RTE", shorten(words[0]))
	}
	points, err := strconv.ParseFloat(words[1], 64)
	if err != nil || !(points >= 0 && points <= c.Points) {
		return 0, fmt.Sprintf("its points %q are no number from 0 to %g", shorten(words[1]), c.Points)
	}
	return points, ""
}
