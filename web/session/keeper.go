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

// Names of values in a session.
const (
	userKey  = "user"
	sinceKey = "since"
)

// PasswordPage is where users set a password. A user who must do so can reach no other page.
const PasswordPage = "/account/password"

// reachable are the paths that lead there, and away.
var reachable = []string{PasswordPage, "/sign-out", "/language"}

// staticPrefix begins the paths of files that are the same for all users.
const staticPrefix = "/static/"

// Keeper authenticates requests and puts the caller into their context.
type Keeper struct {
	Sessions *scs.SessionManager
	Accounts *account.Service
	Actors   Actors
	Log      logrus.FieldLogger
}

// Actors returns users as actors, as classes.Service does.
type Actors interface {
	// Actor returns NOTFOUND, and FORBIDDEN for a disabled user.
	Actor(ctx context.Context, handle string) (core.Actor, error)
}

// Begin signs a browser in. Its session gets a new token, so that a token known to somebody else before is worthless,
// and loses its former values.
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

// Browsers puts the session and its caller into the context of requests. A session that is over is cleared.
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
			next.ServeHTTP(w, r) // caches share these between users: they must not carry a cookie
			return
		}
		known.ServeHTTP(w, r)
	})
}

// present returns the user of a session, and the caller.
func (k *Keeper) present(ctx context.Context, handle string) (account.SignedIn, *caller.Caller, error) {
	in, err := k.Accounts.Present(ctx, handle, k.Sessions.GetInt64(ctx, sinceKey))
	if err != nil {
		return in, nil, err
	}
	who, err := k.caller(ctx, in)
	return in, who, err
}

// Programs puts the caller of a request's token into its context. Without a valid token there is no caller. Cookies
// are ignored, so requests cannot be forged.
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

// ByToken returns the caller of a token. Returns FORBIDDEN or NOTFOUND for an invalid one, UNAVAILABLE.
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

// caller returns the signed-in user as a caller.
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

// unknown reports whether an error means that the user does not exist or is disabled, or the token or session is
// invalid.
func unknown(err error) bool {
	return core.Is(err, core.CodeForbidden) || core.Is(err, core.CodeNotFound)
}
