package coursework_test

import (
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// Who edits an assignment must not see its own deadlines there: saving them would give
// them to everybody.
func TestADraftHasNobodysOwnDeadlines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	as, tina := w.assignment("hw1"), w.as("tina")
	require.NoError(t, w.reg.SetDeadline(t.Context(), w.as("tess"), core.Deadline{Class: "cs101", Assignment: "hw1", User: "tina", Due: theDue + day, Cutoff: theEnd + day}))
	seen, err := w.reg.ViewAssignment(t.Context(), tina, "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, theDue+day, seen.Due)
	draft, err := w.reg.DraftAssignment(t.Context(), tina, "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, as, draft.Assignment)
	require.Equal(t, []string{pool}, draft.Pools)
	draft, err = w.reg.DraftAssignment(t.Context(), tina, "cs101", "")
	require.NoError(t, err)
	require.Equal(t, core.Assignment{Class: "cs101", Weight: core.ClassNormal}, draft.Assignment)
}

// Each setting of an assignment can be changed alone.
func TestEditShowsOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	as := w.assignment("hw1")
	as.ShowOutput = true
	_, err := w.reg.EditAssignment(t.Context(), w.as("tess"), as)
	require.NoError(t, err)
	stored, err := w.reg.Store.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	require.True(t, stored.ShowOutput)
}
