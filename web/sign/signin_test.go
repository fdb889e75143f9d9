package sign_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const plain = "http://localhost:8080"

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.password("ann", good)
	b := w.browser()
	require.Empty(t, b.signedIn())
	require.NotContains(t, b.shows(b.get("/sign-in?next=/secret"), `name="next" value="/secret"`), "/sign-in/oidc")
	b.refuses(b.post("/sign-in", "user", "ann", "password", anew, "next", "/secret"), "There is no such user, or the password is wrong.")
	again := b.post("/sign-in", "user", `"><script>alert(1)</script>`, "password", good)
	b.refuses(again, "There is no such user, or the password is wrong.")
	require.NotContains(t, again.Text, "<script>alert")
	require.NotContains(t, again.Text, good)
	require.Empty(t, b.signedIn())
	b.goes(b.post("/sign-in", "user", "Ann@School.example", "password", good, "next", "/secret?x=1"), "/secret?x=1")
	require.Equal(t, "Ann Lee", b.signedIn())
	b.goes(b.get("/sign-in?next=/secret"), "/secret")
	b.goes(b.post("/sign-out"), "/sign-in")
	require.Empty(t, b.signedIn())
	b.shows(b.get("/sign-in"), "You are signed out.")
	b.goes(b.post("/sign-out"), "/sign-in")
	require.NotContains(t, b.get("/sign-in").Text, "You are signed out.")
}

func TestDisabledUsersHearSo(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.password("ann", good)
	u, err := w.store.GetUser(t.Context(), "ann")
	require.NoError(t, err)
	u.Disabled = true
	w.put(u)
	b := w.browser()
	b.refuses(b.post("/sign-in", "user", "ann", "password", anew), "There is no such user")
	b.refuses(b.post("/sign-in", "user", "ann", "password", good), "user ann is disabled")
	require.Empty(t, b.signedIn())
}

// A token of the session before the sign-in is worthless after it.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "https://drover.example", nil)
	w.password("ann", good)
	w.password("root", good)
	thief := w.browser()
	thief.goes(thief.post("/language", "language", "de"), "/") // so that it has a session
	const cookie = "__Host-drover"
	planted := thief.cookies[cookie]
	require.NotNil(t, planted)
	ann := w.browser()
	ann.cookies[cookie] = planted
	ann.in("ann", good)
	require.NotEqual(t, planted.Value, ann.cookies[cookie].Value)
	require.Empty(t, thief.signedIn())
	require.Equal(t, "Ann Lee", ann.signedIn())
	require.Contains(t, ann.get("/account").Text, "Abmelden", "the language that was chosen stays")

	before := ann.cookies[cookie].Value
	ann.in("root", good) // over one's own session
	require.NotEqual(t, before, ann.cookies[cookie].Value)
	ann.cookies[cookie].Value = before
	require.Empty(t, ann.signedIn())
}

func TestNextLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.password("ann", good)
	for _, next := range []string{
		"https://evil.example", "//evil.example", `/\evil.example`, `\\evil.example`, "javascript:alert(1)", "evil.example", "/\t/evil.example", "http:evil.example", "",
	} {
		b := w.browser()
		require.Contains(t, b.shows(b.get("/sign-in?"+url.Values{"next": {next}}.Encode())), `name="next" value="/"`, next)
		b.goes(b.post("/sign-in", "user", "ann", "password", good, "next", next), "/")
		b.goes(b.get("/sign-in?"+url.Values{"next": {next}}.Encode()), "/")
		b.goes(b.post("/language", "language", "", "next", next), "/")
	}
}

func TestGuessing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.redis.Mini.SetTime(time.Now()) // where it stays: tries are not forgotten, however long they take
	w.password("ann", good)
	friend := w.browser()
	friend.in("ann", good)
	thief := w.browser()
	thief.address = "198.51.100.9"
	for n := 0; ; n++ {
		require.Less(t, n, 20)
		if a := thief.post("/sign-in", "user", "ann", "password", anew); a.Code != http.StatusUnprocessableEntity || !contains(a, "is wrong") {
			thief.refuses(a, "too many tries to sign in: try again in")
			break
		}
	}
	thief.refuses(thief.post("/sign-in", "user", "ann", "password", good), "too many tries")
	w.browser().in("ann", good) // from home

	spray := w.browser()
	spray.address = "203.0.113.3"
	for n := 0; ; n++ {
		require.Less(t, n, 400)
		if a := spray.post("/sign-in", "user", fmt.Sprintf("user-%d", n), "password", "summer 2026!"); contains(a, "too many tries") {
			break
		}
	}
	spray.refuses(spray.post("/sign-in", "user", "nobody-yet", "password", anew), "too many tries")
}

func TestSignInLink(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.password("ann", good)
	link, err := w.service.MakeLink(t.Context(), root, "ann", 0)
	require.NoError(t, err)
	secret := link.Secret
	b := w.browser()
	for range 3 { // scanners of mail
		a := b.get("/sign-in/link?token=" + secret)
		b.shows(a, "This link signs you in once", secret)
		require.Equal(t, "no-referrer", a.Get("Referrer-Policy"))
	}
	require.Empty(t, b.signedIn())
	b.goes(b.post("/sign-in/link", "token", secret), "/")
	// nothing but setting a password is open now
	for _, path := range []string{"/", "/secret", "/account", "/users"} {
		b.goes(b.get(path), "/account/password")
	}
	b.goes(b.post("/account/tokens", "name", "x", "days", "1", "scope", "read"), "/account/password")
	require.NotContains(t, b.shows(b.get("/account/password"), "Set a password before you continue"), "Present password")
	b.refuses(b.post("/account/password", "password", "ann", "again", "ann"), "too short")
	b.refuses(b.post("/account/password", "password", anew, "again", good), "The two new passwords differ")
	b.goes(b.post("/account/password", "password", anew, "again", anew), "/")
	require.Equal(t, "Ann Lee", b.signedIn())

	other := w.browser()
	for _, a := range []answer{other.get("/sign-in/link?token=" + secret), other.post("/sign-in/link", "token", secret), other.get("/sign-in/link"), other.post("/sign-in/link", "token", "x")} {
		require.Equal(t, http.StatusForbidden, a.Code)
		require.Contains(t, a.Text, "The link is invalid")
	}
	other.refuses(other.post("/sign-in", "user", "ann", "password", good), "is wrong")
	other.in("ann", anew)
}

// Of a new site the first one to use the link it prints is its admin.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	handle, secret, err := w.service.Bootstrap(t.Context())
	require.NoError(t, err)
	require.Equal(t, "root", handle)
	b := w.browser()
	b.goes(b.post("/sign-in/link", "token", secret), "/")
	b.goes(b.post("/account/password", "password", good, "again", good), "/")
	b.shows(b.get("/account"), "admin", "Your password was changed.")
	_, secret, err = w.service.Bootstrap(t.Context())
	require.NoError(t, err)
	require.Empty(t, secret, "it has an admin")
}
