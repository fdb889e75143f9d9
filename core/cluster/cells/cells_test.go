package cells_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/cells"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/core/redisstore/redisserver"
	"drover/core/requests/intake"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
)

var names = []string{"", "east", "west"}

// fixture is three cells with a host and a pool each, and what stands over them.
type fixture struct {
	t     testing.TB
	store *sqlite.Store
	redis []*redisstore.Store
	hosts []*coretest.Cluster
	away  []atomic.Bool // cells whose Redis cannot be connected to
	view  *cells.Cells
	in    *intake.Intake
	seq   []int64 // of the hosts' calls in benchmarks
}

// onServer opens three namespaces of a server.
func onServer(t testing.TB) (all []*redisstore.Store) {
	t.Helper()
	for range names {
		all = append(all, coretest.Real(t).Open(t))
	}
	return all
}

// onNodes opens three namespaces of a Redis Cluster, each on another node.
func onNodes(t testing.TB) []*redisstore.Store {
	t.Helper()
	servers, err := redisserver.StartCluster(t.Context(), len(names), 0)
	if err != nil {
		coretest.Missing(t, "redis-server", err)
	}
	t.Cleanup(func() { _ = servers.Stop() })
	var all []*redisstore.Store
	nodes := map[int64]bool{}
	for _, tag := range []string{"{a}", "{b}", "{c}"} {
		s, err := redisstore.Open(t.Context(), redisstore.Options{URL: servers.URL(), Namespace: tag})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		slot, err := s.Client().ClusterKeySlot(t.Context(), tag+":meta").Result()
		require.NoError(t, err)
		const slots = 16384
		nodes[slot*int64(len(names))/slots] = true
		all = append(all, s)
	}
	require.Len(t, nodes, len(names), "each namespace is on another node")
	return all
}

func newFixture(t testing.TB, redis []*redisstore.Store) *fixture {
	t.Helper()
	w := &fixture{t: t, store: sqlitetest.Open(t), redis: redis, away: make([]atomic.Bool, len(redis)), seq: make([]int64, len(redis))}
	w.view = w.look()
	w.in = &intake.Intake{Store: w.store, Queue: w.view, Pools: w.view, Tasks: w.view, Cells: names[1:]}
	for i, r := range redis {
		w.hosts = append(w.hosts, coretest.NewCluster(t, r, host(i), pool(i)))
		require.NoError(t, w.in.SetPool(t.Context(), poolOf(i)))
	}
	return w
}

// look makes a view that has not connected to any cell yet.
func (w *fixture) look() *cells.Cells {
	var all []*cells.Cell
	for i, r := range w.redis {
		all = append(all, &cells.Cell{Name: names[i], Open: func(context.Context) (cells.Redis, error) {
			if w.away[i].Load() {
				return nil, core.Errorf(core.CodeUnavailable, "", "nobody listens there")
			}
			return r, nil
		}})
	}
	return cells.New(w.store, all...)
}

// own makes the intake of a cell's overseer.
func (w *fixture) own(i int) *intake.Intake {
	return &intake.Intake{
		Store: w.store, Queue: w.redis[i], Pools: w.redis[i], Tasks: w.view,
		Scope: &intake.Scope{Cell: names[i], Whole: w.in},
	}
}

func host(i int) string { return "h" + string(rune('1'+i)) }
func pool(i int) string { return "p" + string(rune('1'+i)) }

func poolOf(i int) core.Pool {
	p := core.DefaultPool(pool(i))
	p.Cell = names[i]
	return p
}

func (w *fixture) submit(i int) core.Row {
	w.t.Helper()
	row, created, err := w.in.Submit(w.t.Context(), core.Spec{Pool: pool(i), Submitter: "ann", Command: []string{"true"}})
	require.NoError(w.t, err)
	require.True(w.t, created)
	return row
}

// has lists the cells whose Redis has a request.
func (w *fixture) has(key string) (in []int) {
	w.t.Helper()
	for i, r := range w.redis {
		is, err := r.Present(w.t.Context(), []string{key})
		require.NoError(w.t, err)
		if is[0] {
			in = append(in, i)
		}
	}
	return in
}

// A request of each cell's pool is in that cell alone, from its submission to its end, and all of them are seen together.
func TestARequestRunsInEachCell(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) []*redisstore.Store{"one server": onServer, "three nodes of a Redis Cluster": onNodes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requestsRun(newFixture(t, open(t)))
		})
	}
}

func requestsRun(w *fixture) {
	w.t.Helper()
	t, ctx := w.t, w.t.Context()
	var rows []core.Row
	for i := range names {
		row := w.submit(i)
		require.Equal(t, []int{i}, w.has(row.Spec.Key()))
		rows = append(rows, row)
	}
	queues, err := w.view.Waiting(ctx)
	require.NoError(t, err)
	queues = slices.DeleteFunc(queues, func(q core.QueueInfo) bool { return q.Waiting == 0 })
	require.Len(t, queues, len(names))
	turns, err := w.view.Turns(ctx, queues, 5)
	require.NoError(t, err)
	for i, q := range queues {
		require.Len(t, turns[i], 1)
		place, err := w.view.Locate(ctx, turns[i][0].Next)
		require.NoError(t, err)
		require.Equal(t, q.Pool, place.Pool)
	}
	for i, h := range w.hosts {
		h.AddVMs(t, 1)
		got := h.Exchange(t, 1, 5)
		require.Len(t, got.Claims, 1)
		claim := got.Claims[0]
		require.Equal(t, rows[i].Spec.Key(), claim.Key)
		place, err := w.view.Locate(ctx, claim.Key)
		require.NoError(t, err)
		require.Equal(t, h.Runner, place.Owner)
		first, err := w.store.Record(ctx, core.Result{
			ID: rows[i].Spec.ID, Generation: 1, State: core.RequestCompleted, Token: claim.Token, VM: claim.VM, Pool: pool(i),
		})
		require.NoError(t, err)
		require.True(t, first)
		require.Equal(t, []bool{true}, h.Exchange(t, 2, 0, core.Finish{Key: claim.Key, Token: claim.Token, Outcome: core.OutcomeDone}).Finished)
		require.Empty(t, w.has(claim.Key))
	}
	hosts, err := w.view.ListHosts(ctx)
	require.NoError(t, err)
	for i := range hosts {
		require.Equal(t, names[i], hosts[i].Cell)
	}
	require.NoError(t, w.view.Drain(ctx, host(1), true, 0))
	for i, r := range w.redis {
		its, err := r.ListHosts(ctx)
		require.NoError(t, err)
		require.Equal(t, i == 1, its[0].Drain)
	}
	events, err := w.view.LastEvents(ctx, 1000)
	require.NoError(t, err)
	for i := range events[1:] {
		require.GreaterOrEqual(t, events[i].At, events[i+1].At)
	}
}

// While a cell is away, its requests are accepted and the other cells go on. Only its own overseer queues what it missed.
func TestOtherCellsGoOn(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t, onServer(t)), t.Context()
	w.away[1].Store(true)
	view := w.look()
	w.in.Queue, w.in.Pools = view, view
	lost, kept := w.submit(1), w.submit(2)
	require.Empty(t, w.has(lost.Spec.Key()))
	require.Equal(t, []int{2}, w.has(kept.Spec.Key()))
	_, err := view.Locate(ctx, lost.Spec.Key())
	require.True(t, core.Is(err, core.CodeUnavailable), "%v", err)
	require.ErrorContains(t, err, "cell east")
	_, err = view.Locate(ctx, kept.Spec.Key())
	require.NoError(t, err)

	hosts, err := view.ListHosts(ctx)
	require.NoError(t, err)
	require.Len(t, hosts, 2)
	require.Equal(t, []string{"east"}, view.Away())
	err = view.Drain(ctx, host(1), true, 0)
	require.True(t, core.Is(err, core.CodeUnavailable), "it may be there: %v", err)
	require.True(t, core.Is(w.in.RemovePool(ctx, pool(1)), core.CodeUnavailable))

	for _, i := range []int{0, 2, 1} {
		n, err := w.own(i).SweepAll(ctx)
		require.NoError(t, err)
		require.Equal(t, i == 1, n == 1, "cell %d queued %d", i, n)
	}
	require.Equal(t, []int{1}, w.has(lost.Spec.Key()))
	w.away[1].Store(false)
	require.Eventually(t, func() bool {
		hosts, err := view.ListHosts(ctx)
		return err == nil && len(hosts) == len(names) && len(view.Away()) == 0
	}, time.Minute, 50*time.Millisecond)
}

// A pool stays in its cell while anything uses it, and so do its requests.
func TestAPoolStaysInItsCell(t *testing.T) {
	t.Parallel()
	w, ctx := newFixture(t, onServer(t)), t.Context()
	moved := poolOf(1)
	moved.Cell = "west"
	require.True(t, core.Is(w.in.SetPool(ctx, moved), core.CodeConflict))
	nowhere := core.DefaultPool("p9")
	nowhere.Cell = "north"
	require.True(t, core.Is(w.in.SetPool(ctx, nowhere), core.CodeInvalid))

	row := w.submit(1)
	require.True(t, core.Is(w.in.RemovePool(ctx, pool(1)), core.CodeConflict))
	_, err := w.in.Change(ctx, row.Spec.ID, core.Change{Pool: pool(2), By: "ann"})
	require.True(t, core.Is(err, core.CodeInvalid), "%v", err)
	state, err := w.in.Cancel(ctx, row.Spec.ID, "ann")
	require.NoError(t, err)
	require.Equal(t, core.RequestCancelled, state)
	require.Empty(t, w.has(row.Spec.Key()))

	require.NoError(t, w.in.RemovePool(ctx, pool(1)))
	require.NoError(t, w.in.SetPool(ctx, moved))
	again, err := w.in.Rerun(ctx, row.Spec.ID)
	require.NoError(t, err)
	for i := range names { // the view may have had the old cell until now
		_, err := w.own(i).SweepAll(ctx)
		require.NoError(t, err)
		n, err := w.own(i).RestorePools(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
	}
	require.Equal(t, []int{2}, w.has(again.Spec.Key()))
	for i, r := range w.redis {
		_, err := r.GetPool(ctx, pool(1))
		require.Equal(t, i == 2, err == nil, "cell %d: %v", i, err)
	}
}

// A view of one cell asks that cell alone, whatever it is asked for.
func TestOnlyOneCell(t *testing.T) {
	t.Parallel()
	w := newFixture(t, []*redisstore.Store{coretest.Real(t).Open(t), coretest.Mini(t).Open(t), coretest.Mini(t).Open(t)})
	east, err := w.view.Only("east")
	require.NoError(t, err)
	pools, err := east.ListPools(t.Context())
	require.NoError(t, err)
	require.Len(t, pools, 1)
	require.Equal(t, "east", pools[0].Cell)
	_, err = w.view.Only("north")
	require.True(t, core.Is(err, core.CodeInvalid))

	for i := range w.away {
		w.away[i].Store(true)
	}
	_, err = w.look().ListPools(t.Context())
	require.True(t, core.Is(err, core.CodeUnavailable), "%v", err)
}
