package intake_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a store and a Redis, an intake on them, and a runner that takes what is queued.
type fixture struct {
	t       *testing.T
	b       *coretest.Backend
	store   *sqlite.Store
	cluster *coretest.Cluster
	in      *intake.Intake
	seq     int64
	wiped   func()               // empties Redis
	ran     map[string]core.Spec // by key: what claims ran with

	mu  sync.Mutex
	now time.Time
}

const pool = "p1"

func newFixture(t *testing.T, b *coretest.Backend) *fixture {
	t.Helper()
	store := sqlitetest.Open(t)
	w := &fixture{t: t, b: b, store: store, now: time.UnixMilli(1_700_000_000_000), ran: make(map[string]core.Spec)}
	w.cluster = coretest.NewCluster(t, b.Open(t), "h1", pool)
	b.Served(t)
	w.in = w.intake(w.store, w.cluster.Store, w.cluster.Store, w.cluster.Store)
	require.NoError(t, w.in.SetPool(t.Context(), core.DefaultPool(pool)))
	return w
}

func (w *fixture) intake(store school.ResultStore, queue core.Queue, pools core.Pools, tasks core.Tasks) *intake.Intake {
	return &intake.Intake{Store: store, Queue: coretest.Clocked{Queue: queue, Now: w.clock}, Pools: pools, Tasks: tasks, Now: w.clock}
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Millisecond)
	return w.now
}

func (w *fixture) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// spec is a request of ann's that names the least it can.
func spec() core.Spec {
	return core.Spec{Pool: pool, Submitter: "ann", Command: []string{"true"}}
}

func newID() string { return strings.ToLower(ulid.Make().String()) }

func (w *fixture) submit(s core.Spec) core.Row {
	w.t.Helper()
	row, created, err := w.in.Submit(w.t.Context(), s)
	require.NoError(w.t, err)
	require.True(w.t, created)
	return row
}

func (w *fixture) place(key string) core.RequestState {
	w.t.Helper()
	p, err := w.cluster.Store.Locate(w.t.Context(), key)
	require.NoError(w.t, err)
	return p.State
}

func (w *fixture) row(id string) core.Row {
	w.t.Helper()
	row, err := w.store.Get(w.t.Context(), id)
	require.NoError(w.t, err)
	return row
}

// claim takes what waits, up to n.
func (w *fixture) claim(n int) []core.Claim {
	w.t.Helper()
	w.cluster.AddVMs(w.t, n)
	w.seq++
	return w.cluster.Exchange(w.t, w.seq, n).Claims
}

// claimIn takes what waits in a pool, up to n.
func (w *fixture) claimIn(name string, n int) []core.Claim {
	w.t.Helper()
	w.cluster.Pool = name
	defer func() { w.cluster.Pool = pool }()
	return w.claim(n)
}

// run records and finishes claims as a testrunner does.
func (w *fixture) run(claims []core.Claim) {
	w.t.Helper()
	for _, c := range claims {
		s := c.ReadSpec()
		w.ran[c.Key] = s
		r := core.Result{ID: s.ID, Generation: s.Generation, Change: s.Change, Pool: s.Pool, State: core.RequestCompleted, Token: c.Token, VM: c.VM}
		if c.Cancelled != "" {
			r.State, r.Reason = core.RequestCancelled, "cancelled by "+c.Cancelled
		}
		_, err := w.store.Record(w.t.Context(), r)
		require.NoError(w.t, err)
		w.seq++
		x := w.cluster.Exchange(w.t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
		require.Equal(w.t, []bool{true}, x.Finished)
	}
}

// wipe makes Redis lose everything. Its host comes back by itself.
func (w *fixture) wipe() {
	w.t.Helper()
	w.wiped()
	w.cluster = coretest.NewCluster(w.t, w.cluster.Store, "h1", pool)
	w.seq = 0
}

// heal does what the overseer and the runners do all the time, until nothing is left to do.
func (w *fixture) heal() {
	w.t.Helper()
	ctx := w.t.Context()
	_, err := w.in.RestorePools(ctx)
	require.NoError(w.t, err)
	for {
		n, err := w.in.SweepAll(ctx)
		require.NoError(w.t, err)
		removed, err := w.in.SweepRemoved(ctx)
		require.NoError(w.t, err)
		expired, err := w.in.ExpireAll(ctx)
		require.NoError(w.t, err)
		pools, err := w.store.Pools(ctx)
		require.NoError(w.t, err)
		var claims []core.Claim
		for _, p := range pools {
			claims = append(claims, w.claimIn(p.Name, 50)...)
		}
		w.run(claims)
		if n+removed+expired+len(claims) == 0 {
			return
		}
	}
}

// requireWhole checks that every request has ended, once, and that Redis has nothing left.
func (w *fixture) requireWhole() {
	w.t.Helper()
	ctx := w.t.Context()
	rows, err := w.store.List(ctx, core.Filter{Limit: 1000})
	require.NoError(w.t, err)
	for _, row := range rows {
		require.True(w.t, row.State.Terminal(), "%s is %s", row.Spec.ID, row.State)
		present, err := w.cluster.Store.Present(ctx, []string{row.Spec.Key()})
		require.NoError(w.t, err)
		require.Equal(w.t, []bool{false}, present, "%s is left in Redis", row.Spec.Key())
		if ran, is := w.ran[row.Spec.Key()]; is {
			require.Equal(w.t, ran, row.Spec, "the store tells what ran")
		}
	}
	waiting, err := w.cluster.Store.Waiting(ctx)
	require.NoError(w.t, err)
	for _, q := range waiting {
		require.Zero(w.t, q.Waiting)
	}
	coretest.RequireSound(w.t, w.cluster.Store)
}

type mortalStore struct {
	school.ResultStore
	m *coretest.Mortal
}

func (s mortalStore) Create(ctx context.Context, spec core.Spec) (row core.Row, created bool, err error) {
	err = s.m.Step("create", func() error { row, created, err = s.ResultStore.Create(ctx, spec); return err })
	return row, created, err
}

func (s mortalStore) Record(ctx context.Context, r core.Result) (first bool, err error) {
	err = s.m.Step("record "+string(r.State), func() error { first, err = s.ResultStore.Record(ctx, r); return err })
	return first, err
}

func (s mortalStore) Rerun(ctx context.Context, id string, submitted int64) (spec core.Spec, err error) {
	err = s.m.Step("rerun", func() error { spec, err = s.ResultStore.Rerun(ctx, id, submitted); return err })
	return spec, err
}

func (s mortalStore) ChangeSpec(ctx context.Context, was core.Spec, c core.Change) (spec core.Spec, err error) {
	err = s.m.Step("change spec", func() error { spec, err = s.ResultStore.ChangeSpec(ctx, was, c); return err })
	return spec, err
}

func (s mortalStore) UseChange(ctx context.Context, was core.Spec, number int) (is bool, err error) {
	err = s.m.Step("use change", func() error { is, err = s.ResultStore.UseChange(ctx, was, number); return err })
	return is, err
}

func (s mortalStore) MarkRemoved(ctx context.Context, id string) error {
	return s.m.Step("mark removed", func() error { return s.ResultStore.MarkRemoved(ctx, id) })
}

func (s mortalStore) Remove(ctx context.Context, id string) (is bool, err error) {
	err = s.m.Step("remove", func() error { is, err = s.ResultStore.Remove(ctx, id); return err })
	return is, err
}

func (s mortalStore) RemovePool(ctx context.Context, name string) error {
	return s.m.Step("remove pool", func() error { return s.ResultStore.RemovePool(ctx, name) })
}

func (s mortalStore) PutPool(ctx context.Context, p core.Pool) error {
	return s.m.Step("put pool", func() error { return s.ResultStore.PutPool(ctx, p) })
}

func (s mortalStore) CreateBatch(ctx context.Context, b core.Batch) (got core.Batch, created bool, err error) {
	err = s.m.Step("create batch", func() error { got, created, err = s.ResultStore.CreateBatch(ctx, b); return err })
	return got, created, err
}

func (s mortalStore) MoveBatch(ctx context.Context, id string, from, to core.BatchState, by string) (moved bool, err error) {
	err = s.m.Step("move batch "+string(to), func() error { moved, err = s.ResultStore.MoveBatch(ctx, id, from, to, by); return err })
	return moved, err
}

func (s mortalStore) CreateTask(ctx context.Context, t core.Task) (created bool, err error) {
	err = s.m.Step("create task", func() error { created, err = s.ResultStore.CreateTask(ctx, t); return err })
	return created, err
}

func (s mortalStore) EndTask(ctx context.Context, e core.TaskEnd) (first bool, err error) {
	err = s.m.Step("end task", func() error { first, err = s.ResultStore.EndTask(ctx, e); return err })
	return first, err
}

func (s mortalStore) RetryTask(ctx context.Context, id string, now int64) (t core.Task, err error) {
	err = s.m.Step("retry task", func() error { t, err = s.ResultStore.RetryTask(ctx, id, now); return err })
	return t, err
}

type mortalQueue struct {
	core.Queue
	m *coretest.Mortal
}

func (q mortalQueue) Enqueue(ctx context.Context, specs []core.Spec) (v []error, err error) {
	err = q.m.Step(fmt.Sprintf("enqueue %d", len(specs)), func() error { v, err = q.Queue.Enqueue(ctx, specs); return err })
	return v, err
}

func (q mortalQueue) Cancel(ctx context.Context, key, by string, scope core.CancelScope) (p core.Place, err error) {
	err = q.m.Step("mark", func() error { p, err = q.Queue.Cancel(ctx, key, by, scope); return err })
	return p, err
}

func (q mortalQueue) Change(ctx context.Context, spec core.Spec, from int) (had int, held bool, err error) {
	err = q.m.Step("change", func() error { had, held, err = q.Queue.Change(ctx, spec, from); return err })
	return had, held, err
}

func (q mortalQueue) Withdraw(ctx context.Context, key string) (was bool, err error) {
	err = q.m.Step("withdraw", func() error { was, err = q.Queue.Withdraw(ctx, key); return err })
	return was, err
}

type mortalPools struct {
	core.Pools
	m *coretest.Mortal
}

func (p mortalPools) RemovePool(ctx context.Context, name string, asks bool) error {
	return p.m.Step(fmt.Sprintf("drop pool, asks %v", asks), func() error { return p.Pools.RemovePool(ctx, name, asks) })
}

func (p mortalPools) SetPool(ctx context.Context, pool core.Pool) error {
	return p.m.Step("set pool", func() error { return p.Pools.SetPool(ctx, pool) })
}

type mortalTasks struct {
	core.Tasks
	m *coretest.Mortal
}

func (t mortalTasks) EnqueueTask(ctx context.Context, task core.Task) error {
	return t.m.Step("enqueue task", func() error { return t.Tasks.EnqueueTask(ctx, task) })
}

func (t mortalTasks) CancelTask(ctx context.Context, key, by string) (p core.TaskPlace, err error) {
	err = t.m.Step("mark task", func() error { p, err = t.Tasks.CancelTask(ctx, key, by); return err })
	return p, err
}

func (t mortalTasks) WithdrawTask(ctx context.Context, key string) (was bool, err error) {
	err = t.m.Step("withdraw task", func() error { was, err = t.Tasks.WithdrawTask(ctx, key); return err })
	return was, err
}

// dies runs do in processes that die after one step, two steps, … until one
// lives through it, and after each death lets check look. Each begins in a new fixture.
func dies(t *testing.T, prepare func(w *fixture), do func(w *fixture, in *intake.Intake) error, check func(w *fixture, steps []string)) {
	for n := 0; ; n++ {
		w := newFixture(t, coretest.Real(t))
		prepare(w)
		m := &coretest.Mortal{Steps: n}
		in := w.intake(mortalStore{w.store, m}, mortalQueue{w.cluster.Store, m}, mortalPools{w.cluster.Store, m}, mortalTasks{w.cluster.Store, m})
		err := do(w, in)
		check(w, m.Names)
		if len(m.Names) < n {
			require.NoError(t, err)
			require.Greater(t, n, 1)
			return
		}
	}
}
