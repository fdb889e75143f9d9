package sign_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/school"
)

func contains(a answer, text string) bool { return strings.Contains(a.Text, text) }

func TestAccountPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.password("ann", good)
	b := w.browser()
	b.in("ann", good)
	text := b.shows(b.get("/account"), "ann@school.example", "Ann Lee", `value="read" checked`, `value="submit" checked`)
	for _, scope := range []string{"teach", "cluster", "admin"} {
		require.NotContains(t, text, `value="`+scope+`"`)
	}
	w.password("root", good)
	r := w.browser()
	r.in("root", good)
	r.shows(r.get("/account"), `value="teach"`, `value="cluster"`, `value="admin"`)
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.password("ann", good)
	here, there := w.browser(), w.browser()
	here.in("ann", good)
	there.in("ann", good)
	here.shows(here.get("/account/password"), "Present password")
	here.refuses(here.post("/account/password", "was", "wrong", "password", anew, "again", anew), "the present password is wrong")
	here.refuses(here.post("/account/password", "was", good, "password", "12345678", "again", "12345678"), "commonest")
	require.Equal(t, "Ann Lee", there.signedIn())
	here.goes(here.post("/account/password", "was", good, "password", anew, "again", anew), "/account")
	require.Equal(t, "Ann Lee", here.signedIn())
	require.Empty(t, there.signedIn())
	here.shows(here.get("/account"), "Your password was changed.")
}

// A password that somebody else gave opens nothing but the page on which it is changed.
func TestAGivenPasswordIsChangedFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	require.NoError(t, w.service.GivePassword(t.Context(), root, "ann", good))
	b := w.browser()
	b.in("ann", good)
	b.goes(b.get("/secret"), "/account/password")
	b.shows(b.get("/account/password"), "Somebody else set your password", "Present password")
	b.goes(b.post("/account/password", "was", good, "password", anew, "again", anew), "/")
	require.Equal(t, "Ann Lee", b.signedIn())
}

func TestTokens(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.password("ann", good)
	b := w.browser()
	b.in("ann", good)
	const name = `<b onclick="x">laptop</b>`
	for _, days := range []string{"", "0", "-1", "367", "1e3", "99999999999999999999"} {
		b.refuses(b.post("/account/tokens", "name", name, "days", days, "scope", "read"), "A token lasts from one to 366 days.")
	}
	b.refuses(b.post("/account/tokens", "name", "x", "days", "30"), "scope")
	b.refuses(b.post("/account/tokens", "name", "x", "days", "30", "scope", "everything"), "scope")
	text := b.shows(b.post("/account/tokens", "name", name, "days", "30", "scope", "read", "scope", "submit"), "it is not shown again")
	require.NotContains(t, text, name)
	secret := secretOf(t, text)
	got, in, err := w.service.ByToken(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, "ann", in.User.Handle)
	require.Equal(t, []school.Scope{school.ScopeRead, school.ScopeSubmit}, got.Scopes)
	text = b.shows(b.get("/account"), "laptop")
	require.NotContains(t, text, secret)
	require.NotContains(t, text, name)

	w.password("root", good)
	other := w.browser()
	other.in("root", good)
	require.Equal(t, http.StatusNotFound, other.post("/account/tokens/"+got.ID+"/revoke").Code, "it is another's")
	b.goes(b.post("/account/tokens/"+got.ID+"/revoke"), "/account")
	_, _, err = w.service.ByToken(t.Context(), secret)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	b.shows(b.get("/account"), "The token was revoked.")
}

func TestIdentitiesAreUntied(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	_, err := w.service.SignInOIDC(t.Context(), account.Claim{Issuer: "https://id.example", Subject: "<i>7</i>", Email: "ann@school.example", Verified: true})
	require.NoError(t, err)
	link, err := w.service.MakeLink(t.Context(), root, "ann", 0)
	require.NoError(t, err)
	secret := link.Secret
	b := w.browser()
	b.goes(b.post("/sign-in/link", "token", secret), "/")
	require.NotContains(t, b.shows(b.get("/account"), "https://id.example", "You have none."), "<i>7")
	untie := func() answer {
		return b.post("/account/identities/untie", "issuer", "https://id.example", "subject", "<i>7</i>")
	}
	b.refuses(untie(), "it is all that you can sign in with")
	b.goes(b.post("/account/password", "password", good, "again", good), "/account")
	b.goes(untie(), "/account")
	require.Equal(t, http.StatusNotFound, untie().Code)
}

func TestSignOutEverywhere(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.password("ann", good)
	here, there := w.browser(), w.browser()
	here.in("ann", good)
	there.in("ann", good)
	here.goes(here.post("/account/sign-out"), "/sign-in")
	here.shows(here.get("/sign-in"), "You were signed out everywhere.")
	require.Empty(t, here.signedIn())
	require.Empty(t, there.signedIn())
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain, nil)
	w.password("ann", good)
	b := w.browser()
	b.shows(b.get("/sign-in"), `<html lang="en">`)
	b.goes(b.post("/language", "language", "de", "next", "/sign-in"), "/sign-in")
	b.shows(b.get("/sign-in"), `<html lang="de">`, "Benutzer oder E-Mail-Adresse")
	b.refuses(b.post("/sign-in", "user", "ann", "password", anew), "Diesen Benutzer gibt es nicht, oder das Passwort ist falsch.")
	b.in("ann", good)
	b.shows(b.get("/account"), `<html lang="de">`)
	b.goes(b.post("/language", "language", "en", "next", "/account"), "/account")
	b.shows(b.get("/account"), `<html lang="en">`, `<option value="en" lang="en" selected>English</option>`)
	other := w.browser()
	other.header["Accept-Language"] = "de"
	other.in("ann", good)
	other.shows(other.get("/account"), `<html lang="en">`)
	other.goes(other.post("/language", "language", "", "next", "/account"), "/account")
	other.shows(other.get("/account"), `<html lang="de">`)
	b.shows(b.get("/account"), `<html lang="en">`)
	b.header["Referer"] = plain + "/account/password?x=1"
	wrong := b.post("/account/password", "was", good, "password", "x", "again", "x")
	b.refuses(wrong, `name="next" value="/account/password?x=1"`)
	b.header["Referer"] = "https://evil.example//evil.example"
	b.refuses(b.post("/account/password", "was", good, "password", "x", "again", "x"), `name="next" value="/"`)
	c := w.browser()
	c.in("ann", good)
	c.goes(c.post("/language", "language", "de"), "/")
	c.goes(c.post("/sign-out"), "/sign-in")
	c.shows(c.get("/sign-in"), "Sie sind abgemeldet.", `<html lang="de">`)
	for _, none := range []string{"fr", "<b>", "../de", strings.Repeat("x", 300)} {
		require.Equal(t, http.StatusUnprocessableEntity, b.post("/language", "language", none).Code)
	}
}
