package resultstoretest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func tasksOfALane(t *testing.T, s core.ResultStore) {
	var of []string
	for _, lane := range []string{"a", "b", "", "a"} {
		task := core.Task{ID: NewID(), Generation: 1, Kind: core.KindWebhook, Lane: lane, Created: 1}
		created, err := s.CreateTask(t.Context(), task)
		require.NoError(t, err)
		require.True(t, created)
		if lane == "a" {
			of = append(of, task.ID)
		}
	}
	found, err := s.ListTasks(t.Context(), core.TaskFilter{Lane: "a"})
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, of, []string{found[1].ID, found[0].ID}, "newest first")
	found, err = s.ListTasks(t.Context(), core.TaskFilter{Lane: "a", Before: of[1]})
	require.NoError(t, err)
	require.Len(t, found, 1)
	found, err = s.ListTasks(t.Context(), core.TaskFilter{Lane: "c"})
	require.NoError(t, err)
	require.Empty(t, found)
}
