package intake_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"drover/core"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

// Each row of the package's table of crashes.

func TestCrashInSubmit(t *testing.T) {
	t.Parallel()
	dies(t, func(*fixture) {}, func(w *fixture, in *intake.Intake) error {
		_, _, err := in.Submit(w.t.Context(), spec())
		return err
	}, func(w *fixture, steps []string) {
		w.heal()
		w.requireWhole()
		rows, err := w.store.List(w.t.Context(), core.Filter{})
		require.NoError(t, err)
		if len(steps) == 0 {
			require.Empty(t, rows)
			return
		}
		require.Len(t, rows, 1)
		require.Equal(t, core.RequestCompleted, rows[0].State)
	})
}

func TestCrashInSubmitWith(t *testing.T) {
	t.Parallel()
	dies(t, func(*fixture) {}, func(w *fixture, in *intake.Intake) error {
		return in.SubmitWith(w.t.Context(), spec(), func(ctx context.Context, spec core.Spec) (created bool, err error) {
			_, created, err = in.Store.Create(ctx, spec)
			return created, err
		})
	}, func(w *fixture, steps []string) {
		w.heal()
		w.requireWhole()
		rows, err := w.store.List(w.t.Context(), core.Filter{})
		require.NoError(t, err)
		require.Equal(t, len(steps) > 0, len(rows) == 1, "after %v", steps)
		if len(rows) == 1 {
			require.Equal(t, core.RequestCompleted, rows[0].State)
		}
	})
}

func TestCrashInSupersede(t *testing.T) {
	t.Parallel()
	var old core.Row
	submitTo := spec()
	submitTo.Assignment, submitTo.Supersede = "hw1", true
	dies(t, func(w *fixture) { old = w.submit(submitTo) }, func(w *fixture, in *intake.Intake) error {
		_, _, err := in.Submit(w.t.Context(), submitTo)
		return err
	}, func(w *fixture, steps []string) {
		w.heal()
		w.requireWhole()
		rows, err := w.store.List(w.t.Context(), core.Filter{})
		require.NoError(t, err)
		require.Equal(t, core.RequestCompleted, rows[0].State)
		if len(steps) > 0 {
			require.Len(t, rows, 2)
			require.Equal(t, core.RequestCancelled, rows[1].State, "after %v", steps)
			require.Equal(t, old.Spec.ID, rows[1].Spec.ID)
		}
	})
}

func TestCrashInCancel(t *testing.T) {
	t.Parallel()
	var row core.Row
	dies(t, func(w *fixture) { row = w.submit(spec()) }, func(w *fixture, in *intake.Intake) error {
		_, err := in.Cancel(w.t.Context(), row.Spec.ID, "ann")
		return err
	}, func(w *fixture, steps []string) {
		w.heal()
		w.requireWhole()
		want := core.RequestCancelled
		if len(steps) == 0 {
			want = core.RequestCompleted
		}
		require.Equal(t, want, w.row(row.Spec.ID).State, "after %v", steps)
	})
}

// The request is in the store only: its Submit is between its steps.
func TestCrashInCancelOfWhatRedisDoesNotHave(t *testing.T) {
	t.Parallel()
	var s core.Spec
	dies(t, func(w *fixture) {
		var err error
		s, err = w.in.Check(t.Context(), spec())
		require.NoError(t, err)
		_, _, err = w.store.Create(t.Context(), s)
		require.NoError(t, err)
	}, func(w *fixture, in *intake.Intake) error {
		_, err := in.Cancel(w.t.Context(), s.ID, "ann")
		return err
	}, func(w *fixture, steps []string) {
		if slices.Contains(steps, "withdraw") {
			verdicts, err := w.cluster.Store.Enqueue(t.Context(), []core.Spec{s}) // the Submit goes on
			require.NoError(t, err)
			require.Equal(t, core.CodeEnded, core.CodeOf(verdicts[0]))
			require.Empty(t, w.claim(1), "what was cancelled does not run")
		}
		w.heal()
		w.requireWhole()
		want := core.RequestCompleted
		if len(steps) > 2 { // absent; put in; marked
			want = core.RequestCancelled
		}
		require.Equal(t, want, w.row(s.ID).State, "after %v", steps)
	})
}

func TestCrashInExpire(t *testing.T) {
	t.Parallel()
	var row core.Row
	dies(t, func(w *fixture) {
		row = w.submit(spec())
		w.pass(25 * time.Hour)
	}, func(w *fixture, in *intake.Intake) error {
		_, err := in.Expire(w.t.Context())
		return err
	}, func(w *fixture, steps []string) {
		w.heal()
		w.requireWhole()
		require.Equal(t, core.RequestTimedOut, w.row(row.Spec.ID).State, "after %v", steps)
	})
}

func TestCrashInRerun(t *testing.T) {
	t.Parallel()
	var row core.Row
	dies(t, func(w *fixture) {
		row = w.submit(spec())
		w.run(w.claim(1))
	}, func(w *fixture, in *intake.Intake) error {
		_, err := in.Rerun(w.t.Context(), row.Spec.ID)
		return err
	}, func(w *fixture, steps []string) {
		w.heal()
		w.requireWhole()
		want := 2
		if len(steps) == 0 {
			want = 1
		}
		require.Equal(t, want, w.row(row.Spec.ID).Spec.Generation)
	})
}

func TestCrashInRefusal(t *testing.T) {
	t.Parallel()
	dies(t, func(w *fixture) {
		p := core.DefaultPool(pool)
		p.MaxWaiting = 1
		require.NoError(t, w.in.SetPool(t.Context(), p))
		w.submit(spec())
	}, func(w *fixture, in *intake.Intake) error {
		_, _, err := in.Submit(w.t.Context(), spec())
		if core.Is(err, core.CodeFull) {
			return nil
		}
		return err
	}, func(w *fixture, steps []string) {
		w.heal()
		w.requireWhole()
		rows, err := w.store.List(w.t.Context(), core.Filter{})
		require.NoError(t, err)
		if slices.Contains(steps, "record cancelled") {
			require.Equal(t, core.RequestCancelled, rows[0].State)
		} else {
			require.Equal(t, core.RequestCompleted, rows[0].State, "accepted after all, after %v", steps)
		}
	})
}

func TestCrashInSetPool(t *testing.T) {
	t.Parallel()
	p := core.DefaultPool("p2")
	dies(t, func(*fixture) {}, func(w *fixture, in *intake.Intake) error {
		return in.SetPool(w.t.Context(), p)
	}, func(w *fixture, steps []string) {
		n, err := w.in.RestorePools(w.t.Context())
		require.NoError(t, err)
		got, err := w.cluster.Store.GetPool(w.t.Context(), "p2")
		if len(steps) == 0 {
			require.Equal(t, core.CodeNotFound, core.CodeOf(err))
			return
		}
		require.NoError(t, err)
		require.Equal(t, p, got)
		require.Equal(t, len(steps) == 1, n == 1, "after %v", steps)
	})
}

func TestCrashInSubmitTask(t *testing.T) {
	t.Parallel()
	task := core.Task{ID: newID(), Generation: 1, Kind: "make_archive"}
	dies(t, func(*fixture) {}, func(w *fixture, in *intake.Intake) error {
		_, _, err := in.SubmitTask(w.t.Context(), task)
		return err
	}, func(w *fixture, steps []string) {
		_, err := w.in.Sweep(w.t.Context())
		require.NoError(t, err)
		present, err := w.cluster.Store.PresentTasks(w.t.Context(), []string{task.Key()})
		require.NoError(t, err)
		require.Equal(t, []bool{len(steps) > 0}, present)
	})
}

func TestCrashInCancelTask(t *testing.T) {
	t.Parallel()
	var whole, part core.Task
	dies(t, func(w *fixture) {
		whole = w.task(core.Task{Kind: "experiment"})
		part = w.task(core.Task{Kind: "rerun", Parent: whole.ID})
	}, func(w *fixture, in *intake.Intake) error {
		_, err := in.CancelTask(w.t.Context(), whole.ID, "ann")
		return err
	}, func(w *fixture, steps []string) {
		w.healTasks()
		want := core.TaskCancelled
		if len(steps) == 0 {
			want = core.TaskDone
		}
		require.Equal(t, want, w.taskState(whole.ID), "after %v", steps)
		if len(steps) > 1 {
			require.Equal(t, want, w.taskState(part.ID), "after %v", steps)
		}
	})
}

// The task is in the store only: its SubmitTask is between its steps.
func TestCrashInCancelOfATaskThatRedisDoesNotHave(t *testing.T) {
	t.Parallel()
	task := core.Task{ID: newID(), Generation: 1, Kind: "archive", Priority: core.PriorityNormal, State: core.TaskQueued}
	dies(t, func(w *fixture) {
		_, err := w.store.CreateTask(t.Context(), task)
		require.NoError(t, err)
	}, func(w *fixture, in *intake.Intake) error {
		_, err := in.CancelTask(w.t.Context(), task.ID, "ann")
		return err
	}, func(w *fixture, steps []string) {
		if slices.Contains(steps, "withdraw task") {
			err := w.cluster.Store.EnqueueTask(t.Context(), task) // the SubmitTask goes on
			require.Equal(t, core.CodeEnded, core.CodeOf(err))
			require.Empty(t, w.tasker().exchange(1).Claims, "what was cancelled does not run")
		}
		w.healTasks()
		want := core.TaskDone
		if len(steps) > 2 { // absent; put in; marked
			want = core.TaskCancelled
		}
		require.Equal(t, want, w.taskState(task.ID), "after %v", steps)
	})
}

func TestCrashInRetryTask(t *testing.T) {
	t.Parallel()
	var task core.Task
	dies(t, func(w *fixture) {
		task = w.task(core.Task{Kind: "archive"})
		k := w.tasker()
		k.end(k.exchange(1).Claims[0], core.TaskDead)
	}, func(w *fixture, in *intake.Intake) error {
		_, err := in.RetryTask(w.t.Context(), task.ID)
		return err
	}, func(w *fixture, steps []string) {
		w.healTasks()
		want := core.TaskDone
		if len(steps) == 0 {
			want = core.TaskDead
		}
		require.Equal(t, want, w.taskState(task.ID), "after %v", steps)
	})
}

func TestCrashInSweep(t *testing.T) {
	t.Parallel()
	submitTo := spec()
	submitTo.Assignment, submitTo.Supersede = "hw1", true
	dies(t, func(w *fixture) {
		for range 3 {
			s, err := w.in.Check(t.Context(), submitTo)
			require.NoError(t, err)
			_, _, err = w.store.Create(t.Context(), s)
			require.NoError(t, err)
		}
	}, func(w *fixture, in *intake.Intake) error {
		_, err := in.SweepAll(w.t.Context())
		return err
	}, func(w *fixture, steps []string) {
		w.heal()
		w.requireWhole()
		rows, err := w.store.List(w.t.Context(), core.Filter{})
		require.NoError(t, err)
		require.Equal(t, core.RequestCompleted, rows[0].State)
		require.Equal(t, core.RequestCancelled, rows[1].State, "after %v", steps)
		require.Equal(t, core.RequestCancelled, rows[2].State, "after %v", steps)
	})
}
