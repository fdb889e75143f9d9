package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/school"
	"drover/web/api"
)

// signIn asks for a token, as nobody.
func (w *fixture) signIn(body string) answer {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodPost, api.Prefix+"/sign-in", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return w.send(nil, r)
}

func TestSignInMakesAToken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.password("ann")
	var made api.NewToken
	w.signIn(`{"user": "ann@example.org", "password": "three blind mice", "name": "laptop", "scopes": ["read", "submit"], "life_ms": 60000}`).
		is(http.StatusCreated).into(&made)
	token, in, err := w.accounts.ByToken(t.Context(), made.Secret)
	require.NoError(t, err)
	require.Equal(t, "ann", in.User.Handle)
	require.Equal(t, made.Token.ID, token.ID)
	require.Equal(t, []school.Scope{school.ScopeRead, school.ScopeSubmit}, token.Scopes)
	require.Equal(t, int64(60_000), token.Expires-token.Created)

	var page api.Page[school.Token]
	a := w.call("ann", "GET", "/tokens", nil).is(http.StatusOK).into(&page)
	made.Token.Used = page.Items[0].Used
	require.Equal(t, []school.Token{made.Token}, page.Items)
	require.NotContains(t, a.Body.String(), made.Secret)
	require.NotContains(t, a.Body.String(), "hash")
	w.call("root", "GET", "/users/ann/tokens", nil).is(http.StatusOK).into(&page)
	require.Len(t, page.Items, 1)
	require.JSONEq(t, `{"items": [], "next": ""}`, w.call("root", "GET", "/tokens", nil).is(http.StatusOK).Body.String())
}

func TestSignInThatIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.password("ann")
	good := `{"user": "ann", "password": "three blind mice", "name": "laptop", "scopes": ["read"]}`
	wrong := w.signIn(strings.Replace(good, "mice", "men", 1)).problem(http.StatusForbidden, core.CodeForbidden)
	unknown := w.signIn(strings.Replace(good, `"ann"`, `"nobody-has-this"`, 1)).problem(http.StatusForbidden, core.CodeForbidden)
	require.Equal(t, wrong, unknown, "nobody learns who there is")
	for _, bad := range []string{
		strings.Replace(good, `"laptop"`, `""`, 1),
		strings.Replace(good, `["read"]`, `[]`, 1),
		strings.Replace(good, `["read"]`, `["everything"]`, 1),
		strings.Replace(good, `"name"`, `"life_ms": 59999, "name"`, 1),
		strings.Replace(good, `"name"`, `"life_ms": 9223372036854775807, "name"`, 1),
	} {
		a := w.signIn(bad)
		a.problem(http.StatusUnprocessableEntity, core.CodeInvalid)
		require.NotContains(t, a.Body.String(), "mice")
	}
	require.NoError(t, w.accounts.GivePassword(t.Context(), w.as("root").Actor, "ann", "see how they run"))
	p := w.signIn(strings.Replace(good, "three blind mice", "see how they run", 1)).problem(http.StatusForbidden, core.CodeForbidden)
	require.Contains(t, p.Detail, "choose one of your own")

	var last answer
	for range 20 {
		last = w.signIn(good)
	}
	last.problem(http.StatusTooManyRequests, core.CodeFull)
	require.NotEmpty(t, last.Header().Get("Retry-After"))
	sheet, err := w.accounts.View(t.Context(), core.Actor{Handle: "ann"}, "ann")
	require.NoError(t, err)
	require.Empty(t, sheet.Tokens)
}

func TestATokenEndsItselfAndOthersOnlyWithTheScopeAdmin(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, mine := w.token("ann", school.ScopeRead)
	_, other := w.token("ann", school.ScopeRead)
	_, boss := w.token("ann", school.ScopeRead, school.ScopeAdmin)
	revoke := func(by, id string, scopes ...school.Scope) answer {
		c := w.as("ann")
		c.Token, c.Scopes = by, scopes
		return w.send(c, httptest.NewRequest(http.MethodDelete, api.Prefix+"/tokens/"+id, http.NoBody))
	}
	revoke(mine, other, school.ScopeRead).problem(http.StatusForbidden, core.CodeForbidden)
	revoke(mine, mine, school.ScopeRead).is(http.StatusNoContent)
	revoke(boss, other, school.ScopeRead, school.ScopeAdmin).is(http.StatusNoContent)
	revoke(boss, other, school.ScopeRead, school.ScopeAdmin).problem(http.StatusNotFound, core.CodeNotFound)
	sheet, err := w.accounts.View(t.Context(), core.Actor{Handle: "ann"}, "ann")
	require.NoError(t, err)
	require.Len(t, sheet.Tokens, 1)
	require.Equal(t, boss, sheet.Tokens[0].ID)
	require.Equal(t, account.DefaultTokenLife.Milliseconds(), sheet.Tokens[0].Expires-sheet.Tokens[0].Created)
}
