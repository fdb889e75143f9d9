package classes_test

import (
	"context"
	"testing"
	"time"

	"drover/core"
	"drover/core/classes"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// awayTasks is the queue of tasks of a Redis that does not answer.
type awayTasks struct{ core.Tasks }

func (awayTasks) LocateTasks(context.Context, []string) ([]core.TaskPlace, error) {
	return nil, core.Errorf(core.CodeUnavailable, "", "Redis does not answer")
}

func TestTrackTasks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, ann := t.Context(), w.as("ann")
	waits, later, ended := w.task(), w.task(), w.task()
	require.NoError(t, w.in.Tasks.EnqueueTask(ctx, waits))
	later.NotBefore = time.Now().Add(time.Hour).UnixMilli() // by the clock of Redis
	require.NoError(t, w.in.Tasks.EnqueueTask(ctx, later))
	w.endTask(ended.ID, core.TaskDone)

	v, err := w.reg.TrackTask(ctx, ann, later.ID)
	require.NoError(t, err)
	assert.Equal(t, core.TaskDelayed, v.State)
	require.NotNil(t, v.Place)
	assert.Equal(t, later.NotBefore, v.Place.Due)

	list := func(states ...core.TaskState) (ids []string) {
		all, err := w.reg.TrackTasks(ctx, ann, core.TaskFilter{States: states, Limit: 1})
		require.NoError(t, err)
		for _, one := range all {
			ids = append(ids, one.ID)
		}
		return ids
	}
	assert.Equal(t, []string{waits.ID}, list(core.TaskQueued), "looks on behind a page of others")
	assert.Equal(t, []string{later.ID}, list(core.TaskDelayed))
	assert.Equal(t, []string{ended.ID}, list(core.TaskDone))
	assert.Empty(t, list(core.TaskRunning))

	w.in.Tasks = awayTasks{w.cluster.Store}
	all, err := w.reg.TrackTasks(ctx, ann, core.TaskFilter{})
	require.NoError(t, err, "ends come from the store")
	require.Len(t, all, 3)
	assert.Equal(t, classes.TaskView{Task: w.stored(later.ID)}, all[1])
	assert.Equal(t, core.TaskDone, all[0].State)
}

func (w *fixture) stored(id string) core.Task {
	w.t.Helper()
	t, err := w.store.GetTask(w.t.Context(), id)
	require.NoError(w.t, err)
	return t
}
