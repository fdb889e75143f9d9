package storetest

import (
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func removals(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	remove := func(id string, want bool) {
		t.Helper()
		is, err := s.Remove(ctx, id)
		require.NoError(t, err)
		require.Equal(t, want, is)
	}
	marked := func(after string, want ...string) {
		t.Helper()
		specs, err := s.MarkedRemoved(ctx, after, 10)
		require.NoError(t, err)
		all := []string{}
		for _, spec := range specs {
			all = append(all, spec.ID)
		}
		require.Equal(t, append([]string{}, want...), all)
	}
	spec := Spec("ann")
	spec.Idempotency, spec.Notify = "once", []string{"hook"}
	mustCreate(t, s, spec)
	other := mustCreate(t, s, Spec("ann"))
	mustRecord(t, s, Result(other, "1.1"), true)
	remove(other.ID, false)
	requireCode(t, core.CodeNotFound, s.MarkRemoved(ctx, NewID()))
	marked("")
	for range 2 {
		require.NoError(t, s.MarkRemoved(ctx, spec.ID))
	}
	marked("", spec.ID)
	marked(spec.ID)
	remove(spec.ID, false) // it has not ended
	require.Equal(t, core.RequestQueued, mustGet(t, s, spec.ID).State)

	mustRecord(t, s, Result(spec, "1.1"), true)
	mustRecord(t, s, Result(spec, "2.1"), false)
	_, err := s.Rerun(ctx, spec.ID, 5)
	requireCode(t, core.CodeConflict, err)
	remove(spec.ID, true)
	remove(spec.ID, false)
	marked("")
	_, err = s.Get(ctx, spec.ID)
	requireCode(t, core.CodeNotFound, err)
	_, err = s.Attempts(ctx, spec.ID)
	requireCode(t, core.CodeNotFound, err)
	_, err = s.Record(ctx, Result(spec, "3.1"))
	requireCode(t, core.CodeNotFound, err)
	require.Equal(t, core.RequestCompleted, mustGet(t, s, other.ID).State)
	again := spec
	again.ID = NewID()
	mustCreate(t, s, again) // its key is free again

	School(t, s)
	sub := Submission("cs101", "hw1", "ann")
	grading := Spec("ann")
	grading.Submission, sub.Request = sub.ID, grading.ID
	_, _, err = s.CreateSubmission(ctx, sub, &grading)
	require.NoError(t, err)
	requireCode(t, core.CodeConflict, s.MarkRemoved(ctx, grading.ID))
}

func poolsRemoved(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	for _, name := range []string{"default", "other"} {
		require.NoError(t, s.PutPool(ctx, core.DefaultPool(name)))
	}
	refused := func(by string) {
		t.Helper()
		err := s.RemovePool(ctx, "default")
		requireCode(t, core.CodeConflict, err)
		require.ErrorContains(t, err, by)
	}
	spec := mustCreate(t, s, Spec("ann"))
	refused("request " + spec.ID)
	mustRecord(t, s, Result(spec, "1.1"), true)
	aClass(t, s, "ann")
	a, err := s.GetAssignment(ctx, "cs101", "hw1")
	require.NoError(t, err)
	a.Pool = "default"
	a.Revision, err = s.PutAssignment(ctx, a)
	require.NoError(t, err)
	refused("assignment cs101/hw1")
	a.Pool = "other"
	_, err = s.PutAssignment(ctx, a)
	require.NoError(t, err)
	require.NoError(t, s.PutJobType(ctx, core.JobType{Name: "sort", Pool: "default"}))
	refused("job type sort")
	require.NoError(t, s.DeleteJobType(ctx, "sort"))
	b := Batch("ann", 2)
	for i := range b.Specs {
		b.Specs[i].Pool = []string{"other", "default"}[i]
	}
	_, _, err = s.CreateBatch(ctx, b)
	require.NoError(t, err)
	refused("batch " + b.ID)
	is, err := s.MoveBatch(ctx, b.ID, core.BatchMaking, core.BatchMade, "")
	require.NoError(t, err)
	require.True(t, is)
	for range 2 {
		require.NoError(t, s.RemovePool(ctx, "default"))
	}
	all, err := s.Pools(ctx)
	require.NoError(t, err)
	require.Equal(t, []core.Pool{core.DefaultPool("other")}, all)
}
