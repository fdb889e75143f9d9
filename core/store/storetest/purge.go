package storetest

import (
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func purge(t *testing.T, s school.ResultStore) {
	open := mustCreate(t, s, Spec("ann"))
	again := mustCreate(t, s, Spec("ann"))
	mustRecord(t, s, Result(again, "1.1"), true)
	again, err := s.Rerun(t.Context(), again.ID, 5)
	require.NoError(t, err)
	finish := func(spec core.Spec) error {
		spec.Idempotency = spec.ID
		_, _, err := s.Create(t.Context(), spec)
		for _, token := range []string{"1.1", "1.2"} {
			if err == nil {
				_, err = s.Record(t.Context(), Result(spec, token))
			}
		}
		return err
	}
	together(t, 249, func(int) error { return finish(Spec("ann")) }) // more than any batch
	last := Spec("ann")
	require.NoError(t, finish(last))

	n, err := s.Purge(t.Context(), time.Now().Add(-time.Hour), 1000)
	require.NoError(t, err)
	require.Zero(t, n, "nothing is that old")
	n, err = s.Purge(t.Context(), soon(), 0)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = s.Purge(t.Context(), soon(), 120)
	require.NoError(t, err)
	require.Equal(t, 120, n)
	_, err = s.Get(t.Context(), last.ID)
	require.NoError(t, err, "the oldest go first")
	n, err = s.Purge(t.Context(), soon(), 1000)
	require.NoError(t, err)
	require.Equal(t, 130, n)

	rows, err := s.List(t.Context(), core.Filter{})
	require.NoError(t, err)
	require.Equal(t, []string{again.ID, open.ID}, ids(rows))
	_, err = s.Attempts(t.Context(), last.ID)
	requireCode(t, core.CodeNotFound, err)
	ended, err := s.Terminal(t.Context(), []string{last.Key()})
	require.NoError(t, err)
	require.Empty(t, ended)
	_, err = s.Record(t.Context(), Result(last, "1.1"))
	requireCode(t, core.CodeNotFound, err)
	history, err := s.Attempts(t.Context(), again.ID)
	require.NoError(t, err)
	require.Len(t, history, 1, "what is not over keeps its history")

	mustCreate(t, s, last) // the key went with its row
	history, err = s.Attempts(t.Context(), last.ID)
	require.NoError(t, err)
	require.Empty(t, history)
}

func purgeTasks(t *testing.T, s school.ResultStore) {
	for i := range 5 {
		task := Task(fmt.Sprintf("t%d", i))
		_, err := s.CreateTask(t.Context(), task)
		require.NoError(t, err)
		if i > 0 {
			_, err = s.EndTask(t.Context(), done(task.ID))
			require.NoError(t, err)
		}
	}
	n, err := s.Purge(t.Context(), soon(), 3)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = s.Purge(t.Context(), soon(), 3)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	left, err := s.ListTasks(t.Context(), core.TaskFilter{})
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "t0", left[0].ID)
}
