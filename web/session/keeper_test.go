package session_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web/caller"
	"drover/web/session"
)

// fixture is a site of few pages, on a real store and a Redis, with the users ann and root.
type fixture struct {
	*session.Keeper
	t       *testing.T
	store   *sqlite.Store
	redis   *coretest.Backend
	site    http.Handler
	api     http.Handler
	cookies map[string]*http.Cookie
}

var root = core.Actor{Handle: "root", Roles: []core.UserRole{core.RoleAdmin}}

func newFixture(t *testing.T, secure bool) *fixture {
	t.Helper()
	store := sqlitetest.Open(t)
	log := logrus.New()
	log.SetOutput(io.Discard)
	hasher, err := account.NewHasher(account.Cost{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	w := &fixture{t: t, store: store, redis: coretest.Mini(t), cookies: map[string]*http.Cookie{}}
	redis := w.redis.Open(t)
	w.Keeper = &session.Keeper{
		Sessions: session.New(redis, secure, log), Actors: &classes.Service{Store: store}, Log: log,
		Accounts: &account.Service{Store: store, Limits: redis, Hasher: hasher},
	}
	w.put(school.User{Handle: "root", Roles: root.Roles})
	w.put(school.User{Handle: "ann", Name: "Ann Lee", Email: "ann@school.example"})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /in", w.signIn)
	mux.HandleFunc("POST /out", func(rw http.ResponseWriter, r *http.Request) { answer(rw, w.End(r.Context())) })
	mux.HandleFunc("POST /note", func(_ http.ResponseWriter, r *http.Request) { w.Sessions.Put(r.Context(), "note", "mine") })
	mux.HandleFunc("/", whoami)
	w.site, w.api = w.Browsers(mux), w.Programs(http.HandlerFunc(whoami))
	return w
}

func (w *fixture) put(u school.User) {
	w.t.Helper()
	_, err := w.store.PutUser(w.t.Context(), u)
	require.NoError(w.t, err)
}

// signIn signs ann in by the word of a provider.
func (w *fixture) signIn(rw http.ResponseWriter, r *http.Request) {
	in, err := w.Accounts.SignInOIDC(r.Context(), account.Claim{Issuer: "https://id.example", Subject: "1", Email: "ann@school.example", Verified: true})
	if err == nil {
		err = w.Begin(r.Context(), in)
	}
	answer(rw, err)
}

// answer answers 500 if something failed.
func answer(rw http.ResponseWriter, err error) {
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
	}
}

// whoami answers with the caller: handle, name, roles and scopes.
func whoami(w http.ResponseWriter, r *http.Request) {
	c := caller.From(r.Context())
	if c == nil {
		_, _ = io.WriteString(w, "nobody")
		return
	}
	words := []string{c.Actor.Handle, c.Name, c.Language}
	for _, role := range c.Actor.Roles {
		words = append(words, string(role))
	}
	for _, scope := range c.Scopes {
		words = append(words, string(scope))
	}
	_, _ = io.WriteString(w, strings.TrimSpace(strings.Join(words, " ")))
}

// ask sends a request as one browser, which keeps its cookies.
func (w *fixture) ask(method, path string) *http.Response {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, http.NoBody)
	for _, c := range w.cookies {
		r.AddCookie(c)
	}
	rec := httptest.NewRecorder()
	w.site.ServeHTTP(rec, r)
	a := rec.Result()
	for _, c := range a.Cookies() {
		w.cookies[c.Name] = c
		if c.MaxAge < 0 {
			delete(w.cookies, c.Name)
		}
	}
	return a
}

func (w *fixture) who() string {
	w.t.Helper()
	return body(w.t, w.ask(http.MethodGet, "/x"))
}

func body(t *testing.T, a *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	require.NoError(t, a.Body.Close())
	return string(text)
}

func TestCookie(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"__Host-drover": true, "drover": false} {
		w := newFixture(t, secure)
		require.Empty(t, w.ask(http.MethodGet, "/x").Cookies(), "who only looks has none")
		all := w.ask(http.MethodPost, "/in").Cookies()
		require.Len(t, all, 1)
		c := all[0]
		require.Equal(t, name, c.Name)
		require.Equal(t, secure, c.Secure)
		require.True(t, c.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, c.SameSite)
		require.Equal(t, "/", c.Path)
		require.Empty(t, c.Domain)
		require.InDelta(t, (12 * time.Hour).Seconds(), c.MaxAge, 60)
		require.Equal(t, "ann Ann Lee", w.who())
		keys := w.redis.Mini.Keys()
		for _, key := range keys {
			require.NotContains(t, key, c.Value, "the store cannot be used to sign in")
		}
		require.Contains(t, strings.Join(keys, " "), ":web:session:")
	}
}

// A cache that many share may keep what is for everybody: so there is no cookie on it.
func TestNoCookieOnWhatIsForEverybody(t *testing.T) {
	t.Parallel()
	w := newFixture(t, true)
	w.ask(http.MethodPost, "/in")
	require.NotEmpty(t, w.ask(http.MethodGet, "/x").Header["Set-Cookie"], "it lasts longer with each use")
	a := w.ask(http.MethodGet, "/static/drover.css")
	require.Empty(t, a.Header["Set-Cookie"])
	require.Empty(t, a.Header["Vary"])
	require.Equal(t, "nobody", body(t, a))
	require.NotEmpty(t, w.ask(http.MethodGet, "/static/../x").Header["Set-Cookie"], "that leads elsewhere")
}

// Who gave a browser a session before it signed in does not have it afterwards.
func TestFixation(t *testing.T) {
	t.Parallel()
	w := newFixture(t, true)
	w.cookies["__Host-drover"] = &http.Cookie{Name: "__Host-drover", Value: "made-up-by-somebody-else"}
	w.ask(http.MethodPost, "/note")
	planted := w.cookies["__Host-drover"]
	require.NotEqual(t, "made-up-by-somebody-else", planted.Value)
	w.ask(http.MethodPost, "/in")
	require.NotEqual(t, planted.Value, w.cookies["__Host-drover"].Value)
	require.Equal(t, "ann Ann Lee", w.who())
	mine := w.cookies["__Host-drover"]
	w.cookies["__Host-drover"] = planted
	require.Equal(t, "nobody", w.who())
	w.cookies["__Host-drover"] = mine
	ctx, err := w.Sessions.Load(t.Context(), mine.Value)
	require.NoError(t, err)
	require.False(t, w.Sessions.Exists(ctx, "note"), "nor does it find what that put there")
}

func TestSignOutEndsTheSession(t *testing.T) {
	t.Parallel()
	w := newFixture(t, true)
	w.ask(http.MethodPost, "/in")
	stolen := w.cookies["__Host-drover"]
	under := w.under(stolen.Value)
	w.ask(http.MethodPost, "/out")
	require.Empty(t, w.cookies)
	_, _, err := w.Sessions.Commit(under) // a request that was under way ends
	require.NoError(t, err)
	w.cookies["__Host-drover"] = stolen
	require.Equal(t, "nobody", w.who())
}

// under is the context of a request with a session.
func (w *fixture) under(token string) context.Context {
	w.t.Helper()
	ctx, err := w.Sessions.Load(w.t.Context(), token)
	require.NoError(w.t, err)
	require.True(w.t, w.Sessions.Exists(ctx, "user"))
	return ctx
}

func TestSessionsThatAreOver(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *fixture){
		"signed out everywhere": func(w *fixture) { require.NoError(w.t, w.Accounts.SignOut(w.t.Context(), root, "ann")) },
		"a new password": func(w *fixture) {
			require.NoError(w.t, w.Accounts.GivePassword(w.t.Context(), root, "ann", "three blind mice"))
		},
		"unused": func(w *fixture) { w.redis.Mini.FastForward(12*time.Hour + time.Minute) },
		"disabled": func(w *fixture) {
			w.put(school.User{Handle: "ann", Name: "Ann Lee", Email: "ann@school.example", Disabled: true, Revision: 1})
		},
		"deleted": func(w *fixture) { require.NoError(w.t, w.store.DeleteUser(w.t.Context(), "ann")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, false)
			w.ask(http.MethodPost, "/in")
			w.redis.Mini.FastForward(11 * time.Hour)
			require.Equal(t, "ann Ann Lee", w.who())
			w.redis.Mini.FastForward(11 * time.Hour)
			require.Equal(t, "ann Ann Lee", w.who(), "it was used meanwhile")
			end(w)
			require.Equal(t, "nobody", w.who())
			require.Equal(t, "nobody", w.who())
		})
	}
}

// Rights are of this moment.
func TestRightsOfThisMoment(t *testing.T) {
	t.Parallel()
	w := newFixture(t, false)
	secret, _, err := w.Accounts.IssueToken(t.Context(), core.Actor{Handle: "ann"}, "laptop", []school.Scope{school.ScopeRead}, 0)
	require.NoError(t, err)
	w.ask(http.MethodPost, "/in")
	w.put(school.User{Handle: "ann", Email: "ann@school.example", Roles: []core.UserRole{core.RoleOperator}, Revision: 1})
	require.NoError(t, w.Accounts.SetLanguage(t.Context(), core.Actor{Handle: "ann"}, "de"))
	require.Equal(t, "ann ann de operator", w.who())
	require.Equal(t, "ann ann de operator read", w.program("Bearer "+secret))
}

func TestMustChange(t *testing.T) {
	t.Parallel()
	w := newFixture(t, false)
	require.NoError(t, w.Accounts.GivePassword(t.Context(), root, "ann", "three blind mice"))
	w.ask(http.MethodPost, "/in")
	for _, path := range []string{"/x", "/", "/account", "/account/password/x", "/sign-outs", "/events/cluster"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			a := w.ask(method, path)
			require.Equal(t, http.StatusSeeOther, a.StatusCode, path)
			require.Equal(t, session.PasswordPage, a.Header.Get("Location"))
		}
	}
	for _, path := range []string{session.PasswordPage, "/sign-out", "/language"} {
		require.Equal(t, "ann Ann Lee", body(t, w.ask(http.MethodPost, path)), path)
	}
	require.Equal(t, http.StatusOK, w.ask(http.MethodGet, "/static/drover.css").StatusCode)
}

// program asks with a header, and with the cookies of the browser.
func (w *fixture) program(authorization string) string {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "/api/v1/me", http.NoBody)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	for _, c := range w.cookies {
		r.AddCookie(c)
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	require.Equal(w.t, "Authorization", rec.Header().Get("Vary"))
	return rec.Body.String()
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	w := newFixture(t, false)
	ctx, ann := t.Context(), core.Actor{Handle: "ann"}
	secret, made, err := w.Accounts.IssueToken(ctx, ann, "laptop", []school.Scope{school.ScopeRead, school.ScopeSubmit}, 0)
	require.NoError(t, err)
	for _, header := range []string{"Bearer " + secret, "bearer  " + secret + " "} {
		require.Equal(t, "ann Ann Lee  read submit", w.program(header))
	}
	w.ask(http.MethodPost, "/in")
	for _, header := range []string{"", "Bearer", "Bearer ", secret, "Basic " + secret, "Bearer dro_wrong", "Bearer " + secret + "x"} {
		require.Equal(t, "nobody", w.program(header), "%q, whatever the cookie", header)
	}
	who, err := w.ByToken(ctx, secret)
	require.NoError(t, err)
	require.Equal(t, made.ID, who.Token)
	require.False(t, who.Allows(school.ScopeTeach))
	require.NoError(t, w.Accounts.Revoke(ctx, ann, "ann", made.ID))
	require.Equal(t, "nobody", w.program("Bearer "+secret))
}

// Where Redis is away nobody is taken for anybody else, and nobody's session is lost.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t, false)
	w.ask(http.MethodPost, "/in")
	w.redis.Mini.SetError("LOADING away")
	a := w.ask(http.MethodGet, "/x")
	require.Equal(t, http.StatusServiceUnavailable, a.StatusCode)
	require.NotContains(t, body(t, a), "LOADING")
	w.redis.Mini.SetError("")
	require.Equal(t, "ann Ann Lee", w.who())
}
