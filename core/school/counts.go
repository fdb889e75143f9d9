package school

import (
	"cmp"
	"context"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// Policy says which of a user's submissions to an assignment counts.
type Policy string

// The policies. An assignment without one has CountsNewest.
const (
	CountsNewest Policy = "newest" // the newest one
	CountsBest   Policy = "best"   // the one with the best score, after penalties; of equal ones the first
	CountsFinal  Policy = "final"  // the newest final one; the newest public one until there is a final one
)

// Policies returns all policies, the default first.
func Policies() []Policy { return []Policy{CountsNewest, CountsBest, CountsFinal} }

// Rules say which submission to an assignment counts, and what lateness costs.
//
//	submission counts          if
//	graded by a person         always, before all that are not
//	final                      the policy is final: before all public ones
//	best score after penalty   the policy is best: before all with a lower score or none
//	newest                     nothing above tells them apart; of equal scores under best, the oldest
//
//	lateness                   costs
//	up to Grace after due      nothing: it is not late
//	each started day           Penalty percent of the score, unless a late day of the class's budget covers it
//	any                        nothing below Floor percent of the score
//	graded by a person         nothing
//
// Late days do not take part in the choice of the submission that counts, so that a better score is never a reason to
// spend them without need. CountAll covers late submissions in order of their due dates.
type Rules struct {
	Counts   Policy   `json:"counts,omitempty"`          // "" is CountsNewest
	Grace    int      `json:"grace_minutes,omitempty"`   // after the due date
	Penalty  float64  `json:"penalty_percent,omitempty"` // of the score, for each started day after the due date
	Floor    float64  `json:"floor_percent,omitempty"`   // of the score, which penalties leave at least
	Required []string `json:"required,omitempty"`        // paths of files that every submission must have
}

// Bounds of rules.
const (
	MaxGrace    = 7 * 24 * 60 // minutes
	MaxRequired = 50
	MaxLateDays = 366
)

// Policy returns the policy that holds.
func (r Rules) Policy() Policy { return cmp.Or(r.Counts, CountsNewest) }

// Check returns INVALID or LIMIT.
func (r Rules) Check(id string) error {
	bad := func(n float64) bool { return math.IsNaN(n) || n < 0 || n > 100 }
	switch {
	case !slices.Contains(Policies(), r.Policy()):
		return core.Errorf(core.CodeInvalid, id, "%.40q does not say which submission counts: use %s, %s or %s", r.Counts, CountsNewest, CountsBest, CountsFinal)
	case r.Grace < 0 || r.Grace > MaxGrace:
		return core.Errorf(core.CodeInvalid, id, "a grace period of %d minutes is not possible: use 0 to %d", r.Grace, MaxGrace)
	case bad(r.Penalty):
		return core.Errorf(core.CodeInvalid, id, "a penalty of %v percent a day is not possible: use 0 to 100", r.Penalty)
	case bad(r.Floor):
		return core.Errorf(core.CodeInvalid, id, "a floor of %v percent is not possible: use 0 to 100", r.Floor)
	case len(r.Required) > MaxRequired:
		return core.Errorf(core.CodeLimit, id, "%d files are required, at most %d are allowed", len(r.Required), MaxRequired)
	}
	for i, path := range r.Required {
		if !fs.ValidPath(path) || path == "." {
			return core.Errorf(core.CodeInvalid, id, "required file %.80q is not a path that is relative, clean and without ..", path)
		}
		if slices.Contains(r.Required[:i], path) {
			return core.Errorf(core.CodeInvalid, id, "required file %.80q is named twice", path)
		}
	}
	return nil
}

// Missing returns the required files that are not among the given ones.
func (r Rules) Missing(files []core.File) []string {
	var missing []string
	for _, path := range r.Required {
		if !slices.ContainsFunc(files, func(f core.File) bool { return f.Path == path }) {
			missing = append(missing, path)
		}
	}
	return missing
}

// day is the unit of lateness.
const day = 24 * time.Hour

// DaysLate returns how many days after the due date a time is, started ones included; 0 within the grace period. The
// assignment has the user's personal deadline.
func (a *Assignment) DaysLate(at int64) int {
	late := at - a.Due
	if a.Due == 0 || late <= int64(a.Grace)*time.Minute.Milliseconds() || late <= 0 {
		return 0
	}
	return int((late + day.Milliseconds() - 1) / day.Milliseconds())
}

// After returns what is left of a score after a penalty for some days. A score below zero has none.
func (r Rules) After(score float64, days int) float64 {
	if score <= 0 || days <= 0 || r.Penalty == 0 {
		return score
	}
	return score * max(100-r.Penalty*float64(days), r.Floor, 0) / 100
}

// Candidate is what decides whether a submission counts.
type Candidate struct {
	ID     string
	Kind   string // public or final
	At     int64
	Graded bool     // by a person
	Score  *float64 // the grade's, else the result's; nil while there is none
}

// Leads reports whether x counts rather than y, by the table of Rules. The assignment has the user's personal
// deadline.
func (a *Assignment) Leads(x, y Candidate) bool {
	if x.Graded != y.Graded {
		return x.Graded
	}
	switch a.Policy() {
	case CountsNewest: // by time alone
	case CountsFinal:
		if final := x.Kind == "final"; final != (y.Kind == "final") {
			return final
		}
	case CountsBest:
		if (x.Score == nil) != (y.Score == nil) {
			return x.Score != nil
		}
		if x.Score != nil {
			return cmp.Or(cmp.Compare(a.worth(y), a.worth(x)), strings.Compare(x.ID, y.ID)) < 0
		}
	}
	return x.ID > y.ID
}

// worth is a score after the penalty, as if there were no late days.
func (a *Assignment) worth(c Candidate) float64 {
	if c.Graded {
		return *c.Score
	}
	return a.After(*c.Score, a.DaysLate(c.At))
}

// Leading returns the place of the submission that counts; -1 if there is none.
func (a *Assignment) Leading(all []Candidate) int {
	best := -1
	for i := range all {
		if best < 0 || a.Leads(all[i], all[best]) {
			best = i
		}
	}
	return best
}

// SameOrder reports whether two states of an assignment agree on which submission of each user counts, whatever was
// submitted. It may say no without need.
func (a *Assignment) SameOrder(b *Assignment) bool {
	if a.Policy() != CountsBest || b.Policy() != CountsBest {
		return a.Policy() == b.Policy()
	}
	return a.Due == b.Due && a.Grace == b.Grace && a.Penalty == b.Penalty && a.Floor == b.Floor
}

// Lead is the submission of a user to an assignment that counts, in short.
type Lead struct {
	Class      string             `json:"class"`
	Assignment string             `json:"assignment"` // its handle
	User       string             `json:"user"`
	Submission string             `json:"submission"` // its id
	Kind       string             `json:"kind"`
	At         int64              `json:"at_ms"`
	State      core.RequestState  `json:"state,omitempty"` // as in Standing
	Blame      core.Blame         `json:"blame,omitempty"`
	Score      *float64           `json:"score"`
	MaxScore   *float64           `json:"max_score"`
	Outcome    core.ResultOutcome `json:"outcome"`
	Grade      *Grade             `json:"grade,omitempty"`
}

// Graded applies the grade of a person, which takes precedence over the result.
func (l *Lead) Graded() {
	s := Submission{Grade: l.Grade}.Standing(l.State, l.Blame, l.Outcome, l.Score, l.MaxScore)
	l.Score, l.MaxScore, l.Outcome = s.Score, s.MaxScore, s.Outcome
}

// Counted is a submission that counts, with what its lateness costs.
type Counted struct {
	Lead
	DaysLate int      `json:"days_late,omitempty"` // started days after the due date
	Spent    int      `json:"late_days,omitempty"` // of the class's late days, which cover as many days
	Final    *float64 `json:"final"`               // the score after the penalty
}

// Cost returns by how much lateness lowers the score.
func (c *Counted) Cost() float64 {
	if c.Score == nil || c.Final == nil {
		return 0
	}
	return *c.Score - *c.Final
}

// Stands returns the outcome by the score after the penalty.
func (c *Counted) Stands() core.ResultOutcome {
	if c.Cost() > 0 {
		return core.OutcomeOfScore(*c.Final, c.MaxScore)
	}
	return c.Outcome
}

// CountAll returns what the submissions of one user that count in one class are worth, in the order given: penalties
// for each, after the class's late days have covered what they can, in order of due date. The assignments, by handle,
// have the user's personal deadlines. Leads of other assignments are worth nothing.
func CountAll(lateDays int, assignments map[string]*Assignment, leads []Lead) []Counted {
	all := make([]Counted, len(leads))
	order := make([]int, 0, len(leads))
	for i := range leads {
		all[i].Lead = leads[i]
		a := assignments[leads[i].Assignment]
		if a == nil {
			continue
		}
		all[i].DaysLate = a.DaysLate(leads[i].At)
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := assignments[all[i].Assignment], assignments[all[j].Assignment]
		return cmp.Or(cmp.Compare(a.Due, b.Due), strings.Compare(a.Handle, b.Handle))
	})
	for _, i := range order {
		c, a := &all[i], assignments[all[i].Assignment]
		if c.Score == nil {
			continue
		}
		left := *c.Score
		if c.Grade == nil && c.DaysLate > 0 {
			if spent := min(c.DaysLate, lateDays); a.After(left, c.DaysLate-spent) > a.After(left, c.DaysLate) {
				c.Spent = spent
				lateDays -= spent
			}
			left = a.After(left, c.DaysLate-c.Spent)
		}
		c.Final = &left
	}
	return all
}

// Leads reads which submissions count.
type Leads interface {
	// Leads returns the submissions that count of the given users, at most 1000, in all assignments of a class, in
	// order of user and assignment.
	Leads(ctx context.Context, class string, users []string) ([]Lead, error)
}
