// Package ltitest plays a learning platform for tests: it has keys, publishes and uses them as a real one does, and
// answers what a tool asks.
package ltitest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"drover/core/school"
	"drover/core/webhook"
)

// Names of claims.
const (
	Claim = "https://purl.imsglobal.org/spec/lti/claim/"
	Role  = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
)

// Client and Deployment are the tool's at the platform.
const (
	Client     = "client-1"
	Deployment = "deployment-1"
)

// Key is a key pair with its id.
type Key struct {
	ID      string
	Private *rsa.PrivateKey
}

// NewKey makes a key.
func NewKey(t *testing.T, id string, bits int) Key {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, bits)
	require.NoError(t, err)
	return Key{id, private}
}

// Public is the key as platforms publish it.
func (k Key) Public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: &k.Private.PublicKey, KeyID: k.ID, Algorithm: "RS256", Use: "sig"}
}

// Platform is a learning platform.
type Platform struct {
	*httptest.Server

	Key Key

	mu        sync.Mutex
	published []jose.JSONWebKey
	asked     int // for keys
	tool      func() jose.JSONWebKeySet
	tokens    int              // that were given
	scores    []map[string]any // that were taken
	down      bool
	people    []map[string]any // of its course
	bend      func(http.Header, map[string]any)
	says      func(map[string]any)
	tools     []map[string]any
}

// New starts a platform with one key.
func New(t *testing.T) *Platform {
	t.Helper()
	p := &Platform{Key: NewKey(t, "k1", 2048)}
	p.Publish(p.Key)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked++
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: p.published})
	})
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("POST /items/1/lineitem/scores", p.score)
	mux.HandleFunc("GET /courses/1/members", p.members)
	mux.HandleFunc("GET /openid-configuration", p.configuration)
	mux.HandleFunc("POST /register", p.register)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Publish replaces the published keys.
func (p *Platform) Publish(keys ...Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.published = nil
	for _, k := range keys {
		p.published = append(p.published, k.Public())
	}
}

// Asked is how often the keys were asked for.
func (p *Platform) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Addresses lets a tool ask the platform, which is on this machine.
func Addresses() webhook.Addresses {
	return webhook.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// Record is the platform as an admin of the tool adds it.
func (p *Platform) Record() school.LTIPlatform {
	return school.LTIPlatform{
		ID: "moodle", Name: "Moodle of the school", Issuer: "https://moodle.school.example", Client: Client, Deployments: []string{Deployment},
		AuthURL: "https://moodle.school.example/auth?x=1", TokenURL: p.URL + "/token", KeysURL: p.URL + "/jwks",
	}
}

// Claims are those of a launch of a link by somebody with a role in a course.
func (p *Platform) Claims(query url.Values, subject, role string) map[string]any {
	now := time.Now()
	return map[string]any{
		"iss": p.Record().Issuer, "aud": Client, "sub": subject, "nonce": query.Get("nonce"), "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		"name": "Name of " + subject, "email": subject + "@school.example",
		Claim + "message_type": "LtiResourceLinkRequest", Claim + "version": "1.3.0", Claim + "deployment_id": Deployment,
		Claim + "target_link_uri": query.Get("redirect_uri"), Claim + "roles": []string{Role + role},
		Claim + "resource_link": map[string]any{"id": "link-1", "title": "Week 1"},
		Claim + "context":       map[string]any{"id": "course-1", "label": "CS", "title": "Computer science"},
	}
}

// Sign signs claims by a key and an algorithm.
func Sign(t *testing.T, key any, id string, how jose.SignatureAlgorithm, claims any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	if id != "" {
		options = options.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: how, Key: key}, options)
	require.NoError(t, err)
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	require.NoError(t, err)
	return token
}

// Token signs claims as the platform does.
func (p *Platform) Token(t *testing.T, claims any) string {
	t.Helper()
	return Sign(t, p.Key.Private, p.Key.ID, jose.RS256, claims)
}

// LineItem is the address of a column in the platform's gradebook, as Moodle forms it.
func (p *Platform) LineItem() string { return p.URL + "/items/1/lineitem?type_id=3" }

// Knows gives the platform the tool's keys.
func (p *Platform) Knows(keys func() jose.JSONWebKeySet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tool = keys
}

// Fail has the gradebook fail, or not any more.
func (p *Platform) Fail(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// Scores are those that were taken, and how many tokens were given for them.
func (p *Platform) Scores() (scores []map[string]any, tokens int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]map[string]any{}, p.scores...), p.tokens
}

// accessToken is what the platform gives.
const accessToken = "token-of-the-platform"

func (p *Platform) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var claims jwt.Claims
	signed, err := jwt.ParseSigned(r.PostFormValue("client_assertion"), []jose.SignatureAlgorithm{jose.RS256})
	if err == nil {
		err = signed.Claims(p.tool(), &claims)
	}
	if err == nil {
		err = claims.Validate(jwt.Expected{Issuer: Client, Subject: Client, AnyAudience: jwt.Audience{p.URL + "/token"}, Time: time.Now()})
	}
	if err != nil || claims.ID == "" || r.PostFormValue("grant_type") != "client_credentials" || r.PostFormValue("scope") == "" {
		http.Error(w, "invalid_client", http.StatusUnauthorized)
		return
	}
	p.tokens++
	token := accessToken
	if r.PostFormValue("scope") == "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly" {
		token = membersToken
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "bearer", "expires_in": 3600})
}

func (p *Platform) score(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var score map[string]any
	switch {
	case p.down:
		http.Error(w, "away", http.StatusServiceUnavailable)
	case r.Header.Get("Authorization") != "Bearer "+accessToken:
		http.Error(w, "no token", http.StatusUnauthorized)
	case r.Header.Get("Content-Type") != "application/vnd.ims.lis.v1.score+json" || r.URL.RawQuery != "type_id=3" || json.NewDecoder(r.Body).Decode(&score) != nil:
		http.Error(w, "no score", http.StatusBadRequest)
	default:
		p.scores = append(p.scores, score)
		w.WriteHeader(http.StatusNoContent)
	}
}
