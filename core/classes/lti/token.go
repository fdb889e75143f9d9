package lti

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"drover/core"
	"drover/core/school"
)

// Rights at a platform.
const (
	scopeScore   = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
	scopeMembers = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
)

// Scopes are the rights that this site asks platforms for: to send scores, and to read who is in a course.
func Scopes() []string { return []string{scopeScore, scopeMembers} }

// Times of tokens.
const (
	assertionLife = 5 * time.Minute
	tokenSpare    = time.Minute // before its end a token is not used any more
	mostTokenLife = time.Hour
)

// accessToken lets this site use a platform's services.
type accessToken struct {
	text  string
	until time.Time
}

// token returns a token for a right at a platform, which is kept until it expires. Returns UNAVAILABLE.
func (s *Service) token(ctx context.Context, p *school.LTIPlatform, scope string) (string, error) {
	s.mu.Lock()
	kept := s.access[p.ID+" "+scope]
	s.mu.Unlock()
	if s.now().Before(kept.until) {
		return kept.text, nil
	}
	assertion, err := s.assertion(ctx, p)
	if err != nil {
		return "", err
	}
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
		"client_assertion": {assertion}, "scope": {scope},
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", core.Wrap(err, core.CodeInvalid, p.ID, "the address of tokens of platform %s cannot be asked", p.ID)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	raw, err := s.ask(r)
	if err != nil {
		return "", err
	}
	var got struct {
		Token   string  `json:"access_token"`
		Seconds float64 `json:"expires_in"`
	}
	if json.Unmarshal(raw, &got) != nil || got.Token == "" || len(got.Token) > maxSealed || strings.ContainsAny(got.Token, " \r\n") {
		return "", core.Errorf(core.CodeUnavailable, p.ID, "platform %s answers with no token", p.ID)
	}
	life := min(time.Duration(max(0, min(got.Seconds, mostTokenLife.Seconds())))*time.Second, mostTokenLife)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.access == nil || len(s.access) > 2*MaxPlatforms {
		s.access = map[string]accessToken{}
	}
	s.access[p.ID+" "+scope] = accessToken{got.Token, s.now().Add(life - tokenSpare)}
	return got.Token, nil
}

// forget drops a token that the platform does not take.
func (s *Service) forget(p *school.LTIPlatform, scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.access, p.ID+" "+scope)
}

// assertion proves to a platform that this site asks.
func (s *Service) assertion(ctx context.Context, p *school.LTIPlatform) (string, error) {
	now := s.now()
	return s.sign(ctx, jwt.Claims{
		Issuer: p.Client, Subject: p.Client, Audience: jwt.Audience{p.TokenURL}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionLife)),
	})
}

// sign signs claims as this site.
func (s *Service) sign(ctx context.Context, claims ...any) (string, error) {
	k, err := s.keysOf(ctx)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: k.private}, (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", k.id))
	if err != nil {
		return "", core.Wrap(err, core.CodeInternal, "", "nothing can be signed")
	}
	b := jwt.Signed(signer)
	for _, some := range claims {
		b = b.Claims(some)
	}
	text, err := b.Serialize()
	return text, core.Wrap(err, core.CodeInternal, "", "nothing can be signed")
}
