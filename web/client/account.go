package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/school"
)

// Me is the caller.
type Me struct {
	classes.Profile
	Token  string         `json:"token,omitempty"` // id of the token in use
	Scopes []school.Scope `json:"scopes"`          // scopes of the token
}

// Actor returns the user with the rights that the site reported; the site checks them again.
func (m *Me) Actor() core.Actor {
	a := core.Actor{Handle: m.Handle, Roles: m.Roles, In: map[string]core.UserRole{}}
	for _, e := range m.Classes {
		a.In[e.Class] = e.Role
	}
	return a
}

// Me returns the caller.
func (c *Client) Me(ctx context.Context) (Me, error) { return get[Me](ctx, c, nil, "me") }

// Who returns the token's user.
func (c *Client) Who(ctx context.Context) (core.Actor, error) {
	me, err := c.Me(ctx)
	return me.Actor(), err
}

// SignIn is a request for a token.
type SignIn struct {
	User     string         // handle or e-mail address
	Password string         // of that user
	Name     string         // of the token in lists, such as that of a computer
	Scopes   []school.Scope // that it is to have
	Life     time.Duration  // 0: the site's own choice
}

// SignIn makes a token of the user's, and returns it with its secret, which no other call returns. It is not
// repeated: each call makes a token.
func (c *Client) SignIn(ctx context.Context, s SignIn) (secret string, t school.Token, err error) {
	out, err := ask[struct {
		Secret string       `json:"secret"`
		Token  school.Token `json:"token"`
	}](ctx, c, call{method: http.MethodPost, path: []string{"sign-in"}, body: struct {
		User     string         `json:"user"`
		Password string         `json:"password"`
		Name     string         `json:"name"`
		Scopes   []school.Scope `json:"scopes"`
		Life     int64          `json:"life_ms,omitempty"`
	}{s.User, s.Password, s.Name, s.Scopes, s.Life.Milliseconds()}})
	return out.Secret, out.Token, err
}

// RevokeToken revokes one of the caller's tokens, by its id.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: []string{"tokens", id}})
}

// MakeLink makes a link by which a user can sign in once, within life (0: an hour). Only for admins. It is not
// repeated: each call makes a link.
func (c *Client) MakeLink(ctx context.Context, user string, life time.Duration) (account.Link, error) {
	return post[account.Link](ctx, c, lifeOf(life), "users", user, "link")
}

// MakeLinks makes such links for a page of a class's members, and returns the handle after which the next page
// begins; "" for none.
func (c *Client) MakeLinks(ctx context.Context, of account.ClassLinks) (all []account.Link, next string, err error) {
	query := lifeOf(of.Life)
	for name, value := range map[string]string{"class": of.Class, "role": string(of.Role), "cursor": of.After, "limit": strconv.Itoa(min(of.Limit, maxPage))} {
		if value != "" {
			query.Set(name, value)
		}
	}
	page, err := post[pageOf[account.Link]](ctx, c, query, "users", "links")
	return page.Items, page.Next, err
}

func lifeOf(life time.Duration) url.Values {
	if life == 0 {
		return url.Values{}
	}
	return values("life_ms", strconv.FormatInt(life.Milliseconds(), 10))
}
