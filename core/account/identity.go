package account

import (
	"context"
	"slices"
	"strings"

	"drover/core"
	"drover/core/school"
)

// Claim is what a provider of OpenID Connect reports of a user who signed in there.
type Claim struct {
	Issuer   string
	Subject  string
	Email    string
	Verified bool // the provider has verified the address
}

// SignInOIDC signs a user in by a provider's claim: the user to whom the identity is tied, or else the user with the
// same verified e-mail address, to whom it is then tied permanently. It never creates a user. Returns FORBIDDEN for
// an unknown and for a disabled user, INVALID.
func (d *Service) SignInOIDC(ctx context.Context, c Claim) (SignedIn, error) {
	if err := school.CheckIdentityKey(c.Issuer, c.Subject); err != nil {
		return SignedIn{}, err
	}
	id, err := d.Store.GetIdentity(ctx, c.Issuer, c.Subject)
	handle := id.User
	if core.Is(err, core.CodeNotFound) {
		handle, err = d.tie(ctx, c)
	}
	if err != nil {
		return SignedIn{}, err
	}
	return d.signedIn(ctx, handle)
}

// tie ties an identity to the user that has its address.
func (d *Service) tie(ctx context.Context, c Claim) (handle string, err error) {
	if !c.Verified || c.Email == "" {
		return "", core.Errorf(core.CodeForbidden, "", "the provider did not say that you have a verified e-mail address: verify it there, then sign in again")
	}
	u, err := d.enabled(ctx, c.Email)
	another := err == nil && u.Email != lower(c.Email) // found by handle, or by an address that only looks alike
	if another || core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeInvalid) || core.Is(err, core.CodeLimit) {
		return "", core.Errorf(core.CodeForbidden, "", "no user here has the e-mail address %.254q: ask who runs this site to make one with it", c.Email)
	}
	if err != nil {
		return "", err
	}
	has, err := d.Store.Identities(ctx, u.Handle)
	if err != nil {
		return "", err
	}
	// The provider may give an address to another person, but not the subject.
	if slices.ContainsFunc(has, func(id school.Identity) bool { return id.Issuer == c.Issuer && id.Subject != c.Subject }) {
		return "", core.Errorf(core.CodeForbidden, u.Handle, "another person at this provider is tied to the user with your e-mail address: ask who runs this site to untie it")
	}
	return u.Handle, d.change(ctx, own(u.Handle), u.Handle, "ties an identity of "+c.Issuer+" to "+u.Handle, func() error {
		return d.Store.AddIdentity(ctx, school.Identity{Issuer: c.Issuer, Subject: c.Subject, User: u.Handle, Created: d.now().UnixMilli()})
	})
}

// lower returns an address as users have it. Only ASCII letters are folded: otherwise the Kelvin sign would become a
// k, and its owner would be taken for the one with the k.
func lower(address string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, address)
}

// Untie removes an identity from a user: one's own, or anybody's for admins. Returns FORBIDDEN, NOTFOUND, and
// CONFLICT if one's own user could not sign in any more.
func (d *Service) Untie(ctx context.Context, a core.Actor, handle, issuer, subject string) error {
	u, err := d.whose(ctx, a, handle)
	if err != nil {
		return err
	}
	if u.Handle == a.Handle {
		sheet, err := d.View(ctx, a, u.Handle)
		if err != nil {
			return err
		}
		if !sheet.HasPassword && len(sheet.Identities) == 1 {
			return core.Errorf(core.CodeConflict, u.Handle, "it is all that you can sign in with: set a password first")
		}
	}
	return d.change(ctx, a, u.Handle, "unties an identity of "+issuer+" from "+u.Handle, func() error {
		is, err := d.Store.RemoveIdentity(ctx, u.Handle, issuer, subject)
		if err == nil && !is {
			err = core.Errorf(core.CodeNotFound, u.Handle, "user %s has no such identity", u.Handle)
		}
		return err
	})
}
