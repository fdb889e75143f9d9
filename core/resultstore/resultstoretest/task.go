package resultstoretest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/resultstore/bounds"

	"github.com/stretchr/testify/require"
)

func pools(t *testing.T, s core.ResultStore) {
	all, err := s.Pools(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	b, a := core.DefaultPool("b"), core.DefaultPool("a")
	require.NoError(t, s.PutPool(t.Context(), b))
	require.NoError(t, s.PutPool(t.Context(), a))
	b.Paused, b.Warm = true, 3
	require.NoError(t, s.PutPool(t.Context(), b))
	all, err = s.Pools(t.Context())
	require.NoError(t, err)
	require.Equal(t, []core.Pool{a, b}, all)

	bad := core.DefaultPool("a")
	bad.Max = 0
	requireCode(t, core.CodeInvalid, s.PutPool(t.Context(), bad))
	together(t, bounds.MaxPools-2, func(i int) error { return s.PutPool(t.Context(), core.DefaultPool(fmt.Sprintf("p%d", i))) })
	requireCode(t, core.CodeLimit, s.PutPool(t.Context(), core.DefaultPool("one-too-many")))
	require.NoError(t, s.PutPool(t.Context(), b), "those that are there can still be set")
}

// Task makes a plain task.
func Task(id string) core.Task {
	return core.Task{ID: id, Generation: 1, Kind: "k", Created: 1_700_000_000_000, State: core.TaskQueued}
}

// unique makes a task with a unique key.
func unique(id, key string) core.Task {
	task := Task(id)
	task.Unique = key
	return task
}

// done is the good end of a task's first generation.
func done(id string) core.TaskEnd {
	return core.TaskEnd{ID: id, Generation: 1, State: core.TaskDone}
}

func tasks(t *testing.T, s core.ResultStore) {
	var made []core.Task
	for i := range 3 {
		task := core.Task{ID: fmt.Sprintf("t%d", 9-i), Generation: 1, Kind: "archive_class", Created: int64(100 + i), State: core.TaskQueued}
		if i == 1 {
			task.Args, task.Unique = json.RawMessage(`{"class":[1]}`), "u"
		}
		is, err := s.CreateTask(t.Context(), task)
		require.NoError(t, err)
		require.True(t, is)
		made = append(made, task)
	}
	open, err := s.UnfinishedTasks(t.Context(), "", 2)
	require.NoError(t, err)
	require.Equal(t, []core.Task{made[2], made[1]}, open, "in order of id")
	all, err := s.ListTasks(t.Context(), core.TaskFilter{})
	require.NoError(t, err)
	require.Equal(t, []core.Task{made[0], made[1], made[2]}, all, "newest first")

	is, err := s.EndTask(t.Context(), core.TaskEnd{ID: made[1].ID, Generation: 1, State: core.TaskDead, Note: "no luck"})
	require.NoError(t, err)
	require.True(t, is)
	is, err = s.EndTask(t.Context(), core.TaskEnd{ID: made[1].ID, Generation: 1, State: core.TaskDone, Note: "late"})
	require.NoError(t, err)
	require.False(t, is)
	open, err = s.UnfinishedTasks(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []core.Task{made[2], made[0]}, open)
	all, err = s.ListTasks(t.Context(), core.TaskFilter{Limit: 2})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), time.UnixMilli(all[1].Ended), time.Hour)
	made[1].State, made[1].Note, made[1].Ended = core.TaskDead, "no luck", all[1].Ended
	require.Equal(t, []core.Task{made[0], made[1]}, all)
}

// tasksPages reads unfinished tasks page by page while some of them end.
func tasksPages(t *testing.T, s core.ResultStore) {
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("t%02d", i)
		// The cursor is the id; when they were made says nothing about their order.
		is, err := s.CreateTask(t.Context(), core.Task{ID: id, Generation: 1, Kind: "k", Created: int64(1000 - i%2), State: core.TaskQueued})
		require.NoError(t, err)
		require.True(t, is)
		if i%3 == 0 {
			_, err := s.EndTask(t.Context(), done(id))
			require.NoError(t, err)
			continue
		}
		want = append(want, id)
	}
	var got []string
	for after := ""; ; {
		page, err := s.UnfinishedTasks(t.Context(), after, 7)
		require.NoError(t, err)
		for _, task := range page {
			got = append(got, task.ID)
		}
		if len(page) < 7 {
			break
		}
		after = page[6].ID
		_, err = s.EndTask(t.Context(), done(after)) // what was read is not in the way of what was not
		require.NoError(t, err)
	}
	require.Equal(t, want, got)
}

func tasksUnique(t *testing.T, s core.ResultStore) {
	first, second := unique("a", "u"), unique("b", "u")
	expect := func(task core.Task, want bool) {
		t.Helper()
		is, err := s.CreateTask(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, want, is)
	}
	expect(first, true)
	expect(first, false) // the same call again
	expect(second, false)
	_, err := s.EndTask(t.Context(), done("a"))
	require.NoError(t, err)
	expect(second, true)
	expect(Task("c"), true) // no key is no key
	expect(Task("d"), true)

	other := first
	other.Kind = "other"
	_, err = s.CreateTask(t.Context(), other)
	requireCode(t, core.CodeConflict, err)
}

func tasksRefuse(t *testing.T, s core.ResultStore) {
	for name, c := range map[string]struct {
		task core.Task
		want core.Code
	}{
		"id":     {core.Task{ID: "a b", Generation: 1, Kind: "k"}, core.CodeInvalid},
		"kind":   {core.Task{ID: "a", Generation: 1, Kind: ""}, core.CodeInvalid},
		"args":   {core.Task{ID: "a", Generation: 1, Kind: "k", Args: json.RawMessage(`{`)}, core.CodeInvalid},
		"large":  {core.Task{ID: "a", Generation: 1, Kind: "k", Args: json.RawMessage(`"` + strings.Repeat("x", bounds.MaxTaskArgs) + `"`)}, core.CodeLimit},
		"unique": {core.Task{ID: "a", Generation: 1, Kind: "k", Unique: strings.Repeat("x", bounds.MaxUnique+1)}, core.CodeLimit},
	} {
		_, err := s.CreateTask(t.Context(), c.task)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	_, err := s.EndTask(t.Context(), done("nobody"))
	requireCode(t, core.CodeNotFound, err)
	_, err = s.EndTask(t.Context(), core.TaskEnd{ID: "nobody", Generation: 1, State: core.TaskQueued})
	requireCode(t, core.CodeInvalid, err)
	_, err = s.EndTask(t.Context(), core.TaskEnd{ID: "nobody", Generation: 1, State: core.TaskDone, Note: strings.Repeat("x", bounds.MaxNote+1)})
	requireCode(t, core.CodeLimit, err)
	_, err = s.ListTasks(t.Context(), core.TaskFilter{Limit: -1})
	requireCode(t, core.CodeInvalid, err)
	for _, limit := range []int{0, -1, 10_001} {
		_, err = s.UnfinishedTasks(t.Context(), "", limit)
		requireCode(t, core.CodeInvalid, err)
	}
}
