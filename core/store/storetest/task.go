package storetest

import (
	"encoding/json"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

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

// fullTask makes a task in which everything is set that a new one can have.
func fullTask(id string) core.Task {
	return core.Task{
		ID: id, Generation: 1, Kind: "archive_class", Args: json.RawMessage(`{"class":[1,null],"text":"ü"}`), Unique: "ü " + id,
		Priority: core.PriorityLow, Lane: "lane-1", Requester: "ann", About: "cs101/hw1", Parent: "above", NotBefore: 77,
		Notify: []string{"w1", "w2"}, Created: 1_700_000_000_000, State: core.TaskQueued,
	}
}

// mustTask creates a task that is new.
func mustTask(t *testing.T, s school.ResultStore, task core.Task) core.Task {
	t.Helper()
	is, err := s.CreateTask(t.Context(), task)
	require.NoError(t, err)
	require.True(t, is, "created")
	return task
}

// mustGetTask returns a task that is there.
func mustGetTask(t *testing.T, s school.ResultStore, id string) core.Task {
	t.Helper()
	task, err := s.GetTask(t.Context(), id)
	require.NoError(t, err)
	return task
}

func tasks(t *testing.T, s school.ResultStore) {
	_, err := s.GetTask(t.Context(), "nobody")
	requireCode(t, core.CodeNotFound, err)
	for _, task := range []core.Task{Task("a"), fullTask("b")} {
		mustTask(t, s, task)
		require.Equal(t, task, mustGetTask(t, s, task.ID))
	}
	blank := Task("c")
	blank.Args, blank.State = json.RawMessage(" {\n\"a\": [1, 2]} "), ""
	mustTask(t, s, blank)
	blank.Args, blank.State = json.RawMessage(`{"a":[1,2]}`), core.TaskQueued
	require.Equal(t, blank, mustGetTask(t, s, "c"), "arguments are a value, not a text")
}

func tasksAgain(t *testing.T, s school.ResultStore) {
	task := mustTask(t, s, fullTask("a"))
	again := func(task core.Task) {
		t.Helper()
		is, err := s.CreateTask(t.Context(), task)
		require.NoError(t, err)
		require.False(t, is)
	}
	later := task
	later.Created, later.NotBefore, later.Args = 99, 99, json.RawMessage(`{"class": [1, null], "text": "ü"}`)
	again(task)
	again(later)
	mustEnd(t, s, dead("a", 1), true)
	again(later)
	_, err := s.RetryTask(t.Context(), "a", 5)
	require.NoError(t, err)
	again(later)
	require.Equal(t, 2, mustGetTask(t, s, "a").Generation, "nothing was changed")

	for name, change := range map[string]func(*core.Task){
		"kind":      func(t *core.Task) { t.Kind = "other" },
		"args":      func(t *core.Task) { t.Args = nil },
		"unique":    func(t *core.Task) { t.Unique = "" },
		"priority":  func(t *core.Task) { t.Priority = "" },
		"lane":      func(t *core.Task) { t.Lane = "" },
		"requester": func(t *core.Task) { t.Requester = "bob" },
		"about":     func(t *core.Task) { t.About = "cs101" },
		"parent":    func(t *core.Task) { t.Parent = "" },
		"notify":    func(t *core.Task) { t.Notify = t.Notify[:1] },
	} {
		other := task
		change(&other)
		_, err := s.CreateTask(t.Context(), other)
		require.Equal(t, core.CodeConflict, core.CodeOf(err), name)
	}
}

func tasksUnique(t *testing.T, s school.ResultStore) {
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
	_, err := s.GetTask(t.Context(), "b")
	requireCode(t, core.CodeNotFound, err)
	mustEnd(t, s, done("a"), true)
	expect(second, true)
	expect(Task("c"), true) // no key is no key
	expect(Task("d"), true)
}

func tasksRefuse(t *testing.T, s school.ResultStore) {
	for name, c := range map[string]struct {
		change func(*core.Task)
		want   core.Code
	}{
		"id":          {func(t *core.Task) { t.ID = "a b" }, core.CodeInvalid},
		"generation":  {func(t *core.Task) { t.Generation = 0 }, core.CodeInvalid},
		"a later one": {func(t *core.Task) { t.Generation = 2 }, core.CodeInvalid},
	} {
		task := fullTask("a")
		c.change(&task)
		_, err := s.CreateTask(t.Context(), task)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	all, err := s.ListTasks(t.Context(), core.TaskFilter{})
	require.NoError(t, err)
	require.Empty(t, all)
}
