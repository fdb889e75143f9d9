package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// done is the good end of a task's first generation.
func done(id string) core.TaskEnd {
	return core.TaskEnd{ID: id, Generation: 1, State: core.TaskDone}
}

// dead is a bad end.
func dead(id string, generation int) core.TaskEnd {
	return core.TaskEnd{ID: id, Generation: generation, State: core.TaskDead, Note: "no luck"}
}

// mustEnd ends a task and requires the answer.
func mustEnd(t *testing.T, s school.ResultStore, e core.TaskEnd, want bool) {
	t.Helper()
	got, err := s.EndTask(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, want, got, "the first end")
}

// download makes a file of a task; equal numbers have equal digests.
func download(n int, expires time.Time) *core.Download {
	return &core.Download{
		Name: "grades ü.csv", Type: "text/csv; charset=utf-8", Digest: fmt.Sprintf("sha256:%064x", n), Size: 5, Expires: expires.UnixMilli(),
	}
}

func tasksEnd(t *testing.T, s school.ResultStore) {
	task := mustTask(t, s, fullTask("a"))
	end := core.TaskEnd{
		ID: "a", Generation: 1, State: core.TaskDone, Note: "1 file ü\nof 1",
		Progress: &core.TaskProgress{Done: 3, Total: 3, Text: "ready"}, Download: download(1, soon()),
	}
	mustEnd(t, s, end, true)
	got := mustGetTask(t, s, "a")
	require.WithinDuration(t, time.Now(), time.UnixMilli(got.Ended), time.Hour)
	task.State, task.Note, task.Progress, task.Download, task.Ended = end.State, end.Note, end.Progress, end.Download, got.Ended
	require.Equal(t, task, got)
	mustEnd(t, s, end, false)
	late := dead("a", 1)
	mustEnd(t, s, late, false)
	require.Equal(t, task, mustGetTask(t, s, "a"), "a late end changes nothing")

	for _, state := range []core.TaskState{core.TaskDone, core.TaskDead, core.TaskCancelled} {
		id := "is-" + string(state)
		mustTask(t, s, Task(id))
		mustEnd(t, s, core.TaskEnd{ID: id, Generation: 1, State: state}, true)
		require.Equal(t, state, mustGetTask(t, s, id).State)
	}
}

func tasksEndRefuses(t *testing.T, s school.ResultStore) {
	mustTask(t, s, Task("a"))
	for name, c := range map[string]struct {
		change func(*core.TaskEnd)
		want   core.Code
	}{
		"nobody":          {func(e *core.TaskEnd) { e.ID = "nobody" }, core.CodeNotFound},
		"no id":           {func(e *core.TaskEnd) { e.ID = "" }, core.CodeNotFound},
		"no generation":   {func(e *core.TaskEnd) { e.Generation = 0 }, core.CodeNotFound},
		"next generation": {func(e *core.TaskEnd) { e.Generation = 2 }, core.CodeNotFound},
		"no end":          {func(e *core.TaskEnd) { e.State = core.TaskQueued }, core.CodeInvalid},
		"on the way":      {func(e *core.TaskEnd) { e.State = core.TaskCancelling }, core.CodeInvalid},
	} {
		end := done("a")
		end.Progress, end.Download = &core.TaskProgress{}, download(1, soon())
		c.change(&end)
		is, err := s.EndTask(t.Context(), end)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), name)
		require.False(t, is, name)
	}
	require.Equal(t, Task("a"), mustGetTask(t, s, "a"))
}

func tasksFail(t *testing.T, s school.ResultStore) {
	mustTask(t, s, Task("a"))
	var want []core.TaskFailure
	for i := range core.MaxTaskFailures + 3 {
		f := core.TaskFailure{Generation: 1, Attempt: i + 1, At: int64(100 + i), Text: fmt.Sprintf("try %d\nü", i)}
		for range 2 { // the same call again
			require.NoError(t, s.FailTask(t.Context(), "a", f))
		}
		want = append(want, f)
		got := mustGetTask(t, s, "a")
		require.Equal(t, want[max(0, len(want)-core.MaxTaskFailures):], got.Failures, "the last ones, oldest first")
		require.Equal(t, core.TaskQueued, got.State)
	}
	mustEnd(t, s, dead("a", 1), true)
	late := core.TaskFailure{Generation: 1, Attempt: 20, At: 300, Text: strings.Repeat("x", core.MaxNote)}
	require.NoError(t, s.FailTask(t.Context(), "a", late))
	got := mustGetTask(t, s, "a")
	require.Equal(t, late, got.Failures[core.MaxTaskFailures-1], "one that was told of late")
	require.Equal(t, core.TaskDead, got.State)

	for name, c := range map[string]struct {
		id   string
		f    core.TaskFailure
		want core.Code
	}{
		"nobody":          {"nobody", core.TaskFailure{Generation: 1, Attempt: 1}, core.CodeNotFound},
		"no generation":   {"a", core.TaskFailure{Attempt: 1}, core.CodeNotFound},
		"next generation": {"a", core.TaskFailure{Generation: 2, Attempt: 1}, core.CodeNotFound},
	} {
		require.Equal(t, c.want, core.CodeOf(s.FailTask(t.Context(), c.id, c.f)), name)
	}
	require.Equal(t, got, mustGetTask(t, s, "a"))
}

func tasksRetry(t *testing.T, s school.ResultStore) {
	_, err := s.RetryTask(t.Context(), "nobody", 5)
	requireCode(t, core.CodeNotFound, err)
	task := mustTask(t, s, fullTask("a"))
	refused := func() {
		t.Helper()
		before := mustGetTask(t, s, "a")
		_, err := s.RetryTask(t.Context(), "a", 5)
		requireCode(t, core.CodeConflict, err)
		require.Equal(t, before, mustGetTask(t, s, "a"))
	}
	refused() // it waits
	failure := core.TaskFailure{Generation: 1, Attempt: 1, Text: "broken"}
	require.NoError(t, s.FailTask(t.Context(), "a", failure))
	end := dead("a", 1)
	end.Progress, end.Download = &core.TaskProgress{Done: 1, Total: 2}, download(1, soon())
	mustEnd(t, s, end, true)
	_, err = s.RetryTask(t.Context(), "a", -1)
	requireCode(t, core.CodeInvalid, err)

	got, err := s.RetryTask(t.Context(), "a", 500)
	require.NoError(t, err)
	task.Generation, task.Created, task.Failures = 2, 500, []core.TaskFailure{failure}
	require.Equal(t, task, got)
	require.Equal(t, task, mustGetTask(t, s, "a"), "as it was made, without an end")
	mustEnd(t, s, done("a"), false) // of the first generation
	require.NoError(t, s.FailTask(t.Context(), "a", core.TaskFailure{Generation: 1, Attempt: 2}), "so is this")
	require.Equal(t, core.TaskQueued, mustGetTask(t, s, "a").State)
	refused()
	open, err := s.UnfinishedTasks(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []core.Task{mustGetTask(t, s, "a")}, open)

	mustEnd(t, s, core.TaskEnd{ID: "a", Generation: 2, State: core.TaskCancelled}, true)
	other := mustTask(t, s, unique("b", task.Unique))
	refused() // its key is taken
	mustEnd(t, s, done(other.ID), true)
	_, err = s.RetryTask(t.Context(), "a", 600)
	require.NoError(t, err)
	is, err := s.CreateTask(t.Context(), unique("c", task.Unique))
	require.NoError(t, err)
	require.False(t, is, "it has the key again")
	mustEnd(t, s, core.TaskEnd{ID: "a", Generation: 3, State: core.TaskDone}, true)
	refused() // done is done
}

func tasksRetryLimit(t *testing.T, s school.ResultStore) {
	mustTask(t, s, Task("a"))
	for generation := 1; generation < core.MaxGenerations; generation++ {
		mustEnd(t, s, dead("a", generation), true)
		_, err := s.RetryTask(t.Context(), "a", 5)
		require.NoError(t, err)
	}
	mustEnd(t, s, dead("a", core.MaxGenerations), true)
	_, err := s.RetryTask(t.Context(), "a", 5)
	requireCode(t, core.CodeLimit, err)
}
