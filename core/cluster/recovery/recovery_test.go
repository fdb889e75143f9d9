package recovery_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/coretest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestReap(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.fill()
	report, err := w.reap()
	require.NoError(t, err)
	require.Empty(t, report.Owners, "nobody is late")
	w.late(w.cluster.Runner)
	report, err = w.reap()
	require.NoError(t, err)
	require.Equal(t, []string{w.cluster.Runner}, report.Owners)
	require.Len(t, report.Items, 7)
	report.Items = nil
	require.Equal(t, recovery.Report{
		Owners: report.Owners, Moved: 7, Done: 3, Cancelled: 1, Retried: 2, Dead: 2,
	}, report)
	w.requireSettled()
	require.Equal(t, []string{w.cluster.Factory}, w.owners())
	report, err = w.reap()
	require.NoError(t, err)
	require.Zero(t, report.Moved)

	// A result that the dead owner records now changes nothing.
	first, err := w.store.Record(t.Context(), core.Result{
		ID: "last", Generation: 1, State: core.RequestCompleted, Token: w.slots["last"].Token, VM: w.slots["last"].VM,
	})
	require.NoError(t, err)
	require.False(t, first)
	require.Equal(t, core.RequestDead, w.state("last"))
}

func TestRestartedOwnerSettlesTheSame(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.fill()
	again := w.cluster.Register(t, w.cluster.Runner)
	require.Len(t, again.Left, 7)
	report, err := recovery.Settle(t.Context(), w.cluster.Store, w.store, w.cluster.Runner, again.Epoch, again.Left, recovery.Options{})
	require.NoError(t, err)
	require.Equal(t, 7, report.Moved)
	w.requireSettled()
	report, err = recovery.Settle(t.Context(), w.cluster.Store, w.store, w.cluster.Runner, again.Epoch, again.Left, recovery.Options{})
	require.NoError(t, err, "settling again is fine")
	require.Zero(t, report.Moved)
	_, err = recovery.Settle(t.Context(), w.cluster.Store, w.store, w.cluster.Runner, w.cluster.Epoch, again.Left, recovery.Options{})
	require.Equal(t, core.CodeFenced, core.CodeOf(err), "the former epoch may not")
}

func TestCrashAfterEveryStep(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		w := newFixture(t, coretest.Real(t))
		w.fill()
		w.late(w.cluster.Runner)
		m := &coretest.Mortal{Steps: n}
		_, err := recovery.Reap(t.Context(), mortalOwners{w.cluster.Store, m}, mortalStore{w.store, m}, by, recovery.Options{})
		if len(m.Names) == n {
			require.Error(t, err, "after %v", m.Names)
		}
		if n%2 == 0 { // it is another reaper who goes on, or the owner itself
			_, err = w.reap()
			require.NoError(t, err)
		} else {
			again := w.cluster.Register(t, w.cluster.Runner)
			_, err = recovery.Settle(t.Context(), w.cluster.Store, w.store, w.cluster.Runner, again.Epoch, again.Left, recovery.Options{})
			require.NoError(t, err)
		}
		w.requireSettled()
		if len(m.Names) < n {
			require.Greater(t, n, 10)
			return
		}
	}
}

func TestReapersAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.fill()
	w.late(w.cluster.Runner)
	moved := make([]int, 5)
	var all sync.WaitGroup
	for i := range moved {
		all.Go(func() {
			report, err := recovery.Reap(context.Background(), w.cluster.Store, w.store, by, recovery.Options{})
			if err != nil {
				t.Error(err)
			}
			moved[i] = report.Moved
		})
	}
	all.Wait()
	total := 0
	for _, n := range moved {
		total += n
	}
	require.Equal(t, 7, total, "each slot is emptied once: %v", moved)
	w.requireSettled()
	require.Equal(t, []string{w.cluster.Factory}, w.owners())
}

// The owner comes back between the reaper's steps.
type returner struct {
	core.Owners
	back func()
}

func (r returner) Held(ctx context.Context, owner string, epoch int64) ([]core.Held, error) {
	r.back()
	return r.Owners.Held(ctx, owner, epoch)
}

func TestOwnerThatComesBackIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.fill()
	w.late(w.cluster.Runner)
	var again core.Registered
	report, err := recovery.Reap(t.Context(), returner{w.cluster.Store, func() {
		again = w.cluster.Register(t, w.cluster.Runner)
	}}, w.store, by, recovery.Options{})
	require.NoError(t, err)
	require.Zero(t, report.Moved)
	require.Empty(t, report.Owners)
	for _, id := range []string{"last", "cancelled"} {
		require.Equal(t, core.RequestQueued, w.state(id), "nothing is recorded of what a successor holds")
	}
	held, err := w.cluster.Store.Held(t.Context(), w.cluster.Runner, 0)
	require.NoError(t, err)
	require.Len(t, held, 7)
	_, err = w.cluster.Store.Beat(t.Context(), w.cluster.Runner, again.Epoch, by)
	require.NoError(t, err)
}

// broken fails for one request.
type broken struct {
	core.ResultStore
	id string
}

func (s broken) Record(ctx context.Context, r core.Result) (bool, error) {
	if r.ID == s.id {
		return false, core.Errorf(core.CodeUnavailable, r.ID, "the store is away")
	}
	return s.ResultStore.Record(ctx, r)
}

func (s broken) Terminal(ctx context.Context, keys []string) (map[string]core.RequestState, error) {
	if s.id == "" {
		return nil, core.Errorf(core.CodeUnavailable, "", "the store is away")
	}
	return s.ResultStore.Terminal(ctx, keys)
}

func TestOneSlotThatFailsDoesNotHoldBackTheOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.fill()
	w.late(w.cluster.Runner)
	report, err := recovery.Reap(t.Context(), w.cluster.Store, broken{w.store, "last"}, by, recovery.Options{})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.Equal(t, 6, report.Moved)
	require.Contains(t, w.owners(), w.cluster.Runner)
	_, err = w.reap()
	require.NoError(t, err)
	w.requireSettled()
}

func TestWithoutTheStoreNothingIsSettled(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.fill()
	w.late(w.cluster.Runner)
	report, err := recovery.Reap(t.Context(), w.cluster.Store, broken{w.store, ""}, by, recovery.Options{})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.Zero(t, report.Moved)
	_, err = w.reap()
	require.NoError(t, err)
	w.requireSettled()
}

// last lets the dead owner record its result after the store was asked.
type last struct {
	core.ResultStore
	w     *fixture
	state core.RequestState
}

func (s last) Record(ctx context.Context, r core.Result) (bool, error) {
	s.w.record(s.w.slots[r.ID], s.state)
	return s.ResultStore.Record(ctx, r)
}

func TestResultOfTheLastBreathCounts(t *testing.T) {
	t.Parallel()
	for state, dead := range map[core.RequestState]int{core.RequestCompleted: 0, core.RequestDead: 1} {
		w := newFixture(t, coretest.Real(t))
		w.hold("last", 3)
		w.late(w.cluster.Runner)
		report, err := recovery.Reap(t.Context(), w.cluster.Store, last{w.store, w, state}, by, recovery.Options{})
		require.NoError(t, err)
		require.Equal(t, dead, report.Dead)
		require.Equal(t, 1-dead, report.Done)
		require.Equal(t, state, w.state("last"))
		require.Equal(t, core.RequestState(""), w.place("last"))
	}
}

func TestWhatWasBegunOnceFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.hold("a", 0)
	w.hold("b", 0)
	_, err := w.store.BeginRequest(t.Context(), "a-1", "somebody")
	require.NoError(t, err)
	require.NoError(t, w.cluster.Store.Progress(t.Context(), w.cluster.Runner, w.cluster.Epoch, "a-1", w.slots["a"].Token, "running", 0))
	w.late(w.cluster.Runner)
	report, err := recovery.Reap(t.Context(), w.cluster.Store, w.store, by, recovery.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, report.Failed)
	require.Equal(t, core.RequestQueued, w.place("b"))
	row, err := w.store.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, core.RequestFailed, row.State)
	require.Equal(t, core.BlamePlatform, row.Result.Blame)
	require.GreaterOrEqual(t, row.Result.Times.Started, int64(0))
	require.GreaterOrEqual(t, row.Result.Times.Finished, row.Result.Times.Started)
}

func TestMaxAttemptsIsASetting(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.hold("a", 1)
	w.late(w.cluster.Runner)
	_, err := recovery.Reap(t.Context(), w.cluster.Store, w.store, by, recovery.Options{MaxAttempts: 1})
	require.NoError(t, err)
	require.Equal(t, core.RequestDead, w.state("a"))
}

func TestVMFactoryLeavesDirtyVMs(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	used := w.hold("a", 0)
	w.exchange(0, core.Finish{Key: used.Key, Token: used.Token, Outcome: core.OutcomeDone})
	got, err := w.cluster.Store.Destroy(ctx, w.cluster.Factory, w.cluster.Made, "h1", 5)
	require.NoError(t, err)
	require.Equal(t, []string{used.VM}, got)
	require.NoError(t, w.cluster.Store.Create(ctx, w.cluster.Factory, w.cluster.Made, "h1", "p1", []string{"vm-half"}))
	w.late(w.cluster.Factory)
	report, err := w.reap()
	require.NoError(t, err)
	require.Equal(t, 2, report.Returned)
	require.Equal(t, 2, report.Moved)
	vms, err := w.cluster.Store.ListVMs(ctx, "h1")
	require.NoError(t, err)
	require.Len(t, vms, 2)
	for _, vm := range vms {
		require.Equal(t, core.VMDirty, vm.State, vm.ID)
	}
	require.Equal(t, []string{w.cluster.Runner}, w.owners())
}

func TestTasks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	owner := core.OwnerName(core.RoleTaskrunner, "h1", 0)
	claim := func() []core.TaskClaim {
		epoch := w.cluster.Register(t, owner).Epoch
		got, err := w.cluster.Store.ExchangeTasks(ctx, core.TaskExchange{Owner: owner, Epoch: epoch, Seq: 1, Want: 5, Beat: by})
		require.NoError(t, err)
		return got.Claims
	}
	for _, id := range []string{"task-a", "task-b"} {
		task := core.Task{ID: id, Generation: 1, Kind: "k", State: core.TaskQueued}
		_, err := w.store.CreateTask(ctx, task)
		require.NoError(t, err)
		require.NoError(t, w.cluster.Store.EnqueueTask(ctx, task))
	}
	for range 5 { // any number of taskrunners that are not heard of make nothing dead
		require.Len(t, claim(), 2)
		w.late(owner)
		report, err := w.reap()
		require.NoError(t, err)
		require.Equal(t, 2, report.Retried)
		w.hastenTasks()
	}
	declareDead := func() recovery.Report {
		infos, err := w.cluster.Store.ListOwners(ctx)
		require.NoError(t, err)
		at := slices.IndexFunc(infos, func(o core.OwnerInfo) bool { return o.Name == owner })
		report, err := recovery.DeclareDead(ctx, w.cluster.Store, w.store, owner, infos[at].Epoch, recovery.Options{})
		require.NoError(t, err)
		w.hastenTasks()
		return report
	}
	require.Len(t, claim(), 2)
	require.Equal(t, 2, declareDead().Retried, "whose fault it is nobody knows")
	for dead := 0; dead == 0; {
		require.Len(t, claim(), 1, "from now on they run apart")
		dead = declareDead().Dead
	}
	tasks, err := w.store.ListTasks(ctx, core.TaskFilter{})
	require.NoError(t, err)
	notes := map[core.TaskState]string{}
	for _, task := range tasks {
		notes[task.State] = task.Note
	}
	require.Contains(t, notes[core.TaskDead], "in quarantine: it was alone in hand, or apart from the others, when 2 runners died (taskrunner@h1#0, taskrunner@h1#0)")
	require.Contains(t, notes, core.TaskQueued, "the other is not dead")
}

// hastenTasks lets all tasks go that pause.
func (w *fixture) hastenTasks() {
	w.t.Helper()
	later := w.cluster.Store.Namespace().Key("tasks_later")
	waiting, err := w.b.Admin.ZRange(w.t.Context(), later, 0, -1).Result()
	require.NoError(w.t, err)
	for _, key := range waiting {
		require.NoError(w.t, w.b.Admin.ZAddXX(w.t.Context(), later, redis.Z{Score: 1, Member: key}).Err())
	}
}

func TestManySlots(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	const n = 700
	var specs []core.Spec
	for i := range n {
		specs = append(specs, coretest.Spec(core.Key("r", i+1), "p1", "ann"))
	}
	w.cluster.Submit(t, specs...)
	w.cluster.AddVMs(t, n)
	for range 2 {
		require.Len(t, w.exchange(n/2).Claims, n/2)
	}
	w.late(w.cluster.Runner)
	report, err := w.reap()
	require.NoError(t, err)
	require.Equal(t, n, report.Retried)
	require.Equal(t, n, report.Moved)
	require.False(t, slices.ContainsFunc(report.Items, func(s core.Settlement) bool { return s.Outcome != core.OutcomeRetry }))
}

func TestSettleRefusesAName(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	_, err := recovery.Settle(t.Context(), w.cluster.Store, w.store, "me", 1, nil, recovery.Options{})
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
}

// die lets the runner die with all it holds, and settles that by the options.
func (w *fixture) die(opts recovery.Options) {
	w.t.Helper()
	_, err := w.cluster.Store.DeclareDead(w.t.Context(), w.cluster.Runner, w.cluster.Epoch)
	require.NoError(w.t, err)
	again := w.cluster.Register(w.t, w.cluster.Runner)
	_, err = recovery.Settle(w.t.Context(), w.cluster.Store, w.store, w.cluster.Runner, again.Epoch, again.Left, opts)
	require.NoError(w.t, err)
	w.cluster.Epoch, w.seq = again.Epoch, 0
}

// A request in whose hand owners die is taken out before it kills the third; a
// fault that a living owner told of is no death.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	w := newFixture(t, b)
	w.hold("poison", 1)
	w.die(recovery.Options{})
	require.Equal(t, core.RequestQueued, w.place("poison"), "its VM's death and its runner's")
	w.b.Hasten(t, w.cluster.Store)
	w.cluster.AddVMs(t, 1)
	require.Len(t, w.exchange(1).Claims, 1)
	w.die(recovery.Options{MaxAttempts: 10})
	row, err := w.store.Get(t.Context(), "poison")
	require.NoError(t, err)
	require.Equal(t, core.RequestDead, row.State)
	require.Equal(t, core.BlamePlatform, row.Result.Blame)
	require.Contains(t, row.Result.Reason, "in quarantine: it was alone in hand, or apart from the others, when 2 runners died (testrunner@h1#0, testrunner@h1#0)")
	dead, err := w.cluster.Store.ListDead(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []string{"poison-1"}, dead)
	coretest.RequireSound(t, w.cluster.Store)
}

func TestQuarantineCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.hold("tough", 0)
	for range 5 {
		w.die(recovery.Options{MaxAttempts: 10, MaxDeaths: -1})
		require.Equal(t, core.RequestQueued, w.place("tough"))
		w.b.Hasten(t, w.cluster.Store)
		w.cluster.AddVMs(t, 1)
		require.Len(t, w.exchange(1).Claims, 1)
	}
}

func many(of string, n int, counts bool) []core.Death {
	return slices.Repeat([]core.Death{{Of: of, Counts: counts}}, n)
}

// What the cause of emptying a slot changes: the outcome, the count, the reason.
func TestCauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		cause    recovery.Cause
		attempts int
		deaths   []core.Death
		want     core.Outcome
		reason   string
	}{
		{"lost", recovery.Lost, 0, nil, core.OutcomeRetry, ""},
		{"lost for the hundredth time", recovery.Lost, 99, nil, core.OutcomeRetry, ""},
		{"died in company", recovery.Lost, 1, many("testrunner@h2#0", 8, false), core.OutcomeRetry, ""},
		{"died alone once", recovery.Lost, 1, many("testrunner@h2#0", 1, true), core.OutcomeRetry, ""},
		{"died alone twice", recovery.Lost, 1, many("testrunner@h2#0", 2, true), core.OutcomeDead, "when 2 runners died (testrunner@h2#0, testrunner@h2#0)"},
		{"two VMs", recovery.Lost, 2, many("vm-1", 2, true), core.OutcomeRetry, ""},
		{"three VMs", recovery.Lost, 3, many("vm-1", 3, true), core.OutcomeDead, "3 VMs died while it ran in them (vm-1, vm-1, vm-1)"},
		{"hung", recovery.Hung, 0, nil, core.OutcomeRetry, ""},
		{"hung for the hundredth time", recovery.Hung, 99, nil, core.OutcomeRetry, ""},
		{"hung, its owner may go on", recovery.Hung, 2, many("vm-1", 3, true), core.OutcomeRetry, ""},
		{"drained", recovery.Drained, 0, nil, core.OutcomeRelease, ""},
		{"drained uses no attempt", recovery.Drained, 2, many("testrunner@h2#0", 2, true), core.OutcomeRelease, ""},
	} {
		w := newFixture(t, coretest.Real(t))
		claim := w.hold("some", 0)
		held := core.Held{Key: claim.Key, VM: claim.VM, Token: claim.Token, Attempts: c.attempts, Deaths: c.deaths, Phase: "running"}
		items, report, err := recovery.Decide(t.Context(), w.store, w.cluster.Runner, []core.Held{held}, recovery.Options{Cause: c.cause})
		require.NoError(t, err, c.name)
		require.Equal(t, []core.Settlement{{Key: claim.Key, Token: claim.Token, Outcome: c.want}}, items, c.name)
		require.Equal(t, items, report.Items, c.name)
		row, err := w.store.Get(t.Context(), "some")
		require.NoError(t, err, c.name)
		if c.reason == "" {
			require.Nil(t, row.Result, c.name)
			continue
		}
		require.Equal(t, 1, report.Dead, c.name)
		require.Contains(t, row.Result.Reason, c.reason, c.name)
	}
}
