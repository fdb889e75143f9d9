package classes

import (
	"context"

	"drover/core"
)

// Actor returns a user as an actor, with its current roles. Returns NOTFOUND, and FORBIDDEN for a disabled user.
func (r *Service) Actor(ctx context.Context, handle string) (core.Actor, error) {
	u, err := r.Store.GetUser(ctx, handle)
	if err != nil {
		return core.Actor{}, err
	}
	if u.Disabled {
		return core.Actor{}, core.Errorf(core.CodeForbidden, u.Handle, "user %s is disabled: an admin can enable it again", u.Handle)
	}
	in, err := r.Store.Memberships(ctx, u.Handle)
	if err != nil {
		return core.Actor{}, err
	}
	a := core.Actor{Handle: u.Handle, Roles: u.Roles, In: make(map[string]core.UserRole, len(in))}
	for _, e := range in {
		a.In[e.Class] = e.Role
	}
	return a, nil
}
