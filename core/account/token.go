package account

import (
	"context"
	"fmt"
	"time"

	"drover/core"
	"drover/core/account/secrets"
	"drover/core/school"
)

// touchEvery is the precision with which the use of tokens is recorded.
const touchEvery = time.Minute

// DefaultTokenLife is a token's default lifetime.
const DefaultTokenLife = 90 * 24 * time.Hour

// IssueToken makes a token for a program of the actor, with the scopes and a lifetime (0 is DefaultTokenLife). The
// secret is returned only here. Returns INVALID, LIMIT.
func (d *Service) IssueToken(ctx context.Context, a core.Actor, name string, scopes []school.Scope, life time.Duration) (secret string, t school.Token, err error) {
	if life == 0 {
		life = DefaultTokenLife
	}
	now, secret := d.now().UnixMilli(), secrets.New(secrets.Token)
	t = school.Token{
		ID: d.newID(), Kind: school.TokenAPI, User: a.Handle, Name: name, Hash: secrets.Hash(secret), Scopes: scopes,
		Created: now, Expires: now + life.Milliseconds(),
	}
	if err := t.Check(); err != nil {
		return "", school.Token{}, err
	}
	text := fmt.Sprintf("issues token %s (%.100s) for %v until %s", t.ID, name, scopes, time.UnixMilli(t.Expires).UTC().Format(time.DateOnly))
	if err := d.change(ctx, a, a.Handle, text, func() error { return d.Store.AddToken(ctx, t) }); err != nil {
		return "", school.Token{}, err
	}
	return secret, t, nil
}

// ByToken returns the user of a token, and records its use. Returns FORBIDDEN, with the same text, for an unknown and
// for an expired token.
func (d *Service) ByToken(ctx context.Context, secret string) (school.Token, SignedIn, error) {
	refused := core.Errorf(core.CodeForbidden, "", "the token is not valid: it has expired, was revoked, or is not whole")
	if !secrets.WellFormed(secrets.Token, secret) {
		return school.Token{}, SignedIn{}, refused
	}
	t, err := d.Store.TokenByHash(ctx, secrets.Hash(secret))
	now := d.now().UnixMilli()
	switch {
	case core.Is(err, core.CodeNotFound):
		return school.Token{}, SignedIn{}, refused
	case err != nil:
		return school.Token{}, SignedIn{}, err
	case t.Kind != school.TokenAPI || t.Expires <= now:
		return school.Token{}, SignedIn{}, refused
	}
	u, err := d.enabled(ctx, t.User)
	if core.Is(err, core.CodeNotFound) {
		err = refused
	}
	if err != nil {
		return school.Token{}, SignedIn{}, err
	}
	a, err := d.Store.GetAccount(ctx, u.Handle)
	if err != nil {
		return school.Token{}, SignedIn{}, err
	}
	if now-t.Used >= touchEvery.Milliseconds() {
		_ = d.Store.TouchToken(ctx, t.ID, now) // the next use records it
	}
	return t, SignedIn{User: u, Account: a}, nil
}

// Revoke ends a token: one's own, or anybody's for admins. Returns FORBIDDEN, NOTFOUND.
func (d *Service) Revoke(ctx context.Context, a core.Actor, handle, id string) error {
	u, err := d.whose(ctx, a, handle)
	if err != nil {
		return err
	}
	return d.change(ctx, a, u.Handle, fmt.Sprintf("revokes token %.63s of %s", id, u.Handle), func() error {
		is, err := d.Store.RemoveToken(ctx, u.Handle, id)
		if err == nil && !is {
			err = core.Errorf(core.CodeNotFound, id, "user %s has no token %.63q", u.Handle, id)
		}
		return err
	})
}
