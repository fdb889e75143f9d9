package account

import (
	"context"

	"drover/core"
	"drover/core/school"
)

// SignInPlatform signs a user in by what a learning platform says of it: the user to whom the identity is tied, or
// else the user with the same e-mail address who never had a way in, has no role in the cluster and teaches nothing;
// the identity is then tied to it. Returns NOTFOUND if nobody has the identity and the address, CONFLICT with the
// user's handle as its subject if that user has to sign in here before the identity is tied, and FORBIDDEN for a
// disabled user.
func (d *Service) SignInPlatform(ctx context.Context, c Claim) (SignedIn, error) {
	if err := school.CheckIdentityKey(c.Issuer, c.Subject); err != nil {
		return SignedIn{}, err
	}
	id, err := d.Store.GetIdentity(ctx, c.Issuer, c.Subject)
	if core.Is(err, core.CodeNotFound) {
		if id.User, err = d.imported(ctx, c.Email); err == nil {
			return d.TieIdentity(ctx, own(id.User), c.Issuer, c.Subject)
		}
	}
	if err != nil {
		return SignedIn{}, err
	}
	return d.signedIn(ctx, id.User)
}

// SignInMade signs in a user who was made, at a time, because a learning platform names the identity, which is tied to
// it. Returns NOTFOUND if the user is another one by now, or has a way in, and FORBIDDEN for a disabled user.
func (d *Service) SignInMade(ctx context.Context, handle string, made int64, issuer, subject string) (SignedIn, error) {
	u, err := d.enabled(ctx, handle)
	if err != nil {
		return SignedIn{}, err
	}
	ways, err := d.Store.WaysIn(ctx, []string{u.Handle})
	if err != nil {
		return SignedIn{}, err
	}
	if u.Created > made || len(u.Roles) > 0 || len(ways) != 1 || ways[0].Staff || ways[0].Has() || ways[0].Changed > 0 {
		return SignedIn{}, school.NoUser(handle)
	}
	return d.TieIdentity(ctx, own(u.Handle), issuer, subject)
}

// imported returns the user that has an e-mail address, if the address alone may give access to it: what can be lost
// by it is nothing but a place in a roster.
func (d *Service) imported(ctx context.Context, email string) (string, error) {
	email = lower(email)
	if key, byEmail, err := school.UserKey(email); err != nil || !byEmail || key != email {
		return "", school.NoUser(email)
	}
	u, err := d.enabled(ctx, email)
	if err != nil {
		return "", err
	}
	ways, err := d.Store.WaysIn(ctx, []string{u.Handle})
	if err != nil {
		return "", err
	}
	if len(u.Roles) > 0 || len(ways) != 1 || ways[0].Staff || ways[0].Has() || ways[0].Changed > 0 {
		return "", core.Errorf(core.CodeConflict, u.Handle, "user %s has this e-mail address: sign in as that user first", u.Handle)
	}
	return u.Handle, nil
}

// TieIdentity ties an identity at a learning platform to the actor, and signs it in. The caller knows that the
// identity is the actor's. Returns CONFLICT if it is another's, LIMIT, FORBIDDEN.
func (d *Service) TieIdentity(ctx context.Context, a core.Actor, issuer, subject string) (SignedIn, error) {
	id := school.Identity{Issuer: issuer, Subject: subject, User: a.Handle, Created: d.now().UnixMilli()}
	if err := id.Check(); err != nil {
		return SignedIn{}, err
	}
	err := d.change(ctx, a, a.Handle, "ties an identity of "+issuer+" to "+a.Handle, func() error { return d.Store.AddIdentity(ctx, id) })
	if err != nil {
		return SignedIn{}, err
	}
	return d.signedIn(ctx, a.Handle)
}

func (d *Service) signedIn(ctx context.Context, handle string) (SignedIn, error) {
	u, err := d.enabled(ctx, handle)
	if err != nil {
		return SignedIn{}, err
	}
	a, err := d.Store.GetAccount(ctx, u.Handle)
	return d.welcome(u, a), err
}
