package bounds

import (
	"cmp"
	"strings"

	"drover/core"
	"drover/core/school"
)

// MaxRoles is how many roles a user may have for the whole cluster.
const MaxRoles = 8

// User checks a user. Returns INVALID or LIMIT.
func User(u school.User) error {
	if err := core.CheckName("user", u.Handle); err != nil {
		return err
	}
	if u.Email != "" {
		if err := email(u.Handle, u.Email); err != nil {
			return err
		}
	}
	if len(u.Roles) > MaxRoles {
		return core.Errorf(core.CodeLimit, u.Handle, "user %s has %d roles, at most %d are allowed", u.Handle, len(u.Roles), MaxRoles)
	}
	for _, role := range u.Roles {
		if !role.Valid() {
			return core.Errorf(core.CodeInvalid, u.Handle, "%.40q is no role for the whole cluster: use %s, %s, %s or %s; others are held in a class",
				role, core.RoleAdmin, core.RoleOperator, core.RoleObserver, core.RoleRunner)
		}
	}
	return cmp.Or(line(u.Handle, "name", u.Name, MaxLine), times(u.Handle, u.Created), revision(u.Handle, u.Revision))
}

// UserKey returns how a text names a user: by e-mail address or else by handle. Returns INVALID.
func UserKey(s string) (key string, byEmail bool, err error) {
	if strings.Contains(s, "@") {
		key = strings.ToLower(s)
		return key, true, email("a user", key)
	}
	return s, false, core.CheckName("user", s)
}

// Class checks a class. Returns INVALID or LIMIT.
func Class(c school.Class) error {
	return cmp.Or(
		core.CheckName("class", c.Handle),
		title(c.Handle, "title", c.Title),
		line(c.Handle, "term", c.Term, MaxLine),
		times(c.Handle, c.Created),
		revision(c.Handle, c.Revision),
	)
}

// Enrolment checks an enrolment. Returns INVALID.
func Enrolment(e school.Enrolment) error {
	if err := names("class", e.Class, "user", e.User); err != nil {
		return err
	}
	if !e.Role.InClass() {
		return core.Errorf(core.CodeInvalid, e.User, "%.40q is no role in a class: use %s, %s or %s",
			e.Role, core.RoleTeacher, core.RoleAssistant, core.RoleStudent)
	}
	return times(e.User, e.Since)
}
