package classes

import (
	"context"

	"drover/core"
	"drover/core/school"
)

// Member is a user of a class.
type Member struct {
	school.Enrolment
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// Roster lists the members of a class, users after the given one, in order of user. Returns NOTFOUND, FORBIDDEN,
// INVALID.
func (r *Service) Roster(ctx context.Context, a core.Actor, class, after string, limit int) ([]Member, error) {
	if _, err := r.class(ctx, a, class, core.ActRosterView); err != nil {
		return nil, err
	}
	in, err := r.Store.Members(ctx, class, after, limit)
	if err != nil {
		return nil, err
	}
	all := make([]Member, len(in))
	for i, e := range in {
		u, err := r.Store.GetUser(ctx, e.User)
		if err != nil && !core.Is(err, core.CodeNotFound) {
			return nil, err
		}
		all[i] = Member{e, u.Name, u.Email}
	}
	return all, nil
}

// Enrol puts a user into a class, or changes the user's role there. The actor needs the right to the new role and to
// the present one. Returns NOTFOUND, FORBIDDEN, INVALID, CONFLICT.
func (r *Service) Enrol(ctx context.Context, a core.Actor, class, user string, role core.UserRole) error {
	if _, err := r.openClass(ctx, a, class, core.ActClassView); err != nil {
		return err
	}
	e, old, err := r.enrolment(ctx, a, class, user, role)
	if err != nil || old == role {
		return err
	}
	return r.enrol(ctx, a, e, old)
}

// enrolment checks a new enrolment, and returns the role that the user has in the class; "" for none.
func (r *Service) enrolment(ctx context.Context, a core.Actor, class, user string, role core.UserRole) (school.Enrolment, core.UserRole, error) {
	e := school.Enrolment{Class: class, User: user, Role: role, Since: r.now().UnixMilli()}
	if err := e.Check(); err != nil {
		return e, "", err
	}
	if err := core.Allow(a, enrolling(role), core.Object{Class: class}); err != nil {
		return e, "", err
	}
	if _, err := r.Store.GetUser(ctx, user); err != nil {
		return e, "", err
	}
	was, err := r.enrolled(ctx, class, user)
	if core.Is(err, core.CodeNotFound) {
		return e, "", nil
	}
	if err != nil {
		return e, "", err
	}
	old := was.Role
	e.Section = was.Section
	return e, old, core.Allow(a, enrolling(old), core.Object{Class: class})
}

func (r *Service) enrol(ctx context.Context, a core.Actor, e school.Enrolment, old core.UserRole) error {
	text := "enrols " + e.User + " as " + string(e.Role)
	if old != "" {
		text += ", who was " + string(old)
	}
	entry := core.AuditEntry{Action: enrolling(e.Role), Class: e.Class, Subject: e.User, Text: text}
	return r.change(ctx, a, entry, func() error { return r.Store.Enrol(ctx, e) })
}

// Drop takes a user out of a class; submissions stay. Returns NOTFOUND, FORBIDDEN, CONFLICT.
func (r *Service) Drop(ctx context.Context, a core.Actor, class, user string) error {
	if _, err := r.openClass(ctx, a, class, core.ActRosterView); err != nil {
		return err
	}
	role, err := r.roleIn(ctx, class, user)
	if err != nil {
		return err
	}
	if role == "" {
		return noMember(class, user)
	}
	if err := core.Allow(a, enrolling(role), core.Object{Class: class}); err != nil {
		return err
	}
	entry := core.AuditEntry{Action: enrolling(role), Class: class, Subject: user, Text: "drops " + user + ", who was " + string(role)}
	return r.change(ctx, a, entry, func() error {
		_, err := r.Store.Drop(ctx, class, user)
		return err
	})
}

// enrolling returns the action of giving or removing a role.
func enrolling(role core.UserRole) core.Action {
	switch role {
	case core.RoleStudent:
		return core.ActEnrolStudent
	case core.RoleAssistant:
		return core.ActEnrolAssistant
	default:
		return core.ActEnrolTeacher
	}
}

// roleIn returns a user's role in a class; "" for none.
func (r *Service) roleIn(ctx context.Context, class, user string) (core.UserRole, error) {
	e, err := r.enrolled(ctx, class, user)
	if core.Is(err, core.CodeNotFound) {
		err = nil
	}
	return e.Role, err
}

func noMember(class, user string) error {
	return core.Errorf(core.CodeNotFound, user, "there is no user %.80q in class %s: enrol it first", user, class)
}
