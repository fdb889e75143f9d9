package experiment

import (
	"context"
	"slices"
	"strings"

	"drover/core"
	"drover/core/harness"
	"drover/core/school"
)

// Ungraded is the verdict of a submission that was never graded, or whose result is gone.
const Ungraded harness.Verdict = "not graded"

// Run is the result of one request.
type Run struct {
	Request string             `json:"request,omitempty"` // "" if there is none
	Verdict harness.Verdict    `json:"verdict"`
	Score   *float64           `json:"score"`
	Outcome core.ResultOutcome `json:"outcome"` // as a submission with this result stands

	marks []mark // its tests
}

// holds reports whether the run says something about the submission: it has ended, was not stopped, and did not fail
// by a platform fault.
func (r *Run) holds() bool {
	return !slices.Contains([]harness.Verdict{Ungraded, harness.Unfinished, harness.Cancelled, harness.PlatformFault}, r.Verdict)
}

func (r *Run) same(other *Run) bool {
	return r.Verdict == other.Verdict && (r.Score == nil) == (other.Score == nil) && (r.Score == nil || *r.Score == *other.Score)
}

// Outcome is the result of an experiment for one submission.
type Outcome struct {
	Submission string   `json:"submission"`
	User       string   `json:"user,omitempty"` // set by those that display it
	Old        Run      `json:"old"`            // the result that counted when it was rerun
	Runs       []Run    `json:"runs"`           // in order of number
	Difference *float64 `json:"difference"`     // new score that would count minus the old one; nil unless there are both
	Differs    bool     `json:"differs"`        // in verdict or score
	Flaky      bool     `json:"flaky"`          // its runs disagree
}

// Counts returns the run that counts if the experiment is applied: the first that holds;
// nil if none does.
func (o *Outcome) Counts() *Run {
	for i := range o.Runs {
		if o.Runs[i].holds() {
			return &o.Runs[i]
		}
	}
	return nil
}

// settle computes the fields that follow from the runs.
func (o *Outcome) settle() {
	first := o.Counts()
	if first == nil {
		return
	}
	o.Differs = !first.same(&o.Old)
	if first.Score != nil && o.Old.Score != nil {
		by := *first.Score - *o.Old.Score
		o.Difference = &by
	}
	for i := range o.Runs {
		o.Flaky = o.Flaky || o.Runs[i].holds() && !o.Runs[i].same(first)
	}
}

// Results reads results.
type Results interface {
	Get(ctx context.Context, id string) (core.Row, error)
	List(ctx context.Context, f core.Filter) ([]core.Row, error)
}

// rowsAtOnce is how many requests, with the reports of their tests, are read at once.
const rowsAtOnce = 100

// Outcomes reads the results of an experiment so far, in order of submission. It keeps only a short record of each.
func Outcomes(ctx context.Context, store Results, e school.Experiment) ([]Outcome, error) {
	by := map[string]*Outcome{}
	err := eachRequest(ctx, store, e.ID, nil, func(row *core.Row) error {
		o := by[row.Spec.Submission]
		if o == nil {
			o = &Outcome{Submission: row.Spec.Submission, Old: Run{Request: row.Spec.Instead, Verdict: Ungraded, Outcome: core.ResultReceived}, Runs: make([]Run, e.Repeat)}
			for i := range o.Runs {
				o.Runs[i].Verdict, o.Runs[i].Outcome = Ungraded, core.ResultReceived
			}
			by[row.Spec.Submission] = o
		}
		for i := range o.Runs {
			if RequestID(e.ID, o.Submission, i) == row.Spec.ID {
				o.Runs[i] = runOf(row)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]Outcome, 0, len(by))
	for _, o := range by {
		if err := o.readOld(ctx, store); err != nil {
			return nil, err
		}
		o.settle()
		all = append(all, *o)
	}
	slices.SortFunc(all, func(a, b Outcome) int { return strings.Compare(a.Submission, b.Submission) })
	return all, nil
}

func (o *Outcome) readOld(ctx context.Context, store Results) error {
	if o.Old.Request == "" {
		return nil
	}
	row, err := store.Get(ctx, o.Old.Request)
	if core.Is(err, core.CodeNotFound) {
		return nil
	}
	if err == nil {
		o.Old = runOf(&row)
	}
	return err
}

func runOf(row *core.Row) Run {
	r := Run{Request: row.Spec.ID, Verdict: harness.Unfinished, Outcome: core.ResultWaiting}
	if is := row.Result; is != nil {
		r.Verdict, r.Score, r.marks = harness.VerdictOf(is), is.Score, marksOf(is)
		r.Outcome = core.OutcomeOfState(row.State, is.Blame, core.OutcomeOf(is), is.Score, is.MaxScore)
	}
	return r
}

// eachRequest calls fn with the requests of an experiment in one of the states, or in any.
func eachRequest(ctx context.Context, store Results, id string, states []core.RequestState, fn func(row *core.Row) error) error {
	f := core.Filter{Assignment: school.ExperimentAssignment(id), States: states, Limit: rowsAtOnce}
	for {
		page, err := store.List(ctx, f)
		if err != nil {
			return err
		}
		for i := range page {
			f.Before = page[i].Spec.ID
			if err := fn(&page[i]); err != nil {
				return err
			}
		}
		if len(page) < f.Limit {
			return nil
		}
	}
}

// Parts reads an experiment's requests, and counts the tasks that make them.
type Parts interface {
	Results
	CountChildren(ctx context.Context, parent string) (core.TaskTally, error)
}

// Ended counts an experiment's requests that have ended or will never be made, and all of its requests so far.
func Ended(ctx context.Context, store Parts, id string) (ended, total int, err error) {
	tally, err := store.CountChildren(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	waiting := 0
	err = eachRequest(ctx, store, id, []core.RequestState{core.RequestQueued}, func(*core.Row) error {
		waiting++
		return nil
	})
	return max(0, tally.Total-tally.Open()-waiting), tally.Total, err
}
