package intake_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

// aSecondPool makes p2, whose limits are lower.
func (w *fixture) aSecondPool() core.Pool {
	w.t.Helper()
	p := core.DefaultPool("p2")
	p.Limits.Memory, p.Limits.CPU = 128<<20, 500
	require.NoError(w.t, w.in.SetPool(w.t.Context(), p))
	return p
}

// redis is the spec that Redis has.
func (w *fixture) redis(key string) core.Spec {
	w.t.Helper()
	specs, err := w.cluster.Store.Specs(w.t.Context(), []string{key})
	require.NoError(w.t, err)
	require.Len(w.t, specs, 1)
	return specs[0]
}

func TestChange(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	p2 := w.aSecondPool()
	first, second := w.submit(spec()), w.submit(spec())

	row, err := w.in.Change(ctx, first.Spec.ID, core.Change{By: "ann", Limits: core.Limits{Timeout: time.Second}})
	require.NoError(t, err)
	require.Equal(t, time.Second, row.Spec.Limits.Timeout)
	require.Equal(t, first.Spec.Limits.Memory, row.Spec.Limits.Memory, "what is left out stays")
	require.Equal(t, row.Spec, w.redis(first.Spec.Key()))
	require.Equal(t, row.Spec, w.row(first.Spec.ID).Spec)
	place, err := w.cluster.Store.Locate(ctx, second.Spec.Key())
	require.NoError(t, err)
	require.Equal(t, 1, place.Ahead, "with other limits it keeps its place")

	again, err := w.in.Change(ctx, first.Spec.ID, core.Change{By: "ann", Limits: core.Limits{Timeout: time.Second}})
	require.NoError(t, err, "a repeat is fine")
	require.Equal(t, row.Spec, again.Spec)

	row, err = w.in.Change(ctx, first.Spec.ID, core.Change{By: "ann", Priority: core.PriorityLow})
	require.NoError(t, err)
	place, err = w.cluster.Store.Locate(ctx, first.Spec.Key())
	require.NoError(t, err)
	require.Equal(t, core.PriorityLow, place.Priority)

	row, err = w.in.Change(ctx, first.Spec.ID, core.Change{By: "ann", Pool: "p2"})
	require.NoError(t, err)
	require.Equal(t, core.Limits{
		Timeout: time.Second, Memory: p2.Limits.Memory, Disk: p2.Limits.Disk, FileSize: p2.Limits.FileSize, Pids: p2.Limits.Pids,
		CPU: 500, OpenFiles: p2.Limits.OpenFiles, Output: p2.Limits.Output,
	}, row.Spec.Limits, "its own limit stays, the pool's are the new pool's")
	kept, err := w.store.Changes(ctx, first.Spec.ID)
	require.NoError(t, err)
	require.Len(t, kept, 4)
	require.Equal(t, "ann", kept[3].By)
	coretest.RequireSound(t, w.cluster.Store)

	require.Equal(t, []string{first.Spec.Key()}, keysOf(w.claimIn("p2", 2)))
	_, err = w.in.Change(ctx, first.Spec.ID, core.Change{By: "ann", Priority: core.PriorityHigh})
	require.Equal(t, core.CodeConflict, core.CodeOf(err), "it is claimed")
	require.Equal(t, row.Spec, w.row(first.Spec.ID).Spec)
	w.run(w.claim(1))
	_, err = w.in.Change(ctx, second.Spec.ID, core.Change{By: "ann", Priority: core.PriorityHigh})
	require.Equal(t, core.CodeConflict, core.CodeOf(err), "it has ended")
	_, err = w.in.Change(ctx, newID(), core.Change{By: "ann"})
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
}

func keysOf(claims []core.Claim) []string {
	var keys []string
	for _, c := range claims {
		keys = append(keys, c.Key)
	}
	return keys
}

// The new values are checked as those of a submission are.
func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change core.Change
		want   core.Code
		says   string
	}{
		"nobody":             {core.Change{Priority: core.PriorityLow}, core.CodeInvalid, "who"},
		"priority":           {core.Change{By: "ann", Priority: "urgent"}, core.CodeInvalid, "urgent"},
		"no such pool":       {core.Change{By: "ann", Pool: "p9"}, core.CodeNotFound, "p9"},
		"over the pool's":    {core.Change{By: "ann", Limits: core.Limits{Memory: 1 << 40}}, core.CodeInvalid, "memory"},
		"over the new one's": {core.Change{By: "ann", Pool: "p2", Limits: core.Limits{Memory: 200 << 20}}, core.CodeInvalid, "pool p2"},
		"negative":           {core.Change{By: "ann", Limits: core.Limits{Pids: -1}}, core.CodeInvalid, "negative"},
		"full":               {core.Change{By: "ann", Pool: "full"}, core.CodeFull, "full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, coretest.Real(t))
			w.aSecondPool()
			p := core.DefaultPool("full")
			p.MaxWaiting = 1
			require.NoError(t, w.in.SetPool(t.Context(), p))
			other := spec()
			other.Pool = "full"
			w.submit(other)
			row := w.submit(spec())
			_, err := w.in.Change(t.Context(), row.Spec.ID, c.change)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.want, core.CodeOf(err))
			require.Equal(t, row.Spec, w.row(row.Spec.ID).Spec)
			require.Equal(t, row.Spec, w.redis(row.Spec.Key()))
			w.heal()
			w.requireWhole()
		})
	}
}

// taken claims a request before its change reaches Redis.
type taken struct {
	core.Queue
	w      *fixture
	claims *[]core.Claim
}

func (q taken) Change(ctx context.Context, spec core.Spec, from int) (int, bool, error) {
	*q.claims = append(*q.claims, q.w.claim(1)...)
	return q.Queue.Change(ctx, spec, from)
}

// A request of a job type can only ask for less.
func TestChangeOfATypedRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.aSecondPool()
	s := spec()
	s.Type, s.Limits.Timeout = "compile", 5*time.Second
	id := w.submit(s).Spec.ID
	for _, c := range []core.Change{
		{Pool: "p2"}, {Priority: core.PriorityHigh}, {Limits: core.Limits{Timeout: 6 * time.Second}},
	} {
		c.By = "ann"
		_, err := w.in.Change(t.Context(), id, c)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%v", c)
	}
	row, err := w.in.Change(t.Context(), id, core.Change{By: "ann", Pool: pool, Priority: core.PriorityLow, Limits: core.Limits{Timeout: time.Second}})
	require.NoError(t, err)
	require.Equal(t, []any{core.PriorityLow, time.Second}, []any{row.Spec.Priority, row.Spec.Limits.Timeout})
}

func TestClaimDuringChangeRunsWhatItTook(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.aSecondPool()
	row := w.submit(spec())
	var claims []core.Claim
	in := w.intake(w.store, taken{w.cluster.Store, w, &claims}, w.cluster.Store, w.cluster.Store)
	_, err := in.Change(t.Context(), row.Spec.ID, core.Change{By: "ann", Pool: "p2"})
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	require.Equal(t, row.Spec, w.row(row.Spec.ID).Spec)
	w.run(claims)
	w.heal()
	w.requireWhole()
}

// Whatever a crash leaves, and whether a claim, a sweep or a repeat comes first: all of the change is made, or nothing,
// and the store tells what ran.
func TestCrashInChange(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(w *fixture, id string){
		"sweep": func(w *fixture, _ string) { require.NoError(w.t, coretest.ErrOf(w.in.SweepAll(w.t.Context()))) },
		"claim": func(w *fixture, _ string) { w.run(append(w.claim(1), w.claimIn("p2", 1)...)) },
		"cancel": func(w *fixture, id string) {
			require.NoError(w.t, coretest.ErrOf(w.in.Cancel(w.t.Context(), id, "ann")))
		},
		"repeat": func(w *fixture, id string) {
			_, err := w.in.Change(w.t.Context(), id, core.Change{By: "ann", Pool: "p2"})
			require.NoError(w.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var row core.Row
			dies(t, func(w *fixture) {
				w.aSecondPool()
				row = w.submit(spec())
			}, func(w *fixture, in *intake.Intake) error {
				_, err := in.Change(w.t.Context(), row.Spec.ID, core.Change{By: "ann", Pool: "p2"})
				return err
			}, func(w *fixture, steps []string) {
				next(w, row.Spec.ID)
				switch made := len(steps) > 0; {
				case name == "sweep" && made, name == "repeat":
					require.Equal(t, "p2", w.redis(row.Spec.Key()).Pool, "after %v", steps)
					require.Equal(t, w.redis(row.Spec.Key()), w.row(row.Spec.ID).Spec)
				case name == "claim" && slices.Equal(steps, []string{"change spec"}):
					require.Equal(t, row.Spec, w.row(row.Spec.ID).Spec, "it ran as it was submitted")
				}
				w.heal()
				w.requireWhole()
			})
		})
	}
}

// The same where an owner was faster than the change.
func TestCrashInRefusedChange(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		t.Run(fmt.Sprintf("its claim ends: %v", ends), func(t *testing.T) {
			t.Parallel()
			var row core.Row
			var claims []core.Claim
			for n := 1; n < 4; n++ {
				w := newFixture(t, coretest.Real(t))
				w.aSecondPool()
				row, claims = w.submit(spec()), nil
				m := &coretest.Mortal{Steps: n}
				in := w.intake(mortalStore{w.store, m}, taken{mortalQueue{w.cluster.Store, m}, w, &claims}, w.cluster.Store, w.cluster.Store)
				_, err := in.Change(t.Context(), row.Spec.ID, core.Change{By: "ann", Pool: "p2"})
				require.Error(t, err)
				if n == 1 {
					claims = w.claim(1)
				}
				require.Len(t, claims, 1)
				if ends {
					w.run(claims)
				} else {
					require.NoError(t, coretest.ErrOf(w.in.SweepAll(t.Context())))
				}
				require.Equal(t, row.Spec, w.row(row.Spec.ID).Spec, "after %v", m.Names)
				if !ends {
					w.run(claims)
				}
				w.heal()
				w.requireWhole()
			}
		})
	}
}

// A Redis that was restored from an old copy gets the change again.
func TestSweepChangesAnOldCopy(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.aSecondPool()
	row := w.submit(spec())
	_, err := w.in.Change(t.Context(), row.Spec.ID, core.Change{By: "ann", Pool: "p2"})
	require.NoError(t, err)
	now := w.row(row.Spec.ID).Spec
	old := row.Spec
	_, _, err = w.cluster.Store.Change(t.Context(), old, now.Change) // as it was
	require.NoError(t, err)
	require.Equal(t, old, w.redis(old.Key()))
	require.NoError(t, coretest.ErrOf(w.in.SweepAll(t.Context())))
	require.Equal(t, now, w.redis(old.Key()))
	coretest.RequireSound(t, w.cluster.Store)
}

// What Redis has lost is queued with what the store says.
func TestChangeOfWhatRedisDoesNotHave(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.aSecondPool()
	s, err := w.in.Check(t.Context(), spec())
	require.NoError(t, err)
	_, _, err = w.store.Create(t.Context(), s)
	require.NoError(t, err)
	row, err := w.in.Change(t.Context(), s.ID, core.Change{By: "ann", Pool: "p2"})
	require.NoError(t, err)
	require.Equal(t, row.Spec, w.redis(s.Key()))
	w.heal()
	w.requireWhole()
}
