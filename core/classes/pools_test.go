package classes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPoolChoices(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	all, err := w.reg.PoolChoices(t.Context(), w.as("tina"), "cs101")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, pool, all[0].Name)
	require.Positive(t, all[0].Limits.Memory)
}

// Each setting of an assignment can be changed alone.
func TestEditShowsOutput(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	as := w.assignment("hw1")
	as.ShowOutput = true
	_, err := w.reg.EditAssignment(t.Context(), w.as("tess"), as)
	require.NoError(t, err)
	stored, err := w.reg.Store.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	require.True(t, stored.ShowOutput)
}
