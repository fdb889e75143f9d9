package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func userTable() []entry {
	return []entry{
		is(Operation{"listUsers", get, "/users", core.ActUserManage, school.ScopeAdmin, 0, "List all users, by handle"}, (*server).listUsers),
		is(Operation{"createUser", post, "/users", core.ActUserManage, school.ScopeAdmin, 201, "Create a user"}, (*server).createUser),
		is(Operation{"viewUser", get, "/users/{user}", core.ActUserView, school.ScopeRead, 0, "Return a user, by handle or e-mail address: the caller, or any for admins"}, (*server).viewUser),
		is(Operation{"changeUser", patch, "/users/{user}", core.ActUserManage, school.ScopeAdmin, 0, "Change a user"}, (*server).changeUser),
		is(Operation{"deleteUser", remove, "/users/{user}", core.ActUserManage, school.ScopeAdmin, 0, "Delete a user who is in no class and has no submissions"}, (*server).deleteUser),
	}
}

// UserFields are what can be changed of a user.
type UserFields struct {
	Name     string          `json:"name,omitempty" doc:"name for people"`
	Email    string          `json:"email,omitempty"`
	Roles    []core.UserRole `json:"roles,omitempty" enum:"admin,operator,observer,runner" doc:"roles for the whole cluster"`
	Disabled bool            `json:"disabled,omitempty" doc:"the user cannot sign in, and nobody can act for the user"`
}

// NewUser is a user to make.
type NewUser struct {
	Handle string `json:"handle" doc:"permanent name"`
	UserFields
}

// OneUser names a user.
type OneUser struct {
	User string `path:"user" doc:"handle of the user"`
}

// done is the answer without a body.
type done struct{}

func (f UserFields) onto(u *school.User) {
	u.Name, u.Email, u.Roles, u.Disabled = f.Name, f.Email, f.Roles, f.Disabled
}

func (s *server) listUsers(ctx context.Context, a core.Actor, in *Cursor) (*listed[school.User], error) {
	found, err := s.Classes.ListUsers(ctx, a, in.Cursor, in.more())
	if err != nil {
		return nil, err
	}
	return paged(ctx, *in, found, func(u *school.User) string { return u.Handle }), nil
}

func (s *server) createUser(ctx context.Context, a core.Actor, in *struct{ Body NewUser }) (*tagged[school.User], error) {
	u := school.User{Handle: in.Body.Handle}
	in.Body.onto(&u)
	u, err := s.Classes.CreateUser(ctx, a, u)
	if err != nil {
		return nil, err
	}
	return made(u.Revision, u, "users", u.Handle), nil
}

func (s *server) viewUser(ctx context.Context, a core.Actor, in *struct {
	OneUser
	Reading
},
) (*tagged[classes.Profile], error) {
	p, err := s.Classes.ViewUser(ctx, a, in.User)
	if err != nil {
		return nil, err
	}
	return read(in.Reading, p.Revision, p), nil
}

func (s *server) changeUser(ctx context.Context, a core.Actor, in *struct {
	OneUser
	Changing
	Body Change[UserFields]
},
) (*tagged[school.User], error) {
	return apply(ctx, in.Changing, versioned[school.User]{
		view: func(ctx context.Context) (school.User, error) {
			p, err := s.Classes.ViewUser(ctx, a, in.User)
			return p.User, err
		},
		of: func(u *school.User) int64 { return u.Revision },
		change: func(ctx context.Context, u school.User) (school.User, error) {
			fields := UserFields{u.Name, u.Email, u.Roles, u.Disabled}
			if err := in.Body.onto(&fields); err != nil {
				return u, err
			}
			fields.onto(&u)
			return s.Classes.EditUser(ctx, a, u)
		},
	})
}

func (s *server) deleteUser(ctx context.Context, a core.Actor, in *OneUser) (*done, error) {
	return &done{}, s.Classes.DeleteUser(ctx, a, in.User)
}
