package mongo

import (
	"context"
	"slices"
	"testing"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/school"
	"drover/core/store/mongo/mongotest"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// died leaves what who died somewhere in CreateSubmission leaves.
func died(t *testing.T, s *Store, unmade unmade, made bool) (school.Submission, core.Spec) {
	t.Helper()
	sub, spec := storetest.Graded("ann")
	spec.Harness = &storetest.Harness(9).File
	_, _, err := s.CreateSubmission(t.Context(), sub, &spec)
	require.NoError(t, err)
	doc, _, err := one[request](t.Context(), s, requests, m{"_id": spec.ID}, "spec")
	require.NoError(t, err)
	if !made {
		_, err = s.remove(t.Context(), requests, m{"_id": spec.ID})
		require.NoError(t, err)
	}
	is, err := s.change(t.Context(), submissions, m{"_id": sub.ID}, m{"$set": m{"unmade": unmade, "spec": doc.Spec}})
	require.NoError(t, err)
	require.True(t, is)
	return sub, spec
}

// The first reader after a crash finds the request of a stored submission.
func TestSubmissionIsNeverWithoutItsRequest(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	s := openHere(t, mongotest.Database(t), Options{})
	storetest.School(t, s)
	for name, look := range map[string]func(ctx context.Context, sub school.Submission, spec core.Spec) (there bool, err error){
		"get": func(ctx context.Context, _ school.Submission, spec core.Spec) (bool, error) {
			row, err := s.Get(ctx, spec.ID)
			return row.State == core.RequestQueued, err
		},
		"list": func(ctx context.Context, _ school.Submission, spec core.Spec) (bool, error) {
			rows, err := s.List(ctx, core.Filter{Assignment: spec.Assignment})
			return slices.ContainsFunc(rows, func(row core.Row) bool { return row.Spec.ID == spec.ID }), err
		},
		"sweep": func(ctx context.Context, _ school.Submission, spec core.Spec) (bool, error) {
			specs, err := s.Unfinished(ctx, "", 1000)
			return slices.ContainsFunc(specs, func(one core.Spec) bool { return one.ID == spec.ID }), err
		},
		"standing": func(ctx context.Context, sub school.Submission, _ core.Spec) (bool, error) {
			all, err := s.ListSubmissions(ctx, school.SubmissionFilter{User: "ann"})
			return slices.ContainsFunc(all, func(st school.Standing) bool { return st.Submission.ID == sub.ID && st.State == core.RequestQueued }), err
		},
		"digests": func(ctx context.Context, _ school.Submission, spec core.Spec) (is bool, err error) {
			err = s.Digests(ctx, func(digest string) error { is = is || digest == spec.Harness.Digest; return nil })
			return is, err
		},
		"repeat": func(ctx context.Context, sub school.Submission, spec core.Spec) (bool, error) {
			first, is, err := s.CreateSubmission(ctx, sub, &spec)
			return !is && first.ID == sub.ID, err
		},
	} {
		for _, left := range []struct {
			unmade  unmade
			request bool
		}{{unmadeFresh, false}, {unmadeAdopted, false}, {unmadeFresh, true}, {unmadeAdopted, true}} {
			sub, spec := died(t, s, left.unmade, left.request)
			there, err := look(t.Context(), sub, spec)
			require.NoError(t, err)
			require.True(t, there, "%s after %+v", name, left)
			row, err := s.Get(t.Context(), spec.ID)
			require.NoError(t, err)
			require.Equal(t, core.Row{Spec: spec, State: core.RequestQueued}, row)
			_, err = s.List(t.Context(), core.Filter{})
			require.NoError(t, err)
			n, err := s.count(t.Context(), submissions, m{"unmade": m{"$gt": ""}}, 10)
			require.NoError(t, err)
			require.Zero(t, n, "all is made")
			kept, _, err := one[request](t.Context(), s, requests, m{"_id": spec.ID}, "kept")
			require.NoError(t, err)
			require.True(t, kept.Kept)
		}
	}
}

// A deletion includes what was begun for the deleted object, even if another call is still making it.
func TestSubmissionThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	ctx := t.Context()
	s := openHere(t, mongotest.Database(t), Options{})
	storetest.School(t, s)
	sub, spec := died(t, s, unmadeFresh, false)
	late, _, err := one[submission](ctx, s, submissions, m{"_id": sub.ID})
	require.NoError(t, err)
	a, err := s.GetAssignment(ctx, "cs101", "hw1")
	require.NoError(t, err)
	a.Deleting = true
	_, err = s.PutAssignment(ctx, a)
	require.NoError(t, err)
	specs, err := s.Unfinished(ctx, "", 10)
	require.NoError(t, err)
	require.Empty(t, specs, "nobody begins anything for it")
	removed, left, err := s.DeleteSubmissions(ctx, "cs101", "hw1", 10)
	require.NoError(t, err)
	require.Equal(t, []int{2, 0}, []int{removed, left})

	require.True(t, core.Is(s.makeRequest(ctx, &late), core.CodeNotFound), "who was in the midst")
	n, err := s.count(ctx, requests, m{"_id": spec.ID}, 1)
	require.NoError(t, err)
	require.Zero(t, n, "takes it away again")
}
