package classes

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/school"
)

// Tally counts what counts of the students of a class for one assignment.
type Tally struct {
	school.Assignment `json:"-"`

	Handle    string       `json:"handle"`
	Hidden    bool         `json:"hidden,omitempty"` // from students
	Students  int          `json:"students"`         // in the class
	Submitted int          `json:"submitted"`
	Waiting   int          `json:"waiting"`   // for their tests, or while they run
	Fault     int          `json:"fault"`     // of the platform or the harness
	Questions int          `json:"questions"` // of students, without an answer
	Ungraded  int          `json:"ungraded"`  // no score, and no tests that may yet give one; faults are not counted
	Scores    Distribution `json:"scores"`
}

// Needs sums up what staff of a class have to look at.
type Needs struct {
	Waiting   int `json:"waiting"`
	Fault     int `json:"fault"`
	Ungraded  int `json:"ungraded"`
	Questions int `json:"questions"`
}

// Any reports whether there is something.
func (n Needs) Any() bool { return n != Needs{} }

// Overview is a class as its staff sees it at a glance.
type Overview struct {
	Students int     `json:"students"`
	Needs    Needs   `json:"needs"`
	Setup    Setup   `json:"setup"`
	Tallies  []Tally `json:"assignments"` // what is due next first
}

// Overview counts what counts of all students in all assignments of a class. Returns NOTFOUND, FORBIDDEN.
func (r *Service) Overview(ctx context.Context, a core.Actor, class string) (Overview, error) {
	if _, err := r.class(ctx, a, class, core.ActGradeView); err != nil {
		return Overview{}, err
	}
	assignments, err := r.visible(ctx, a, class)
	if err != nil {
		return Overview{}, err
	}
	o := Overview{Tallies: make([]Tally, len(assignments))}
	now := r.now().UnixMilli()
	slices.SortStableFunc(assignments, func(x, y school.Assignment) int { return dueFirst(x, y, now) })
	by := make(map[string]int, len(assignments))
	scores := make([][]float64, len(assignments))
	var first []string // students
	for i, as := range assignments {
		o.Tallies[i] = Tally{Assignment: as, Handle: as.Handle, Hidden: r.hidden(as)}
		by[as.Handle] = i
	}
	for after := ""; ; {
		members, err := r.Store.Members(ctx, class, after, page)
		if err != nil {
			return Overview{}, err
		}
		var users []string
		for _, m := range members {
			if after = m.User; m.Role == core.RoleStudent {
				users = append(users, m.User)
			}
		}
		o.Students += len(users)
		if len(first) == 0 {
			first = users
		}
		leads, err := r.Store.Leads(ctx, class, users)
		if err != nil {
			return Overview{}, err
		}
		for i := range leads {
			if at, is := by[leads[i].Assignment]; is {
				scores[at] = o.Tallies[at].count(&leads[i], scores[at])
			}
		}
		if len(members) < page {
			break
		}
	}
	questions, err := r.CountQuestions(ctx, a, []string{class})
	if err != nil {
		return Overview{}, err
	}
	for _, q := range questions {
		if at, is := by[q.Assignment]; is {
			o.Tallies[at].Questions = q.Open
		}
	}
	o.sum(scores)
	return o, r.setUp(ctx, &o, first)
}

// sum adds up what the assignments have.
func (o *Overview) sum(scores [][]float64) {
	for i := range o.Tallies {
		t := &o.Tallies[i]
		t.Students = o.Students
		t.Scores.spread(scores[i])
		o.Needs.Waiting += t.Waiting
		o.Needs.Fault += t.Fault
		o.Needs.Ungraded += t.Ungraded
		o.Needs.Questions += t.Questions
	}
}

// count adds a submission, and its score to those of the others.
func (t *Tally) count(l *school.Lead, scores []float64) []float64 {
	t.Submitted++
	if l.MaxScore != nil {
		t.Scores.Max = max(t.Scores.Max, *l.MaxScore)
	}
	switch {
	case l.Outcome == core.ResultWaiting || l.Outcome == core.ResultRunning:
		t.Waiting++
	case l.Outcome == core.ResultFault:
		t.Fault++
	case l.Score == nil:
		t.Ungraded++
	}
	if l.Score != nil {
		scores = append(scores, *l.Score)
	}
	return scores
}
