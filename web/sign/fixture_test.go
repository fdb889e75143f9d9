package sign_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web"
	"drover/web/page"
	"drover/web/services"
	"drover/web/session"
	"drover/web/sign"
)

const (
	home = "192.0.2.7"
	good = "three blind mice"
	anew = "see how they run"
)

var root = core.Actor{Handle: "root", Roles: []core.UserRole{core.RoleAdmin}}

// fixture is a whole site of these pages, as browsers have it, with ann, and root who is an admin.
type fixture struct {
	t       *testing.T
	store   *sqlite.Store
	redis   *coretest.Backend
	deps    services.Deps
	service *account.Service
	url     *url.URL
	site    *page.Site
	http.Handler
}

// newFixture makes a site at a URL.
func newFixture(t *testing.T, at string, provider *sign.Provider) *fixture {
	t.Helper()
	store := sqlitetest.Open(t)
	log := logrus.New()
	log.SetOutput(io.Discard)
	hasher, err := account.NewHasher(account.Cost{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	w := &fixture{t: t, store: store, redis: coretest.Mini(t)}
	w.url, err = url.Parse(at)
	require.NoError(t, err)
	redis := w.redis.Open(t)
	w.service = &account.Service{Store: store, Limits: redis, Hasher: hasher}
	w.deps = services.Deps{URL: w.url, Classes: &classes.Service{Store: store}, Accounts: w.service, Limits: redis, Log: log}
	keeper := &session.Keeper{Sessions: session.New(redis, w.url.Scheme == "https", log), Accounts: w.service, Actors: w.deps.Classes, Log: log}
	where := page.Section{Pages: fstest.MapFS{}, Routes: []page.Route{
		{Pattern: "GET /{$}", Serve: func(r *page.Request) error { return r.Redirect("/account", "") }},
		{Pattern: "GET /secret", Serve: func(r *page.Request) error { _, err := io.WriteString(r.W, "for "+r.Caller.Name); return err }},
	}}
	w.site, err = page.New(page.Config{Name: "Test school", Sessions: keeper.Sessions, Log: log}, sign.Section(w.deps, keeper, provider), where)
	require.NoError(t, err)
	none := http.NotFoundHandler()
	w.Handler, err = web.Handler(web.Config{URL: w.url, Log: log}, web.Handlers{API: none, Judge0: none, Tango: none, Jobe: none, Events: none, Pages: keeper.Browsers(w.site)})
	require.NoError(t, err)
	w.put(school.User{Handle: "root", Name: "Ruth Root", Roles: root.Roles})
	w.put(school.User{Handle: "ann", Name: "Ann Lee", Email: "ann@school.example"})
	return w
}

func (w *fixture) put(u school.User) {
	w.t.Helper()
	_, err := w.store.PutUser(w.t.Context(), u)
	require.NoError(w.t, err)
}

// password sets a user's first password.
func (w *fixture) password(user, password string) {
	w.t.Helper()
	_, err := w.service.ChangePassword(w.t.Context(), core.Actor{Handle: user}, "", password, home)
	require.NoError(w.t, err)
}

// browser is somebody's, with cookies and an address of its own.
type browser struct {
	*fixture
	cookies map[string]*http.Cookie
	address string
	header  map[string]string
}

func (w *fixture) browser() *browser {
	return &browser{fixture: w, cookies: map[string]*http.Cookie{}, address: home, header: map[string]string{"Sec-Fetch-Site": "same-origin"}}
}

// answer is what came back.
type answer struct {
	Code int
	Text string
	http.Header
}

func (b *browser) ask(method, path string, form url.Values) answer {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(form.Encode()))
	r.RemoteAddr = b.address + ":40000"
	for name, value := range b.header {
		r.Header.Set(name, value)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for c := range maps.Values(b.cookies) {
		r.AddCookie(c)
	}
	rec := httptest.NewRecorder()
	b.ServeHTTP(rec, r)
	for _, c := range rec.Result().Cookies() {
		b.cookies[c.Name] = c
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return answer{rec.Code, rec.Body.String(), rec.Header()}
}

func (b *browser) get(path string) answer { b.t.Helper(); return b.ask(http.MethodGet, path, nil) }

// post sends a form of names and values.
func (b *browser) post(path string, pairs ...string) answer {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return b.ask(http.MethodPost, path, form)
}

// in signs a user in.
func (b *browser) in(user, password string) {
	b.t.Helper()
	b.goes(b.post("/sign-in", "user", user, "password", password), "/")
}

// goes requires that an answer leads to a path.
func (b *browser) goes(a answer, to string) {
	b.t.Helper()
	require.Equal(b.t, http.StatusSeeOther, a.Code, a.Text)
	require.Equal(b.t, to, a.Get("Location"))
}

// shows requires that an answer is a page with the texts, and returns it.
func (b *browser) shows(a answer, texts ...string) string {
	b.t.Helper()
	require.Equal(b.t, http.StatusOK, a.Code, a.Text)
	require.Equal(b.t, "no-store", a.Get("Cache-Control"))
	for _, text := range texts {
		if !contains(a, text) { // without the whole page as the message
			b.t.Fatalf("the page does not show %s", text)
		}
	}
	return a.Text
}

// refuses requires that a form is shown again, with the text.
func (b *browser) refuses(a answer, text string) {
	b.t.Helper()
	require.Equal(b.t, http.StatusUnprocessableEntity, a.Code, a.Text)
	require.Contains(b.t, a.Text, text)
}

// signedIn says who a browser is here; "" for nobody.
func (b *browser) signedIn() string {
	b.t.Helper()
	a := b.get("/secret")
	if a.Code == http.StatusOK {
		return strings.TrimPrefix(a.Text, "for ")
	}
	b.goes(a, "/sign-in?next=%2Fsecret")
	return ""
}

// secretOf takes a secret out of a page.
func secretOf(t *testing.T, text string) string {
	t.Helper()
	secret := regexp.MustCompile(`dr[ol]_[0-9A-Za-z]{49}`).FindString(text)
	require.NotEmpty(t, secret, text)
	return secret
}
