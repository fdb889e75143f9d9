package sign_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/stretchr/testify/require"

	"drover/web/sign"
)

// issuer is a provider of OpenID Connect, by real HTTP, that can be made to lie.
type issuer struct {
	*sign.Provider
	t      *testing.T
	server *httptest.Server
	key    *ecdsa.PrivateKey

	mu     sync.Mutex
	codes  map[string]url.Values // what was asked for with the code's page
	says   map[string]any        // claims about the user, overriding the true ones
	signer *ecdsa.PrivateKey
	alg    string
	away   bool
	long   bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, codes: map[string]url.Values{}, says: map[string]any{}, alg: "ES256"}
	i.key = newKey(t)
	known := &oidctest.Server{Algorithms: []string{"ES256"}, PublicKeys: []oidctest.PublicKey{{PublicKey: i.key.Public(), KeyID: "k", Algorithm: "ES256"}}}
	mux := http.NewServeMux()
	mux.Handle("/", known)
	mux.HandleFunc("GET /auth", i.auth)
	mux.HandleFunc("POST /token", i.token)
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		away := i.away
		i.mu.Unlock()
		if away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.server.Close)
	known.SetIssuer(i.server.URL)
	i.Provider = &sign.Provider{Name: "School <id>", Issuer: i.server.URL, Client: "drover", Secret: "shared"}
	return i
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// set changes what it does.
func (i *issuer) set(do func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	do()
}

// auth signs every user in at once, and redirects back.
func (i *issuer) auth(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	i.set(func() { i.codes[code] = q })
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

// token gives what a code stands for, once, to the site that asked for it.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	asked, ok := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	client, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	good := ok && client == i.Client && secret == i.Secret && r.FormValue("redirect_uri") == asked.Get("redirect_uri") &&
		asked.Get("code_challenge_method") == "S256" && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:])
	w.Header().Set("Content-Type", "application/json")
	if !good {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	claims := map[string]any{
		"iss": i.server.URL, "sub": "4711", "aud": i.Client, "nonce": asked.Get("nonce"), "email": "ann@school.example", "email_verified": true,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, i.says)
	answer := map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": i.sign(claims)}
	if i.long {
		answer["more"] = strings.Repeat("x", 2*1024*1024)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (i *issuer) sign(claims map[string]any) string {
	text, err := json.Marshal(claims)
	if err != nil {
		return err.Error()
	}
	if i.alg == "none" {
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(`{"alg":"none","kid":"k"}`)) + "." + encode(text) + "."
	}
	signer := i.key
	if i.signer != nil {
		signer = i.signer
	}
	return oidctest.SignIDToken(signer, "k", i.alg, string(text))
}

// visit is what a browser does at the provider: it returns where it is sent back to.
func (i *issuer) visit(a answer) string {
	i.t.Helper()
	require.Equal(i.t, http.StatusSeeOther, a.Code, a.Text)
	to := a.Get("Location")
	require.True(i.t, strings.HasPrefix(to, i.server.URL+"/auth?"), to)
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, to, http.NoBody)
	require.NoError(i.t, err)
	sent, err := stay.Do(r)
	require.NoError(i.t, err)
	require.NoError(i.t, sent.Body.Close())
	back, err := sent.Location()
	require.NoError(i.t, err)
	require.Equal(i.t, "drover.example", back.Host)
	return back.RequestURI()
}

// through signs a browser in by the provider.
func (b *browser) through(i *issuer) answer {
	b.t.Helper()
	return b.fromElsewhere(i.visit(b.get("/sign-in/oidc?next=/secret")))
}

// fromElsewhere follows a link from another site.
func (b *browser) fromElsewhere(path string) answer {
	b.t.Helper()
	b.header["Sec-Fetch-Site"] = "cross-site"
	defer func() { b.header["Sec-Fetch-Site"] = "same-origin" }()
	return b.get(path)
}
