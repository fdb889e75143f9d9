package operate_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/blobs"
	"drover/core/cluster/operate"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/core/requests/intake"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	olga = core.Actor{Handle: "olga", Roles: []core.UserRole{core.RoleOperator}}
	otto = core.Actor{Handle: "otto", Roles: []core.UserRole{core.RoleObserver}}
	ann  = core.Actor{Handle: "ann", In: map[string]core.UserRole{"cs101": core.RoleStudent}}
)

// Ids of requests; nobody has the last.
const (
	r1 = "01kb5zzzzzzzzzzzzzzzzzzzr1"
	r2 = "01kb5zzzzzzzzzzzzzzzzzzzr2"
	r3 = "01kb5zzzzzzzzzzzzzzzzzzzr3"
	r9 = "01kb5zzzzzzzzzzzzzzzzzzzr9"
)

// fixture is a cluster of one host with one pool, and an Operator of it whose clock stands.
type fixture struct {
	*coretest.Cluster
	op    *operate.Service
	store *sqlite.Store
	in    *intake.Intake
	seq   int64

	mu  sync.Mutex
	now time.Time
}

func newFixture(t *testing.T, b *coretest.Backend) *fixture {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	w := &fixture{store: store, now: time.Now()}
	w.Cluster = coretest.NewCluster(t, b.Open(t), "h1", "p1")
	w.in = &intake.Intake{Store: store, Queue: w.Store, Pools: w.Store, Tasks: w.Store, Blobs: blobs}
	require.NoError(t, w.in.SetPool(ctx, core.DefaultPool("p1")))
	w.op = &operate.Service{
		Cluster: w.Store, Store: store, Intake: w.in, Now: w.clock,
	}
	return w
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// submit accepts a request of a submitter.
func (w *fixture) submit(t *testing.T, id, submitter string) core.Spec {
	t.Helper()
	row, _, err := w.in.Submit(t.Context(), core.Spec{ID: id, Pool: "p1", Submitter: submitter, Command: []string{"true"}})
	require.NoError(t, err)
	return row.Spec
}

// claim takes the next request.
func (w *fixture) claim(t *testing.T) core.Claim {
	t.Helper()
	w.AddVMs(t, 1)
	w.seq++
	got := w.Exchange(t, w.seq, 1)
	require.Len(t, got.Claims, 1)
	return got.Claims[0]
}

// end records a claim's result and ends it.
func (w *fixture) end(t *testing.T, c core.Claim, state core.RequestState, outcome core.Outcome) {
	t.Helper()
	spec := c.ReadSpec()
	_, err := w.store.Record(t.Context(), core.Result{
		ID: spec.ID, Generation: spec.Generation, State: state, Blame: core.BlamePlatform, Reason: "its host was lost", Attempt: 4,
		Host: "h1", Pool: "p1", VM: c.VM, Token: c.Token, Times: core.Times{Submitted: spec.Submitted, Claimed: 1, Started: 2, Finished: 5},
	})
	require.NoError(t, err)
	w.seq++
	w.Exchange(t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: outcome})
}

// entries lists the sentences of the audit log, newest first.
func (w *fixture) entries(t *testing.T) []string {
	t.Helper()
	all, err := w.store.ListAuditEntries(t.Context(), core.AuditFilter{})
	require.NoError(t, err)
	out := make([]string, len(all))
	for i, d := range all {
		require.Equal(t, core.ActClusterOperate, d.Action)
		out[i] = d.Actor + " " + d.Text
	}
	return out
}

// counting counts the readings of hosts and of consistency.
type counting struct {
	*redisstore.Store

	hosts, checks, events atomic.Int64
}

func (c *counting) ListHosts(ctx context.Context) ([]core.HostInfo, error) {
	c.hosts.Add(1)
	return c.Store.ListHosts(ctx)
}

func (c *counting) CheckConsistency(ctx context.Context) ([]core.Violation, error) {
	c.checks.Add(1)
	return c.Store.CheckConsistency(ctx)
}

func (c *counting) LastEvents(ctx context.Context, n int) ([]core.Event, error) {
	c.events.Add(1)
	return c.Store.LastEvents(ctx, n)
}

func requireCode(t *testing.T, want core.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, core.CodeOf(err), "%v", err)
}
