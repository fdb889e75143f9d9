package requests_test

import (
	"testing"

	"drover/core"
	"drover/core/requests"

	"github.com/stretchr/testify/require"
)

// Whose submission a request grades learns how far it is, and nothing of where.
func TestStatusTellsHowFar(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s := w.submit("ann", grading("cs101/open"))
	status := func(who string) requests.Status {
		got, err := w.service.Status(t.Context(), as(who), s.ID)
		require.NoError(t, err)
		return got
	}
	got := status("ann")
	require.Equal(t, core.RequestQueued, got.State)
	require.Equal(t, 0, *got.Waiting.Ahead)
	require.True(t, got.Output, "its assignment shows what it prints")
	require.False(t, status("olga").Output)

	c := w.claim()
	require.Equal(t, requests.Status{State: core.RequestClaimed, Attempt: 1, Since: c.Since, Output: true}, status("ann"))
	w.run(c)
	require.Equal(t, core.RequestRunning, status("ann").State)
	c = w.retry(c)
	require.Equal(t, 2, status("ann").Attempt)
	w.end(c)
	require.Equal(t, requests.Status{State: core.RequestCompleted, Output: true}, status("ann"))
	_, err := w.service.Status(t.Context(), as("cleo"), s.ID)
	requireCode(t, core.CodeNotFound, err)
}
