package classes

import (
	"cmp"
	"context"
	"slices"

	"drover/core"
	"drover/core/school"
)

// ClassTitle returns what people call a class: its handle if it has no title, or if the actor may not view it.
func (r *Service) ClassTitle(ctx context.Context, a core.Actor, class string) string {
	c, err := r.class(ctx, a, class, core.ActClassView)
	if err != nil {
		return class
	}
	return cmp.Or(c.Title, class)
}

// AssignmentTitle returns what people call an assignment: its handle if it has no title, or if the actor may not view it.
func (r *Service) AssignmentTitle(ctx context.Context, a core.Actor, class, handle string) string {
	as, err := r.assignment(ctx, a, class, handle, core.ActAssignmentView, "")
	if err != nil {
		return handle
	}
	return cmp.Or(as.Title, handle)
}

// PersonName returns the name of a member of a class: the handle of a user who has none or is not in the class, and of
// others than the actor unless the actor may view the class's roster.
func (r *Service) PersonName(ctx context.Context, a core.Actor, class, user string) string {
	if !core.ValidName(user) || user != a.Handle && core.Allow(a, core.ActRosterView, core.Object{Class: class}) != nil {
		return user
	}
	in, err := r.Store.Memberships(ctx, user)
	if err != nil || !slices.ContainsFunc(in, func(e school.Enrolment) bool { return e.Class == class }) {
		return user
	}
	u, err := r.Store.GetUser(ctx, user)
	if err != nil {
		return user
	}
	return cmp.Or(u.Name, user)
}

// Names returns the names of the members of a class who have one, by handle: none without the right to view its roster.
func (r *Service) Names(ctx context.Context, a core.Actor, class string) map[string]string {
	names := map[string]string{}
	for after := ""; ; {
		some, err := r.Roster(ctx, a, class, after, page)
		if err != nil {
			return names
		}
		for i := range some {
			m := &some[i]
			if after = m.User; m.Name != "" {
				names[m.User] = m.Name
			}
		}
		if len(some) < page {
			return names
		}
	}
}
