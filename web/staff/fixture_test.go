package staff_test

import (
	"bytes"
	"html"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web/caller"
	"drover/web/leasetest"
	"drover/web/page"
	"drover/web/services"
	"drover/web/staff"
)

const (
	pool  = "p1"
	start = int64(1_700_000_000_000)
	day   = int64(24 * 3600_000)
)

// fixture is a site of staff pages over a real service of classes.
type fixture struct {
	t       *testing.T
	reg     *classes.Service
	in      *intake.Intake
	cluster *coretest.Cluster
	leases  *leasetest.Fake
	site    http.Handler

	routes []page.Route
	seq    int64 // of exchanges with the cluster
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	w := &fixture{t: t, cluster: coretest.NewCluster(t, coretest.Mini(t).Open(t), "h1", pool)}
	clock := func() time.Time { return time.UnixMilli(start) }
	w.leases = leasetest.New(clock)
	w.in = &intake.Intake{Store: store, Queue: w.cluster.Store, Pools: w.cluster.Store, Tasks: w.cluster.Store, Blobs: blobs, Now: clock}
	w.reg = &classes.Service{Store: store, Intake: w.in, Blobs: blobs, Now: clock}
	require.NoError(t, w.in.SetPool(ctx, core.DefaultPool(pool)))
	w.people()
	log := logrus.New()
	log.SetOutput(t.Output())
	sessions := scs.New()
	section := staff.Section(services.Deps{Name: "Test school", URL: &url.URL{Scheme: "https", Host: "drover.example.org"}, Accounts: &account.Service{Store: store, Now: clock, Mail: w.in}, Classes: w.reg, Log: log, Now: clock, Leases: w.leases})
	w.routes = section.Routes
	site, err := page.New(page.Config{Name: "Test school", Sessions: sessions, Log: log, Now: clock, Titles: w.reg}, section)
	require.NoError(t, err)
	w.site = sessions.LoadAndSave(site)
	return w
}

// people are one of each kind: tess teaches cs101 and tina assists there, ann and cleo are
// its students, theo teaches cs202 and eve is a student there, nick is in none.
func (w *fixture) people() {
	ctx, store := w.t.Context(), w.reg.Store
	for handle, roles := range map[string][]core.UserRole{
		"root": {core.RoleAdmin}, "olga": {core.RoleOperator}, "tess": nil, "tina": nil, "ann": nil, "cleo": nil, "theo": nil, "eve": nil, "nick": nil,
	} {
		_, err := store.PutUser(ctx, school.User{Handle: handle, Name: strings.ToUpper(handle), Email: handle + "@example.org", Roles: roles, Created: start})
		require.NoError(w.t, err)
	}
	for _, class := range []string{"cs101", "cs202"} {
		_, err := store.PutClass(ctx, school.Class{Handle: class, Title: "Class " + class, Created: start})
		require.NoError(w.t, err)
	}
	for _, e := range []school.Enrolment{
		{Class: "cs101", User: "tess", Role: core.RoleTeacher},
		{Class: "cs101", User: "tina", Role: core.RoleAssistant},
		{Class: "cs101", User: "ann", Role: core.RoleStudent},
		{Class: "cs101", User: "cleo", Role: core.RoleStudent},
		{Class: "cs202", User: "theo", Role: core.RoleTeacher},
		{Class: "cs202", User: "eve", Role: core.RoleStudent},
	} {
		require.NoError(w.t, store.Enrol(ctx, e))
	}
}

func (w *fixture) as(handle string) core.Actor {
	w.t.Helper()
	a, err := w.reg.Actor(w.t.Context(), handle)
	require.NoError(w.t, err)
	return a
}

// assignment makes one of cs101, changed as one likes.
func (w *fixture) assignment(handle string, change ...func(as *school.Assignment)) school.Assignment {
	w.t.Helper()
	as := school.Assignment{Class: "cs101", Handle: handle, Title: "The " + handle, Due: start + day, Cutoff: start + 2*day, AllowFinal: true, Pool: pool, Priority: core.PriorityNormal, Created: start}
	for _, c := range change {
		c(&as)
	}
	var err error
	as.Revision, err = w.reg.Store.PutAssignment(w.t.Context(), as)
	require.NoError(w.t, err)
	return as
}

// submit submits something for an assignment of cs101.
func (w *fixture) submit(user, assignment string) school.Submission {
	w.t.Helper()
	s, err := w.reg.Submit(w.t.Context(), w.as(user), classes.NewSubmission{Class: "cs101", Assignment: assignment, Files: files("main.py", "print()")})
	require.NoError(w.t, err)
	return s
}

// files are what somebody submits: path and content in turn.
func files(pairs ...string) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		for i := 0; i < len(pairs); i += 2 {
			if !yield(intake.Upload{Path: pairs[i], Content: strings.NewReader(pairs[i+1])}, nil) {
				return
			}
		}
	}
}

// ask sends a request as somebody.
func (w *fixture) ask(who string, r *http.Request) *httptest.ResponseRecorder {
	w.t.Helper()
	if who != "" {
		a := w.as(who)
		r = r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: a, Name: who}))
	}
	rec := httptest.NewRecorder()
	w.site.ServeHTTP(rec, r)
	return rec
}

func (w *fixture) get(who, path string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.ask(who, httptest.NewRequest(http.MethodGet, path, nil))
}

// shows is get of a page that must be there; its text has no entities.
func (w *fixture) shows(who, path string) string {
	w.t.Helper()
	rec := w.get(who, path)
	require.Equal(w.t, http.StatusOK, rec.Code, "%s as %s: %s", path, who, rec.Body)
	return rec.Body.String()
}

// post sends a form: names and values in turn.
func (w *fixture) post(who, path string, pairs ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.ask(who, formPost(path, pairs))
}

func formPost(path string, pairs []string) *http.Request {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// upload is a form with files.
type upload struct {
	body bytes.Buffer
	*multipart.Writer
}

func newUpload() *upload {
	u := &upload{}
	u.Writer = multipart.NewWriter(&u.body)
	return u
}

func (u *upload) field(t *testing.T, name, value string) *upload {
	t.Helper()
	require.NoError(t, u.WriteField(name, value))
	return u
}

func (u *upload) file(t *testing.T, name, file string, content []byte) *upload {
	t.Helper()
	part, err := u.CreateFormFile(name, file)
	require.NoError(t, err)
	_, err = part.Write(content)
	require.NoError(t, err)
	return u
}

func (w *fixture) send(who, path string, u *upload) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.ask(who, u.request(w.t, path))
}

func (u *upload) request(t *testing.T, path string) *http.Request {
	t.Helper()
	require.NoError(t, u.Close())
	r := httptest.NewRequest(http.MethodPost, path, io.NopCloser(&u.body))
	r.Header.Set("Content-Type", u.FormDataContentType())
	return r
}

// browser is one person's, with a session.
type browser struct {
	*fixture
	who    string
	cookie *http.Cookie
}

func (w *fixture) browser(who string) *browser { return &browser{fixture: w, who: who} }

func (b *browser) ask(r *http.Request) *httptest.ResponseRecorder {
	b.t.Helper()
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	rec := b.fixture.ask(b.who, r)
	for _, c := range rec.Result().Cookies() {
		b.cookie = c
	}
	return rec
}

func (b *browser) shows(path string) string {
	b.t.Helper()
	rec := b.ask(httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(b.t, http.StatusOK, rec.Code, "%s: %s", path, rec.Body)
	return rec.Body.String()
}

func (b *browser) post(path string, pairs ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.ask(formPost(path, pairs))
}

func (b *browser) send(path string, u *upload) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.ask(u.request(b.t, path))
}

// leads requires that a form was taken, and returns where it leads.
func leads(t *testing.T, rec *httptest.ResponseRecorder) string {
	t.Helper()
	require.Equal(t, http.StatusSeeOther, rec.Code, "%s", rec.Body)
	return rec.Header().Get("Location")
}

// again requires that a form is shown once more with a problem, and returns its page.
func again(t *testing.T, rec *httptest.ResponseRecorder, problem string) string {
	t.Helper()
	text := rec.Body.String()
	require.Equal(t, http.StatusUnprocessableEntity, rec.Code, "%s", text)
	_, alert, ok := strings.Cut(text, `role="alert">`)
	require.True(t, ok, "no problem is named: %s", text)
	alert, _, _ = strings.Cut(alert, "</p>")
	require.Contains(t, html.UnescapeString(alert), problem)
	return text
}
