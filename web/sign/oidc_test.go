package sign_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const secure = "https://drover.example"

func TestOpenIDConnect(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	w := newFixture(t, secure, i.Provider)
	b := w.browser()
	b.shows(b.get("/sign-in?next=/secret"), "Sign in with School &lt;id&gt;", `href="/sign-in/oidc?next=%2fsecret"`)
	b.goes(b.through(i), "/secret")
	require.Equal(t, "Ann Lee", b.signedIn())
	// from now on it is the subject that counts
	i.set(func() { i.says["email"], i.says["email_verified"] = "new@school.example", false })
	again := w.browser()
	again.goes(again.through(i), "/secret")
	require.Equal(t, "Ann Lee", again.signedIn())
	again.shows(again.get("/account"), i.server.URL, "4711")
}

// refusedBy signs in by a provider that does what edit says, which must not do.
func refusedBy(t *testing.T, edit func(i *issuer), text string) {
	t.Helper()
	i := newIssuer(t)
	w := newFixture(t, secure, i.Provider)
	edit(i)
	b := w.browser()
	a := b.through(i)
	require.Equal(t, http.StatusForbidden, a.Code, a.Text)
	require.Contains(t, a.Text, text)
	require.NotContains(t, a.Text, "<script>alert")
	require.Empty(t, b.signedIn())
	ids, err := w.store.Identities(t.Context(), "ann")
	require.NoError(t, err)
	require.Empty(t, ids)
}

func TestLiesOfProviders(t *testing.T) {
	t.Parallel()
	const hold = "is invalid: sign in again"
	for name, test := range map[string]struct {
		edit func(i *issuer)
		text string
	}{
		"nonce":         {func(i *issuer) { i.says["nonce"] = "another" }, hold},
		"no nonce":      {func(i *issuer) { i.says["nonce"] = nil }, hold},
		"issuer":        {func(i *issuer) { i.says["iss"] = "https://evil.example" }, hold},
		"audience":      {func(i *issuer) { i.says["aud"] = "another site" }, hold},
		"party":         {func(i *issuer) { i.says["aud"], i.says["azp"] = []string{"drover", "x"}, "x" }, hold},
		"expired":       {func(i *issuer) { i.says["exp"] = time.Now().Add(-time.Hour).Unix() }, hold},
		"signature":     {func(i *issuer) { i.signer = newKey(t) }, hold},
		"not signed":    {func(i *issuer) { i.alg = "none" }, hold},
		"not verified":  {func(i *issuer) { i.says["email_verified"] = false }, "verified e-mail address"},
		"verified, odd": {func(i *issuer) { i.says["email_verified"] = "yes, really" }, "verified e-mail address"},
		"no address":    {func(i *issuer) { i.says["email"] = "" }, "verified e-mail address"},
		"nobody here":   {func(i *issuer) { i.says["email"] = "<script>alert(1)</script>@school.example" }, "no user here has the e-mail address"},
		"a handle":      {func(i *issuer) { i.says["email"] = "ann" }, "no user here has the e-mail address"},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); refusedBy(t, test.edit, test.text) })
	}
}

func TestAttemptsAreOneBrowsersAndOnce(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	w := newFixture(t, secure, i.Provider)
	refused := func(a answer) {
		t.Helper()
		require.Equal(t, http.StatusForbidden, a.Code, a.Text)
		require.Contains(t, a.Text, "This sign-in was not started in this browser, or has expired")
	}
	// a link that makes somebody else's browser a thief's
	thief, ann := w.browser(), w.browser()
	back := i.visit(thief.get("/sign-in/oidc"))
	refused(ann.fromElsewhere(back))
	require.Empty(t, ann.signedIn())
	refused(ann.fromElsewhere("/sign-in/oidc/callback"))
	refused(ann.fromElsewhere("/sign-in/oidc/callback?state=&code=x"))
	// the thief's own code within ann's attempt
	own, err := url.Parse(i.visit(ann.get("/sign-in/oidc")))
	require.NoError(t, err)
	stolen, err := url.Parse(back)
	require.NoError(t, err)
	q := own.Query()
	q.Set("code", stolen.Query().Get("code"))
	a := ann.fromElsewhere("/sign-in/oidc/callback?" + q.Encode())
	require.Equal(t, http.StatusForbidden, a.Code)
	require.Contains(t, a.Text, "is invalid", "its verifier is another browser's")
	require.Empty(t, ann.signedIn())
	// again
	back = i.visit(ann.get("/sign-in/oidc?next=//evil.example"))
	ann.goes(ann.fromElsewhere(back), "/")
	require.Equal(t, "Ann Lee", ann.signedIn())
	refused(ann.fromElsewhere(back))
	// an older attempt, and another provider's answer
	older := i.visit(ann.get("/sign-in/oidc"))
	newer := i.visit(ann.get("/sign-in/oidc"))
	refused(ann.fromElsewhere(older))
	refused(ann.fromElsewhere(newer))
	refused(ann.fromElsewhere(i.visit(ann.get("/sign-in/oidc")) + "&iss=https%3A%2F%2Fevil.example"))
	ann.goes(ann.fromElsewhere(i.visit(ann.get("/sign-in/oidc"))+"&"+url.Values{"iss": {i.server.URL}}.Encode()), "/")
}

func TestProviderSaysNo(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	w := newFixture(t, secure, i.Provider)
	b := w.browser()
	back, err := url.Parse(i.visit(b.get("/sign-in/oidc")))
	require.NoError(t, err)
	q := url.Values{"state": back.Query()["state"], "error": {"access_denied"}, "error_description": {"<script>alert(1)</script>"}}
	a := b.fromElsewhere("/sign-in/oidc/callback?" + q.Encode())
	require.Equal(t, http.StatusForbidden, a.Code)
	require.Contains(t, a.Text, "School &lt;id&gt; did not sign you in.")
	require.NotContains(t, a.Text, "alert(1)")
}

// A provider that does not answer is no reason for the site not to.
func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.away = true
	w := newFixture(t, secure, i.Provider)
	w.password("ann", good)
	b := w.browser()
	require.Equal(t, http.StatusServiceUnavailable, b.get("/sign-in/oidc").Code)
	b.in("ann", good)
	other := w.browser()
	i.set(func() { i.away = false })
	back := i.visit(other.get("/sign-in/oidc"))
	i.set(func() { i.away = true })
	require.Equal(t, http.StatusServiceUnavailable, other.fromElsewhere(back).Code)
	i.set(func() { i.away, i.long = false, true })
	require.NotEqual(t, http.StatusSeeOther, other.through(i).Code, "its answer has no end")
	require.Empty(t, other.signedIn())
	i.set(func() { i.long = false })
	other.goes(other.through(i), "/secret")
}

func TestDisabledUsersOfAProvider(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	w := newFixture(t, secure, i.Provider)
	u, err := w.store.GetUser(t.Context(), "ann")
	require.NoError(t, err)
	u.Disabled = true
	w.put(u)
	b := w.browser()
	a := b.through(i)
	require.Equal(t, http.StatusForbidden, a.Code)
	require.Contains(t, a.Text, "user ann is disabled")
	require.Empty(t, b.signedIn())
}

// Strangers do not fill Redis with sessions.
func TestStrangersBeginFewSessions(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	w := newFixture(t, secure, i.Provider)
	var full int
	for n := range 320 {
		b := w.browser()
		var a answer
		if n%2 == 0 {
			a = b.post("/language", "language", "de")
		} else {
			a = b.get("/sign-in/oidc")
		}
		if a.Code == http.StatusTooManyRequests {
			full++
			require.Contains(t, a.Text, "too many tries")
		}
	}
	require.NotZero(t, full)
	require.Len(t, keysOf(w, "web:session:"), 320-full)
	b := w.browser()
	b.get("/sign-in")
	require.Empty(t, b.cookies, "a page alone begins none")
}

func keysOf(w *fixture, part string) []string {
	var found []string
	for _, key := range w.redis.Mini.Keys() {
		if strings.Contains(key, part) {
			found = append(found, key)
		}
	}
	return found
}
