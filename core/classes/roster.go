package classes

import (
	"context"
	"slices"
	"strings"

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
	return r.FindMembers(ctx, a, class, RosterQuery{After: after, Limit: limit})
}

// RosterQuery selects members of a class.
type RosterQuery struct {
	Text  string        // in handle, name or e-mail address, in any case; "": everybody
	Role  core.UserRole // "": any
	After string        // a handle
	Limit int           // 1 to 1000
}

// FindMembers lists the members of a class that a query selects, in order of user. Returns NOTFOUND, FORBIDDEN,
// INVALID.
func (r *Service) FindMembers(ctx context.Context, a core.Actor, class string, q RosterQuery) ([]Member, error) {
	if _, err := r.class(ctx, a, class, core.ActRosterView); err != nil {
		return nil, err
	}
	if err := core.CheckLine(class, "search", q.Text, core.MaxLine); err != nil {
		return nil, err
	}
	step := q.Limit // a search looks through everybody
	if q.Text != "" || q.Role != "" {
		step = school.MaxKeys
	}
	all := []Member{}
	for after := q.After; ; {
		in, err := r.Store.Members(ctx, class, after, step)
		if err != nil {
			return nil, err
		}
		some, err := r.named(ctx, in)
		if err != nil {
			return nil, err
		}
		for i := range some {
			if q.selects(&some[i]) {
				all = append(all, some[i])
			}
			if len(all) == q.Limit {
				return all, nil
			}
		}
		if len(in) < step {
			return all, nil
		}
		after = in[len(in)-1].User
	}
}

func (q RosterQuery) selects(m *Member) bool {
	if q.Role != "" && m.Role != q.Role {
		return false
	}
	text := strings.ToLower(strings.TrimSpace(q.Text))
	return text == "" || slices.ContainsFunc([]string{m.User, m.Name, m.Email}, func(s string) bool { return strings.Contains(strings.ToLower(s), text) })
}

// named adds the names of users to enrolments.
func (r *Service) named(ctx context.Context, in []school.Enrolment) ([]Member, error) {
	handles, all := make([]string, len(in)), make([]Member, len(in))
	for i, e := range in {
		handles[i] = e.User
	}
	users, err := r.Store.GetUsers(ctx, handles)
	if err != nil {
		return nil, err
	}
	by := make(map[string]*school.User, len(users))
	for i := range users {
		by[users[i].Handle] = &users[i]
	}
	for i, e := range in {
		all[i] = Member{Enrolment: e}
		if u := by[e.User]; u != nil {
			all[i].Name, all[i].Email = u.Name, u.Email
		}
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
