package lti_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	service "drover/core/classes/lti"
	"drover/core/classes/lti/ltitest"
	"drover/core/coretest"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web"
	"drover/web/lti"
	"drover/web/page"
	"drover/web/services"
	"drover/web/session"
	"drover/web/sign"
)

const (
	site   = "https://drover.example"
	target = site + "/lti/launch"
)

var root = core.Actor{Handle: "root", Roles: []core.UserRole{core.RoleAdmin}}

// fixture is a site with class cs101, which tess teaches, and a platform.
type fixture struct {
	t        *testing.T
	store    *sqlite.Store
	redis    *coretest.Backend
	accounts *account.Service
	lti      *service.Service
	platform *ltitest.Platform
	http.Handler
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, store: sqlitetest.Open(t), redis: coretest.Mini(t), platform: ltitest.New(t)}
	log := logrus.New()
	log.SetOutput(io.Discard)
	hasher, err := account.NewHasher(account.Cost{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	redis := w.redis.Open(t)
	at, err := url.Parse(site)
	require.NoError(t, err)
	reg := &classes.Service{Store: w.store}
	w.accounts = &account.Service{Store: w.store, Limits: redis, Hasher: hasher}
	w.lti = w.service(redis, at, reg)
	deps := services.Deps{Name: "Test school", URL: at, Classes: reg, Accounts: w.accounts, LTI: w.lti, Limits: redis, Log: log}
	keeper := &session.Keeper{Sessions: session.New(redis, true, log), Accounts: w.accounts, Actors: reg, Log: log}
	pages, err := page.New(page.Config{Name: "Test school", Sessions: keeper.Sessions, Log: log, Titles: reg}, sign.Section(deps, keeper, nil), lti.Section(deps, keeper))
	require.NoError(t, err)
	none := http.NotFoundHandler()
	w.Handler, err = web.Handler(web.Config{URL: at, Log: log}, web.Handlers{
		API: none, Judge0: none, Tango: none, Jobe: none, Events: none, Pages: keeper.Browsers(pages), CrossSite: lti.CrossSite,
	})
	require.NoError(t, err)
	w.people()
	_, err = w.lti.PutPlatform(t.Context(), root, w.platform.Record())
	require.NoError(t, err)
	return w
}

// service makes the service, as another process of the site would have it.
func (w *fixture) service(limits core.Limiter, at *url.URL, reg *classes.Service) *service.Service {
	return &service.Service{
		Store: w.store, Classes: reg, Accounts: w.accounts, Limits: limits, Addresses: ltitest.Addresses(), URL: at, Name: "Test school",
	}
}

func (w *fixture) people() {
	w.t.Helper()
	ctx := w.t.Context()
	for _, u := range []school.User{
		{Handle: "root", Email: "root@school.example", Roles: root.Roles}, {Handle: "tess", Email: "tess@school.example"}, {Handle: "ann", Email: "ann@school.example"},
	} {
		_, err := w.store.PutUser(ctx, u)
		require.NoError(w.t, err)
	}
	_, err := w.store.PutClass(ctx, school.Class{Handle: "cs101", Title: "Class"})
	require.NoError(w.t, err)
	require.NoError(w.t, w.store.Enrol(ctx, school.Enrolment{Class: "cs101", User: "tess", Role: core.RoleTeacher}))
	_, err = w.store.PutAssignment(ctx, school.Assignment{Class: "cs101", Handle: "hw1", Title: "Homework"})
	require.NoError(w.t, err)
}

// password gives a user a password.
func (w *fixture) password(user string) {
	w.t.Helper()
	_, err := w.accounts.ChangePassword(w.t.Context(), core.Actor{Handle: user}, "", "three blind mice", "192.0.2.7")
	require.NoError(w.t, err)
}

// browser is somebody's.
type browser struct {
	*fixture
	cookies map[string]*http.Cookie
}

func (w *fixture) browser() *browser { return &browser{w, map[string]*http.Cookie{}} }

// ask sends a request as a page of a site does, with the cookies that a browser sends along: a form of another site
// carries only those of SameSite None.
func (b *browser) ask(method, path string, form url.Values, from string, header ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Sec-Fetch-Site", from)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range b.cookies {
		if from != "cross-site" || method == http.MethodGet || c.SameSite == http.SameSiteNoneMode {
			r.AddCookie(c)
		}
	}
	rec := httptest.NewRecorder()
	b.ServeHTTP(rec, r)
	for _, c := range rec.Result().Cookies() {
		b.cookies[c.Name] = c
	}
	return rec
}

func (b *browser) get(path string) *httptest.ResponseRecorder {
	return b.ask(http.MethodGet, path, nil, "same-origin")
}

func (b *browser) post(path string, form url.Values) *httptest.ResponseRecorder {
	return b.ask(http.MethodPost, path, form, "same-origin")
}

// login begins a launch, and returns what the platform is asked.
func (b *browser) login() url.Values {
	b.t.Helper()
	rec := b.ask(http.MethodGet, "/lti/login?"+loginForm().Encode(), nil, "cross-site")
	require.Equal(b.t, http.StatusSeeOther, rec.Code, said(rec))
	to, err := url.Parse(rec.Header().Get("Location"))
	require.NoError(b.t, err)
	require.Equal(b.t, "https://moodle.school.example/auth", to.Scheme+"://"+to.Host+to.Path)
	return to.Query()
}

func loginForm() url.Values {
	return url.Values{
		"iss": {"https://moodle.school.example"}, "login_hint": {"h"}, "target_link_uri": {target}, "lti_message_hint": {"m"}, "client_id": {ltitest.Client},
	}
}

// launch sends what the platform signed.
func (b *browser) launch(token, state string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.ask(http.MethodPost, "/lti/launch", url.Values{"id_token": {token}, "state": {state}}, "cross-site")
}

// come launches a link as somebody with a role; change makes the claims others.
func (b *browser) come(subject, role string, change ...func(map[string]any)) *httptest.ResponseRecorder {
	b.t.Helper()
	q := b.login()
	claims := b.platform.Claims(q, subject, role)
	for _, c := range change {
		c(claims)
	}
	return b.launch(b.platform.Token(b.t, claims), q.Get("state"))
}

// leads returns where an answer leads, without a query.
func leads(t *testing.T, rec *httptest.ResponseRecorder) (path, token string) {
	t.Helper()
	require.Equal(t, http.StatusSeeOther, rec.Code, said(rec))
	to, err := url.Parse(rec.Header().Get("Location"))
	require.NoError(t, err)
	return to.Path, to.Query().Get("t")
}

// connected has tess connect the course with cs101, and its link with hw1.
func (w *fixture) connected() *browser {
	w.t.Helper()
	_, err := w.accounts.TieIdentity(w.t.Context(), core.Actor{Handle: "tess"}, w.platform.Record().Issuer+"#lti-moodle", "tess")
	require.NoError(w.t, err)
	b := w.browser()
	path, token := leads(w.t, b.come("tess", "Instructor"))
	require.Equal(w.t, "/lti/connect", path)
	path, token = leads(w.t, b.post(path, url.Values{"t": {token}, "class": {"cs101"}}))
	require.Equal(w.t, "/lti/link", path)
	path, _ = leads(w.t, b.post(path, url.Values{"t": {token}, "assignment": {"hw1"}}))
	require.Equal(w.t, "/classes/cs101/assignments/hw1", path)
	return b
}

func (w *fixture) role(user string) core.UserRole {
	w.t.Helper()
	in, err := w.store.Memberships(w.t.Context(), user)
	require.NoError(w.t, err)
	for _, e := range in {
		if e.Class == "cs101" {
			return e.Role
		}
	}
	return ""
}

// said is what a page says in its main part.
func said(rec *httptest.ResponseRecorder) string {
	_, text, _ := strings.Cut(rec.Body.String(), "<main")
	text, _, _ = strings.Cut(text, "</main>")
	return text
}
