package frontend_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/account"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/classes/lti"
	"drover/core/cluster/lease"
	"drover/core/cluster/operate"
	"drover/core/coretest"
	"drover/core/harness"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web/caller"
	"drover/web/frontend"
	"drover/web/leasetest"
	"drover/web/page"
	"drover/web/services"
	"drover/web/session"
)

func TestMain(m *testing.M) {
	// What makes sessions begins with a store in memory, which is swept forever.
	// The clock of the colours of code ends by itself, a second after its last use.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/alexedwards/scs/v2/memstore.(*MemStore).startCleanup"),
		goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

const (
	pool    = "p1"
	jobType = "compile"
	day     = int64(24 * 3600_000)
	hw1     = "/classes/cs101/assignments/hw1"
	good    = "three blind mice"
	at      = "https://drover.example"
)

// start is when what there is was made, and before all that is made later.
var start = time.Now().Add(-time.Minute).UnixMilli()

// fixture is a whole site with the users of core/classes/testdata/rights.txt, who are as
// that says: in cs101 tess teaches, tina assists, ann and cleo learn; in cs202 theo
// teaches and eve learns.
type fixture struct {
	t       testing.TB
	cluster *coretest.Cluster
	in      *intake.Intake
	store   *sqlite.Store
	blobs   core.Blobs
	deps    frontend.Deps
	leases  *leasetest.Fake
	routes  []page.Route
	site    http.Handler
	n       int // of names

	harness []byte // as the store has one
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	w := &fixture{t: t, store: store, blobs: blobs, harness: harnessTar(t), cluster: coretest.NewCluster(t, coretest.Mini(t).Open(t), "h1", pool)}
	redis := w.cluster.Store
	w.in = &intake.Intake{Store: store, Queue: redis, Pools: redis, Tasks: redis, Blobs: blobs}
	require.NoError(t, w.in.SetPool(ctx, core.DefaultPool(pool)))
	w.jobType(jobType)
	w.people()
	log := logrus.New()
	log.SetOutput(io.Discard)
	hasher, err := account.NewHasher(account.Cost{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	reg := &classes.Service{Store: store, Intake: w.in, Blobs: blobs}
	w.leases = leasetest.New(time.Now)
	w.leases.Hosts[0].Units = 1000
	w.deps = frontend.Deps{
		Deps: services.Deps{
			Name: "Test school", Classes: reg,
			Requests: &requests.Service{Store: store, Intake: w.in, Queue: redis, Cluster: redis, Output: redis, Blobs: blobs, Submissions: reg},
			Cluster:  &operate.Service{Cluster: redis, Store: store, Intake: w.in, Elastic: store},
			Leases:   w.leases,
			Accounts: &account.Service{Store: store, Limits: redis, Hasher: hasher, Mail: w.in}, Limits: redis, Log: log,
		},
		Redis: redis,
	}
	u, err := url.Parse(at)
	require.NoError(t, err)
	w.deps.LTI = &lti.Service{Store: store, Classes: reg, Accounts: w.deps.Accounts, Limits: redis, URL: u, Name: "Test school"}
	w.deps.URL = u
	for _, section := range frontend.Sections(w.deps.Deps, &session.Keeper{}, nil) {
		w.routes = append(w.routes, section.Routes...)
	}
	w.site, err = frontend.New(frontend.Config{URL: u, Log: log, Judge0: frontend.Judge0{Pool: pool}}, w.deps)
	require.NoError(t, err)
	return w
}

func (w *fixture) people() {
	w.t.Helper()
	ctx := w.t.Context()
	for handle, roles := range map[string][]core.UserRole{
		"root": {core.RoleAdmin}, "olga": {core.RoleOperator}, "otto": {core.RoleObserver}, "rosa": {core.RoleRunner},
		"tess": nil, "tina": nil, "ann": nil, "cleo": nil, "theo": nil, "eve": nil, "nick": nil,
	} {
		w.user(handle, roles...)
	}
	for _, class := range []string{"cs101", "cs202"} {
		_, err := w.store.PutClass(ctx, school.Class{Handle: class, Title: "Class " + class, Created: start})
		require.NoError(w.t, err)
	}
	for user, as := range map[string]school.Enrolment{
		"tess": {Class: "cs101", Role: core.RoleTeacher}, "tina": {Class: "cs101", Role: core.RoleAssistant},
		"ann": {Class: "cs101", Role: core.RoleStudent}, "cleo": {Class: "cs101", Role: core.RoleStudent},
		"theo": {Class: "cs202", Role: core.RoleTeacher}, "eve": {Class: "cs202", Role: core.RoleStudent},
	} {
		as.User = user
		require.NoError(w.t, w.store.Enrol(ctx, as))
	}
}

func (w *fixture) user(handle string, roles ...core.UserRole) {
	w.t.Helper()
	_, err := w.store.PutUser(w.t.Context(), school.User{Handle: handle, Email: handle + "@example.org", Roles: roles, Created: start})
	require.NoError(w.t, err)
}

// next is a name that nothing has yet.
func (w *fixture) next(kind string) string {
	w.n++
	return fmt.Sprintf("%s-%d", kind, w.n)
}

func (w *fixture) as(who string) core.Actor {
	w.t.Helper()
	a, err := w.deps.Classes.Actor(w.t.Context(), who)
	require.NoError(w.t, err)
	return a
}

// assignment makes one of cs101.
func (w *fixture) assignment(handle string) string {
	w.t.Helper()
	_, err := w.store.PutAssignment(w.t.Context(), school.Assignment{
		Class: "cs101", Handle: handle, Title: "The " + handle, Due: start + day, Cutoff: start + 2*day, AllowFinal: true, Pool: pool,
		Priority: core.PriorityNormal, Created: start,
	})
	require.NoError(w.t, err)
	return handle
}

// tested is an assignment that has a harness.
func (w *fixture) tested() string {
	w.t.Helper()
	handle := w.assignment(w.next("hw"))
	_, err := w.deps.Classes.SetHarness(w.t.Context(), w.as("tess"), "cs101", handle, bytes.NewReader(w.harness))
	require.NoError(w.t, err)
	return handle
}

// harnessTar is a harness as the store has it.
func harnessTar(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.MainFile), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.ConfigFile), []byte(`{"drover/timeout":5}`), 0o600))
	shown := filepath.Join(dir, "handout", "attachments")
	require.NoError(t, os.MkdirAll(shown, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(shown, "main.py"), []byte("pass\n"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "handout", "samples"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "handout", "samples", "1.in"), []byte("1\n"), 0o600))
	p, err := harness.Pack(dir)
	require.NoError(t, err)
	tar, err := io.ReadAll(p.Tar())
	require.NoError(t, err)
	return tar
}

// submission is ann's for an assignment of hers alone.
func (w *fixture) submission() school.Submission {
	w.t.Helper()
	s, err := w.deps.Classes.Submit(w.t.Context(), w.as("ann"), classes.NewSubmission{
		Class: "cs101", Assignment: w.tested(), Files: files("main.py", "print()"),
	})
	require.NoError(w.t, err)
	return s
}

func files(path, content string) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		yield(intake.Upload{Path: path, Content: strings.NewReader(content)}, nil)
	}
}

// request is one of ann's that grades nothing.
func (w *fixture) request() string {
	w.t.Helper()
	row, _, err := w.in.Submit(w.t.Context(), core.Spec{Pool: pool, Submitter: "ann", Command: []string{"true"}})
	require.NoError(w.t, err)
	return row.Spec.ID
}

// jobType makes a job type.
func (w *fixture) jobType(name string) string {
	w.t.Helper()
	require.NoError(w.t, w.store.PutJobType(w.t.Context(), core.JobType{Name: name, Pool: pool, Priority: core.PriorityNormal}))
	return name
}

// batch is a batch of ann's, of one job that waits.
func (w *fixture) batch() string {
	w.t.Helper()
	b, _, err := w.in.SubmitBatch(w.t.Context(), core.Batch{Submitter: "ann", Specs: []core.Spec{{Pool: pool, Submitter: "ann", Command: []string{"true"}}}})
	require.NoError(w.t, err)
	return b.ID
}

// stopped is a batch of ann's that has ended.
func (w *fixture) stopped() string {
	w.t.Helper()
	id := w.batch()
	_, err := w.in.CancelBatch(w.t.Context(), id, "ann")
	require.NoError(w.t, err)
	return id
}

// ended is one of ann's requests that has ended.
func (w *fixture) ended(state core.RequestState) string {
	w.t.Helper()
	id := w.request()
	_, err := w.store.Record(w.t.Context(), core.Result{
		ID: id, Generation: 1, State: state, Blame: core.BlamePlatform, Reason: "lost", Attempt: 1, Host: "h1", Pool: pool, VM: "vm", Token: "1",
		Times: core.Times{Submitted: start, Claimed: 1, Started: 2, Finished: 5},
	})
	require.NoError(w.t, err)
	_, err = w.cluster.Store.Withdraw(w.t.Context(), id+"-1")
	require.NoError(w.t, err)
	return id
}

// task is one of ann's for her class.
func (w *fixture) task(state core.TaskState) string {
	w.t.Helper()
	ctx := w.t.Context()
	task := core.Task{
		ID: w.next("task"), Generation: 1, Kind: school.KindArchive, Args: []byte(`{"class":"cs101","assignment":"hw1","user":"ann"}`),
		Priority: core.PriorityNormal, Requester: "ann", About: "cs101/hw1", Created: start, State: core.TaskQueued,
	}
	_, err := w.store.CreateTask(ctx, task)
	require.NoError(w.t, err)
	if state == core.TaskQueued {
		return task.ID
	}
	end := core.TaskEnd{ID: task.ID, Generation: 1, State: state}
	if state == core.TaskDone {
		digest, size, err := w.blobs.Put(ctx, strings.NewReader("a zip"), 100)
		require.NoError(w.t, err)
		end.Download = &core.Download{Name: "a.zip", Type: "application/zip", Digest: digest, Size: size, Expires: start + day}
	}
	_, err = w.store.EndTask(ctx, end)
	require.NoError(w.t, err)
	return task.ID
}

// lease is one of her class, also for ann.
func (w *fixture) lease() string {
	w.t.Helper()
	l, err := w.leases.Create(w.t.Context(), w.as("root"), lease.Draft{
		Name: w.next("lease"), Class: "cs101", Submitters: []string{"ann"}, End: time.Now().Add(time.Hour).UnixMilli(), Reservations: []lease.Want{{Pools: []string{pool}, Units: 1}},
	})
	require.NoError(w.t, err)
	return l.ID
}

func (w *fixture) experiment() string {
	w.t.Helper()
	e := school.Experiment{
		ID: w.next("experiment"), Class: "cs101", Assignment: w.assignment(w.next("hw")), Repeat: 1, State: school.ExperimentReady, By: "tess", Created: start,
	}
	return coretest.PutExperiment(w.t, w.store, e).ID
}

// form is what a browser sends: names and values in turn.
type form []string

// body writes a form: with files, those are @field:name, and the value is the content.
func (f form) body(t testing.TB, withFiles bool) (kind string, body io.Reader) {
	t.Helper()
	if !withFiles {
		v := url.Values{}
		for i := 0; i < len(f); i += 2 {
			v.Add(f[i], f[i+1])
		}
		return "application/x-www-form-urlencoded", strings.NewReader(v.Encode())
	}
	var raw bytes.Buffer
	out := multipart.NewWriter(&raw)
	for i := 0; i < len(f); i += 2 {
		field, name, file := strings.Cut(strings.TrimPrefix(f[i], "@"), ":")
		var part io.Writer
		var err error
		if file {
			part, err = out.CreateFormFile(field, name)
		} else {
			part, err = out.CreateFormField(field)
		}
		require.NoError(t, err)
		_, err = io.WriteString(part, f[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, out.Close())
	return out.FormDataContentType(), &raw
}

// send asks the site as somebody who is signed in; "" is nobody.
func (w *fixture) send(who string, r *http.Request) *httptest.ResponseRecorder {
	w.t.Helper()
	if who != "" {
		r = r.WithContext(caller.With(context.WithoutCancel(w.t.Context()), &caller.Caller{Actor: w.as(who), Name: who}))
	}
	rec := httptest.NewRecorder()
	w.site.ServeHTTP(rec, r)
	return rec
}
