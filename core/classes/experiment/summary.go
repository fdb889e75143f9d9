package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"drover/core"
	"drover/core/harness"
)

// Cell counts the submissions with one old and one new verdict.
type Cell struct {
	Old   harness.Verdict `json:"old"`
	New   harness.Verdict `json:"new"`
	Count int             `json:"count"`
}

// OutcomeChange counts the submissions with one outcome, before and now.
type OutcomeChange struct {
	Outcome core.ResultOutcome `json:"outcome"`
	Old     int                `json:"old"`
	New     int                `json:"new"`
}

// Summary counts the outcomes of an experiment.
type Summary struct {
	Submissions int    `json:"submissions"`
	Verdicts    int    `json:"verdicts"` // whose verdict differs
	Differ      int    `json:"differ"`   // whose verdict or score differs
	Missing     int    `json:"missing"`  // without a run that could count
	Repeated    int    `json:"repeated"` // with at least two runs that could count
	Flaky       int    `json:"flaky"`    // of those, whose runs disagree
	Gain        int    `json:"gain"`     // whose score rises
	Lose        int    `json:"lose"`     // whose score falls
	Matrix      []Cell `json:"matrix"`   // by old verdict, then new; empty cells are left out

	Outcomes []OutcomeChange `json:"outcomes"` // in order of core.ResultOutcomes, those that there are

	Tests []TestChange `json:"tests"` // of the runs that would count, beside the old ones
}

// Summarize sums outcomes up.
func Summarize(all []Outcome) Summary {
	s := Summary{Submissions: len(all), Matrix: []Cell{}, Tests: sumTests(all)}
	s.Outcomes = sumOutcomes(all)
	cells := map[Cell]int{}
	for i := range all {
		o := &all[i]
		cell := Cell{Old: o.Old.Verdict, New: harness.Unfinished}
		first := o.Counts()
		switch {
		case first != nil:
			cell.New = first.Verdict
			s.Verdicts += count(first.Verdict != o.Old.Verdict)
		case len(o.Runs) > 0:
			cell.New = o.Runs[0].Verdict
			s.Missing++
		}
		cells[cell]++
		held := 0
		for j := range o.Runs {
			held += count(o.Runs[j].holds())
		}
		s.Differ += count(o.Differs)
		s.Repeated += count(held > 1)
		s.Flaky += count(o.Flaky)
		s.Gain += count(o.Difference != nil && *o.Difference > 0)
		s.Lose += count(o.Difference != nil && *o.Difference < 0)
	}
	for cell, n := range cells {
		cell.Count = n
		s.Matrix = append(s.Matrix, cell)
	}
	slices.SortFunc(s.Matrix, func(a, b Cell) int { return cmp.Or(cmp.Compare(a.Old, b.Old), cmp.Compare(a.New, b.New)) })
	return s
}

// sumOutcomes counts outcomes: old ones, and new ones of the runs that would count. Of a submission without such a run
// the first one is counted.
func sumOutcomes(all []Outcome) []OutcomeChange {
	olds, news := map[core.ResultOutcome]int{}, map[core.ResultOutcome]int{}
	for i := range all {
		o := &all[i]
		olds[o.Old.Outcome]++
		if first := o.Counts(); first != nil {
			news[first.Outcome]++
		} else if len(o.Runs) > 0 {
			news[o.Runs[0].Outcome]++
		}
	}
	changes := []OutcomeChange{}
	for _, is := range core.ResultOutcomes() {
		if olds[is] > 0 || news[is] > 0 {
			changes = append(changes, OutcomeChange{is, olds[is], news[is]})
		}
	}
	return changes
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// FlakeRate is the share of repeated submissions whose runs disagree.
func (s *Summary) FlakeRate() float64 {
	if s.Repeated == 0 {
		return 0
	}
	return float64(s.Flaky) / float64(s.Repeated)
}

// Sentence summarizes it in one line.
func (s *Summary) Sentence() string {
	text := fmt.Sprintf("%d of %d submissions get another verdict, %d another verdict or score", s.Verdicts, s.Submissions, s.Differ)
	if s.Gain > 0 || s.Lose > 0 {
		text += fmt.Sprintf("; %d gain points, %d lose", s.Gain, s.Lose)
	}
	if s.Repeated > 0 {
		text += fmt.Sprintf("; flaky: %d of %d (%.1f %%)", s.Flaky, s.Repeated, 100*s.FlakeRate())
	}
	if s.Missing > 0 {
		text += fmt.Sprintf("; without a result: %d", s.Missing)
	}
	return text
}
