package storetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// changeCalls are those about changes of requests.
func changeCalls(spec core.Spec) map[string]Call {
	return map[string]Call{
		"ChangeSpec": func(ctx context.Context, s school.ResultStore) error {
			row, err := s.Get(ctx, spec.ID)
			if err == nil && !row.State.Terminal() {
				_, err = s.ChangeSpec(ctx, row.Spec, core.Change{Pool: "other", Priority: core.PriorityLow})
			}
			return err
		},
		"UseChange": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.UseChange(ctx, core.Spec{ID: spec.ID}, 0)
			return err
		},
		"MarkRemoved": func(ctx context.Context, s school.ResultStore) error { return s.MarkRemoved(ctx, spec.ID) },
		"MarkedRemoved": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.MarkedRemoved(ctx, "", 10)
			return err
		},
		"Remove":  func(ctx context.Context, s school.ResultStore) error { _, err := s.Remove(ctx, "unknown"); return err },
		"Changes": func(ctx context.Context, s school.ResultStore) error { _, err := s.Changes(ctx, spec.ID); return err },
	}
}

// aChange is one to another pool.
func aChange(pool string) core.Change {
	return core.Change{At: 7, By: "ann", Pool: pool, Priority: core.PriorityLow, Limits: core.Limits{Timeout: time.Second, Memory: 5}}
}

// mustChange changes a request.
func mustChange(t *testing.T, s school.ResultStore, was core.Spec, c core.Change) core.Spec {
	t.Helper()
	spec, err := s.ChangeSpec(t.Context(), was, c)
	require.NoError(t, err)
	require.Equal(t, spec, mustGet(t, s, spec.ID).Spec)
	return spec
}

func changes(t *testing.T, s school.ResultStore) {
	was, other := mustCreate(t, s, full()), mustCreate(t, s, Spec("bob"))
	kept, err := s.Changes(t.Context(), was.ID)
	require.NoError(t, err)
	require.Empty(t, kept)

	one := mustChange(t, s, was, aChange("p1"))
	require.Equal(t, was.With(1, aChange("p1")), one)
	two := mustChange(t, s, one, aChange("p2"))
	require.Equal(t, was.With(2, aChange("p2")), two)
	kept, err = s.Changes(t.Context(), was.ID)
	require.NoError(t, err)
	require.Equal(t, []core.Change{{Pool: was.Pool, Priority: was.Priority, Limits: was.Limits}, aChange("p1"), aChange("p2")}, kept)

	for pool, want := range map[string][]string{"p2": {was.ID}, "p1": {}, was.Pool: {other.ID}} {
		rows, err := s.List(t.Context(), core.Filter{Pool: pool})
		require.NoError(t, err)
		require.Equal(t, want, ids(rows), "the list by pool knows of it")
	}
	row, is, err := s.Create(t.Context(), was)
	require.NoError(t, err, "what was submitted is the same request")
	require.False(t, is)
	require.Equal(t, two, row.Spec)

	used, err := s.UseChange(t.Context(), two, 0)
	require.NoError(t, err)
	require.True(t, used)
	require.Equal(t, was, mustGet(t, s, was.ID).Spec)
	three := mustChange(t, s, was, aChange("p3"))
	require.Equal(t, 3, three.Change, "a number is never used again")

	mustRecord(t, s, core.Result{ID: was.ID, Generation: 1, State: core.RequestCancelled}, true)
	require.Equal(t, three, mustGet(t, s, was.ID).Spec, "no claim ran it")
	again, err := s.Rerun(t.Context(), was.ID, 5)
	require.NoError(t, err)
	want := three
	want.Generation, want.Submitted, want.Change = 2, 5, 0
	require.Equal(t, want, again, "it runs again as it was changed")
	kept, err = s.Changes(t.Context(), was.ID)
	require.NoError(t, err)
	require.Empty(t, kept)
}

func changesRefuse(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	_, err := s.ChangeSpec(t.Context(), Spec("ann"), aChange("p1"))
	requireCode(t, core.CodeNotFound, err)
	_, err = s.UseChange(t.Context(), Spec("ann"), 0)
	requireCode(t, core.CodeNotFound, err)
	_, err = s.Changes(t.Context(), NewID())
	requireCode(t, core.CodeNotFound, err)

	one := mustChange(t, s, spec, aChange("p1"))
	_, err = s.ChangeSpec(t.Context(), spec, aChange("p2"))
	requireCode(t, core.CodeConflict, err)
	used, err := s.UseChange(t.Context(), spec, 0)
	require.NoError(t, err)
	require.False(t, used, "somebody changed it in between")
	for _, number := range []int{-1, 2} {
		_, err = s.UseChange(t.Context(), one, number)
		requireCode(t, core.CodeInvalid, err)
	}
	last := one
	for range core.MaxChanges - 1 {
		last = mustChange(t, s, last, aChange("p1"))
	}
	_, err = s.ChangeSpec(t.Context(), last, aChange("p1"))
	requireCode(t, core.CodeLimit, err)

	mustRecord(t, s, core.Result{ID: spec.ID, Generation: 1, State: core.RequestCancelled}, true)
	_, err = s.ChangeSpec(t.Context(), last, aChange("p1"))
	requireCode(t, core.CodeConflict, err)
	used, err = s.UseChange(t.Context(), last, 0)
	require.NoError(t, err)
	require.False(t, used, "it has ended")
}

// The result of a claim says what ran.
func changesThatRan(t *testing.T, s school.ResultStore) {
	for _, ran := range []int{0, 1, 2, 9} {
		was := mustCreate(t, s, Spec("ann"))
		one := mustChange(t, s, was, aChange("p1"))
		two := mustChange(t, s, one, aChange("p2"))
		r := Result(was, "1.1")
		r.Change = ran
		mustRecord(t, s, r, true)
		mustRecord(t, s, r, true)
		late := Result(was, "2.1")
		late.Change = 1
		mustRecord(t, s, late, false)
		row := mustGet(t, s, was.ID)
		want := []core.Spec{was, one, two}[min(ran, 2)] // what is not kept changes nothing
		require.Equal(t, want, row.Spec)
		require.Equal(t, &r, row.Result)
		rows, err := s.List(t.Context(), core.Filter{Pool: want.Pool, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []string{was.ID}, ids(rows))
	}
}

func raceChanges(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	var changed atomic.Int32
	race(t, func(i int) error {
		if i == 0 {
			r := Result(spec, "1.1")
			_, err := s.Record(t.Context(), r)
			return err
		}
		_, err := s.ChangeSpec(t.Context(), spec, aChange("p1"))
		if err == nil {
			changed.Add(1)
		}
		if core.Is(err, core.CodeConflict) {
			return nil
		}
		return err
	})
	require.LessOrEqual(t, changed.Load(), int32(1))
	require.Equal(t, spec, mustGet(t, s, spec.ID).Spec, "it ran as it was submitted")
}
