package client

import (
	"context"

	"drover/core"
	"drover/core/coursework"
)

// Me is who calls.
type Me struct {
	coursework.Profile
	Token  string       `json:"token,omitempty"` // id of the token that calls
	Scopes []core.Scope `json:"scopes"`          // what the token is good for
}

// Actor is the user with its rights, as far as its own words go: the site decides.
func (m *Me) Actor() core.Actor {
	a := core.Actor{Handle: m.Handle, Roles: m.Roles, In: map[string]core.UserRole{}}
	for _, e := range m.Classes {
		a.In[e.Class] = e.Role
	}
	return a
}

// Me says who calls.
func (c *Client) Me(ctx context.Context) (Me, error) { return get[Me](ctx, c, nil, "me") }

// Who is the user that the token stands for.
func (c *Client) Who(ctx context.Context) (core.Actor, error) {
	me, err := c.Me(ctx)
	return me.Actor(), err
}
