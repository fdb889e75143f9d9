package operator_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/cluster/operate"
	"drover/core/coretest"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web/caller"
	"drover/web/leasetest"
	"drover/web/operator"
	"drover/web/page"
	"drover/web/services"
)

// Ids of requests and of a task.
const (
	dead    = "01kb5zzzzzzzzzzzzzzzzzzzr1"
	waiting = "01kb5zzzzzzzzzzzzzzzzzzzr2"
)

var users = map[string]core.Actor{
	"root": {Handle: "root", Roles: []core.UserRole{core.RoleAdmin}},
	"olga": {Handle: "olga", Roles: []core.UserRole{core.RoleOperator}},
	"otto": {Handle: "otto", Roles: []core.UserRole{core.RoleObserver}},
	"tess": {Handle: "tess", In: map[string]core.UserRole{"cs101": core.RoleTeacher}},
	"ann":  {Handle: "ann", In: map[string]core.UserRole{"cs101": core.RoleStudent}},
}

// fixture is a site of the cluster's pages on a cluster of one host and one pool.
type fixture struct {
	*coretest.Cluster
	b      *coretest.Backend
	store  *sqlite.Store
	in     *intake.Intake
	deps   services.Deps
	leases *leasetest.Fake
	site   *page.Site
	http.Handler
	seq int64
}

func newFixture(t testing.TB, b *coretest.Backend) *fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	w := &fixture{b: b, store: store, leases: leasetest.New(time.Now)}
	w.Cluster = coretest.NewCluster(t, b.Open(t), "h1", "p1")
	w.in = &intake.Intake{Store: store, Queue: w.Store, Pools: w.Store, Tasks: w.Store, Blobs: blobs}
	require.NoError(t, w.in.SetPool(ctx, core.DefaultPool("p1")))
	reg := &classes.Service{Store: store, Intake: w.in, Blobs: blobs}
	log := logrus.New()
	log.SetOutput(io.Discard)
	service := &requests.Service{Store: store, Intake: w.in, Queue: w.Store, Cluster: w.Store, Output: w.Store, Blobs: blobs, Submissions: reg}
	w.deps = services.Deps{Classes: reg, Requests: service, Beat: 2 * time.Second, Log: log, Leases: w.leases}
	return w.anew(t)
}

// anew is the site as another process has it, which has read nothing yet.
func (w *fixture) anew(t testing.TB) *fixture {
	t.Helper()
	next := *w
	next.deps.Cluster = &operate.Service{Cluster: w.Store, Store: w.store, Intake: w.in, Elastic: w.store}
	sessions := scs.New()
	var err error
	next.site, err = page.New(page.Config{Name: "Test school", Sessions: sessions, Log: w.deps.Log}, operator.Section(next.deps))
	require.NoError(t, err)
	next.Handler = sessions.LoadAndSave(next.site)
	return &next
}

// submit accepts a request.
func (w *fixture) submit(t *testing.T, id, submitter string) {
	t.Helper()
	_, _, err := w.in.Submit(t.Context(), core.Spec{ID: id, Pool: "p1", Submitter: submitter, Command: []string{"true"}})
	require.NoError(t, err)
}

// kill has a request die of faults of the platform.
func (w *fixture) kill(t *testing.T, id, reason string) {
	t.Helper()
	w.submit(t, id, "sam")
	w.AddVMs(t, 1)
	w.seq++
	got := w.Exchange(t, w.seq, 1)
	require.Len(t, got.Claims, 1)
	c := got.Claims[0]
	spec := c.ReadSpec()
	_, err := w.store.Record(t.Context(), core.Result{
		ID: id, Generation: 1, State: core.RequestDead, Blame: core.BlamePlatform, Reason: reason, Attempt: 4, Host: "h1", Pool: "p1",
		VM: c.VM, Token: c.Token, Times: core.Times{Submitted: spec.Submitted, Claimed: 1, Started: 2, Finished: 5},
	})
	require.NoError(t, err)
	w.seq++
	w.Exchange(t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDead})
}

// ask makes a request as a user; a form makes it a POST.
func (w *fixture) ask(t testing.TB, who, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if who != "" {
		r = r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: users[who], Name: who}))
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// shows gets a page and returns its HTML.
func (w *fixture) shows(t testing.TB, who, path string) string {
	t.Helper()
	got := w.ask(t, who, path, nil)
	require.Equal(t, http.StatusOK, got.Code, got.Body.String())
	return got.Body.String()
}

// does posts a form that must end with a redirect to the path.
func (w *fixture) does(t *testing.T, who, path string, form url.Values, to string) {
	t.Helper()
	got := w.ask(t, who, path, form)
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body.String())
	require.Equal(t, to, got.Header().Get("Location"))
}

func form(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

// hostOf is the cluster's host as Redis has it now.
func (w *fixture) hostOf(t *testing.T) core.HostInfo {
	t.Helper()
	return w.hostNamed(t, "h1")
}

// hostNamed is a host as Redis has it; without a name if Redis has none.
func (w *fixture) hostNamed(t *testing.T, name string) core.HostInfo {
	t.Helper()
	hosts, err := w.Store.ListHosts(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	for _, h := range hosts {
		if h.Name == name {
			return h
		}
	}
	return core.HostInfo{}
}

const day = 24 * time.Hour

// z is a host whose heartbeat is due.
func z(name string) redis.Z {
	return redis.Z{Member: name, Score: float64(time.Now().Add(time.Minute).UnixMilli())}
}
