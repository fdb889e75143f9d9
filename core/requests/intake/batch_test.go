package intake_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

// batchOf is a batch of ann's with so many jobs, under a key.
func batchOf(n int, key string) core.Batch {
	b := core.Batch{Submitter: "ann", Idempotency: key, Digest: fmt.Sprint(n)}
	for i := range n {
		s := spec()
		s.Env = []string{fmt.Sprintf("JOB=%d", i)}
		b.Specs = append(b.Specs, s)
	}
	return b
}

func (w *fixture) submitBatch(b core.Batch) core.Batch {
	w.t.Helper()
	got, created, err := w.in.SubmitBatch(w.t.Context(), b)
	require.NoError(w.t, err)
	require.True(w.t, created)
	require.Equal(w.t, core.BatchMade, got.State)
	return got
}

// rows are all requests, in the order of their jobs.
func (w *fixture) rows() []core.Row {
	w.t.Helper()
	rows, err := w.store.List(w.t.Context(), core.Filter{Limit: 1000})
	require.NoError(w.t, err)
	slices.Reverse(rows)
	return rows
}

func (w *fixture) batches() []core.Batch {
	w.t.Helper()
	all, err := w.store.ListBatches(w.t.Context(), core.BatchFilter{})
	require.NoError(w.t, err)
	return all
}

// requireOnce checks that there is one batch with all its requests and no others, none of which ran twice.
func (w *fixture) requireOnce(n int, state core.RequestState) {
	w.t.Helper()
	w.requireWhole()
	require.Len(w.t, w.batches(), 1)
	require.Len(w.t, w.rows(), n)
	w.requireJobs(w.batches()[0].ID, n, state)
}

// requireJobs checks that a batch has all its requests, each of which ended once.
func (w *fixture) requireJobs(id string, n int, state core.RequestState) {
	w.t.Helper()
	b, err := w.store.GetBatch(w.t.Context(), id)
	require.NoError(w.t, err)
	require.False(w.t, b.State.Open())
	rows := slices.DeleteFunc(w.rows(), func(r core.Row) bool { return r.Spec.Batch != id })
	require.Len(w.t, rows, n)
	for i, row := range rows {
		id, err := intake.JobID(b.ID, i)
		require.NoError(w.t, err)
		require.Equal(w.t, []any{id, b.ID, fmt.Sprintf("JOB=%d", i), state}, []any{row.Spec.ID, row.Spec.Batch, row.Spec.Env[0], row.State})
		tries, err := w.store.Attempts(w.t.Context(), id)
		require.NoError(w.t, err)
		tries = slices.DeleteFunc(tries, func(a core.Attempt) bool { return !a.Accepted })
		require.Len(w.t, tries, 1)
	}
	require.Equal(w.t, []any{rows[n-1].Spec.ID, n}, []any{b.Last, b.Jobs})
}

func TestCrashInSubmitBatch(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(w *fixture, accepted bool){
		"sweep": func(*fixture, bool) {},
		"the same call again": func(w *fixture, accepted bool) {
			_, created, err := w.in.SubmitBatch(w.t.Context(), batchOf(3, "key"))
			require.NoError(w.t, err)
			require.Equal(w.t, accepted, !created)
			require.Len(w.t, w.rows(), 3, "without a sweep")
		},
		"cancelled": func(w *fixture, accepted bool) {
			if accepted {
				b, err := w.in.CancelBatch(w.t.Context(), w.batches()[0].ID, "bob")
				require.NoError(w.t, err)
				require.Equal(w.t, core.BatchCancelled, b.State)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dies(t, func(*fixture) {}, func(w *fixture, in *intake.Intake) error {
				b, _, err := in.SubmitBatch(w.t.Context(), batchOf(3, "key"))
				if err == nil && b.State != core.BatchMade {
					return errors.New("it died after it was accepted")
				}
				return err
			}, func(w *fixture, steps []string) {
				then(w, len(steps) > 0)
				w.heal()
				switch {
				case len(steps) == 0 && name != "the same call again":
					require.Empty(w.t, w.rows())
					require.Empty(w.t, w.batches())
				case name == "cancelled":
					w.requireOnce(3, core.RequestCancelled)
				default:
					w.requireOnce(3, core.RequestCompleted)
				}
			})
		})
	}
}

func TestCrashInCancelBatch(t *testing.T) {
	t.Parallel()
	cancelThatDies(t, func(w *fixture) { w.submitBatch(batchOf(3, "")) })
}

// cancelThatDies cancels a batch of three jobs, which first has submitted, and dies at each step. Each job ends once, whether
// the cancel is called again or not.
func cancelThatDies(t *testing.T, first func(w *fixture)) {
	t.Helper()
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("again ", again), func(t *testing.T) {
			t.Parallel()
			dies(t, first, func(w *fixture, in *intake.Intake) error {
				_, err := in.CancelBatch(w.t.Context(), w.batches()[0].ID, "bob")
				return err
			}, func(w *fixture, steps []string) {
				want := core.RequestCancelled
				switch {
				case again:
					b, err := w.in.CancelBatch(w.t.Context(), w.batches()[0].ID, "bob")
					require.NoError(w.t, err)
					require.Equal(w.t, []any{core.BatchCancelled, "bob"}, []any{b.State, b.By})
				case len(steps) == 0:
					want = core.RequestCompleted
				default:
					_, err := w.in.Sweep(w.t.Context()) // before a runner claims any
					require.NoError(w.t, err)
				}
				w.heal()
				w.requireOnce(3, want)
			})
		})
	}
}

// begun leaves a batch in the middle of a call that died after so many steps.
func (w *fixture) begun(steps int, do func(in *intake.Intake) error) {
	w.t.Helper()
	m := &coretest.Mortal{Steps: steps}
	require.ErrorIs(w.t, do(w.intake(mortalStore{w.store, m}, mortalQueue{w.cluster.Store, m}, mortalPools{w.cluster.Store, m}, mortalTasks{w.cluster.Store, m})), coretest.ErrDead)
	require.Len(w.t, m.Names, steps)
}

// halfMade accepts a batch of three jobs, of which one has its request.
func (w *fixture) halfMade() {
	w.t.Helper()
	w.begun(2, func(in *intake.Intake) error {
		b, _, err := in.SubmitBatch(w.t.Context(), batchOf(3, ""))
		require.NoError(w.t, err, "it is accepted")
		require.Equal(w.t, core.BatchMaking, b.State)
		return coretest.ErrDead
	})
}

// A batch is cancelled before all its requests are made, and that dies as well.
func TestCrashInCancelOfAHalfMadeBatch(t *testing.T) {
	t.Parallel()
	cancelThatDies(t, (*fixture).halfMade)
}

// What goes on with batches that died half way dies itself.
func TestCrashInSweepOfBatches(t *testing.T) {
	t.Parallel()
	var stopped string
	dies(t, func(w *fixture) {
		stopped = w.submitBatch(batchOf(3, "")).ID
		w.begun(3, func(in *intake.Intake) error { // moved; of one request, marked and recorded
			_, err := in.CancelBatch(w.t.Context(), stopped, "bob")
			return err
		})
		w.halfMade()
	}, func(w *fixture, in *intake.Intake) error {
		_, err := in.Sweep(w.t.Context())
		return err
	}, func(w *fixture, _ []string) {
		_, err := w.in.Sweep(w.t.Context())
		require.NoError(w.t, err)
		w.heal()
		w.requireWhole()
		require.Len(w.t, w.batches(), 2)
		for _, b := range w.batches() {
			want := core.RequestCompleted
			if b.ID == stopped {
				want = core.RequestCancelled
			}
			w.requireJobs(b.ID, 3, want)
		}
	})
}

// A rerun is a new batch of the same jobs; the first one stays as it is.
func TestCrashInRerunOfABatch(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("again ", again), func(t *testing.T) {
			t.Parallel()
			var first core.Batch
			rerun := func(w *fixture, in *intake.Intake) (core.Batch, bool, error) {
				next := core.Batch{Submitter: "ann", Idempotency: "again", Of: first.ID, Digest: "rerun of " + first.ID}
				for _, row := range w.rows()[:3] {
					row.Spec.ID, row.Spec.Generation = "", 0
					next.Specs = append(next.Specs, row.Spec)
				}
				return in.SubmitBatch(w.t.Context(), next)
			}
			dies(t, func(w *fixture) {
				first = w.submitBatch(batchOf(3, ""))
				w.run(w.claim(3))
			}, func(w *fixture, in *intake.Intake) error {
				b, _, err := rerun(w, in)
				if err == nil && b.State != core.BatchMade {
					return errors.New("it died after it was accepted")
				}
				return err
			}, func(w *fixture, steps []string) {
				accepted := len(steps) > 0
				if again {
					_, created, err := rerun(w, w.in)
					require.NoError(w.t, err)
					require.Equal(w.t, accepted, !created)
				}
				w.heal()
				w.requireWhole()
				w.requireJobs(first.ID, 3, core.RequestCompleted)
				all := w.batches()
				if !accepted && !again {
					require.Len(w.t, all, 1)
					return
				}
				require.Len(w.t, all, 2)
				require.Equal(w.t, first.ID, all[0].Of)
				w.requireJobs(all[0].ID, 3, core.RequestCompleted)
			})
		})
	}
}

// Processes that go on with a batch at once with its submitter make nothing twice.
func TestBatchIsMadeByManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	var g sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		g.Go(func() {
			in := w.intake(w.store, w.cluster.Store, w.cluster.Store, w.cluster.Store)
			if i%2 == 0 {
				_, _, errs[i] = in.SubmitBatch(t.Context(), batchOf(20, "key"))
			} else {
				_, errs[i] = in.Sweep(t.Context())
			}
		})
	}
	g.Wait()
	require.NoError(t, errors.Join(errs...))
	w.heal()
	w.requireOnce(20, core.RequestCompleted)
}

func TestBatchKey(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	first := w.submitBatch(batchOf(2, "key"))
	p := core.DefaultPool(pool)
	p.MaxWaiting = 1
	require.NoError(t, w.in.SetPool(t.Context(), p))
	again, created, err := w.in.SubmitBatch(t.Context(), batchOf(2, "key"))
	require.NoError(t, err, "it was accepted, so it is not refused now")
	require.False(t, created)
	require.Equal(t, first, again)
	_, _, err = w.in.SubmitBatch(t.Context(), batchOf(3, "key"))
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	_, _, err = w.in.SubmitBatch(t.Context(), batchOf(2, "other"))
	require.Equal(t, core.CodeFull, core.CodeOf(err), "all or nothing")
	require.Len(t, w.rows(), 2)
	require.Len(t, w.batches(), 1)
}

// Each wrong field of each job is named at once, and nothing is accepted.
func TestBatchNamesEachFault(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	b := batchOf(4, "")
	b.Specs[0].Priority, b.Specs[0].Limits = "odd", core.Limits{Timeout: core.MaxTimeout, Memory: 1 << 40}
	b.Specs[2].Command, b.Specs[2].Env, b.Specs[2].OnHostLoss = nil, []string{"="}, "odd"
	b.Specs[3].Collect, b.Specs[3].Notify = []string{"/etc"}, []string{"gone"}
	_, _, err := w.in.SubmitBatch(t.Context(), b)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	var faults core.Faults
	require.ErrorAs(t, err, &faults)
	fields := []string{}
	for _, f := range faults {
		fields = append(fields, f.Field)
		require.ErrorContains(t, err, f.Field+": "+f.Err.Error())
	}
	require.Equal(t, []string{
		"jobs[0].priority", "jobs[0].limits.timeout_ns", "jobs[0].limits.memory",
		"jobs[2].on_host_loss", "jobs[2].command", "jobs[2].env", "jobs[3].collect", "jobs[3].notify",
	}, fields)
	b = batchOf(2, "")
	b.Specs[1].Pool = "gone"
	_, _, err = w.in.SubmitBatch(t.Context(), b)
	require.ErrorContains(t, err, "jobs[1].pool: there is no pool gone")
	for n, code := range map[int]core.Code{0: core.CodeInvalid, core.MaxBatchJobs + 1: core.CodeLimit} {
		_, _, err = w.in.SubmitBatch(t.Context(), batchOf(n, ""))
		require.Equal(t, code, core.CodeOf(err), n)
	}
	require.Empty(t, w.rows())
	require.Empty(t, w.batches())
}

func TestBatchOfTheMostJobs(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	b := w.submitBatch(batchOf(core.MaxBatchJobs, ""))
	rows := w.rows()
	require.Len(t, rows, core.MaxBatchJobs)
	require.Equal(t, b.Last, rows[len(rows)-1].Spec.ID)
	require.True(t, strings.HasPrefix(b.Last, b.ID[:20]))
	for _, job := range []int{-1, core.MaxBatchJobs} {
		_, err := intake.JobID(b.ID, job)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	}
	_, err := intake.JobID(b.Last, 0)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err), "no batch has the id of a request")
	for _, row := range rows {
		require.Equal(t, b.ID, intake.BatchID(row.Spec.ID))
	}
	other := w.submit(spec()).Spec.ID
	require.NotEqual(t, b.ID, intake.BatchID(other))
	require.NotEqual(t, other, intake.BatchID(other), "a request never has the id of a batch")
	require.Equal(t, "h1/testrunner", intake.BatchID("h1/testrunner"))
}

func TestCancelBatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	_, err := w.in.CancelBatch(t.Context(), newID(), "bob")
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
	b := w.submitBatch(batchOf(4, ""))
	w.run(w.claim(1))
	claimed := w.claim(1)
	_, err = w.in.CancelBatch(t.Context(), b.ID, "")
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	for range 2 {
		got, err := w.in.CancelBatch(t.Context(), b.ID, "bob")
		require.NoError(t, err)
		require.Equal(t, core.BatchCancelled, got.State)
	}
	states := func() (all []core.RequestState) {
		for _, row := range w.rows() {
			all = append(all, row.State)
		}
		return all
	}
	require.Equal(t, []core.RequestState{"completed", "queued", "cancelled", "cancelled"}, states())
	require.Equal(t, core.RequestCancelling, w.place(claimed[0].Key), "its owner stops it")
	w.run(claimed)
	w.requireWhole()

	done := w.submitBatch(batchOf(1, ""))
	w.run(w.claim(1))
	_, err = w.in.CancelBatch(t.Context(), done.ID, "bob")
	require.Equal(t, core.CodeEnded, core.CodeOf(err))
}

// A batch that cannot be gone on with does not hold back another.
func TestSweepGoesOnWithOtherBatches(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	for i := range 2 {
		b := batchOf(1, "")
		b.ID = fmt.Sprintf("01j8x3k4000000000000000%d000", i)
		b.Jobs, b.Specs[0].Generation = 1, 1
		b.Specs[0].ID = b.ID[:25] + "1"
		b.Last = b.Specs[0].ID
		if i == 0 { // another request has its id
			other := spec()
			other.ID, other.Generation, other.Priority, other.Submitter = b.Last, 1, core.PriorityNormal, "bob"
			_, _, err := w.store.Create(t.Context(), other)
			require.NoError(t, err)
		}
		b.Specs[0].Priority = core.PriorityNormal
		_, _, err := w.store.CreateBatch(t.Context(), b)
		require.NoError(t, err)
	}
	n, err := w.in.Sweep(context.Background())
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	require.Equal(t, 2, n, "the other request, and a batch")
	require.Len(t, w.rows(), 2)
}
