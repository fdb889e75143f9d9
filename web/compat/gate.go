package compat

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/school"
	"drover/web/caller"
	"drover/web/services"
)

// Keys returns the user of a token, as session.Keeper does. Returns NOTFOUND or FORBIDDEN for an invalid one.
type Keys interface {
	ByToken(ctx context.Context, secret string) (*caller.Caller, error)
}

// ErrKey is returned for an unknown key.
var ErrKey = errors.New("the key is nobody's")

// TooMuch is returned if a user calls or sends more than allowed, with the time to wait.
type TooMuch struct{ Retry time.Duration }

// Error says so.
func (t *TooMuch) Error() string { return "too much is asked at once: wait a little" }

// Gate authenticates users and limits them.
type Gate struct {
	keys   Keys
	limits core.Limiter // nil: none
	log    logrus.FieldLogger
	of     string    // prefix of the counters of users' calls; "" for those of all programs
	calls  core.Rate // of a user
	bytes  core.Rate // in units
	turns  *turns
}

// DefaultBytes is how much a user may send in half a day by default.
const DefaultBytes = 4 << 30

const (
	unit    = 4 << 10        // bytes that are counted as one
	halfDay = 12 * time.Hour // after which the whole allowance is available again
)

// NewGate makes a gate for users that may send so many bytes in half a day; 0 is DefaultBytes.
func NewGate(p services.Deps, keys Keys, bytes int64) *Gate {
	if bytes == 0 {
		bytes = DefaultBytes
	}
	burst := max(1, int(bytes/unit))
	return &Gate{
		keys: keys, limits: p.Limits, log: p.Log, turns: newTurns(), calls: services.PerUser,
		bytes: core.Rate{Every: halfDay / time.Duration(burst), Burst: burst},
	}
}

// Rated lets users call at a rate of its own, which counts apart from their calls to other APIs: for programs that call
// for many people by one key.
func (g *Gate) Rated(of string, calls core.Rate) *Gate {
	g.of, g.calls = of, calls
	return g
}

// user names a user's counter.
func (g *Gate) user(who *caller.Caller) string {
	if g.of == "" {
		return services.OfUser(who.Actor.Handle)
	}
	return g.of + ":" + who.Actor.Handle
}

// Enter returns the caller. Returns ErrKey, FORBIDDEN for a key without the scope or a user without the right,
// TooMuch.
func (g *Gate) Enter(r *http.Request, secret string, scope school.Scope, act core.Action) (*caller.Caller, error) {
	who, err := g.whose(r.Context(), secret)
	if err != nil {
		if errors.Is(err, ErrKey) {
			if much := g.Take(r.Context(), services.OfAddress(r), services.PerAddress, 1); much != nil {
				return nil, much
			}
		}
		return nil, err
	}
	if err := g.Take(r.Context(), g.user(who), g.calls, 1); err != nil {
		return nil, err
	}
	if !who.Allows(scope) {
		return nil, core.Errorf(core.CodeForbidden, who.Token, "this key is not for that: it needs the scope %s", scope)
	}
	if act == core.ActRequestCreate { // other rights depend on the object, and are checked with it
		return who, core.Allow(who.Actor, act, core.Object{})
	}
	return who, nil
}

func (g *Gate) whose(ctx context.Context, secret string) (*caller.Caller, error) {
	if secret == "" {
		return nil, ErrKey
	}
	who, err := g.keys.ByToken(ctx, secret)
	if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeForbidden) {
		return nil, ErrKey
	}
	return who, err
}

// Calls counts n more calls of a user, for a batch. Returns TooMuch.
func (g *Gate) Calls(ctx context.Context, who *caller.Caller, n int) error {
	return g.Take(ctx, g.user(who), g.calls, n)
}

// Take returns TooMuch if a rate does not allow n. If the counter is away, all pass.
func (g *Gate) Take(ctx context.Context, name string, rate core.Rate, n int) error {
	if g.limits == nil || n == 0 {
		return nil
	}
	a, err := g.limits.Take(ctx, name, rate, min(n, rate.Burst))
	switch {
	case err != nil:
		g.log.WithError(err).Warn("calls of the compatible APIs are not counted")
		return nil
	case !a.Allowed:
		return &TooMuch{a.Retry}
	}
	return nil
}

// CallbackSecret signs the messages to callback addresses. It can be computed from the key with which they were
// requested, but the key cannot be computed from it.
func CallbackSecret(key string) string {
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte("drover callback"))
	return "whsec_" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
}
