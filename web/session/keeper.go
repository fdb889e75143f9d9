package session

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/alexedwards/scs/v2"
	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/account"
	"drover/web/caller"
)

// Names of what a session holds.
const (
	userKey  = "user"
	sinceKey = "since"
)

// PasswordPage is where users set a password. Who must do so can reach nothing else.
const PasswordPage = "/account/password"

// reachable are the paths that lead there, and away.
var reachable = []string{PasswordPage, "/sign-out", "/language"}

// staticPrefix begins the paths of files that are the same for everybody.
const staticPrefix = "/static/"

// Keeper puts who asks into the context of requests.
type Keeper struct {
	Sessions *scs.SessionManager
	Accounts *account.Service
	Actors   Actors
	Log      logrus.FieldLogger
}

// Actors knows users as those who act, as classes.Service does.
type Actors interface {
	// Actor returns NOTFOUND, and FORBIDDEN for a user who is disabled.
	Actor(ctx context.Context, handle string) (core.Actor, error)
}

// Begin lets a browser in. Its session gets another token, so that one that somebody
// else knew before is worth nothing, and forgets what it held.
func (k *Keeper) Begin(ctx context.Context, in account.SignedIn) error {
	if err := k.Sessions.Clear(ctx); err != nil {
		return core.Wrap(err, core.CodeUnavailable, "", "the session cannot be cleared")
	}
	if err := k.Sessions.RenewToken(ctx); err != nil {
		return core.Wrap(err, core.CodeUnavailable, "", "the session cannot begin")
	}
	k.Sessions.Put(ctx, userKey, in.User.Handle)
	k.Sessions.Put(ctx, sinceKey, in.Since)
	return nil
}

// End ends a browser's session.
func (k *Keeper) End(ctx context.Context) error {
	return core.Wrap(k.Sessions.Destroy(ctx), core.CodeUnavailable, "", "the session cannot be ended: try again")
}

// Browsers puts the session, and the caller whose it is, into the context of requests.
// One that is over is nobody's from then on.
func (k *Keeper) Browsers(next http.Handler) http.Handler {
	known := k.Sessions.LoadAndSave(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		handle := k.Sessions.GetString(ctx, userKey)
		if handle == "" {
			next.ServeHTTP(w, r)
			return
		}
		in, who, err := k.present(ctx, handle)
		switch {
		case unknown(err):
			if err := k.Sessions.Destroy(ctx); err != nil {
				away(w, k.Log, err)
				return
			}
			next.ServeHTTP(w, r)
		case err != nil:
			away(w, k.Log, err)
		case in.Account.MustChange && !slices.Contains(reachable, r.URL.Path):
			http.Redirect(w, r, PasswordPage, http.StatusSeeOther)
		default:
			next.ServeHTTP(w, r.WithContext(caller.With(ctx, who)))
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, staticPrefix) && path.Clean(r.URL.Path) == r.URL.Path {
			next.ServeHTTP(w, r) // caches keep these for everybody: no cookie may be on them
			return
		}
		known.ServeHTTP(w, r)
	})
}

// present returns who is signed in by a session.
func (k *Keeper) present(ctx context.Context, handle string) (account.SignedIn, *caller.Caller, error) {
	in, err := k.Accounts.Present(ctx, handle, k.Sessions.GetInt64(ctx, sinceKey))
	if err != nil {
		return in, nil, err
	}
	who, err := k.caller(ctx, in)
	return in, who, err
}

// Programs puts the caller whose token a request has into its context. One without a
// good token has no caller. Cookies do not count: so there is nothing to forge.
func (k *Keeper) Programs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Authorization")
		secret, ok := bearer(r)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		who, err := k.ByToken(r.Context(), secret)
		switch {
		case unknown(err):
			next.ServeHTTP(w, r)
		case err != nil:
			away(w, k.Log, err)
		default:
			next.ServeHTTP(w, r.WithContext(caller.With(r.Context(), who)))
		}
	})
}

// bearer returns the token of a request.
func bearer(r *http.Request) (secret string, ok bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), strings.EqualFold(scheme, "Bearer")
}

// ByToken returns whose a token is. Returns FORBIDDEN or NOTFOUND for one that is no good,
// UNAVAILABLE.
func (k *Keeper) ByToken(ctx context.Context, secret string) (*caller.Caller, error) {
	t, in, err := k.Accounts.ByToken(ctx, secret)
	if err != nil {
		return nil, err
	}
	who, err := k.caller(ctx, in)
	if err != nil {
		return nil, err
	}
	who.Token, who.Scopes = t.ID, t.Scopes
	return who, nil
}

// caller makes who is signed in one who asks.
func (k *Keeper) caller(ctx context.Context, in account.SignedIn) (*caller.Caller, error) {
	actor, err := k.Actors.Actor(ctx, in.User.Handle)
	if err != nil {
		return nil, err
	}
	name := in.User.Name
	if name == "" {
		name = in.User.Handle
	}
	return &caller.Caller{Actor: actor, Name: name, Language: in.Account.Language}, nil
}

// unknown reports whether an error says that nobody asks whom drover knows.
func unknown(err error) bool {
	return core.Is(err, core.CodeForbidden) || core.Is(err, core.CodeNotFound)
}
