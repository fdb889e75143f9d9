package account

import (
	"context"

	"drover/core"
	"drover/core/school"
)

// firstAdmin is the handle of the user that a new site begins with.
const firstAdmin = "admin"

// Bootstrap gives access to a site where no admin can sign in: it creates the user admin if there is no admin at all,
// and makes a sign-in link for the first admin. It returns "" for both if an admin has a password or an identity.
// Several processes may call it at once: they agree on the user, and each has its own link. Returns CONFLICT if a
// user called admin is not an admin.
func (d *Service) Bootstrap(ctx context.Context) (handle, secret string, err error) {
	first, able, err := d.admins(ctx)
	if err != nil || able {
		return "", "", err
	}
	if first == "" {
		if err := d.makeAdmin(ctx); err != nil {
			return "", "", err
		}
		first = firstAdmin
	}
	l, err := d.MakeLink(ctx, core.System(), first, LinkLife)
	return first, l.Secret, err
}

// admins returns the first admin, and whether any admin can sign in.
func (d *Service) admins(ctx context.Context) (first string, able bool, err error) {
	const page = 500
	for after := ""; ; {
		users, err := d.Store.ListUsers(ctx, after, page)
		if err != nil {
			return "", false, err
		}
		for i := range users {
			after = users[i].Handle
			if users[i].Disabled || !(core.Actor{Roles: users[i].Roles}).Has(core.RoleAdmin) {
				continue
			}
			if first == "" {
				first = after
			}
			if able, err = d.able(ctx, after); err != nil || able {
				return first, able, err
			}
		}
		if len(users) < page {
			return first, false, nil
		}
	}
}

// able reports whether a user can sign in by itself.
func (d *Service) able(ctx context.Context, handle string) (bool, error) {
	a, err := d.Store.GetAccount(ctx, handle)
	if err != nil || a.Password != "" {
		return err == nil, err
	}
	ids, err := d.Store.Identities(ctx, handle)
	return len(ids) > 0, err
}

// makeAdmin makes the first admin, unless another process just did.
func (d *Service) makeAdmin(ctx context.Context) error {
	u := school.User{Handle: firstAdmin, Name: "Administrator", Roles: []core.UserRole{core.RoleAdmin}, Created: d.now().UnixMilli()}
	err := d.change(ctx, core.System(), firstAdmin, "creates user admin with the role admin, for there is none", func() error {
		_, err := d.Store.PutUser(ctx, u)
		return err
	})
	if !core.Is(err, core.CodeConflict) {
		return err
	}
	there, failed := d.Store.GetUser(ctx, firstAdmin)
	if failed != nil {
		return failed
	}
	if there.Disabled || !(core.Actor{Roles: there.Roles}).Has(core.RoleAdmin) {
		return core.Errorf(core.CodeConflict, firstAdmin, "there is no admin, and user admin is none: give a user the role admin")
	}
	return nil
}
