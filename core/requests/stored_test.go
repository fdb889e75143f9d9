package requests_test

import (
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// A program sees where its request is, and never one that grades.
func TestStored(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, rosa := t.Context(), as("rosa")
	row, err := w.service.SubmitStored(ctx, rosa, core.Spec{Pool: pool, Command: []string{"true"}, Idempotency: "once"})
	require.NoError(t, err)
	require.Equal(t, "rosa", row.Spec.Submitter)
	again, err := w.service.SubmitStored(ctx, rosa, core.Spec{Pool: pool, Command: []string{"true"}, Idempotency: "once"})
	require.NoError(t, err)
	require.Equal(t, row.Spec.ID, again.Spec.ID)
	// Who asks before it makes the request ready finds it too, and only its own.
	again, was, err := w.service.Submitted(ctx, rosa, "once")
	require.NoError(t, err)
	require.True(t, was)
	require.Equal(t, row.Spec.ID, again.Spec.ID)
	_, was, err = w.service.Submitted(ctx, as("olga"), "once")
	require.NoError(t, err)
	require.False(t, was)
	is := func(want core.RequestState) {
		got, err := w.service.Row(ctx, rosa, row.Spec.ID)
		require.NoError(t, err)
		require.Equal(t, want, got.State)
	}
	is(core.RequestQueued)
	c := w.claim()
	is(core.RequestClaimed)
	w.end(c)
	is(core.RequestCompleted)
	graded := w.submit("rosa", grading("cs101/hw1"))
	_, err = w.service.Row(ctx, as("root"), graded.ID)
	requireCode(t, core.CodeNotFound, err)
	_, err = w.service.SubmitStored(ctx, rosa, core.Spec{Submitter: "ann", Pool: pool, Command: []string{"true"}})
	requireCode(t, core.CodeForbidden, err)
	_, err = w.service.SubmitStored(ctx, as("olga"), core.Spec{Submitter: "ann", Pool: pool, Command: []string{"true"}})
	require.NoError(t, err)
}
