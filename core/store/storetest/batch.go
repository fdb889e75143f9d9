package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func jobTypes(t *testing.T, s school.ResultStore) {
	all, err := s.JobTypes(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	b := core.JobType{Name: "b", Pool: "p", Command: []string{"true"}, Priority: core.PriorityLow, Limits: core.Limits{Memory: 5}, Submitters: []string{"ann"}}
	a := core.JobType{Name: "a", Pool: "p", Harness: &core.File{Digest: digestOf(7), Size: 3}, Input: []byte(`{"x":1}`), Env: []string{"A=ü"}, Priority: core.PriorityHigh}
	require.NoError(t, s.PutJobType(t.Context(), b))
	require.NoError(t, s.PutJobType(t.Context(), a))
	b.Limits.Memory = 6
	require.NoError(t, s.PutJobType(t.Context(), b))
	all, err = s.JobTypes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []core.JobType{a, b}, all)
	got, err := s.GetJobType(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, b, got)
	require.Contains(t, digestsOf(t, s), digestOf(7), "its harness is not to be deleted")

	requireCode(t, core.CodeInvalid, s.PutJobType(t.Context(), core.JobType{Name: "A"}))
	_, err = s.GetJobType(t.Context(), "c")
	requireCode(t, core.CodeNotFound, err)
	require.NoError(t, s.DeleteJobType(t.Context(), "b"))
	requireCode(t, core.CodeNotFound, s.DeleteJobType(t.Context(), "b"))
	together(t, core.TypeQuota.Most-1, func(i int) error { return s.PutJobType(t.Context(), core.JobType{Name: fmt.Sprintf("t%d", i)}) })
	requireCode(t, core.CodeLimit, s.PutJobType(t.Context(), b))
	require.NoError(t, s.PutJobType(t.Context(), a), "one that is there can still be changed")
}

func digestOf(n int) string { return fmt.Sprintf("sha256:%064d", n) }

func digestsOf(t *testing.T, s school.ResultStore) []string {
	t.Helper()
	var all []string
	require.NoError(t, s.Digests(t.Context(), func(digest string) error {
		all = append(all, digest)
		return nil
	}))
	return all
}

// Batch makes a batch of so many requests.
func Batch(submitter string, jobs int) core.Batch {
	b := core.Batch{ID: NewID(), Jobs: jobs, Submitter: submitter, Digest: "d", Created: 1_700_000_000_000, State: core.BatchMaking}
	for range jobs {
		spec := Spec(submitter)
		spec.Batch = b.ID
		b.Specs, b.Last = append(b.Specs, spec), spec.ID
	}
	return b
}

// brief is a batch as it is read.
func brief(b core.Batch) core.Batch {
	b.Specs = nil
	return b
}

func mustCreateBatch(t *testing.T, s school.ResultStore, b core.Batch) core.Batch {
	t.Helper()
	got, is, err := s.CreateBatch(t.Context(), b)
	require.NoError(t, err)
	require.True(t, is)
	require.Equal(t, brief(b), got)
	return b
}

func batchesOf(t *testing.T, s school.ResultStore, f core.BatchFilter) []core.Batch {
	t.Helper()
	all, err := s.ListBatches(t.Context(), f)
	require.NoError(t, err)
	return append([]core.Batch{}, all...)
}

func batches(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	_, err := s.GetBatch(ctx, NewID())
	requireCode(t, core.CodeNotFound, err)
	one := Batch("ann", 2)
	one.Idempotency, one.Of = "key", NewID()
	one.Specs[1].Files = []core.File{{Path: "a", Digest: digestOf(3), Size: 1}}
	mustCreateBatch(t, s, one)
	two := mustCreateBatch(t, s, Batch("bob", 1))
	three := mustCreateBatch(t, s, Batch("ann", 1))

	got, err := s.GetBatch(ctx, one.ID)
	require.NoError(t, err)
	require.Equal(t, brief(one), got)
	require.Equal(t, []core.Batch{brief(three), brief(two), brief(one)}, batchesOf(t, s, core.BatchFilter{}))
	require.Equal(t, []core.Batch{brief(two)}, batchesOf(t, s, core.BatchFilter{Before: three.ID, Limit: 1}))
	require.Equal(t, []core.Batch{brief(three), brief(one)}, batchesOf(t, s, core.BatchFilter{Submitter: "ann"}))
	require.Equal(t, []core.Batch{brief(one)}, batchesOf(t, s, core.BatchFilter{Submitter: "ann", Idempotency: "key"}))
	require.Empty(t, batchesOf(t, s, core.BatchFilter{Submitter: "bob", Idempotency: "key"}))

	again := Batch("ann", 1)
	again.Idempotency = "key"
	got, is, err := s.CreateBatch(ctx, again)
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, brief(one), got)
	again.Submitter = "bob" // whose key it is not
	mustCreateBatch(t, s, again)
	taken := Batch("cleo", 1)
	taken.ID = two.ID
	_, _, err = s.CreateBatch(ctx, taken)
	requireCode(t, core.CodeConflict, err)
}

func batchesMove(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	one, two := mustCreateBatch(t, s, Batch("ann", 2)), mustCreateBatch(t, s, Batch("ann", 1))
	one.Specs[0].Files = []core.File{{Path: "a", Digest: digestOf(3), Size: 1}}
	three := Batch("ann", 1)
	three.Specs[0].Files = []core.File{{Path: "a", Digest: digestOf(4), Size: 1}}
	mustCreateBatch(t, s, three)
	open := func(after string, limit int) []core.Batch {
		all, err := s.OpenBatches(ctx, after, limit)
		require.NoError(t, err)
		return append([]core.Batch{}, all...)
	}
	move := func(want bool, id string, from, to core.BatchState, by string) {
		t.Helper()
		is, err := s.MoveBatch(ctx, id, from, to, by)
		require.NoError(t, err)
		require.Equal(t, want, is)
	}
	require.Equal(t, two, open(one.ID, 1)[0], "with its specs")
	require.Len(t, open("", 10), 3)
	require.Contains(t, digestsOf(t, s), digestOf(4), "its files are not to be deleted")

	move(false, one.ID, core.BatchMade, core.BatchCancelling, "bob")
	move(false, NewID(), core.BatchMaking, core.BatchMade, "")
	move(true, one.ID, core.BatchMaking, core.BatchMade, "")
	move(false, one.ID, core.BatchMaking, core.BatchMade, "")
	require.Equal(t, []core.Batch{two, three}, open("", 10))
	move(true, one.ID, core.BatchMade, core.BatchCancelling, "bob")
	want := brief(one)
	want.State, want.By = core.BatchCancelling, "bob"
	require.Equal(t, []core.Batch{want, two, three}, open("", 10), "its requests are there")
	move(true, one.ID, core.BatchCancelling, core.BatchCancelled, "")
	got, err := s.GetBatch(ctx, one.ID)
	require.NoError(t, err)
	want.State = core.BatchCancelled
	require.Equal(t, want, got)

	move(true, three.ID, core.BatchMaking, core.BatchCancelling, "bob")
	three.State, three.By = core.BatchCancelling, "bob"
	require.Equal(t, []core.Batch{two, three}, open("", 10), "its requests may not be there: it keeps its specs")
	move(true, three.ID, core.BatchCancelling, core.BatchCancelled, "")
	require.NotContains(t, digestsOf(t, s), digestOf(4))
}

func batchesRefuse(t *testing.T, s school.ResultStore) {
	for name, change := range map[string]func(*core.Batch){
		"id":        func(b *core.Batch) { b.ID = "A" },
		"last":      func(b *core.Batch) { b.Last = "" },
		"submitter": func(b *core.Batch) { b.Submitter = "" },
		"jobs":      func(b *core.Batch) { b.Jobs = 3 },
	} {
		b := Batch("ann", 2)
		change(&b)
		_, _, err := s.CreateBatch(t.Context(), b)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), name)
	}
	large := Batch("ann", 1)
	large.Specs[0].Env = []string{string(make([]byte, core.MaxBatchBytes/6))} // each is escaped
	large.Specs[0].Command = []string{"some more"}
	_, _, err := s.CreateBatch(t.Context(), large)
	requireCode(t, core.CodeLimit, err)
	_, err = s.MoveBatch(t.Context(), large.ID, core.BatchCancelled, core.BatchMade, "")
	requireCode(t, core.CodeConflict, err)
	_, err = s.ListBatches(t.Context(), core.BatchFilter{Idempotency: "key"})
	requireCode(t, core.CodeInvalid, err)
	_, err = s.ListBatches(t.Context(), core.BatchFilter{Limit: 1001})
	requireCode(t, core.CodeInvalid, err)
	_, err = s.OpenBatches(t.Context(), "", 0)
	requireCode(t, core.CodeInvalid, err)
}

// batchesPurge shows that the record of a batch stays until its last request is gone.
func batchesPurge(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	b := mustCreateBatch(t, s, Batch("ann", 2))
	purge := func(want int) {
		t.Helper()
		n, err := s.Purge(ctx, soon(), 100)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	purge(0) // it is not made yet
	for _, spec := range b.Specs {
		mustCreate(t, s, spec)
	}
	_, err := s.MoveBatch(ctx, b.ID, core.BatchMaking, core.BatchMade, "")
	require.NoError(t, err)
	mustRecord(t, s, Result(b.Specs[0], "1.1"), true)
	purge(1)
	require.Equal(t, []core.Batch{brief(madeOf(b))}, batchesOf(t, s, core.BatchFilter{}))
	mustRecord(t, s, Result(b.Specs[1], "1.2"), true)
	purge(2)
	require.Empty(t, batchesOf(t, s, core.BatchFilter{}))
	again := Batch("ann", 1)
	again.Idempotency = "key"
	mustCreateBatch(t, s, again)
}

func madeOf(b core.Batch) core.Batch {
	b.State = core.BatchMade
	return b
}

// raceBatches shows that of batches made at once under one key there is one.
func raceBatches(t *testing.T, s school.ResultStore) {
	var made atomic.Int64
	race(t, func(int) error {
		b := Batch("ann", 1)
		b.Idempotency = "key"
		_, is, err := s.CreateBatch(t.Context(), b)
		if is {
			made.Add(1)
		}
		return err
	})
	require.EqualValues(t, 1, made.Load())
	b := batchesOf(t, s, core.BatchFilter{})[0]
	made.Store(0)
	race(t, func(int) error {
		is, err := s.MoveBatch(t.Context(), b.ID, core.BatchMaking, core.BatchMade, "")
		if is {
			made.Add(1)
		}
		return err
	})
	require.EqualValues(t, 1, made.Load())
}

// batchCalls are those about types of jobs and batches.
func batchCalls(spec core.Spec) map[string]Call {
	return map[string]Call{
		"PutJobType": func(ctx context.Context, s school.ResultStore) error {
			return s.PutJobType(ctx, core.JobType{Name: "t", Pool: "p", Priority: core.PriorityLow})
		},
		"GetJobType":    func(ctx context.Context, s school.ResultStore) error { _, err := s.GetJobType(ctx, "t"); return err },
		"JobTypes":      func(ctx context.Context, s school.ResultStore) error { _, err := s.JobTypes(ctx); return err },
		"DeleteJobType": func(ctx context.Context, s school.ResultStore) error { return s.DeleteJobType(ctx, "t") },
		"CreateBatch": func(ctx context.Context, s school.ResultStore) error {
			_, _, err := s.CreateBatch(ctx, Batch("ann", 1))
			return err
		},
		"GetBatch": func(ctx context.Context, s school.ResultStore) error { _, err := s.GetBatch(ctx, spec.ID); return err },
		"ListBatches": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListBatches(ctx, core.BatchFilter{})
			return err
		},
		"OpenBatches": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.OpenBatches(ctx, "", 10)
			return err
		},
		"MoveBatch": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.MoveBatch(ctx, spec.ID, core.BatchMaking, core.BatchMade, "")
			return err
		},
	}
}
