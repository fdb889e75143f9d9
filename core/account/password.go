package account

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"drover/core"
	"drover/core/account/secrets"
	"drover/core/school"
)

// How often passwords may be tried. An address may be a whole school's. Users who have signed in from an address
// before have tries of their own there, so that strangers who guess elsewhere do not lock them out.
var (
	perUser    = core.Rate{Every: time.Minute, Burst: 10}
	perAddress = core.Rate{Every: time.Second, Burst: 300}

	// An address counts as a user's own until this rate, which a sign-in uses up, has recovered.
	acquaintance = core.Rate{Every: 30 * 24 * time.Hour, Burst: 1}
)

// ErrWrong is SignIn's FORBIDDEN for an unknown user and a wrong password.
var ErrWrong = core.Errorf(core.CodeForbidden, "", "there is no such user, or the password is wrong")

// SignIn signs a user in, named by handle or e-mail address, by its password, from an IP address. Returns ErrWrong
// for an unknown user and a wrong password alike; FORBIDDEN for a disabled user, only with the right password; FULL
// after too many tries, with the time to wait.
func (d *Service) SignIn(ctx context.Context, name, password, address string) (SignedIn, error) {
	name = strings.TrimSpace(name)
	u, err := d.Store.GetUser(ctx, name)
	stranger := core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeInvalid) || core.Is(err, core.CodeLimit)
	if err != nil && !stranger {
		return SignedIn{}, err
	}
	if !stranger {
		name = u.Handle
	}
	place := network(address)
	refuse := func(answer error, why string) (SignedIn, error) {
		if err := d.recordSignIn(ctx, name, u.Handle, place, why); err != nil {
			return SignedIn{}, err
		}
		return SignedIn{}, answer
	}
	if err := d.mayTry(ctx, name, place); core.Is(err, core.CodeFull) {
		return refuse(err, tooOften)
	} else if err != nil {
		return SignedIn{}, err
	}
	a := school.Account{}
	if !stranger {
		if a, err = d.Store.GetAccount(ctx, u.Handle); err != nil && !core.Is(err, core.CodeNotFound) {
			return SignedIn{}, err
		}
	}
	in := d.welcome(u, a) // before verifying: a password change in the meantime ends this session
	if len(password) > MaxPassword {
		password = "" // takes as long, and is never right
	}
	right, stale, err := d.Hasher.Verify(ctx, a.Password, password)
	switch {
	case err != nil:
		return SignedIn{}, err
	case !right:
		return refuse(ErrWrong, wrongPassword)
	case u.Disabled:
		return refuse(disabled(u.Handle), isDisabled)
	}
	if stale {
		d.rehash(ctx, a, password)
	}
	if err := d.recordSignIn(ctx, name, u.Handle, place, ""); err != nil {
		return SignedIn{}, err
	}
	_, err = d.Limits.Take(ctx, friend("known", u.Handle, place), acquaintance, 1)
	return in, err
}

// mayTry returns FULL if there were too many tries lately.
func (d *Service) mayTry(ctx context.Context, name, place string) error {
	at, err := d.Limits.Take(ctx, "sign-in-address:"+place, perAddress, 1)
	if err != nil {
		return err
	}
	if !at.Allowed {
		return tooMany(at)
	}
	known, err := d.Limits.Take(ctx, friend("known", name, place), acquaintance, 0)
	if err != nil {
		return err
	}
	key := "sign-in:" + secrets.Hash(strings.ToLower(name))
	if !known.Allowed {
		key = friend("friend", name, place)
	}
	by, err := d.Limits.Take(ctx, key, perUser, 1)
	if err == nil && !by.Allowed {
		err = tooMany(by)
	}
	return err
}

// MayBegin returns FULL if too many sessions without a user were begun from an IP address lately: each takes memory
// in Redis.
func (d *Service) MayBegin(ctx context.Context, address string) error {
	a, err := d.Limits.Take(ctx, "sign-in-stranger:"+network(address), perAddress, 1)
	if err == nil && !a.Allowed {
		err = tooMany(a)
	}
	return err
}

func friend(what, name, place string) string {
	return "sign-in-" + what + ":" + secrets.Hash(strings.ToLower(name)+" "+place)
}

func tooMany(a core.Allowance) error {
	wait := a.Retry.Truncate(time.Second) + time.Second
	return core.Errorf(core.CodeFull, "", "too many tries to sign in: try again in %s", wait)
}

// network returns what counts as one address: for IPv6, the half that a provider assigns to one customer.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if whole, err := ip.Prefix(64); err == nil {
			return whole.String()
		}
	}
	return ip.String()
}

// rehash stores a password with today's parameters. A failure is repaired at the next sign-in.
func (d *Service) rehash(ctx context.Context, a school.Account, password string) {
	phc, err := d.Hasher.Hash(ctx, password)
	if err == nil {
		a.Password = phc
		_, _ = d.Store.PutAccount(ctx, a)
	}
}

// ChangePassword sets the actor's own password, and ends its sessions. Was is the present one, empty for a user
// without one. Returns INVALID for a bad password, FORBIDDEN for a wrong present one, FULL.
func (d *Service) ChangePassword(ctx context.Context, actor core.Actor, was, password, address string) (SignedIn, error) {
	u, err := d.enabled(ctx, actor.Handle)
	if err != nil {
		return SignedIn{}, err
	}
	a, err := d.Store.GetAccount(ctx, u.Handle)
	if err != nil {
		return SignedIn{}, err
	}
	if a.Password != "" {
		if err := d.prove(ctx, a, was, address); err != nil {
			return SignedIn{}, err
		}
		if was == password {
			return SignedIn{}, core.Errorf(core.CodeInvalid, u.Handle, "the password is the one that you have: use another one")
		}
	}
	phc, err := d.newHash(ctx, u, password)
	if err != nil {
		return SignedIn{}, err
	}
	proved := a.Password
	err = d.change(ctx, actor, u.Handle, "changes the password of "+u.Handle, func() (err error) {
		a, err = d.put(ctx, u.Handle, func(a *school.Account) error {
			if a.Password != proved {
				return core.Errorf(core.CodeConflict, u.Handle, "the password was changed meanwhile: sign in with the new one")
			}
			a.Password, a.MustChange, a.ChangedAt = phc, false, d.next(*a)
			return nil
		})
		return err
	})
	return d.welcome(u, a), err
}

// prove returns FORBIDDEN if the password is not the account's.
func (d *Service) prove(ctx context.Context, a school.Account, password, address string) error {
	if err := d.mayTry(ctx, a.User, network(address)); err != nil {
		return err
	}
	if len(password) > MaxPassword {
		password = ""
	}
	right, _, err := d.Hasher.Verify(ctx, a.Password, password)
	if err == nil && !right {
		err = core.Errorf(core.CodeForbidden, a.User, "the present password is wrong")
	}
	return err
}

func (d *Service) newHash(ctx context.Context, u school.User, password string) (string, error) {
	if err := CheckPassword(u, password); err != nil {
		return "", err
	}
	return d.Hasher.Hash(ctx, password)
}

// GivePassword sets another user's password, which the user must change at the next sign-in, and ends the user's
// sessions. Only for admins. Returns FORBIDDEN, NOTFOUND, INVALID, FULL.
func (d *Service) GivePassword(ctx context.Context, actor core.Actor, handle, password string) error {
	if err := core.Allow(actor, core.ActUserManage, core.Object{}); err != nil {
		return err
	}
	u, err := d.Store.GetUser(ctx, handle)
	if err != nil {
		return err
	}
	phc, err := d.newHash(ctx, u, password)
	if err != nil {
		return err
	}
	return d.change(ctx, actor, u.Handle, "gives "+u.Handle+" a password, to be changed at the next sign-in", func() error {
		_, err := d.put(ctx, u.Handle, func(a *school.Account) error {
			a.Password, a.MustChange, a.ChangedAt = phc, true, d.next(*a)
			return nil
		})
		return err
	})
}
