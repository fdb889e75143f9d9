package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// ended shows that every accepted result counts once, in the moment in which it was recorded, whatever
// became of its request since.
func ended(t *testing.T, s school.ResultStore) {
	mustCreate(t, s, Spec("ann")) // waits
	plain := mustCreate(t, s, Spec("ann"))
	graded := Spec("bob")
	graded.Assignment, graded.Pool, graded.Priority, graded.Type = "cs101/hw1", "gpu", core.PriorityHigh, "tests"
	mustCreate(t, s, graded)
	mustRecord(t, s, Result(plain, "1.1"), true)
	mustRecord(t, s, Result(plain, "1.2"), false)
	bad := Result(graded, "2.1")
	bad.State, bad.Blame, bad.Attempt, bad.Usage.CPUMs = core.RequestFailed, core.BlameHarness, 3, 77
	bad.Receipt = &core.Receipt{AgainMs: 7}
	mustRecord(t, s, bad, true)
	again, err := s.Rerun(t.Context(), plain.ID, 5)
	require.NoError(t, err)

	of := func(from, until time.Time) map[string]core.Ended {
		t.Helper()
		all := map[string]core.Ended{}
		require.NoError(t, s.Ended(t.Context(), from.UnixMilli(), until.UnixMilli(), func(e core.Ended) error {
			require.NotContains(t, all, e.Key)
			require.GreaterOrEqual(t, e.At, from.UnixMilli())
			require.Less(t, e.At, until.UnixMilli())
			e.At = 0
			all[e.Key] = e
			return nil
		}))
		return all
	}
	first := core.Ended{
		Key: plain.Key(), Pool: "default", VM: "vm-1-1", Priority: core.PriorityNormal, Submitter: "ann", State: core.RequestCompleted, Attempt: 1,
		Times: core.Times{Submitted: plain.Submitted, Queued: 1, Claimed: 2, Started: 3, Finished: 4},
	}
	second := core.Ended{
		Key: graded.Key(), Pool: "gpu", VM: "vm-2-1", Type: "tests", Priority: core.PriorityHigh, Submitter: "bob", Assignment: "cs101/hw1", State: core.RequestFailed,
		Blame: core.BlameHarness, Attempt: 3, CPUMs: 77, AgainMs: 7, Times: bad.Times,
	}
	long := time.Now().Add(-time.Hour)
	require.Equal(t, map[string]core.Ended{first.Key: first, second.Key: second}, of(long, soon()))
	mustRecord(t, s, Result(again, "3.1"), true)
	all := of(long, soon())
	require.Len(t, all, 3)
	require.Equal(t, first, all[first.Key])
	require.Empty(t, of(long.Add(-time.Hour), long))
	require.Empty(t, of(soon(), soon().Add(time.Hour)))
	enough := core.Errorf(core.CodeLimit, "", "enough")
	require.ErrorIs(t, s.Ended(t.Context(), 0, soon().UnixMilli(), func(core.Ended) error { return enough }), enough)
}

func bucketsStay(t *testing.T, s school.ResultStore) {
	const step = 60_000
	put := func(all ...core.Bucket) {
		t.Helper()
		require.NoError(t, s.PutBuckets(t.Context(), all))
	}
	is := func(name string, from, until int64, want ...core.Bucket) {
		t.Helper()
		got, err := s.Buckets(t.Context(), step, name, from, until)
		require.NoError(t, err)
		require.Equal(t, slices.Concat([]core.Bucket{}, want), slices.Concat([]core.Bucket{}, got))
	}
	a := core.Bucket{Step: step, Name: "pool", At: 0, Doc: []byte(`{"default":{"n":1,"text":"ü"}}`)}
	b := core.Bucket{Step: step, Name: "pool", At: 2 * step, Doc: []byte(`{}`)}
	c := core.Bucket{Step: step, Name: "pool", At: 1_800_000_000_000, Doc: []byte(`{"c":1}`)}
	put()
	put(c, b, a, core.Bucket{Step: step, Name: "pools", At: 0, Doc: []byte(`{}`)}, core.Bucket{Step: 10 * step, Name: "pool", At: 0, Doc: []byte(`{}`)})
	is("pool", 0, 2_000_000_000_000, a, b, c)
	is("pool", 1, 2*step)
	is("pool", 1, 2*step+1, b)
	is("pool", 0, 0)
	is("pool", 5, -5)
	is("poo", 0, 2_000_000_000_000)
	b.Doc = []byte(`{"again":true}`)
	put(b)
	is("pool", 1, 2_000_000_000_000, b, c)
	n, err := s.TrimBuckets(t.Context(), step, 2*step+1)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	is("pool", 0, 2_000_000_000_000, c)
	n, err = s.TrimBuckets(t.Context(), step, 2*step+1)
	require.NoError(t, err)
	require.Zero(t, n)
	for name, bad := range map[string]struct {
		bucket core.Bucket
		want   core.Code
	}{
		"name": {core.Bucket{Step: 1, Name: "a/b", Doc: []byte("1")}, core.CodeInvalid},
		"step": {core.Bucket{Name: "a", Doc: []byte("1")}, core.CodeInvalid},
		"at":   {core.Bucket{Step: 1, Name: "a", At: -1, Doc: []byte("1")}, core.CodeInvalid},
		"long": {core.Bucket{Step: 1, Name: "a", Doc: []byte(strings.Repeat("1", core.MaxBucketBytes+1))}, core.CodeLimit},
	} {
		require.Equal(t, bad.want, core.CodeOf(s.PutBuckets(t.Context(), []core.Bucket{bad.bucket})), name)
	}
	requireCode(t, core.CodeLimit, s.PutBuckets(t.Context(), make([]core.Bucket, core.MaxBuckets+1)))
}

// statisticCalls are those about changes of state and statistics.
func statisticCalls() map[string]Call {
	return map[string]Call{
		"AddStateChanges": func(ctx context.Context, s school.ResultStore) error {
			return s.AddStateChanges(ctx, []core.StateChange{StateChange("r-1", 5, 0)})
		},
		"StateChanges": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.StateChanges(ctx, core.StateChangeFilter{Kind: core.EntityRequest, Thing: "r-1"})
			return err
		},
		"TrimStateChanges": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.TrimStateChanges(ctx, 5, 10, 10)
			return err
		},
		"Mark": func(ctx context.Context, s school.ResultStore) error { _, err := s.Mark(ctx, "m"); return err },
		"MoveMark": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.MoveMark(ctx, "m", "", "1")
			return err
		},
		"Ended": func(ctx context.Context, s school.ResultStore) error {
			return s.Ended(ctx, 0, 5, func(core.Ended) error { return nil })
		},
		"PutBuckets": func(ctx context.Context, s school.ResultStore) error {
			return s.PutBuckets(ctx, []core.Bucket{{Step: 1, Name: "a", Doc: []byte("{}")}})
		},
		"Buckets": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Buckets(ctx, 1, "a", 0, 5)
			return err
		},
		"TrimBuckets": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.TrimBuckets(ctx, 1, 5)
			return err
		},
	}
}
