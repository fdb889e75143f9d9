package account

import (
	"context"
	"time"

	"drover/core"
)

// LinkLife is how long a sign-in link can be used.
const LinkLife = time.Hour

// ErrLink is the FORBIDDEN for a link that cannot be used.
var ErrLink = core.Errorf(core.CodeForbidden, "", "the link is not valid: it was used already, is older than an hour, or is not whole; ask for another one")

// MakeLink makes a secret by which a user can sign in once, within LinkLife, and then
// sets a new password: for admins. Returns FORBIDDEN, NOTFOUND, LIMIT, and CONFLICT for a
// user who is disabled.
func (d *Desk) MakeLink(ctx context.Context, a core.Actor, handle string) (secret string, err error) {
	if err := core.Allow(a, core.ActUserManage, core.Object{}); err != nil {
		return "", err
	}
	u, err := d.Store.GetUser(ctx, handle)
	if err != nil {
		return "", err
	}
	if u.Disabled {
		return "", core.Errorf(core.CodeConflict, u.Handle, "user %s is disabled: enable it first", u.Handle)
	}
	secret = newSecret(linkMark)
	now := d.now().UnixMilli()
	t := core.Token{
		ID: d.newID(), Kind: core.TokenLink, User: u.Handle, Name: "sign-in link", Hash: hashOf(secret),
		Created: now, Expires: now + LinkLife.Milliseconds(),
	}
	if err := d.change(ctx, a, u.Handle, "makes a sign-in link for "+u.Handle, func() error { return d.Store.AddToken(ctx, t) }); err != nil {
		return "", err
	}
	return secret, nil
}

// LookAtLink returns nil if a link can be used. Looking does not use it up: programs
// that scan mail fetch links. Returns ErrLink.
func (d *Desk) LookAtLink(ctx context.Context, secret string) error {
	_, err := d.link(ctx, secret)
	return err
}

func (d *Desk) link(ctx context.Context, secret string) (core.Token, error) {
	if !wellFormed(linkMark, secret) {
		return core.Token{}, ErrLink
	}
	t, err := d.Store.TokenByHash(ctx, hashOf(secret))
	switch {
	case core.Is(err, core.CodeNotFound):
		return core.Token{}, ErrLink
	case err != nil:
		return core.Token{}, err
	case t.Kind != core.TokenLink || t.Expires <= d.now().UnixMilli():
		return core.Token{}, ErrLink
	}
	return t, nil
}

// RedeemLink signs in whom a link was made for, and uses it up. The password that the user
// had, if any, is taken away, and its sessions end. Returns FORBIDDEN.
func (d *Desk) RedeemLink(ctx context.Context, secret string) (SignedIn, error) {
	t, err := d.link(ctx, secret)
	if err != nil {
		return SignedIn{}, err
	}
	u, err := d.enabled(ctx, t.User)
	if err != nil {
		return SignedIn{}, err
	}
	a, err := d.Store.GetAccount(ctx, u.Handle)
	if err != nil {
		return SignedIn{}, err
	}
	if t.Created <= a.SignedOut {
		return SignedIn{}, ErrLink
	}
	ids, err := d.Store.Identities(ctx, u.Handle)
	if err != nil {
		return SignedIn{}, err
	}
	if _, err := d.Store.SpendToken(ctx, t.Hash); err != nil {
		if core.Is(err, core.CodeNotFound) {
			err = ErrLink
		}
		return SignedIn{}, err
	}
	err = d.change(ctx, own(u.Handle), u.Handle, "signs in by a link, in place of a password", func() error {
		a, err = d.put(ctx, u.Handle, func(a *core.Account) error {
			a.Password, a.ChangedAt = "", d.next(*a)
			a.MustChange = len(ids) == 0
			return nil
		})
		return err
	})
	if err != nil {
		return SignedIn{}, err
	}
	return d.welcome(u, a), nil
}
