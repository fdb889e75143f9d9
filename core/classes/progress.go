package classes

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/harness"
	"drover/core/school"
)

// Buckets is how many equal parts a distribution has.
const Buckets = 10

// Progress counts how far a class has come with an assignment. Only students count, each with the submission that counts, and its score
// after penalties.
type Progress struct {
	Students  int `json:"students"`  // in the class
	Submitted int `json:"submitted"` // of these, with a submission
	Finals    int `json:"finals"`    // of these, whose submission that counts is final
	Late      int `json:"late"`
	Waiting   int `json:"waiting"`  // for test results
	Ungraded  int `json:"ungraded"` // without a score: the distribution leaves them out

	Outcomes     []core.OutcomeCount `json:"outcomes"` // how the submissions stand
	Distribution Distribution        `json:"distribution"`
}

// Distribution is how the scores are spread, of submissions that have one: what waits, what was stopped and what our
// fault ended is no 0.
type Distribution struct {
	Max    float64      `json:"max"` // the maximum score; 0 if it is not known
	Mean   float64      `json:"mean"`
	Median float64      `json:"median"`
	Counts [Buckets]int `json:"counts"` // equal parts from 0 to Max; the last one includes Max
}

// Progress counts the submissions to an assignment. Returns NOTFOUND, FORBIDDEN.
func (r *Service) Progress(ctx context.Context, a core.Actor, class, assignment string) (Progress, error) {
	as, err := r.assignment(ctx, a, class, assignment, core.ActGradeView, "")
	if err != nil {
		return Progress{}, err
	}
	students, err := r.students(ctx, class)
	if err != nil {
		return Progress{}, err
	}
	p := Progress{Students: len(students)}
	var scores []float64
	outcomes := map[core.ResultOutcome]int{}
	for after := ""; ; {
		some, err := r.Store.Standings(ctx, class, assignment, after, page)
		if err != nil {
			return Progress{}, err
		}
		if err := school.Penalise(ctx, r.Store, &as, some); err != nil {
			return Progress{}, err
		}
		for i := range some {
			if after = some[i].Submission.User; students[after] {
				outcomes[some[i].Outcome]++
				if score := p.count(some[i]); score != nil {
					scores = append(scores, *score)
				}
			}
		}
		if len(some) < page {
			p.Distribution.spread(scores)
			p.Outcomes = core.CountedOutcomes(outcomes)
			return p, nil
		}
	}
}

// students returns the students of a class.
func (r *Service) students(ctx context.Context, class string) (map[string]bool, error) {
	all := map[string]bool{}
	for after := ""; ; {
		some, err := r.Store.Members(ctx, class, after, page)
		if err != nil {
			return nil, err
		}
		for _, e := range some {
			if after = e.User; e.Role == core.RoleStudent {
				all[e.User] = true
			}
		}
		if len(some) < page {
			return all, nil
		}
	}
}

// noPoints is the score of a submission that its tests ended without points.
var noPoints = new(float64)

// count adds a submission and returns its score: 0 where its own fault ended the tests, nil where it has none (yet).
func (p *Progress) count(s school.Standing) *float64 {
	p.Submitted++
	if s.Submission.Kind == harness.TestFinal {
		p.Finals++
	}
	if s.Submission.Late {
		p.Late++
	}
	if statusOf(s) == StatusWaiting {
		p.Waiting++
	}
	if s.MaxScore != nil {
		p.Distribution.Max = max(p.Distribution.Max, *s.MaxScore)
	}
	if s.Score != nil {
		return s.Score
	}
	if s.Outcome == core.ResultFailed || s.Outcome == core.ResultBuildError {
		return noPoints
	}
	p.Ungraded++
	return nil
}

func (d *Distribution) spread(scores []float64) {
	if len(scores) == 0 {
		return
	}
	slices.Sort(scores)
	d.Max = max(d.Max, scores[len(scores)-1])
	sum := 0.0
	for _, score := range scores {
		sum += score
		place := 0
		if d.Max > 0 {
			place = min(max(int(score/d.Max*Buckets), 0), Buckets-1)
		}
		d.Counts[place]++
	}
	n := len(scores)
	d.Mean, d.Median = sum/float64(n), (scores[(n-1)/2]+scores[n/2])/2
}

// Spark is a bar of a small picture of a distribution, 100 wide and 24 high.
type Spark struct{ X, Y, Height int }

// Bars returns the distribution as a small picture.
func (d Distribution) Bars() []Spark {
	const high = 24
	most := max(slices.Max(d.Counts[:]), 1)
	all := make([]Spark, len(d.Counts))
	for i, n := range d.Counts {
		height := max(n*high/most, min(n, 1), 0)
		all[i] = Spark{i*100/Buckets + 1, high - height, height}
	}
	return all
}

// Words returns the counts as text.
func (d Distribution) Words() string {
	all := make([]string, len(d.Counts))
	for i, n := range d.Counts {
		all[i] = strconv.Itoa(n)
	}
	return strings.Join(all, ", ")
}
