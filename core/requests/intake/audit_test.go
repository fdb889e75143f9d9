package intake_test

import (
	"context"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/core/store/sqlite/sqlitetest"

	"github.com/stretchr/testify/require"
)

func (w *fixture) audit() *intake.Audit {
	return &intake.Audit{Consistency: w.cluster.Store, Intake: w.in, Redis: w.cluster.Store}
}

// kinds returns what the consistency check says of the store and Redis.
func (w *fixture) kinds() []string {
	w.t.Helper()
	found, err := w.audit().CheckConsistency(w.t.Context())
	require.NoError(w.t, err)
	var kinds []string
	for _, v := range found {
		require.Equal(w.t, core.RuleLedger, v.Rule, v.Text)
		kinds = append(kinds, v.ID)
	}
	return kinds
}

// endTasks claims all tasks, records their ends and finishes them.
func (w *fixture) endTasks() {
	w.t.Helper()
	ctx := w.t.Context()
	const owner = "taskrunner@h1#0"
	reg, err := w.cluster.Store.Register(ctx, core.Registration{Owner: owner, Host: "h1", Machine: "m-h1", Beat: time.Minute})
	require.NoError(w.t, err)
	x := core.TaskExchange{Owner: owner, Epoch: reg.Epoch, Seq: 1, Want: 10, TokenBase: 1, Beat: time.Minute}
	got, err := w.cluster.Store.ExchangeTasks(ctx, x)
	require.NoError(w.t, err)
	x.Seq, x.Want = 2, 0
	for _, c := range got.Claims {
		_, err := w.store.EndTask(ctx, core.TaskEnd{ID: c.Task.ID, Generation: c.Task.Generation, State: core.TaskDone})
		require.NoError(w.t, err)
		x.Finish = append(x.Finish, core.TaskFinish{Key: c.Task.Key(), Token: c.Token, Outcome: core.OutcomeDone})
	}
	_, err = w.cluster.Store.ExchangeTasks(ctx, x)
	require.NoError(w.t, err)
	require.NoError(w.t, w.cluster.Store.Deregister(ctx, owner, reg.Epoch))
}

// Whatever is set back, alone or with the other: the check says so, an overseer mends it, and all that the store has
// comes to its end, once.
func TestStoreAndRedisSetBack(t *testing.T) {
	t.Parallel()
	once := spec()
	once.OnHostLoss = core.OnHostLossFail
	for name, c := range map[string]struct {
		happens func(w *fixture) // after the copy of the store, and before it is back
		wiped   bool             // Redis is
		restore bool             // the copy of the store
		kinds   []string
	}{
		"nothing":                               {},
		"the store, where nothing had happened": {restore: true},
		"the store, and all had ended": {
			restore: true, kinds: []string{"ends"},
			happens: func(w *fixture) { w.run(w.claim(10)); w.endTasks() },
		},
		"the store, and more was submitted": {
			restore: true, kinds: []string{"unknown"},
			happens: func(w *fixture) {
				w.submit(spec())
				_, _, err := w.in.SubmitTask(w.t.Context(), core.Task{Kind: "k"})
				require.NoError(w.t, err)
			},
		},
		"the store, and all had ended and been run again": {
			restore: true, kinds: []string{"ends", "unknown"},
			happens: func(w *fixture) {
				w.run(w.claim(10))
				rows, err := w.store.List(w.t.Context(), core.Filter{})
				require.NoError(w.t, err)
				for _, row := range rows {
					_, err := w.in.Rerun(w.t.Context(), row.Spec.ID)
					require.NoError(w.t, err)
				}
			},
		},
		"the store, and all were cancelled": {
			restore: true, kinds: []string{"ends"},
			happens: func(w *fixture) {
				rows, err := w.store.List(w.t.Context(), core.Filter{})
				require.NoError(w.t, err)
				for _, row := range rows {
					_, err := w.in.Cancel(w.t.Context(), row.Spec.ID, "ann")
					require.NoError(w.t, err)
				}
			},
		},
		"Redis wiped": {wiped: true, kinds: []string{"unfinished"}},
		"Redis wiped, and the store": {
			wiped: true, restore: true, kinds: []string{"unfinished"},
			happens: func(w *fixture) { w.run(w.claim(10)); w.submit(spec()) },
		},
		"Redis, and all had ended": { // as if: what ended is in it again
			kinds: []string{"ended"},
			happens: func(w *fixture) {
				ctx := w.t.Context()
				rows, err := w.store.List(ctx, core.Filter{})
				require.NoError(w.t, err)
				w.run(w.claim(10))
				w.endTasks()
				var again []core.Spec
				for _, row := range rows {
					again = append(again, row.Spec)
					require.NoError(w.t, w.cluster.Store.ForgetEnds(ctx, []string{row.Spec.Key(), "t-1"}))
				}
				verdicts, err := w.cluster.Store.Enqueue(ctx, again)
				require.NoError(w.t, err)
				require.Equal(w.t, []error{nil, nil}, verdicts)
				require.NoError(w.t, w.cluster.Store.EnqueueTask(ctx, core.Task{ID: "t", Generation: 1, Kind: "k"}))
			},
		},
		"Redis, and all had been run again": { // as if: it has what was before, and not what came then
			kinds: []string{"ended", "unfinished"},
			happens: func(w *fixture) {
				ctx := w.t.Context()
				rows, err := w.store.List(ctx, core.Filter{})
				require.NoError(w.t, err)
				w.run(w.claim(10))
				var again []core.Spec
				var lost []string
				for _, row := range rows {
					anew, err := w.in.Rerun(ctx, row.Spec.ID)
					require.NoError(w.t, err)
					_, err = w.cluster.Store.Withdraw(ctx, anew.Spec.Key())
					require.NoError(w.t, err)
					again, lost = append(again, row.Spec), append(lost, row.Spec.Key(), anew.Spec.Key())
				}
				require.NoError(w.t, w.cluster.Store.ForgetEnds(ctx, lost))
				verdicts, err := w.cluster.Store.Enqueue(ctx, again)
				require.NoError(w.t, err)
				require.Equal(w.t, []error{nil, nil}, verdicts)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := coretest.Mini(t)
			w := newFixture(t, b)
			w.wiped = b.Mini.FlushAll
			before, must := w.submit(spec()), w.submit(once)
			_, _, err := w.in.SubmitTask(t.Context(), core.Task{ID: "t", Kind: "k"})
			require.NoError(t, err)
			copied := sqlitetest.Copy(t, w.store)
			if c.happens != nil {
				c.happens(w)
			}
			if c.wiped {
				w.wipe()
			}
			if c.restore {
				w.store = copied
				w.in = w.intake(w.store, w.cluster.Store, w.cluster.Store, w.cluster.Store)
				_, err := w.in.RestorePools(t.Context())
				require.NoError(t, err)
			}
			if c.wiped {
				_, err := w.in.RestorePools(t.Context())
				require.NoError(t, err)
			}
			require.Equal(t, c.kinds, w.kinds())
			found, err := w.audit().CheckConsistency(t.Context())
			require.NoError(t, err)
			for _, v := range found {
				mended, err := w.audit().Mend(t.Context(), v)
				require.NoError(t, err)
				require.True(t, mended, v.Text)
			}
			require.Empty(t, w.kinds())
			w.heal()
			w.endTasks()
			w.requireWhole()
			require.Equal(t, core.RequestCompleted, w.row(before.Spec.ID).State)
			state := core.RequestCompleted
			if len(c.kinds) > 0 && c.kinds[0] == "ends" {
				state = core.RequestFailed
			}
			require.Equal(t, state, w.row(must.Spec.ID).State, "it must not run twice")
			task, err := w.store.GetTask(context.Background(), "t")
			require.NoError(t, err)
			require.Equal(t, core.TaskDone, task.State)
		})
	}
}

// What must not run twice may say so by its pool alone.
func TestAPoolSaysWhatMustNotRunTwice(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	p := core.DefaultPool(pool)
	p.OnHostLoss = core.OnHostLossFail
	require.NoError(t, w.in.SetPool(t.Context(), p))
	row := w.submit(spec())
	copied := sqlitetest.Copy(t, w.store)
	w.run(w.claim(1))
	w.store = copied // it was set back
	w.in = w.intake(w.store, w.cluster.Store, w.cluster.Store, w.cluster.Store)
	_, err := w.in.SweepAll(t.Context())
	require.NoError(t, err)
	require.Equal(t, core.RequestFailed, w.row(row.Spec.ID).State)
	require.Empty(t, w.place(row.Spec.Key()))
}
