package session

import (
	"context"
	"net/http"

	"drover/core"
	"drover/web/caller"
)

// Again returns the caller as of now, for streams of events, which last long. Returns FORBIDDEN or NOTFOUND once the
// session or token is over, UNAVAILABLE.
func (k *Keeper) Again(r *http.Request) (*caller.Caller, error) {
	if was := caller.From(r.Context()); was != nil && was.Token != "" {
		secret, _ := bearer(r)
		return k.ByToken(r.Context(), secret)
	}
	over := core.Errorf(core.CodeForbidden, "", "nobody is signed in")
	cookie, err := r.Cookie(k.Sessions.Cookie.Name)
	if err != nil {
		return nil, over
	}
	ctx, err := k.Sessions.Load(unloaded{r.Context()}, cookie.Value)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "the session cannot be looked up")
	}
	handle := k.Sessions.GetString(ctx, userKey)
	if handle == "" {
		return nil, over
	}
	in, who, err := k.present(ctx, handle)
	if err == nil && in.Account.MustChange {
		return nil, over
	}
	return who, err
}

// unloaded is a context without the session that was loaded when the request arrived.
type unloaded struct{ context.Context }

// Value hides the session.
func (unloaded) Value(any) any { return nil }
