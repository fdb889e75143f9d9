package sign

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"drover/core"
	"drover/core/account"
)

// Bounds on what a provider answers.
const (
	providerTimeout = 10 * time.Second
	providerBytes   = 1 << 20
)

// Provider is a provider of OpenID Connect, by which users sign in.
type Provider struct {
	Name   string // name for people
	Issuer string // its URL, exactly as it reports it
	Client string // the site's id there
	Secret string // the site's; "" for a client without one

	found atomic.Pointer[oidc.Provider] // once it has answered
}

// bounded refuses long answers.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, providerBytes)
	}
	return answer, err
}

// providerClient asks providers.
var providerClient = &http.Client{Timeout: providerTimeout, Transport: bounded{http.DefaultTransport}}

// discover fetches the provider's endpoints, the first time it is called. So a site can start while its provider is
// away. Returns UNAVAILABLE.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	if found := p.found.Load(); found != nil {
		return found, nil
	}
	found, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, p.Issuer, "the provider of OpenID Connect at %s (setting oidc_issuer) cannot be used", p.Issuer)
	}
	p.found.Store(found)
	return found, nil
}

// attempt is a sign-in in progress: values known only to this browser and the provider.
type attempt struct {
	State    string // returned by the provider
	Nonce    string // included in what it signs
	Verifier string // binds the code to this site
}

// client returns the site's configuration as a client of the provider.
func (p *Provider) client(found *oidc.Provider, back *url.URL) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.Client, ClientSecret: p.Secret, Endpoint: found.Endpoint(), RedirectURL: back.String(),
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// page returns the URL at which a user signs in at the provider; back is where it returns to. Returns UNAVAILABLE.
func (p *Provider) page(ctx context.Context, a attempt, back *url.URL) (string, error) {
	ctx = oidc.ClientContext(ctx, providerClient)
	found, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return p.client(found, back).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// claim returns the provider's claim, for the code that a user brought back. Returns UNAVAILABLE, and FORBIDDEN for
// an invalid claim.
func (p *Provider) claim(ctx context.Context, a attempt, code string, back *url.URL) (account.Claim, error) {
	ctx = oidc.ClientContext(ctx, providerClient)
	found, err := p.discover(ctx)
	if err != nil {
		return account.Claim{}, err
	}
	token, err := p.client(found, back).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError {
			return account.Claim{}, p.forged(err)
		}
		return account.Claim{}, core.Wrap(err, core.CodeUnavailable, p.Issuer, "the provider of OpenID Connect at %s does not answer", p.Issuer)
	}
	raw, _ := token.Extra("id_token").(string)
	signed, err := found.Verifier(&oidc.Config{ClientID: p.Client}).Verify(ctx, raw)
	if err != nil {
		return account.Claim{}, p.forged(err)
	}
	if subtle.ConstantTimeCompare([]byte(signed.Nonce), []byte(a.Nonce)) != 1 {
		return account.Claim{}, p.forged(errors.New("its nonce is another"))
	}
	var says struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some providers send a text
		Party    string `json:"azp"`
	}
	if err := signed.Claims(&says); err != nil {
		return account.Claim{}, p.forged(err)
	}
	if says.Party != "" && says.Party != p.Client {
		return account.Claim{}, p.forged(errors.New("it is for another site"))
	}
	return account.Claim{Issuer: p.Issuer, Subject: signed.Subject, Email: says.Email, Verified: says.Verified == true || says.Verified == "true"}, nil
}

// forged refuses an invalid or forged claim.
func (p *Provider) forged(err error) error {
	return core.Wrap(err, core.CodeForbidden, p.Issuer, "what the provider of OpenID Connect said of you does not hold")
}
