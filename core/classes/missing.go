package classes

import (
	"context"

	"drover/core"
	"drover/core/school"
)

// Absence is a student without a submission to an assignment.
type Absence struct {
	Member
	Due    int64 `json:"due_ms,omitempty"` // the student's personal dates, or else the assignment's
	Cutoff int64 `json:"cutoff_ms,omitempty"`
}

// Missing lists the students of a class without a submission to an assignment, users after the given one, in order of
// user; limit is 1 to 1000. Returns NOTFOUND, FORBIDDEN, INVALID.
func (r *Service) Missing(ctx context.Context, a core.Actor, class, assignment, after string, limit int) ([]Absence, error) {
	as, err := r.assignment(ctx, a, class, assignment, core.ActGradeView, "")
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > 1000 {
		return nil, core.Errorf(core.CodeInvalid, as.Name(), "a list of %d students cannot be: ask for 1 to 1000", limit)
	}
	own, err := r.Store.Deadlines(ctx, class, assignment, "")
	if err != nil {
		return nil, err
	}
	dates := map[string]*school.Deadline{}
	for i := range own {
		dates[own[i].User] = &own[i]
	}
	all := []Absence{}
	for {
		members, err := r.Store.Members(ctx, class, after, page)
		if err != nil || len(members) == 0 {
			return all, err
		}
		last := members[len(members)-1].User
		present, err := r.present(ctx, as, after, last)
		if err != nil {
			return nil, err
		}
		for _, e := range members {
			if e.Role != core.RoleStudent || present[e.User] {
				continue
			}
			u, err := r.Store.GetUser(ctx, e.User)
			if err != nil && !core.Is(err, core.CodeNotFound) {
				return nil, err
			}
			its := as.For(dates[e.User])
			if all = append(all, Absence{Member{e, u.Name, u.Email}, its.Due, its.Cutoff}); len(all) == limit {
				return all, nil
			}
		}
		after = last
	}
}

// present returns the users after one and up to another who have submitted something.
func (r *Service) present(ctx context.Context, as school.Assignment, after, last string) (map[string]bool, error) {
	all := map[string]bool{}
	for after < last {
		some, err := r.Store.Standings(ctx, as.Class, as.Handle, after, page)
		if err != nil {
			return nil, err
		}
		for i := range some {
			after = some[i].Submission.User
			all[after] = true
		}
		if len(some) < page {
			break
		}
	}
	return all, nil
}
