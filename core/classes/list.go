package classes

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"drover/core"
	"drover/core/school"
)

// Progress of an actor in an assignment, in words.
const (
	ProgressSubmitted = "submitted"
	ProgressNotYet    = "not submitted yet"
	ProgressOverdue   = "overdue"
	ProgressTooLate   = "too late"
)

// recent is how long an assignment is listed after its end.
const recent = 7 * 24 * time.Hour

// AssignmentEntry is an assignment as an actor sees it: with the actor's personal deadlines, and the harness only for
// staff.
type AssignmentEntry struct {
	school.Assignment
	Hidden    bool   `json:"hidden,omitempty"`   // from students
	Extended  bool   `json:"extended,omitempty"` // the deadlines are personal
	Graded    bool   `json:"graded,omitempty"`   // by a harness
	Final     bool   `json:"final,omitempty"`    // it makes a difference if a submission is final
	Progress  string `json:"progress"`
	TimeMs    int64  `json:"time_limit_ms,omitempty"` // of each test, before factors of languages; 0 unless it is made of a problem package
	Memory    int64  `json:"memory_limit,omitempty"`  // of each test, bytes; 0: the VM's
	Submitted int64  `json:"submitted_ms,omitempty"`  // time of the actor's newest submission, ms since 1970; 0 for none

	Newest   string             `json:"newest,omitempty"`  // id of that submission
	Outcome  core.ResultOutcome `json:"outcome,omitempty"` // how it stands; "" for none
	Score    *float64           `json:"score,omitempty"`
	MaxScore *float64           `json:"max_score,omitempty"`
}

// AssignmentFilter selects assignments. A zero field matches every assignment.
type AssignmentFilter struct {
	Class string // "": every class that the actor is in
	All   bool   // including those that ended more than a week ago
}

// ListAssignments lists the assignments that the actor may view, what is due next first and what is over last, and
// returns how many it left out because they ended too long ago. Returns NOTFOUND.
func (r *Service) ListAssignments(ctx context.Context, a core.Actor, f AssignmentFilter) (all []AssignmentEntry, left int, err error) {
	classes := slices.Sorted(maps.Keys(a.In))
	if f.Class != "" {
		classes = []string{f.Class}
	}
	all = []AssignmentEntry{}
	for _, class := range classes {
		_, err := r.class(ctx, a, class, core.ActAssignmentView)
		if core.Is(err, core.CodeNotFound) && f.Class == "" {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		in, err := r.entries(ctx, a, class)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, in...)
	}
	if !f.All {
		whole := len(all)
		since := r.now().Add(-recent).UnixMilli()
		all = slices.DeleteFunc(all, func(e AssignmentEntry) bool { return end(e.Assignment) <= since })
		left = whole - len(all)
	}
	now := r.now().UnixMilli()
	slices.SortStableFunc(all, func(x, y AssignmentEntry) int { return dueFirst(x.Assignment, y.Assignment, now) })
	return all, left, nil
}

// dueFirst orders assignments: what is due next first, and what is over last, the latest first.
func dueFirst(x, y school.Assignment, now int64) int {
	a, b := next(x, now), next(y, now)
	if a == 0 && b == 0 {
		return cmp.Or(cmp.Compare(end(y), end(x)), cmp.Compare(x.Name(), y.Name()))
	}
	return cmp.Or(cmp.Compare(b, 0)-cmp.Compare(a, 0), cmp.Compare(a, b), cmp.Compare(x.Name(), y.Name()))
}

// next is what comes next of an assignment, its due date or its cutoff; the end of time for never, 0 if it is over.
func next(as school.Assignment, now int64) int64 {
	switch {
	case as.Due > now:
		return as.Due
	case end(as) > now:
		return end(as)
	}
	return 0
}

// end is when an assignment ends: its cutoff, else its due date, else never.
func end(as school.Assignment) int64 { return cmp.Or(as.Cutoff, as.Due, math.MaxInt64) }

// ViewAssignment returns an assignment. Returns NOTFOUND, with the same text for a hidden one.
func (r *Service) ViewAssignment(ctx context.Context, a core.Actor, class, handle string) (AssignmentEntry, error) {
	as, err := r.assignment(ctx, a, class, handle, core.ActAssignmentView, "")
	if err != nil {
		return AssignmentEntry{}, err
	}
	d, err := r.deadline(ctx, as, a.Handle)
	if err != nil {
		return AssignmentEntry{}, err
	}
	return r.entry(ctx, a, as, d)
}

// EditableAssignment returns an assignment as it is stored, without personal deadlines, for EditAssignment. Returns
// NOTFOUND, FORBIDDEN.
func (r *Service) EditableAssignment(ctx context.Context, a core.Actor, class, handle string) (school.Assignment, error) {
	as, err := r.assignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil {
		return school.Assignment{}, err
	}
	return as, nil
}

func (r *Service) entries(ctx context.Context, a core.Actor, class string) ([]AssignmentEntry, error) {
	visible, err := r.visible(ctx, a, class)
	if err != nil {
		return nil, err
	}
	own, err := r.Store.Deadlines(ctx, class, "", a.Handle)
	if err != nil {
		return nil, err
	}
	all := make([]AssignmentEntry, 0, len(visible))
	for _, as := range visible {
		i := slices.IndexFunc(own, func(d school.Deadline) bool { return d.Assignment == as.Handle })
		var d *school.Deadline
		if i >= 0 {
			d = &own[i]
		}
		e, err := r.entry(ctx, a, as, d)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// deadline returns a user's personal deadline; nil for none.
func (r *Service) deadline(ctx context.Context, as school.Assignment, user string) (*school.Deadline, error) {
	own, err := r.Store.Deadlines(ctx, as.Class, as.Handle, user)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	return &own[0], nil
}

func (r *Service) entry(ctx context.Context, a core.Actor, as school.Assignment, d *school.Deadline) (AssignmentEntry, error) {
	newest, err := r.newest(ctx, as, a.Handle)
	if err != nil {
		return AssignmentEntry{}, err
	}
	e := AssignmentEntry{Assignment: withoutSecrets(a, as.For(d)), Hidden: r.hidden(as), Extended: d != nil, Graded: as.Harness != nil, Final: as.Finals()}
	if as.Harness != nil && as.Harness.Problem != nil {
		e.TimeMs, e.Memory = as.Harness.Problem.TimeMs, as.Harness.Problem.Memory
	}
	now := r.now().UnixMilli()
	switch {
	case newest != nil:
		e.Progress, e.Submitted, e.Newest = ProgressSubmitted, newest.Submission.At, newest.Submission.ID
		e.Outcome, e.Score, e.MaxScore = newest.Outcome, newest.Score, newest.MaxScore
	case e.Cutoff != 0 && now > e.Cutoff:
		e.Progress = ProgressTooLate
	case e.Due != 0 && now > e.Due:
		e.Progress = ProgressOverdue
	default:
		e.Progress = ProgressNotYet
	}
	return e, nil
}

// withoutSecrets removes from an assignment what the actor may not see.
func withoutSecrets(a core.Actor, as school.Assignment) school.Assignment {
	if core.Allow(a, core.ActAssignmentPeek, core.Object{Class: as.Class}) != nil {
		as.Harness = nil // it may reveal the tests
	}
	return as
}

// newest returns a user's newest submission; nil for none.
func (r *Service) newest(ctx context.Context, as school.Assignment, user string) (*school.Standing, error) {
	all, err := r.Store.ListSubmissions(ctx, school.SubmissionFilter{Class: as.Class, Assignment: as.Handle, User: user, Limit: 1})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}
