// Package caller holds the user on whose behalf an HTTP request is made. Authentication, by a session or a token,
// puts the Caller into the request's context; API and pages read it only from there.
package caller

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/school"
)

// Caller is an authenticated user of an HTTP request.
type Caller struct {
	Actor    core.Actor
	Name     string         // shown to people; the handle if there is none
	Language string         // BCP 47, chosen by the user; "" is the browser's
	Token    string         // id of the API token of the request; "" for a session
	Scopes   []school.Scope // of the token
}

// Allows reports whether the caller may use the scope. A session has all scopes.
func (c *Caller) Allows(s school.Scope) bool { return c.Token == "" || slices.Contains(c.Scopes, s) }

type key struct{}

// With returns a context with the caller c.
func With(ctx context.Context, c *Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// From returns the caller, nil if nobody is signed in.
func From(ctx context.Context) *Caller {
	c, _ := ctx.Value(key{}).(*Caller)
	return c
}
