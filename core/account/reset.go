package account

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"drover/core"
	"drover/core/account/secrets"
	"drover/core/school"
)

// ResetLife is how long a link can be used that a user asked for by itself.
const ResetLife = time.Hour

// How often links may be asked for by mail: from an address, which may be a whole school's, and for one user.
var (
	resetsFrom = core.Rate{Every: time.Minute, Burst: 30}
	resetsOf   = core.Rate{Every: 20 * time.Minute, Burst: 3}
)

// CanMail reports whether the site sends mail.
func (d *Service) CanMail() bool { return d.Mail != nil }

// noMail is the error of a site that sends none.
func noMail() error {
	return core.Errorf(core.CodeUnavailable, "", "this site sends no mail: ask who runs it for the settings smtp and mail_from")
}

// AskReset has a sign-in link mailed to a user, named by handle or e-mail address. It does not look for the user, so
// that neither the answer nor its time tells whether there is one: the task does, by the digest of the name, so that
// nobody who sees the task reads what a stranger typed. Too many requests for one user are dropped. Returns UNAVAILABLE
// if the site sends no mail, FULL after too many from one address.
func (d *Service) AskReset(ctx context.Context, name, address, language string, site *url.URL) error {
	if !d.CanMail() {
		return noMail()
	}
	at, err := d.Limits.Take(ctx, "reset-address:"+network(address), resetsFrom, 1)
	if err == nil && !at.Allowed {
		err = tooMany(at)
	}
	if err != nil {
		return err
	}
	key, _, err := school.UserKey(strings.TrimSpace(name))
	if err != nil {
		return nil //nolint:nilerr // nobody has such a name: the answer is as for a user who is unknown
	}
	sum := secrets.Hash(strings.ToLower(key))
	of, err := d.Limits.Take(ctx, "reset:"+sum, resetsOf, 1)
	if err != nil || !of.Allowed {
		return err
	}
	args, err := json.Marshal(school.ResetMailArgs{Digest: secrets.Hash(key), Site: site.String(), Language: language})
	if err != nil {
		return core.Wrap(err, core.CodeInternal, "", "the arguments of a mail cannot be written")
	}
	_, _, err = d.Mail.SubmitTask(ctx, core.Task{
		ID: d.newID(), Kind: school.KindResetMail, Args: args, Unique: school.KindResetMail + ":" + sum, Priority: core.PriorityHigh,
	})
	return err
}

// ResetLink makes the link that a user asked for, who is named by the digest that AskReset gave its task, and says in
// which language it is told; "" if that is not known. Returns NOTFOUND for a user that is unknown, is disabled or has no
// e-mail address.
func (d *Service) ResetLink(ctx context.Context, digest string) (l Link, language string, err error) {
	u, err := d.userOf(ctx, digest)
	if err == nil && (u.Disabled || u.Email == "") {
		err = nobody()
	}
	if err != nil {
		return Link{}, "", err
	}
	a, err := d.Store.GetAccount(ctx, u.Handle)
	if err != nil {
		return Link{}, "", err
	}
	now := d.next(a)
	l = Link{User: u.Handle, Name: u.Name, Email: u.Email, Secret: secrets.New(secrets.Link), Expires: now + ResetLife.Milliseconds(), token: d.newID()}
	t := school.Token{
		ID: l.token, Kind: school.TokenLink, User: u.Handle, Name: "sign-in link by mail", Hash: secrets.Hash(l.Secret), Created: now, Expires: l.Expires,
	}
	err = d.change(ctx, own(u.Handle), u.Handle, "asks for a sign-in link by mail", func() error { return d.Store.AddToken(ctx, t) })
	return l, a.Language, err
}

func nobody() error {
	return core.Errorf(core.CodeNotFound, "", "there is nobody to send a link to")
}

// userOf returns the user whose handle or e-mail address has a digest. It reads all users, since no store has digests
// of them; the rate of the tasks bounds how often. Returns NOTFOUND.
func (d *Service) userOf(ctx context.Context, digest string) (school.User, error) {
	const page = 500
	for after := ""; ; {
		users, err := d.Store.ListUsers(ctx, after, page)
		if err != nil {
			return school.User{}, err
		}
		for i := range users {
			u := &users[i]
			if secrets.Hash(u.Handle) == digest || u.Email != "" && secrets.Hash(strings.ToLower(u.Email)) == digest {
				return *u, nil
			}
		}
		if len(users) < page {
			return school.User{}, nobody()
		}
		after = users[len(users)-1].Handle
	}
}

// Unsent removes a link that did not reach its user.
func (d *Service) Unsent(ctx context.Context, l Link) error {
	_, err := d.Store.RemoveToken(ctx, l.User, l.token)
	return err
}
