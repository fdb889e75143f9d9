package recovery_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/coretest"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const by = time.Millisecond

// fixture is a host whose testrunner holds requests, each of another kind.
type fixture struct {
	t       *testing.T
	b       *coretest.Backend
	store   *sqlite.Store
	cluster *coretest.Cluster
	seq     int64
	slots   map[string]core.Claim // by request id
	rows    []string
}

func newFixture(t *testing.T, b *coretest.Backend) *fixture {
	t.Helper()
	store := sqlitetest.Open(t)
	return &fixture{
		t: t, b: b, store: store, cluster: coretest.NewCluster(t, b.Open(t), "h1", "p1"), slots: map[string]core.Claim{},
	}
}

func (w *fixture) exchange(want int, finish ...core.Finish) core.Exchanged {
	w.t.Helper()
	w.seq++
	return w.cluster.Exchange(w.t, w.seq, want, finish...)
}

// hold submits a request and claims it; attempts says how many faults it had before.
func (w *fixture) hold(id string, attempts int) core.Claim {
	w.t.Helper()
	s := coretest.Spec(id, "p1", "ann")
	_, _, err := w.store.Create(w.t.Context(), s)
	require.NoError(w.t, err)
	w.rows = append(w.rows, id)
	w.cluster.Submit(w.t, s)
	for i := 0; ; i++ {
		w.cluster.AddVMs(w.t, 1)
		got := w.exchange(1).Claims
		require.Len(w.t, got, 1)
		require.Equal(w.t, i, got[0].Attempts)
		if i == attempts {
			w.slots[id] = got[0]
			return got[0]
		}
		w.exchange(0, core.Finish{Key: got[0].Key, Token: got[0].Token, Outcome: core.OutcomeBroken})
		w.b.Hasten(w.t, w.cluster.Store)
	}
}

func (w *fixture) record(c core.Claim, state core.RequestState) {
	w.t.Helper()
	_, err := w.store.Record(w.t.Context(), core.Result{
		ID: c.ReadSpec().ID, Generation: 1, State: state, Token: c.Token, VM: c.VM,
	})
	require.NoError(w.t, err)
}

// fill holds one request of each kind.
func (w *fixture) fill() {
	w.t.Helper()
	w.hold("fresh", 0)
	w.hold("tried", 1)
	w.hold("last", 3)
	w.record(w.hold("ended", 0), core.RequestFailed)
	w.record(w.hold("endeddead", 0), core.RequestDead)
	cancelled := w.hold("cancelled", 2)
	_, err := w.cluster.Store.Cancel(w.t.Context(), cancelled.Key, "bob", core.CancelAny)
	require.NoError(w.t, err)
	stray := coretest.Spec("stray", "p1", "ann") // the store was told to forget it
	w.cluster.Submit(w.t, stray)
	w.cluster.AddVMs(w.t, 1)
	got := w.exchange(1).Claims
	_, err = w.cluster.Store.Cancel(w.t.Context(), got[0].Key, "bob", core.CancelAny)
	require.NoError(w.t, err)
}

// late makes an owner's heartbeat very late.
func (w *fixture) late(owner string) {
	w.t.Helper()
	require.NoError(w.t, w.b.Admin.Do(w.t.Context(), "ZADD", w.b.Namespace+":owners", "XX", 1, owner).Err())
}

func (w *fixture) owners() []string {
	w.t.Helper()
	infos, err := w.cluster.Store.ListOwners(w.t.Context())
	require.NoError(w.t, err)
	names := make([]string, len(infos))
	for i, o := range infos {
		names[i] = o.Name
	}
	return names
}

func (w *fixture) place(id string) core.RequestState {
	w.t.Helper()
	p, err := w.cluster.Store.Locate(w.t.Context(), core.Key(id, 1))
	require.NoError(w.t, err)
	return p.State
}

func (w *fixture) state(id string) core.RequestState {
	w.t.Helper()
	row, err := w.store.Get(w.t.Context(), id)
	require.NoError(w.t, err)
	return row.State
}

// requireSettled checks what fill left, after the runner was reaped or restarted.
func (w *fixture) requireSettled() {
	w.t.Helper()
	ctx := w.t.Context()
	held, err := w.cluster.Store.Held(ctx, w.cluster.Runner, 0)
	require.NoError(w.t, err)
	require.Empty(w.t, held)
	coretest.RequireSound(w.t, w.cluster.Store)
	for id, want := range map[string]struct{ state, place core.RequestState }{
		"fresh":     {core.RequestQueued, core.RequestQueued},
		"tried":     {core.RequestQueued, core.RequestQueued},
		"last":      {core.RequestDead, ""},
		"ended":     {core.RequestFailed, ""},
		"endeddead": {core.RequestDead, ""},
		"cancelled": {core.RequestCancelled, ""},
	} {
		require.Equal(w.t, want.state, w.state(id), id)
		require.Equal(w.t, want.place, w.place(id), id)
	}
	require.Equal(w.t, core.RequestState(""), w.place("stray"))
	dead, err := w.cluster.Store.ListDead(ctx, 10)
	require.NoError(w.t, err)
	slices.Sort(dead)
	require.Equal(w.t, []string{"endeddead-1", "last-1"}, dead)
	for _, id := range w.rows {
		attempts, err := w.store.Attempts(ctx, id)
		require.NoError(w.t, err)
		require.LessOrEqual(w.t, len(attempts), 1, "%s was recorded twice", id)
	}
	row, err := w.store.Get(ctx, "last")
	require.NoError(w.t, err)
	require.Equal(w.t, core.BlamePlatform, row.Result.Blame)
	require.Equal(w.t, 4, row.Result.Attempt)
	require.Equal(w.t, "h1", row.Result.Host)
	require.Equal(w.t, w.slots["last"].VM, row.Result.VM)
	row, err = w.store.Get(ctx, "cancelled")
	require.NoError(w.t, err)
	require.Equal(w.t, "cancelled by bob", row.Result.Reason)
	require.Equal(w.t, core.BlameNone, row.Result.Blame)
}

type mortalStore struct {
	core.ResultStore
	m *coretest.Mortal
}

func (s mortalStore) Record(ctx context.Context, r core.Result) (first bool, err error) {
	err = s.m.Step(fmt.Sprintf("record %s %s", r.ID, r.State), func() error { first, err = s.ResultStore.Record(ctx, r); return err })
	return first, err
}

type mortalOwners struct {
	core.Owners
	m *coretest.Mortal
}

func (o mortalOwners) Fence(ctx context.Context, owner string, by time.Duration) (epoch int64, err error) {
	err = o.m.Step("fence "+owner, func() error { epoch, err = o.Owners.Fence(ctx, owner, by); return err })
	return epoch, err
}

func (o mortalOwners) Settle(ctx context.Context, owner string, epoch int64, items []core.Settlement, placed int64) (out core.Settled, err error) {
	for _, it := range items { // one by one, so that it can die between two
		err = o.m.Step("settle "+it.Key, func() error {
			one, err := o.Owners.Settle(ctx, owner, epoch, []core.Settlement{it}, placed)
			out.Moved += one.Moved
			return err
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (o mortalOwners) Forget(ctx context.Context, owner string, epoch int64) error {
	return o.m.Step("forget "+owner, func() error { return o.Owners.Forget(ctx, owner, epoch) })
}

func (w *fixture) reap() (recovery.Report, error) {
	return recovery.Reap(w.t.Context(), w.cluster.Store, w.store, by, recovery.Options{})
}
