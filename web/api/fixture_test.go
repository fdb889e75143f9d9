package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/account"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/classes/lti"
	"drover/core/cluster/join"
	"drover/core/cluster/operate"
	"drover/core/coretest"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web/api"
	"drover/web/caller"
	"drover/web/leasetest"
	"drover/web/live"
	"drover/web/services"
	"drover/web/transfer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	pool   = "p1"
	hour   = int64(3600_000)
	day    = 24 * hour
	start  = int64(1_700_000_000_000)
	theDue = start + day
	theEnd = start + 2*day
)

// fixture is a school behind the API: a Service on a real store and Redis, and the users
// of core/classes/testdata/rights.txt. In cs101 tess teaches, tina assists, ann and
// cleo learn; in cs202 theo teaches and eve learns.
type fixture struct {
	t       testing.TB
	cluster *coretest.Cluster
	in      *intake.Intake
	reg     *classes.Service
	api     http.Handler

	accounts *account.Service
	leases   *leasetest.Fake
	joins    *join.Service

	platforms *lti.Service
	from      *transfer.Repositories

	groups atomic.Int64 // that were made

	mu  sync.Mutex
	now time.Time
}

func newFixture(t testing.TB, change ...func(p *services.Deps)) *fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	w := &fixture{t: t, now: time.UnixMilli(start)}
	w.cluster = coretest.NewCluster(t, coretest.Mini(t).Open(t), "h1", pool)
	w.leases = leasetest.New(w.clock)
	w.in = &intake.Intake{Store: store, Queue: w.cluster.Store, Pools: w.cluster.Store, Tasks: w.cluster.Store, Blobs: blobs, Now: w.clock}
	w.reg = &classes.Service{Store: store, Intake: w.in, Blobs: blobs, Now: w.clock}
	require.NoError(t, w.in.SetPool(ctx, core.DefaultPool(pool)))
	w.people()
	hasher, err := account.NewHasher(account.Cost{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	w.accounts = &account.Service{Store: store, Limits: w.cluster.Store, Hasher: hasher, Now: w.clock, Mail: w.in}
	redis := w.cluster.Store
	service := &requests.Service{
		Store: store, Intake: w.in, Queue: redis, Cluster: redis, Output: redis, Blobs: blobs, Submissions: w.reg, Now: w.clock,
		Watch: &requests.Watch{Feed: redis, Last: redis.LastEvents},
	}
	p := services.Deps{
		Name: "Test school", URL: &url.URL{Scheme: "https", Host: "school.example"}, Classes: w.reg, Accounts: w.accounts, Now: w.clock, Requests: service,
		Live:    &live.Streams{Requests: service, Classes: w.reg},
		Cluster: &operate.Service{Cluster: redis, Store: store, Intake: w.in, Elastic: store, Now: w.clock},
		Leases:  w.leases,
		Join: &join.Service{
			Store: store, Hosts: redis.ListHosts, Limits: redis, Now: w.clock, Groups: store.HostGroups,
			Settings: func() (join.Settings, error) {
				return join.Settings{Values: map[string]string{"redis": "redis://host@r:6379"}, Secrets: map[string]string{"redis_password_file": secret}}, nil
			},
		},
	}
	w.from = &transfer.Repositories{}
	p.Repositories = w.from
	p.LTI = &lti.Service{Store: store, Classes: w.reg, Accounts: w.accounts, Limits: redis, URL: p.URL, Name: p.Name, Now: w.clock}
	for _, c := range change {
		c(&p)
	}
	w.platforms = p.LTI
	w.joins = p.Join
	w.api = api.New(p)
	return w
}

func (w *fixture) people() {
	w.t.Helper()
	ctx, store := w.t.Context(), w.reg.Store
	for handle, roles := range map[string][]core.UserRole{
		"root": {core.RoleAdmin}, "olga": {core.RoleOperator}, "otto": {core.RoleObserver}, "rosa": {core.RoleRunner},
		"tess": nil, "tina": nil, "ann": nil, "cleo": nil, "theo": nil, "eve": nil, "nick": nil,
	} {
		_, err := store.PutUser(ctx, school.User{Handle: handle, Email: handle + "@example.org", Roles: roles, Created: start})
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

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Millisecond)
	return w.now
}

// as returns a user as one who calls; "left" is ann once she is in the class no more.
func (w *fixture) as(who string) *caller.Caller {
	w.t.Helper()
	if who == "left" {
		return &caller.Caller{Actor: core.Actor{Handle: "ann"}}
	}
	a, err := w.reg.Actor(w.t.Context(), who)
	require.NoError(w.t, err)
	return &caller.Caller{Actor: a}
}

// assignment makes one of cs101, changed as one likes.
func (w *fixture) assignment(handle string, change ...func(as *school.Assignment)) school.Assignment {
	w.t.Helper()
	as := school.Assignment{
		Class: "cs101", Handle: handle, Title: "The " + handle, Due: theDue, Cutoff: theEnd,
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

// answer is what the API answered.
type answer struct {
	*httptest.ResponseRecorder

	t testing.TB
}

// into reads the body.
func (a answer) into(v any) answer {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.Body.Bytes(), v), "%s", a.Body)
	return a
}

// is requires a status.
func (a answer) is(status int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.Code, "%s", a.Body)
	return a
}

// problem requires a problem with a status and code.
func (a answer) problem(status int, code core.Code) api.Problem {
	a.t.Helper()
	a.is(status)
	require.Equal(a.t, "application/problem+json", a.Header().Get("Content-Type"))
	var p api.Problem
	a.into(&p)
	require.Equal(a.t, status, p.Status)
	require.Equal(a.t, code, p.Code, "%s", a.Body)
	require.NotEmpty(a.t, p.Detail)
	return p
}

// send calls the API as somebody; nil is nobody.
func (w *fixture) send(c *caller.Caller, r *http.Request) answer {
	w.t.Helper()
	if c != nil {
		r = r.WithContext(caller.With(r.Context(), c))
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	return answer{rec, w.t}
}

// call calls the API with a body of JSON; nil is none.
func (w *fixture) call(who, method, path string, body any, headers ...string) answer {
	w.t.Helper()
	var from io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(w.t, err)
		from = bytes.NewReader(raw)
	}
	r := httptest.NewRequestWithContext(context.Background(), method, api.Prefix+path, from)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.send(w.as(who), r)
}

// form is a body with files: path and content in turn.
func form(pairs ...string) (kind string, body *bytes.Buffer) {
	body = &bytes.Buffer{}
	f := multipart.NewWriter(body)
	for i := 0; i < len(pairs); i += 2 {
		name := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(pairs[i])
		part, _ := f.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}})
		_, _ = io.WriteString(part, pairs[i+1])
	}
	_ = f.Close()
	return f.FormDataContentType(), body
}

// upload submits files.
func (w *fixture) upload(who, path string, pairs ...string) answer {
	w.t.Helper()
	kind, body := form(pairs...)
	r := httptest.NewRequest(http.MethodPost, api.Prefix+path, body)
	r.Header.Set("Content-Type", kind)
	return w.send(w.as(who), r)
}

const hw1 = "/classes/cs101/assignments/hw1"
