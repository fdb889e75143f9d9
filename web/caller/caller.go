// Package caller says on whose behalf an HTTP request is made. The compatible API that let it
// in, a session or a token, puts the Caller into the request's context; API and
// pages read it from there and from nowhere else.
package caller

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/school"
)

// Caller is a user who asks over HTTP.
type Caller struct {
	Actor    core.Actor
	Name     string         // as people read it; the handle if there is none
	Language string         // BCP 47, that the user chose; "" is the browser's
	Token    string         // id of the API token that let it in; "" for a session
	Scopes   []school.Scope // of the token
}

// Allows reports whether the compatible API that let the caller in was opened for the scope.
// A session is good for all.
func (c *Caller) Allows(s school.Scope) bool { return c.Token == "" || slices.Contains(c.Scopes, s) }

type key struct{}

// With returns a context in which c calls.
func With(ctx context.Context, c *Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// From returns who calls, nil if nobody has signed in.
func From(ctx context.Context) *Caller {
	c, _ := ctx.Value(key{}).(*Caller)
	return c
}
