package student_test

import (
	"bytes"
	"html"
	"iter"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/harness"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web/caller"
	"drover/web/page"
	"drover/web/services"
	"drover/web/student"
	"drover/web/transfer"
)

const (
	pool = "p1"
	hour = int64(3600_000)
	day  = 24 * hour
)

// start is when a fixture's clock begins: now, as browsers have it too.
var start = time.Now().UnixMilli()

// fixture is a school on a real store with its pages: in cs101 tess teaches, ann and cleo
// learn; in cs202 eve does; nick is in no class.
type fixture struct {
	t       testing.TB
	backend *coretest.Backend
	cluster *coretest.Cluster
	from    *transfer.Repositories
	in      *intake.Intake
	reg     *classes.Service
	service *requests.Service
	store   *sqlite.Store
	log     *logrus.Logger
	site    http.Handler
	seq     int64

	mu       sync.Mutex
	now      time.Time
	language string
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	w := &fixture{t: t, store: store, now: time.UnixMilli(start)}
	w.backend = coretest.Mini(t)
	w.backend.Mini.SetTime(time.Now()) // it stands: however slow a test is, the cluster is alive
	w.cluster = coretest.NewCluster(t, w.backend.Open(t), "h1", pool)
	w.in = &intake.Intake{Store: store, Queue: w.cluster.Store, Pools: w.cluster.Store, Tasks: w.cluster.Store, Blobs: blobs, Now: w.clock}
	w.reg = &classes.Service{Store: store, Intake: w.in, Blobs: blobs, Now: w.clock}
	w.service = &requests.Service{
		Store: store, Intake: w.in, Queue: w.cluster.Store, Cluster: w.cluster.Store, Output: w.cluster.Store, Blobs: blobs, Submissions: w.reg, Now: w.clock,
	}
	require.NoError(t, w.in.SetPool(ctx, core.DefaultPool(pool)))
	w.people()
	w.from = &transfer.Repositories{}
	w.log = logrus.New()
	w.log.SetOutput(t.Output())
	sessions := scs.New()
	site, err := page.New(page.Config{Name: "Test school", Sessions: sessions, Log: w.log, Now: w.clock, Titles: w.reg},
		student.Section(services.Deps{Classes: w.reg, Requests: w.service, Log: w.log, Now: w.clock, Repositories: w.from}))
	require.NoError(t, err)
	w.site = sessions.LoadAndSave(site)
	return w
}

func (w *fixture) people() {
	w.t.Helper()
	ctx, store := w.t.Context(), w.reg.Store
	for handle, roles := range map[string][]core.UserRole{"root": {core.RoleAdmin}, "olga": {core.RoleOperator}, "rosa": {core.RoleRunner}, "remo": {core.RoleRunner}, "tess": nil, "ann": nil, "cleo": nil, "eve": nil, "nick": nil} {
		_, err := store.PutUser(ctx, school.User{Handle: handle, Email: handle + "@example.org", Roles: roles, Created: start})
		require.NoError(w.t, err)
	}
	for _, class := range []string{"cs101", "cs202"} {
		_, err := store.PutClass(ctx, school.Class{Handle: class, Title: "Class " + class, Term: "2026", Created: start})
		require.NoError(w.t, err)
	}
	for _, e := range []school.Enrolment{
		{Class: "cs101", User: "tess", Role: core.RoleTeacher},
		{Class: "cs101", User: "ann", Role: core.RoleStudent},
		{Class: "cs101", User: "cleo", Role: core.RoleStudent},
		{Class: "cs202", User: "eve", Role: core.RoleStudent},
	} {
		require.NoError(w.t, store.Enrol(ctx, e))
	}
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Millisecond)
	return w.now
}

func (w *fixture) pass(ms int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Duration(ms) * time.Millisecond)
}

// assignment makes one of cs101, due in a day and cut off in two, changed as one likes.
func (w *fixture) assignment(handle string, change ...func(as *school.Assignment)) school.Assignment {
	w.t.Helper()
	as := school.Assignment{
		Class: "cs101", Handle: handle, Title: "The " + handle, Text: "Write a **sort**.", Due: start + day, Cutoff: start + 2*day,
		AllowFinal: true, Pool: pool, Priority: core.PriorityNormal, Created: start,
	}
	for _, c := range change {
		c(&as)
	}
	var err error
	as.Revision, err = w.reg.Store.PutAssignment(w.t.Context(), as)
	require.NoError(w.t, err)
	return as
}

// graded makes an assignment with a harness.
func (w *fixture) graded(handle string, change ...func(as *school.Assignment)) {
	w.t.Helper()
	w.assignment(handle, change...)
	dir := w.t.TempDir()
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, harness.MainFile), []byte("#!/bin/sh\n"), 0o700))
	p, err := harness.Pack(dir)
	require.NoError(w.t, err)
	tess, err := w.reg.Actor(w.t.Context(), "tess")
	require.NoError(w.t, err)
	_, err = w.reg.SetHarness(w.t.Context(), tess, "cs101", handle, p.Tar())
	require.NoError(w.t, err)
}

// claims takes all that waits, as a testrunner does.
func (w *fixture) claims() iter.Seq[core.Claim] {
	return func(yield func(core.Claim) bool) {
		for {
			w.cluster.AddVMs(w.t, 1)
			w.seq++
			got := w.cluster.Exchange(w.t, w.seq, 1).Claims
			if len(got) == 0 || !yield(got[0]) {
				return
			}
		}
	}
}

// claim takes what waits next.
func (w *fixture) claim() core.Claim {
	w.t.Helper()
	for c := range w.claims() {
		return c
	}
	require.Fail(w.t, "nothing waits")
	return core.Claim{}
}

// run has the command of a claim run and print.
func (w *fixture) run(c core.Claim, prints ...string) {
	w.t.Helper()
	require.NoError(w.t, w.cluster.Store.Progress(w.t.Context(), w.cluster.Runner, w.cluster.Epoch, c.Key, c.Token, "running", 0))
	at := int64(0)
	for _, text := range prints {
		chunk := core.OutputChunk{Stream: "stdout", Offset: at, Data: []byte(text)}
		require.NoError(w.t, w.cluster.Store.Append(w.t.Context(), c.Key, c.Token, []core.OutputChunk{chunk}))
		at += int64(len(text))
	}
}

// end records the end of a claim, changed as one likes.
func (w *fixture) end(c core.Claim, change func(r *core.Result)) {
	w.t.Helper()
	score, most := 7.0, 10.0
	spec := c.ReadSpec()
	r := core.Result{
		ID: spec.ID, Generation: spec.Generation, State: core.RequestCompleted, Token: c.Token, VM: c.VM,
		Score: &score, MaxScore: &most, Stdout: "hidden test 3", Host: "h1",
	}
	if change != nil {
		change(&r)
	}
	_, err := w.in.Store.Record(w.t.Context(), r)
	require.NoError(w.t, err)
	w.finish(c, core.OutcomeDone)
}

// finish gives a claim back.
func (w *fixture) finish(c core.Claim, outcome core.Outcome) {
	w.t.Helper()
	w.seq++
	w.cluster.Exchange(w.t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: outcome})
}

// grade ends what waits next, changed as one likes.
func (w *fixture) grade(change func(r *core.Result)) { w.end(w.claim(), change) }

// ask asks for something as a user.
func (w *fixture) ask(who string, r *http.Request) *httptest.ResponseRecorder {
	w.t.Helper()
	a, err := w.reg.Actor(w.t.Context(), who)
	require.NoError(w.t, err)
	r = r.WithContext(caller.With(w.t.Context(), &caller.Caller{Actor: a, Name: who, Language: w.language}))
	rec := httptest.NewRecorder()
	w.site.ServeHTTP(rec, r)
	return rec
}

// get returns a page that is there.
func (w *fixture) get(who, path string) string {
	w.t.Helper()
	rec := w.ask(who, httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(w.t, http.StatusOK, rec.Code, "%s: %s", path, rec.Body)
	return rec.Body.String()
}

// status asks for a page and says what the answer is.
func (w *fixture) status(who, method, path string) int {
	w.t.Helper()
	return w.ask(who, httptest.NewRequest(method, path, nil)).Code
}

// post sends a form without files.
func (w *fixture) post(who, path string, values url.Values) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.ask(who, r)
}

// sent is a field of a form with files; one with a file name is a file.
type sent struct{ field, file, content string }

// upload sends a form with files.
func (w *fixture) upload(who, path string, all ...sent) *httptest.ResponseRecorder {
	w.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, s := range all {
		if s.file == "" && s.field != "files" {
			require.NoError(w.t, form.WriteField(s.field, s.content))
			continue
		}
		part, err := form.CreateFormFile(s.field, s.file)
		require.NoError(w.t, err)
		_, err = part.Write([]byte(s.content))
		require.NoError(w.t, err)
	}
	require.NoError(w.t, form.Close())
	r := httptest.NewRequest(http.MethodPost, path, &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return w.ask(who, r)
}

// submitTo submits something for an assignment of cs101 and returns the submission's page.
func (w *fixture) submitTo(who, assignment string, all ...sent) string {
	w.t.Helper()
	if len(all) == 0 {
		all = []sent{{"files", "main.py", "print()"}}
	}
	rec := w.upload(who, "/classes/cs101/assignments/"+assignment, all...)
	require.Equal(w.t, http.StatusSeeOther, rec.Code, "%s", rec.Body)
	return rec.Header().Get("Location")
}

// between is what stands in a page between two texts.
func between(t testing.TB, body, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, from)
	require.True(t, ok, "%s is not in the page", from)
	found, _, ok := strings.Cut(rest, to)
	require.True(t, ok)
	return found
}

// newGet is a request for what a link in a page leads to.
func newGet(t testing.TB, link string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, html.UnescapeString(link), nil)
	require.NoError(t, err)
	return r
}
