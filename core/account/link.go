package account

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"drover/core"
	"drover/core/account/secrets"
	"drover/core/school"
)

// How long a sign-in link can be used: the default, and the maximum.
const (
	LinkLife    = time.Hour
	MaxLinkLife = 30 * 24 * time.Hour
)

// ErrLink is the FORBIDDEN for a link that cannot be used.
var ErrLink = core.Errorf(core.CodeForbidden, "", "the link is not valid: it was used already, is too old, or is not whole; ask for another one")

// Link lets a user sign in once.
type Link struct {
	User    string `json:"user"` // its handle
	Name    string `json:"name,omitempty"`
	Email   string `json:"email,omitempty"`
	Secret  string `json:"-"`
	URL     string `json:"link"` // see At
	Expires int64  `json:"expires_ms"`

	token string // its id
}

// At returns the link with its URL at a site.
func (l Link) At(site *url.URL) Link {
	u := site.JoinPath("sign-in", "link")
	u.RawQuery = url.Values{"token": {l.Secret}}.Encode()
	l.URL = u.String()
	return l
}

// MakeLink makes a link by which a user can sign in once, within life (0: LinkLife), and then sets a new password.
// Only for admins. Returns FORBIDDEN, NOTFOUND, LIMIT, INVALID for a life longer than MaxLinkLife, and CONFLICT for a
// disabled user.
func (d *Service) MakeLink(ctx context.Context, a core.Actor, handle string, life time.Duration) (Link, error) {
	if err := core.Allow(a, core.ActUserManage, core.Object{}); err != nil {
		return Link{}, err
	}
	if life < 0 || life > MaxLinkLife {
		return Link{}, core.Errorf(core.CodeInvalid, handle, "a sign-in link is good for at most %d days", int(MaxLinkLife.Hours())/24)
	}
	u, err := d.Store.GetUser(ctx, handle)
	if err != nil {
		return Link{}, err
	}
	if u.Disabled {
		return Link{}, core.Errorf(core.CodeConflict, u.Handle, "user %s is disabled: enable it first", u.Handle)
	}
	account, err := d.Store.GetAccount(ctx, u.Handle)
	if err != nil {
		return Link{}, err
	}
	now := d.next(account)
	l := Link{User: u.Handle, Name: u.Name, Email: u.Email, Secret: secrets.New(secrets.Link), Expires: now + cmp.Or(life, LinkLife).Milliseconds()}
	t := school.Token{
		ID: d.newID(), Kind: school.TokenLink, User: u.Handle, Name: "sign-in link", Hash: secrets.Hash(l.Secret),
		Created: now, Expires: l.Expires,
	}
	return l, d.change(ctx, a, u.Handle, "makes a sign-in link for "+u.Handle, func() error { return d.Store.AddToken(ctx, t) })
}

// ClassLinks selects a page of a class's members for links.
type ClassLinks struct {
	Class string
	Role  core.UserRole // in the class; "": any
	Life  time.Duration // as in MakeLink
	After string        // handle of the last member of the page before
	Limit int           // most members of the page, 1 to 1000
}

// MakeLinks makes a link for each member of a class who is not disabled, and returns the handle after which the next
// page begins; "" for none. Returns as MakeLink does; links made before an error are valid.
func (d *Service) MakeLinks(ctx context.Context, a core.Actor, of ClassLinks) (all []Link, next string, err error) {
	if err := core.Allow(a, core.ActUserManage, core.Object{}); err != nil {
		return nil, "", err
	}
	if of.Role != "" && !of.Role.InClass() {
		return nil, "", core.Errorf(core.CodeInvalid, string(of.Role), "the role %.40q is none in a class: use student, teaching_assistant or teacher", of.Role)
	}
	if _, err := d.Store.GetClass(ctx, of.Class); err != nil {
		return nil, "", err
	}
	members, err := d.Store.Members(ctx, of.Class, of.After, of.Limit)
	if err != nil {
		return nil, "", err
	}
	all = []Link{}
	for _, m := range members {
		if of.Role != "" && m.Role != of.Role {
			continue
		}
		l, err := d.MakeLink(ctx, a, m.User, of.Life)
		if core.Is(err, core.CodeConflict) {
			continue // disabled
		}
		if err != nil {
			return nil, "", err
		}
		all = append(all, l)
	}
	if len(members) == of.Limit {
		next = members[len(members)-1].User
	}
	return all, next, nil
}

// LookAtLink returns nil if a link can be used. It does not use it up: programs that scan mail fetch links. Returns
// ErrLink.
func (d *Service) LookAtLink(ctx context.Context, secret string) error {
	_, err := d.link(ctx, secret)
	return err
}

func (d *Service) link(ctx context.Context, secret string) (school.Token, error) {
	if !secrets.WellFormed(secrets.Link, secret) {
		return school.Token{}, ErrLink
	}
	t, err := d.Store.TokenByHash(ctx, secrets.Hash(secret))
	switch {
	case core.Is(err, core.CodeNotFound):
		return school.Token{}, ErrLink
	case err != nil:
		return school.Token{}, err
	case t.Kind != school.TokenLink && t.Kind != school.TokenInvite || t.Expires <= d.now().UnixMilli():
		return school.Token{}, ErrLink
	}
	return t, nil
}

// void reports whether a link is older than its user's last change: another link, or a new password, invalidates a
// link that got into the wrong hands.
func void(link school.Token, a school.Account) bool {
	return link.Created <= max(a.SignedOut, a.ChangedAt)
}

// RedeemLink signs in the user of a link or of an invitation, and uses it up. The user's password, if any, is removed,
// and sessions end; an invitation is good only for a user without a way in. Returns FORBIDDEN.
func (d *Service) RedeemLink(ctx context.Context, secret string) (SignedIn, error) {
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
	if void(t, a) {
		return SignedIn{}, ErrLink
	}
	if err := d.invited(ctx, t, &u); err != nil {
		return SignedIn{}, err
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
		a, err = d.put(ctx, u.Handle, func(a *school.Account) error {
			if void(t, *a) || t.Kind == school.TokenInvite && a.Password != "" {
				return ErrLink
			}
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
