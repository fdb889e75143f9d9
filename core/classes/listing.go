package classes

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"drover/core"
	"drover/core/harness"
	"drover/core/school"
)

// StudentEntry is a member of a class, or a user who was one, with the submission to an assignment that counts.
type StudentEntry struct {
	Member
	Counts    *SubmissionEntry `json:"counts,omitempty"`    // nil if nothing was submitted
	Questions int              `json:"questions,omitempty"` // of the student about any submission, without an answer
	Asked     string           `json:"asked,omitempty"`     // id of the submission that the oldest of them is about
}

// Title returns the name, or the handle of a user without one.
func (e *StudentEntry) Title() string { return cmp.Or(e.Name, e.User) }

// Standings lists the students of a class with the submission to an assignment that counts, and other users who have
// submitted something, in order of user. Returns NOTFOUND, FORBIDDEN.
func (r *Service) Standings(ctx context.Context, a core.Actor, class, assignment string) ([]StudentEntry, error) {
	as, err := r.assignment(ctx, a, class, assignment, core.ActGradeView, "")
	if err != nil {
		return nil, err
	}
	counts := map[string]*SubmissionEntry{}
	for after := ""; ; {
		some, err := r.Store.Standings(ctx, as.Class, as.Handle, after, page)
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			after = s.Submission.User
			counts[after] = &SubmissionEntry{s, statusOf(s)}
		}
		if len(some) < page {
			break
		}
	}
	var all []StudentEntry
	for after := ""; ; {
		members, err := r.Roster(ctx, a, class, after, page)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			after = m.User
			if its := counts[m.User]; its != nil || m.Role == core.RoleStudent {
				all = append(all, StudentEntry{Member: m, Counts: its})
				delete(counts, m.User)
			}
		}
		if len(members) < page {
			break
		}
	}
	for user, its := range counts { // of users who have left
		all = append(all, StudentEntry{Member: Member{Enrolment: school.Enrolment{Class: class, User: user}}, Counts: its})
	}
	slices.SortFunc(all, func(x, y StudentEntry) int { return strings.Compare(x.User, y.User) })
	return all, r.withQuestions(ctx, as, all)
}

// withQuestions adds to entries in order of user what their students ask.
func (r *Service) withQuestions(ctx context.Context, as school.Assignment, all []StudentEntry) error {
	for after := ""; ; {
		f := school.CommentFilter{Class: as.Class, Assignment: as.Handle, Open: true, After: after, Limit: page}
		open, err := r.Store.ListComments(ctx, f)
		if err != nil {
			return err
		}
		for i := range open {
			after = open[i].ID
			at, is := slices.BinarySearchFunc(all, open[i].User, func(e StudentEntry, user string) int { return strings.Compare(e.User, user) })
			if is {
				all[at].Questions++
				all[at].Asked = cmp.Or(all[at].Asked, open[i].Submission)
			}
		}
		if len(open) < page {
			return nil
		}
	}
}

// The kinds of entries that a StudentFilter may select alone.
const (
	OnlySubmitted = "submitted" // something was submitted
	OnlyMissing   = "missing"   // a student who has submitted nothing
	OnlyUngraded  = "ungraded"  // submitted, no score, and no tests that may yet give one
	OnlyLate      = "late"
	OnlyAsked     = "asked" // a question without an answer
	OnlyFinal     = "final"
)

// Onlies returns all of them.
func Onlies() []string {
	return []string{OnlySubmitted, OnlyMissing, OnlyUngraded, OnlyLate, OnlyAsked, OnlyFinal}
}

// The orders of a list of students; with a minus before it, the reverse. Equal ones are in order of handle.
const (
	ByName  = "name"
	ByScore = "score"
	ByTime  = "time"
)

// StudentFilter selects and orders entries. A zero field matches every entry.
type StudentFilter struct {
	Name    string // a part of handle, name or e-mail address, ignoring case
	Section string
	Outcome core.ResultOutcome
	Only    string // of Onlies
	Sort    string // "" is ByName
}

// Check returns INVALID for a word that is not known.
func (f *StudentFilter) Check() error {
	orders := []string{ByName, ByScore, ByTime}
	switch {
	case f.Outcome != "" && !slices.Contains(core.ResultOutcomes(), f.Outcome):
		return core.Errorf(core.CodeInvalid, "", "%.40q is not an outcome", f.Outcome)
	case f.Only != "" && !slices.Contains(Onlies(), f.Only):
		return core.Errorf(core.CodeInvalid, "", "%.40q does not select submissions: use %s", f.Only, strings.Join(Onlies(), ", "))
	case f.Sort != "" && !slices.Contains(orders, strings.TrimPrefix(f.Sort, "-")):
		return core.Errorf(core.CodeInvalid, "", "%.40q is not an order: use %s, with a minus for the reverse", f.Sort, strings.Join(orders, ", "))
	}
	return nil
}

// Select returns the entries that the filter matches, in its order.
func (f *StudentFilter) Select(all []StudentEntry) []StudentEntry {
	part := strings.ToLower(strings.TrimSpace(f.Name))
	some := []StudentEntry{}
	for i := range all {
		if e := &all[i]; f.matches(e) && (part == "" || e.Has(part)) {
			some = append(some, *e)
		}
	}
	by, reverse := strings.CutPrefix(f.Sort, "-")
	slices.SortStableFunc(some, func(x, y StudentEntry) int {
		order := compareBy(by, &x, &y)
		if reverse {
			order = -order
		}
		return cmp.Or(order, strings.Compare(x.User, y.User))
	})
	return some
}

// Has reports whether a part, in lower case, is in the handle, the name or the e-mail address.
func (m *Member) Has(part string) bool {
	return strings.Contains(strings.ToLower(m.Name), part) || strings.Contains(m.User, part) || strings.Contains(strings.ToLower(m.Email), part)
}

func (f *StudentFilter) matches(e *StudentEntry) bool {
	if f.Section != "" && e.Section != f.Section {
		return false
	}
	if f.Outcome != "" && (e.Counts == nil || e.Counts.Outcome != f.Outcome) {
		return false
	}
	switch f.Only {
	case OnlySubmitted:
		return e.Counts != nil
	case OnlyMissing:
		return e.Counts == nil
	case OnlyUngraded:
		return e.Counts != nil && e.Counts.Ungraded()
	case OnlyLate:
		return e.Counts != nil && e.Counts.Submission.Late
	case OnlyAsked:
		return e.Questions > 0
	case OnlyFinal:
		return e.Counts != nil && e.Counts.Submission.Kind == harness.TestFinal
	}
	return true
}

// Ungraded reports whether a submission has no score, and no tests that may yet give it one.
func (e *SubmissionEntry) Ungraded() bool { return e.Score == nil && e.Status != StatusWaiting }

// compareBy compares entries; those without a submission, or without a score, come first.
func compareBy(by string, x, y *StudentEntry) int {
	switch by {
	case ByScore:
		return cmp.Compare(worth(x), worth(y))
	case ByTime:
		return cmp.Compare(sent(x), sent(y))
	}
	return strings.Compare(strings.ToLower(x.Title()), strings.ToLower(y.Title()))
}

func worth(e *StudentEntry) float64 {
	switch {
	case e.Counts == nil:
		return math.Inf(-1)
	case e.Counts.Score == nil:
		return -math.MaxFloat64
	}
	return *e.Counts.Score
}

func sent(e *StudentEntry) int64 {
	if e.Counts == nil {
		return 0
	}
	return e.Counts.Submission.At
}

// Sections returns the sections of the entries, sorted.
func Sections(all []StudentEntry) []string {
	var some []string
	for i := range all {
		if all[i].Section != "" {
			some = append(some, all[i].Section)
		}
	}
	slices.Sort(some)
	return slices.Compact(some)
}

// Walk is where a submission is in a list: the ids of those before and after it, "" for none.
type Walk struct {
	Before, After string
	Ungraded      string // the next one without a score, after it or from the beginning
	Place, Of     int    // Place is 0 if the submission is not in the list
}

// WalkFrom finds the neighbours of a user's submission in a list.
func WalkFrom(list []StudentEntry, user string) Walk {
	var w Walk
	var all []*StudentEntry
	at := -1
	for i := range list {
		if list[i].Counts == nil {
			continue
		}
		if list[i].User == user {
			at = len(all)
		}
		all = append(all, &list[i])
	}
	w.Of, w.Place = len(all), at+1
	if at > 0 {
		w.Before = all[at-1].Counts.Submission.ID
	}
	if at+1 < len(all) {
		w.After = all[at+1].Counts.Submission.ID
	}
	for i := range all {
		if e := all[(at+1+i)%len(all)]; e.User != user && e.Counts.Ungraded() {
			w.Ungraded = e.Counts.Submission.ID
			break
		}
	}
	return w
}
