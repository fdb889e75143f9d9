package classes

import (
	"cmp"
	"context"

	"drover/core"
	"drover/core/school"
)

// MemberView is a user of a class with what the user sees there.
type MemberView struct {
	Member
	Assignments []AssignmentEntry `json:"assignments"` // as the member sees them
}

// ViewMember returns a user of a class with the assignments as the user sees them. Returns NOTFOUND, FORBIDDEN.
func (r *Service) ViewMember(ctx context.Context, a core.Actor, class, user string) (MemberView, error) {
	if _, err := r.class(ctx, a, class, core.ActRosterView); err != nil {
		return MemberView{}, err
	}
	e, err := r.enrolled(ctx, class, user)
	if err != nil {
		return MemberView{}, err
	}
	u, err := r.Store.GetUser(ctx, user)
	if err != nil {
		return MemberView{}, err
	}
	v := MemberView{Member: Member{e, u.Name, u.Email}, Assignments: []AssignmentEntry{}}
	seen, err := r.entries(ctx, sight(e), class)
	v.Assignments = append(v.Assignments, seen...)
	return v, err
}

// PreviewSubmission returns a submission as its owner sees it. Returns NOTFOUND, also if the owner does not see it.
func (r *Service) PreviewSubmission(ctx context.Context, a core.Actor, id string) (SubmissionView, error) {
	s, _, err := r.submission(ctx, a, id, core.ActSubmissionView)
	if err != nil {
		return SubmissionView{}, err
	}
	e, err := r.enrolled(ctx, s.Class, s.User)
	if err != nil {
		return SubmissionView{}, err
	}
	return r.ViewSubmission(ctx, sight(e), id)
}

// sight returns a member as an actor with only the rights in this class.
func sight(e school.Enrolment) core.Actor {
	return core.Actor{Handle: e.User, In: map[string]core.UserRole{e.Class: e.Role}}
}

// enrolled returns a user's enrolment in a class. Returns NOTFOUND.
func (r *Service) enrolled(ctx context.Context, class, user string) (school.Enrolment, error) {
	if !core.ValidName(user) {
		return school.Enrolment{}, noMember(class, user)
	}
	in, err := r.Store.Memberships(ctx, user)
	for _, e := range in {
		if e.Class == class {
			return e, nil
		}
	}
	if core.Is(err, core.CodeNotFound) {
		err = nil
	}
	return school.Enrolment{}, cmp.Or(err, noMember(class, user))
}
