package intake_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// accept makes requests durable that Redis never heard of.
func (w *fixture) accept(n int) []core.Spec {
	w.t.Helper()
	specs := make([]core.Spec, n)
	for i := range specs {
		s, err := w.in.Check(w.t.Context(), spec())
		require.NoError(w.t, err)
		_, _, err = w.store.Create(w.t.Context(), s)
		require.NoError(w.t, err)
		specs[i] = s
	}
	return specs
}

// After a wipe what waits comes back in one go, in a few calls a page; where nothing is lost a
// round looks at a few pages, and the next one goes on.
func TestSweepGoesOnWhileItFindsWhatIsLost(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	const quiet = 20 // pages
	w.accept(3*quiet + 2)
	store, queue := &countedStore{ResultStore: w.store}, &countedQueue{Queue: w.cluster.Store}
	in := w.intake(store, queue, w.cluster.Store, w.cluster.Store)
	in.Batch = 1
	n, err := in.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3*quiet+2, n)
	require.Equal(t, 3*quiet+3, store.pages)
	require.LessOrEqual(t, queue.calls, 4*store.pages, "calls of Redis")
	for _, want := range []int{quiet, quiet, quiet, 3, quiet} {
		store.pages = 0
		n, err = in.Sweep(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, want, store.pages)
	}

	// One that has used half of its time ends, and the next one goes on.
	w.run(w.claim(100))
	w.requireWhole()
	w.accept(3)
	for range 3 {
		n, err = in.Sweep(&late{Context: t.Context()})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
}

// late is a context whose deadline is over for the first caller, and absent for the others.
type late struct {
	context.Context
	asked bool
}

func (l *late) Deadline() (time.Time, bool) {
	first := !l.asked
	l.asked = true
	return time.Now(), first
}

// countedStore counts the pages of unfinished requests that are read.
type countedStore struct {
	school.ResultStore
	pages int
}

func (s *countedStore) Unfinished(ctx context.Context, after string, limit int) ([]core.Spec, error) {
	s.pages++
	return s.ResultStore.Unfinished(ctx, after, limit)
}

// countedQueue counts the calls of Redis.
type countedQueue struct {
	core.Queue
	calls int
}

func (q *countedQueue) Present(ctx context.Context, keys []string) ([]bool, error) {
	q.calls++
	return q.Queue.Present(ctx, keys)
}

func (q *countedQueue) Enqueue(ctx context.Context, specs []core.Spec) ([]error, error) {
	q.calls++
	return q.Queue.Enqueue(ctx, specs)
}

func (q *countedQueue) WaitAnew(ctx context.Context, keys []string) error {
	q.calls++
	return q.Queue.WaitAnew(ctx, keys)
}

func TestSweepAll(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.in.Batch = 4
	w.accept(9)
	n, err := w.in.SweepAll(t.Context())
	require.NoError(t, err)
	require.Equal(t, 9, n)
}

// Tasks that stay unfinished do not hide those behind them.
func TestSweepReachesEveryTask(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.in.Batch = 4
	ids, keys := make([]string, 10), make([]string, 10)
	for i := range ids {
		ids[i] = fmt.Sprintf("t%d", i)
		keys[i] = core.Key(ids[i], 1)
		_, err := w.store.CreateTask(t.Context(), core.Task{ID: ids[i], Generation: 1, Kind: "k", State: core.TaskQueued})
		require.NoError(t, err)
	}
	for round, want := range []int{10, 0, 0} {
		n, err := w.in.Sweep(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, n, "round %d", round)
	}
	present, err := w.cluster.Store.PresentTasks(t.Context(), keys)
	require.NoError(t, err)
	require.NotContains(t, present, false)
}

func TestSweepersAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	specs := w.accept(60)
	var queued atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		in := w.intake(w.store, w.cluster.Store, w.cluster.Store, w.cluster.Store)
		in.Batch = 7
		all.Go(func() {
			n, err := in.SweepAll(context.Background())
			if err != nil {
				t.Error(err)
			}
			queued.Add(int64(n))
		})
	}
	for i := range specs { // and their submits go on
		all.Go(func() {
			if _, err := w.cluster.Store.Enqueue(context.Background(), specs[i:i+1]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	claims := w.claim(100)
	require.Len(t, claims, 60)
	seen := map[string]bool{}
	for _, c := range claims {
		require.False(t, seen[c.Key], "%s was queued twice", c.Key)
		seen[c.Key] = true
	}
}

func TestSweepAfterTotalLoss(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	row, ended := w.submit(spec()), w.submit(spec())
	_, err := w.in.Cancel(t.Context(), ended.Spec.ID, "ann")
	require.NoError(t, err)
	task, _, err := w.in.SubmitTask(t.Context(), core.Task{Kind: "k"})
	require.NoError(t, err)
	empty := coretest.NewCluster(t, coretest.Real(t).Open(t), "h1", "other")
	w.cluster, w.seq = empty, 0
	w.cluster.Pool = pool
	w.in = w.intake(w.store, empty.Store, empty.Store, empty.Store)
	n, err := w.in.SweepAll(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n, "a request and a task; the pool came back by itself")
	present, err := empty.Store.PresentTasks(t.Context(), []string{task.Key()})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, present)
	claims := w.claim(5)
	require.Len(t, claims, 1)
	require.Equal(t, row.Spec, claims[0].ReadSpec())
	w.run(claims)
	w.requireWhole()
}

// ender records the end of everything that was absent in the first reading.
type ender struct {
	school.ResultStore
	end func(keys []string)
}

func (s ender) Terminal(ctx context.Context, keys []string) (map[string]core.RequestState, error) {
	s.end(keys)
	return s.ResultStore.Terminal(ctx, keys)
}

func TestSweepReadsTwice(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.accept(3)
	in := w.intake(ender{w.store, func(keys []string) {
		for _, key := range keys[1:] {
			id, _, err := core.ParseKey(key)
			require.NoError(t, err)
			_, err = w.store.Record(t.Context(), core.Result{ID: id, Generation: 1, State: core.RequestCompleted, Token: "1.1", VM: "v"})
			require.NoError(t, err)
		}
	}}, w.cluster.Store, w.cluster.Store, w.cluster.Store)
	n, err := in.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n, "two ended between the readings")
}

// picky refuses one spec, and no other.
type picky struct {
	core.Queue
	bad string
}

func (q picky) Enqueue(ctx context.Context, specs []core.Spec) ([]error, error) {
	verdicts := make([]error, len(specs))
	for i := range specs {
		if specs[i].ID == q.bad {
			verdicts[i] = core.Errorf(core.CodeInvalid, q.bad, "request %s is bad", q.bad)
			continue
		}
		one, err := q.Queue.Enqueue(ctx, specs[i:i+1])
		if err != nil {
			return nil, err
		}
		verdicts[i] = one[0]
	}
	return verdicts, nil
}

func TestOneBadRequestDoesNotHoldBackTheOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	specs := w.accept(5)
	in := w.intake(w.store, picky{w.cluster.Store, specs[2].ID}, w.cluster.Store, w.cluster.Store)
	in.Batch = 3
	n, err := in.SweepAll(t.Context())
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	require.ErrorContains(t, err, specs[2].ID)
	require.Equal(t, 4, n)
}

func TestExpire(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	p := core.DefaultPool(pool)
	p.MaxWait = time.Hour
	require.NoError(t, w.in.SetPool(t.Context(), p))
	other := core.DefaultPool("p2")
	other.MaxWait = 0
	require.NoError(t, w.in.SetPool(t.Context(), other))
	running := w.submit(spec())
	claims := w.claim(1)
	waiting := w.submit(spec())
	lost := w.accept(1)[0]
	forever := spec()
	forever.Pool = "p2"
	kept := w.submit(forever)
	w.pass(2 * time.Hour)
	young := w.submit(spec())
	w.in.Batch = 2
	for range 4 {
		_, err := w.in.Expire(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, core.RequestQueued, w.place(lost.Key()), "Redis did not have it, and perhaps it ran: it waits anew")
	for _, id := range []string{waiting.Spec.ID} {
		row := w.row(id)
		require.Equal(t, core.RequestTimedOut, row.State)
		require.Equal(t, core.BlamePlatform, row.Result.Blame)
		require.Contains(t, row.Result.Reason, "waited longer")
		require.Equal(t, core.RequestState(""), w.place(row.Spec.Key()))
	}
	require.Equal(t, core.RequestQueued, w.row(kept.Spec.ID).State)
	require.Equal(t, core.RequestQueued, w.row(young.Spec.ID).State)
	require.Equal(t, core.RequestClaimed, w.place(running.Spec.Key()))
	require.Equal(t, core.RequestQueued, w.row(running.Spec.ID).State, "what runs is not ended")
	w.seq++
	require.Empty(t, w.cluster.Exchange(t, w.seq, 0).Cancelled, "what runs is not marked")
	w.run(claims)
	n, err := w.in.ExpireAll(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
}

// What was begun waits since it was given back, whatever the reason; what Redis lost, since it
// has it again: it may have run when that was.
func TestExpireCountsOnlyWaiting(t *testing.T) {
	t.Parallel()
	for name, leaves := range map[string]func(w *fixture, row core.Row, c core.Claim){
		"a fault": func(w *fixture, _ core.Row, c core.Claim) {
			w.seq++
			w.cluster.Exchange(w.t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry})
		},
		"given back": func(w *fixture, _ core.Row, c core.Claim) {
			w.seq++
			w.cluster.Exchange(w.t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRelease})
		},
		"Redis was wiped, and swept": func(w *fixture, _ core.Row, _ core.Claim) {
			w.wipe()
			n, err := w.in.Sweep(t.Context())
			require.NoError(w.t, err)
			require.Equal(w.t, 1, n)
		},
		"Redis was wiped": func(w *fixture, _ core.Row, _ core.Claim) {
			w.wipe()
			w.b.Served(w.t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := coretest.Mini(t)
			b.Mini.SetTime(time.Now())
			w := newFixture(t, b)
			w.wiped = b.Mini.FlushAll
			w.in.Queue, w.now = w.cluster.Store, time.Now()
			p := core.DefaultPool(pool)
			p.MaxWait, p.Limits.Timeout = 10*time.Minute, time.Hour
			require.NoError(t, w.in.SetPool(t.Context(), p))
			row := w.submit(spec())
			c := w.claim(1)[0]
			w.pass(20 * time.Minute)
			b.Mini.SetTime(w.clock())
			leaves(w, row, c)
			n, err := w.in.ExpireAll(t.Context())
			require.NoError(t, err)
			require.Zero(t, n)
			require.Equal(t, core.RequestQueued, w.row(row.Spec.ID).State, "it waited for no time")
			// Its clock is set back, too: then it waits since now, not until that time comes again.
			b.Mini.SetTime(time.Now().Add(-24 * time.Hour))
			_, err = w.in.ExpireAll(t.Context())
			require.NoError(t, err)
			b.Mini.SetTime(time.Now().Add(-24*time.Hour + 11*time.Minute))
			n, err = w.in.ExpireAll(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, n, "now it has waited too long")
		})
	}
}

// overtaken is a Redis in which, just before a pool is restored, somebody sets it.
type overtaken struct {
	core.Pools
	set func()
}

func (o *overtaken) SetPool(ctx context.Context, p core.Pool) error {
	if set := o.set; set != nil {
		o.set = nil
		set()
	}
	return o.Pools.SetPool(ctx, p)
}

func TestRestorePoolsUndoesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	old, now := core.DefaultPool(pool), core.DefaultPool(pool)
	old.Warm, now.Warm = 3, 4
	require.NoError(t, w.store.PutPool(t.Context(), old)) // Redis has lost it
	pools := &overtaken{Pools: w.cluster.Store, set: func() { require.NoError(t, w.in.SetPool(t.Context(), now)) }}
	_, err := w.intake(w.store, w.cluster.Store, pools, w.cluster.Store).RestorePools(t.Context())
	require.NoError(t, err)
	got, err := w.cluster.Store.GetPool(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, now, got)
}

func TestRestorePools(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	for i := range 3 {
		require.NoError(t, w.store.PutPool(t.Context(), core.DefaultPool(fmt.Sprint("q", i))))
	}
	changed := core.DefaultPool(pool)
	changed.Paused = true
	require.NoError(t, w.store.PutPool(t.Context(), changed))
	n, err := w.in.RestorePools(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, n)
	got, err := w.cluster.Store.GetPool(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, changed, got)
	n, err = w.in.RestorePools(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	bad := core.DefaultPool("p2")
	bad.Max = 0
	require.Equal(t, core.CodeInvalid, core.CodeOf(w.in.SetPool(t.Context(), bad)))
}

// What Redis lost and had been begun, and must not run twice, ends instead; so does what was revoked and waits again.
func TestWhatWasBegunIsNotQueuedAgain(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	w := newFixture(t, b)
	w.wiped = b.Mini.FlushAll
	begun, other := w.submit(spec()), w.submit(spec())
	_, err := w.store.BeginRequest(t.Context(), begun.Spec.Key(), "testrunner@h9#0 1.1")
	require.NoError(t, err)
	w.wipe()
	n, err := w.in.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	row := w.row(begun.Spec.ID)
	require.Equal(t, core.RequestFailed, row.State)
	require.Equal(t, core.BegunReason("its claim by testrunner@h9#0 1.1 was lost"), row.Result.Reason)
	require.Equal(t, core.RequestQueued, w.place(other.Spec.Key()))

	_, err = w.store.BeginRequest(t.Context(), other.Spec.Key(), "testrunner@h9#0 1.2")
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, w.in.FailBegun(t.Context(), other.Spec.ID))
	}
	require.Empty(t, w.place(other.Spec.Key()))
	require.Equal(t, core.RequestFailed, w.row(other.Spec.ID).State)
	require.NoError(t, w.in.FailBegun(t.Context(), "nobody"))
}

// overtakenQueue is a Redis in which something happens just before requests are queued.
type overtakenQueue struct {
	core.Queue
	happens func()
}

func (q *overtakenQueue) Enqueue(ctx context.Context, specs []core.Spec) ([]error, error) {
	if happens := q.happens; happens != nil {
		q.happens = nil
		happens()
	}
	return q.Queue.Enqueue(ctx, specs)
}

// What ends just before it is queued again has ended: Redis and the store know.
func TestWhatEndsWhileItIsSweptStaysEnded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	spec := w.accept(1)[0]
	queue := &overtakenQueue{Queue: w.cluster.Store, happens: func() {
		w.cluster.Submit(t, spec)
		w.run(w.claim(1))
	}}
	n, err := w.intake(w.store, queue, w.cluster.Store, w.cluster.Store).Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	require.Empty(t, w.place(spec.Key()))
	require.Equal(t, core.RequestCompleted, w.row(spec.ID).State)
}

// awaited is a Redis to which owners may yet come back.
type awaited struct {
	core.Queue
	recalled bool
}

func (q *awaited) Recalled(context.Context) (bool, error) { return q.recalled, nil }

// What Redis lost may be running: it is queued once owners had the time to say so.
func TestSweepWaitsForOwners(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	spec := w.accept(1)[0]
	queue := &awaited{Queue: w.cluster.Store}
	in := w.intake(w.store, queue, w.cluster.Store, w.cluster.Store)
	n, err := in.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	require.Empty(t, w.place(spec.Key()))
	queue.recalled = true
	n, err = in.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
