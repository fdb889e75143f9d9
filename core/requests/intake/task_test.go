package intake_test

import (
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// tasker is a taskrunner.
type tasker struct {
	w     *fixture
	owner string
	epoch int64
	seq   int64
}

func (w *fixture) tasker() *tasker {
	w.t.Helper()
	owner := core.OwnerName(core.RoleTaskrunner, "h1", 0)
	return &tasker{w: w, owner: owner, epoch: w.cluster.Register(w.t, owner).Epoch}
}

func (k *tasker) exchange(want int, finish ...core.TaskFinish) core.TaskExchanged {
	k.w.t.Helper()
	k.seq++
	got, err := k.w.cluster.Store.ExchangeTasks(k.w.t.Context(), core.TaskExchange{
		Owner: k.owner, Epoch: k.epoch, Seq: k.seq, Want: want, TokenBase: k.seq, Finish: finish, Beat: time.Hour,
	})
	require.NoError(k.w.t, err)
	return got
}

// end records how a claim ends and finishes it, as a taskrunner does.
func (k *tasker) end(c core.TaskClaim, state core.TaskState) {
	k.w.t.Helper()
	if c.Cancelled != "" {
		state = core.TaskCancelled
	}
	_, err := k.w.store.EndTask(k.w.t.Context(), core.TaskEnd{ID: c.Task.ID, Generation: c.Task.Generation, State: state})
	require.NoError(k.w.t, err)
	got := k.exchange(0, core.TaskFinish{Key: c.Task.Key(), Token: c.Token, Outcome: core.OutcomeDone})
	require.Equal(k.w.t, []bool{true}, got.Finished)
}

// healTasks sweeps and does tasks until nothing is left.
func (w *fixture) healTasks() {
	w.t.Helper()
	k := w.tasker()
	for {
		n, err := w.in.SweepAll(w.t.Context())
		require.NoError(w.t, err)
		claims := k.exchange(50).Claims
		for _, c := range claims {
			k.end(c, core.TaskDone)
		}
		if n+len(claims) == 0 {
			break
		}
	}
	open, err := w.store.UnfinishedTasks(w.t.Context(), "", 10)
	require.NoError(w.t, err)
	require.Empty(w.t, open)
	coretest.RequireSound(w.t, w.cluster.Store)
}

func (w *fixture) task(t core.Task) core.Task {
	w.t.Helper()
	got, created, err := w.in.SubmitTask(w.t.Context(), t)
	require.NoError(w.t, err)
	require.True(w.t, created)
	return got
}

func (w *fixture) taskState(id string) core.TaskState {
	w.t.Helper()
	got, err := w.store.GetTask(w.t.Context(), id)
	require.NoError(w.t, err)
	return got.State
}

func TestSubmitTaskFillsWhatIsOpen(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	got := w.task(core.Task{Kind: "archive", Requester: "ann"})
	require.Equal(t, core.PriorityNormal, got.Priority)
	require.Equal(t, "ann", got.Lane)
	require.Equal(t, 1, got.Generation)
	require.Equal(t, got, w.tasker().exchange(1).Claims[0].Task)
	for _, bad := range []core.Task{{Kind: "k", Priority: "urgent"}, {Kind: "k", Lane: "a b"}, {Kind: "k", Requester: "a:b"}, {Kind: "k", Parent: "?"}} {
		_, _, err := w.in.SubmitTask(t.Context(), bad)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	}
}

func TestTooManyTasksOfARequester(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	var last core.Task
	for i := range 1000 {
		last = core.Task{ID: newID(), Generation: 1, Kind: "k", Requester: "ann", Priority: core.PriorityNormal, Lane: "ann", State: core.TaskQueued, Args: fmt.Append(nil, i)}
		_, err := w.store.CreateTask(t.Context(), last)
		require.NoError(t, err)
	}
	_, _, err := w.in.SubmitTask(t.Context(), core.Task{Kind: "k", Requester: "ann"})
	require.Equal(t, core.CodeFull, core.CodeOf(err))
	_, created, err := w.in.SubmitTask(t.Context(), last)
	require.NoError(t, err, "it was accepted before")
	require.False(t, created)
	w.task(core.Task{Kind: "k", Requester: "ann", Parent: last.ID})
	w.task(core.Task{Kind: "k", Requester: "bob"})
	w.task(core.Task{Kind: "k"})
	_, err = w.in.CancelTask(t.Context(), last.ID, "ann")
	require.NoError(t, err)
	_, _, err = w.in.SubmitTask(t.Context(), core.Task{Kind: "k", Requester: "ann"})
	require.NoError(t, err, "there is room again")
}

func TestCancelTask(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	k := w.tasker()
	run := w.task(core.Task{Kind: "experiment"})
	claim := k.exchange(1).Claims[0]
	part := w.task(core.Task{Kind: "rerun", Parent: run.ID})
	deep := w.task(core.Task{Kind: "rerun", Parent: part.ID, NotBefore: time.Now().Add(time.Hour).UnixMilli()})
	other := w.task(core.Task{Kind: "rerun"})
	for range 2 {
		state, err := w.in.CancelTask(ctx, run.ID, "ann")
		require.NoError(t, err)
		require.Equal(t, core.TaskCancelling, state)
	}
	require.Equal(t, core.TaskQueued, w.taskState(run.ID), "its owner ends it")
	require.Equal(t, core.TaskCancelled, w.taskState(part.ID))
	require.Equal(t, core.TaskCancelled, w.taskState(deep.ID))
	got := k.exchange(5)
	require.Equal(t, map[string]string{run.Key(): "ann"}, got.Cancelled)
	require.Len(t, got.Claims, 1)
	claim.Cancelled = "ann"
	k.end(claim, core.TaskDone)
	state, err := w.in.CancelTask(ctx, run.ID, "bob")
	require.NoError(t, err)
	require.Equal(t, core.TaskCancelled, state)
	k.end(got.Claims[0], core.TaskDone)
	state, err = w.in.CancelTask(ctx, other.ID, "ann")
	require.Equal(t, core.CodeEnded, core.CodeOf(err))
	require.Equal(t, core.TaskDone, state)
	_, err = w.in.CancelTask(ctx, newID(), "ann")
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
	_, err = w.in.CancelTask(ctx, run.ID, "a\nb")
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))

	again, err := w.in.RetryTask(ctx, part.ID)
	require.NoError(t, err)
	require.Equal(t, 2, again.Generation)
	require.Equal(t, again.Key(), k.exchange(5).Claims[0].Task.Key())
	_, err = w.in.RetryTask(ctx, part.ID)
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
}

// Parts that are made while their whole is cancelled do not outlive it.
func TestSweepStopsPartsOfWhatWasCancelled(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	whole := w.task(core.Task{Kind: "experiment"})
	_, err := w.in.CancelTask(t.Context(), whole.ID, "ann")
	require.NoError(t, err)
	part := w.task(core.Task{Kind: "rerun", Parent: whole.ID})
	lost := w.task(core.Task{Kind: "rerun", Parent: "gone"})
	n, err := w.in.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, core.TaskCancelled, w.taskState(part.ID))
	require.Equal(t, core.TaskQueued, w.taskState(lost.ID))
	w.healTasks()
}
