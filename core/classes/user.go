package classes

import (
	"context"
	"strings"

	"drover/core"
	"drover/core/school"
)

// Profile is a user with the user's classes.
type Profile struct {
	school.User
	Classes []school.Enrolment `json:"classes"`
}

// ViewUser returns a user by handle or e-mail address, to the user and to admins. Returns FORBIDDEN, whether there is
// such a user or not; NOTFOUND.
func (r *Service) ViewUser(ctx context.Context, a core.Actor, handle string) (Profile, error) {
	owner := handle
	u, err := r.Store.GetUser(ctx, handle)
	if err == nil {
		owner = u.Handle
	}
	if denied := core.Allow(a, core.ActUserView, core.Object{Owner: owner}); denied != nil {
		return Profile{}, denied
	}
	if err != nil {
		return Profile{}, err
	}
	in, err := r.Store.Memberships(ctx, u.Handle)
	return Profile{u, append([]school.Enrolment{}, in...)}, err
}

// ListUsers lists users with handles after the given one. Returns FORBIDDEN, INVALID.
func (r *Service) ListUsers(ctx context.Context, a core.Actor, after string, limit int) ([]school.User, error) {
	if err := core.Allow(a, core.ActUserManage, core.Object{}); err != nil {
		return nil, err
	}
	return r.Store.ListUsers(ctx, after, limit)
}

// CreateUser creates a user. Returns FORBIDDEN, INVALID, LIMIT, and CONFLICT if the handle or the e-mail address is
// taken.
func (r *Service) CreateUser(ctx context.Context, a core.Actor, u school.User) (school.User, error) {
	if err := core.Allow(a, core.ActUserManage, core.Object{}); err != nil {
		return school.User{}, err
	}
	u, err := r.newUser(u)
	if err != nil {
		return school.User{}, err
	}
	return r.putUser(ctx, a, u, "creates user "+u.Handle+also("with the roles", u.Roles))
}

// newUser completes and checks a user before it is created.
func (r *Service) newUser(u school.User) (school.User, error) {
	u.Revision, u.Created = 0, r.now().UnixMilli()
	u.Email = strings.ToLower(strings.TrimSpace(u.Email))
	if reserved(u.Handle) {
		return school.User{}, core.Errorf(core.CodeInvalid, u.Handle, "the handle %s is reserved for drover: use another one", u.Handle)
	}
	return u, u.Check()
}

// reserved reports whether drover itself acts under a handle.
func reserved(handle string) bool {
	return handle == core.System().Handle || strings.HasPrefix(handle, "local-") || strings.HasPrefix(handle, "experiment-")
}

// EditUser changes name, e-mail address, roles and whether the user is disabled, if the user still has the given
// revision. Returns FORBIDDEN, NOTFOUND, INVALID, LIMIT, and CONFLICT if somebody else changed the user or no admin
// would be left.
func (r *Service) EditUser(ctx context.Context, a core.Actor, u school.User) (school.User, error) {
	if err := core.Allow(a, core.ActUserManage, core.Object{}); err != nil {
		return school.User{}, err
	}
	old, err := r.Store.GetUser(ctx, u.Handle)
	if err != nil {
		return school.User{}, err
	}
	u.Handle, u.Created, u.Email = old.Handle, old.Created, strings.ToLower(strings.TrimSpace(u.Email))
	if err := u.Check(); err != nil {
		return school.User{}, err
	}
	if !leads(u) {
		if err := r.keepAdmin(ctx, old); err != nil {
			return school.User{}, err
		}
	}
	var d diff
	d.note("name", old.Name, u.Name)
	d.note("e-mail address", old.Email, u.Email)
	d.note("roles", old.Roles, u.Roles)
	d.note("disabled", old.Disabled, u.Disabled)
	if len(d) == 0 {
		return old, nil
	}
	if u.Revision == 0 {
		return school.User{}, unrevised("user", u.Handle)
	}
	return r.putUser(ctx, a, u, d.sentence("user "+u.Handle))
}

func (r *Service) putUser(ctx context.Context, a core.Actor, u school.User, text string) (school.User, error) {
	entry := core.AuditEntry{Action: core.ActUserManage, Subject: u.Handle, Text: text}
	err := r.change(ctx, a, entry, func() (err error) {
		u.Revision, err = r.Store.PutUser(ctx, u)
		return err
	})
	return u, err
}

// DeleteUser removes a user. Returns FORBIDDEN, NOTFOUND, and CONFLICT while it is in a
// class, has submissions or is the last admin.
func (r *Service) DeleteUser(ctx context.Context, a core.Actor, handle string) error {
	if err := core.Allow(a, core.ActUserManage, core.Object{}); err != nil {
		return err
	}
	u, err := r.Store.GetUser(ctx, handle)
	if err != nil {
		return err
	}
	if err := r.keepAdmin(ctx, u); err != nil {
		return err
	}
	entry := core.AuditEntry{Action: core.ActUserManage, Subject: u.Handle, Text: "deletes user " + u.Handle}
	return r.change(ctx, a, entry, func() error { return r.Store.DeleteUser(ctx, u.Handle) })
}

// leads reports whether a user is an active admin.
func leads(u school.User) bool { return !u.Disabled && core.Actor{Roles: u.Roles}.Has(core.RoleAdmin) }

// keepAdmin returns CONFLICT if the user is the only active admin.
func (r *Service) keepAdmin(ctx context.Context, u school.User) error {
	if !leads(u) {
		return nil
	}
	for after := ""; ; {
		some, err := r.Store.ListUsers(ctx, after, page)
		if err != nil {
			return err
		}
		for i := range some {
			if after = some[i].Handle; after != u.Handle && leads(some[i]) {
				return nil
			}
		}
		if len(some) < page {
			return core.Errorf(core.CodeConflict, u.Handle, "user %s is the last admin: make somebody else one first", u.Handle)
		}
	}
}

// unrevised refuses an edit without the revision of a former read.
func unrevised(what, name string) error {
	return core.Errorf(core.CodeInvalid, name, "the change of %s %s names no revision: read it first, and change what was read", what, name)
}

// also adds roles to a sentence, if there are any.
func also(what string, roles []core.UserRole) string {
	if len(roles) == 0 {
		return ""
	}
	words := make([]string, len(roles))
	for i, role := range roles {
		words[i] = string(role)
	}
	return " " + what + " " + strings.Join(words, ", ")
}
