package sign

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"

	"drover/core"
	"drover/web/page"
)

// Names of values in the session during a sign-in.
const (
	stateKey    = "oidc-state"
	nonceKey    = "oidc-nonce"
	verifierKey = "oidc-verifier"
	nextKey     = "oidc-next"
)

// back returns the URL to which the provider returns users.
func (s *pages) back() *url.URL { return s.URL.JoinPath("sign-in", "oidc", "callback") }

// leave sends a user to the provider. It is a link, because browsers' policies forbid forms that lead to other sites;
// it changes only this browser's session.
func (s *pages) leave(r *page.Request) error {
	if err := s.Accounts.MayBegin(r.Context(), address(r)); err != nil {
		return err
	}
	a := attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	to, err := s.provider.page(r.Context(), a, s.back())
	if err != nil {
		return err
	}
	holds := s.keeper.Sessions
	holds.Put(r.Context(), stateKey, a.State)
	holds.Put(r.Context(), nonceKey, a.Nonce)
	holds.Put(r.Context(), verifierKey, a.Verifier)
	holds.Put(r.Context(), nextKey, r.Next("/"))
	http.Redirect(r.W, r.Request, to, http.StatusSeeOther)
	return nil
}

// comeBack signs in a user who returns from the provider. It works once for each leave.
func (s *pages) comeBack(r *page.Request) error {
	holds, ctx := s.keeper.Sessions, r.Context()
	a := attempt{State: holds.PopString(ctx, stateKey), Nonce: holds.PopString(ctx, nonceKey), Verifier: holds.PopString(ctx, verifierKey)}
	next := page.SafePath(holds.PopString(ctx, nextKey), "/")
	q := r.URL.Query()
	iss := q.Get("iss") // of RFC 9207: of several providers, the one that answers
	if a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(q.Get("state"))) != 1 || iss != "" && iss != s.provider.Issuer {
		return core.Errorf(core.CodeForbidden, "", "%s", r.T("This sign-in was not started in this browser, or has expired: start again."))
	}
	if q.Get("error") != "" {
		return core.Errorf(core.CodeForbidden, "", "%s", r.T("%s did not sign you in.", s.provider.Name))
	}
	claim, err := s.provider.claim(ctx, a, q.Get("code"), s.back())
	if core.Is(err, core.CodeForbidden) {
		s.Log.WithError(err).Warn("a provider's word does not hold")
		return core.Errorf(core.CodeForbidden, "", "%s", r.T("The answer of %s is invalid: sign in again, and tell your staff if the problem persists.", s.provider.Name))
	}
	if err != nil {
		return err
	}
	in, err := s.Accounts.SignInOIDC(ctx, claim)
	if err != nil {
		return err
	}
	if err := s.begin(r, in); err != nil {
		return err
	}
	return r.Redirect(next, "")
}
