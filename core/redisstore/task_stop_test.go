package redisstore_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

func (k *tasker) at(t *testing.T, key string) core.TaskPlace {
	t.Helper()
	got, err := k.Store.LocateTasks(t.Context(), []string{"nobody-1", key})
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Empty(t, got[0])
	return got[1]
}

// A cancel has a place that all read: a claim is told, an owner is told at its next heartbeat
// and woken to make one, and what waits can be withdrawn.
func TestCancelOfATask(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		k := newTasker(t, x)
		k.add(t, "run", "wait", "mark")
		k.put(t, "late", 1, core.Task{Kind: "none", NotBefore: x.now(t).Add(time.Hour).UnixMilli()})
		running := k.run(t, 1, 1).Claims[0]
		for key, want := range map[string]core.TaskState{
			"run-1": core.TaskRunning, "wait-1": core.TaskQueued, "mark-1": core.TaskQueued, "late0-1": core.TaskDelayed, "no-1": "",
		} {
			place, err := k.Store.CancelTask(ctx, key, "ann")
			require.NoError(t, err)
			if key == "run-1" && x.twice {
				want = core.TaskCancelling
			}
			require.Equal(t, want, place.State, key)
			_, err = k.Store.CancelTask(ctx, key, "bob")
			require.NoError(t, err, "the first to ask stays noted")
		}
		require.Equal(t, core.TaskCancelling, k.at(t, "run-1").State)
		require.True(t, x.rung(t, "notice", k.owner))
		for _, want := range []bool{true, false} {
			for _, key := range []string{"wait-1", "late0-1"} {
				was, err := k.Store.WithdrawTask(ctx, key)
				require.NoError(t, err)
				require.Equal(t, want && !x.twice, was, key)
			}
		}
		for _, key := range []string{"run-1", "no-1"} {
			was, err := k.Store.WithdrawTask(ctx, key)
			require.NoError(t, err)
			require.False(t, was, key)
		}
		got := k.run(t, 2, 5)
		require.Equal(t, map[string]string{"run-1": "ann", "mark-1": "ann"}, got.Cancelled)
		require.Len(t, got.Claims, 1)
		require.Equal(t, "ann", got.Claims[0].Cancelled)
		require.Empty(t, running.Cancelled)
		before := x.picture(t)
		err := k.Store.EnqueueTask(ctx, core.Task{ID: "wait", Generation: 1, Kind: "none", Args: json.RawMessage(`{"n":1}`)})
		require.True(t, core.Is(err, core.CodeEnded), "it was withdrawn: %v", err)
		x.changed(t, before)
		again := k.run(t, 3, 5, ended(running, core.OutcomeRelease, 0), ended(got.Claims[0], core.OutcomeDone, 0))
		require.Equal(t, "ann", again.Claims[0].Cancelled, "the next owner sees the mark too")
		k.run(t, 4, 0, ended(again.Claims[0], core.OutcomeDone, 0))
		require.Zero(t, x.b.Admin.Exists(ctx, x.key("cancels"), x.key("tasks"), x.key("tasks_kinds", "normal")).Val())
	})
}

// A busy owner learns what is cancelled, and takes no ring that is for others.
func TestABusyTaskrunnerHearsACancel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		k := newTasker(t, x)
		k.add(t, "t1")
		k.run(t, 1, 1)
		k.hush(t)
		k.add(t, "t2")
		heard := make(chan error, 1)
		go func() { heard <- k.Store.WaitTask(context.Background(), k.owner, false, time.Minute) }()
		_, err := k.Store.CancelTask(t.Context(), "t1-1", "ann")
		require.NoError(t, err)
		require.NoError(t, <-heard)
		require.True(t, k.rung(t, "tasks_bell"))
	})
}

func TestProgressOfATask(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		k := newTasker(t, x)
		k.add(t, "t1")
		c := k.run(t, 1, 1).Claims[0]
		since := k.at(t, "t1-1").Since
		require.Positive(t, since)
		x.pass(t)
		p := core.TaskProgress{Done: 3, Total: 9, Text: "3 of | 9"}
		require.NoError(t, k.Store.ProgressTask(ctx, k.owner, k.epoch, "t1-1", c.Token, p, time.Minute))
		place := k.at(t, "t1-1")
		require.Equal(t, core.TaskPlace{State: core.TaskRunning, Owner: k.owner, Since: since, Progress: &p}, place)
		held := x.heldOf(t, k.owner)[0]
		require.Equal(t, time.Minute, held.Limit)
		require.Equal(t, "task", held.Phase)
		require.Greater(t, held.Since, since, "it was heard of")
		p.Text = strings.Repeat("é", 1000)
		require.NoError(t, k.Store.ProgressTask(ctx, k.owner, k.epoch, "t1-1", c.Token, p, 0))
		require.Equal(t, strings.Repeat("é", 250), k.at(t, "t1-1").Progress.Text)
		require.Zero(t, x.heldOf(t, k.owner)[0].Limit)
		refused(t, k.Store.ProgressTask(ctx, k.owner, k.epoch, "t1-1", "1.1", p, 0), core.CodeStale)
		refused(t, k.Store.ProgressTask(ctx, k.owner, k.epoch, "t2-1", c.Token, p, 0), core.CodeStale)
		refused(t, k.Store.ProgressTask(ctx, k.owner, k.epoch-1, "t1-1", c.Token, p, 0), core.CodeFenced)
		k.run(t, 2, 0, ended(c, core.OutcomeLater, time.Hour))
		require.Equal(t, int64(3), k.at(t, "t1-1").Progress.Done, "who waits for others is still so far")
		require.Zero(t, k.at(t, "t1-1").Attempts, "to wait for others uses no attempt")
		require.NoError(t, k.Store.WakeTask(ctx, "t1-1"))
		c = k.run(t, 3, 1).Claims[0]
		require.Equal(t, int64(3), k.at(t, "t1-1").Progress.Done)
		k.run(t, 4, 0, ended(c, core.OutcomeRetry, time.Hour))
		require.Nil(t, k.at(t, "t1-1").Progress, "else it goes with the slot")
	})
}

// What is delayed is queued when it is due, by an idle taskrunner, by any heartbeat
// of life, or the overseer; or when it is woken.
func TestDelayedTasksGo(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		k := newTasker(t, newSuite(t, coretest.Mini(t), twice))
		ctx := t.Context()
		due := start.Add(time.Hour)
		k.put(t, "d", 6, core.Task{Kind: "none", NotBefore: due.UnixMilli()})
		require.Equal(t, core.TaskPlace{State: core.TaskDelayed, Due: due.UnixMilli()}, k.at(t, "d0-1"))
		got := k.run(t, 1, 1)
		require.Empty(t, got.Claims)
		require.Equal(t, time.Hour, got.Next)
		require.NoError(t, k.Store.WakeTask(ctx, "d0-1"))
		require.NoError(t, k.Store.WakeTask(ctx, "d9-1"), "a hint")
		require.Equal(t, core.TaskQueued, k.at(t, "d0-1").State)
		require.Equal(t, []string{"d0"}, idsOf(k.run(t, 2, 2).Claims))
		require.NoError(t, k.Store.WakeTask(ctx, "d0-1"), "it is in hand")
		for i, look := range []func() error{
			func() error { _, err := k.Store.Promote(ctx); return err },
			func() error { _, err := k.Store.Beat(ctx, k.Runner, k.Epoch, time.Minute); return err },
		} {
			k.b.Mini.SetTime(due.Add(time.Duration(2*i-1) * time.Millisecond))
			k.hush(t)
			require.NoError(t, look())
			require.Equal(t, i == 1, k.rung(t, "tasks_bell"))
		}
		coretest.RequireSound(t, k.Store)
		require.Len(t, k.run(t, 3, 9).Claims, 5)
	}
}
