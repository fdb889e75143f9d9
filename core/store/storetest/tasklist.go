package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"

	"github.com/stretchr/testify/require"
)

// taskIDs returns the ids of tasks.
func taskIDs(tasks []core.Task) []string {
	all := []string{}
	for _, task := range tasks {
		all = append(all, task.ID)
	}
	return all
}

// unfinishedTasks reads unfinished tasks page by page while some of them end.
func unfinishedTasks(t *testing.T, s school.ResultStore) {
	var want []string
	for i := range 25 {
		task := Task(fmt.Sprintf("t%02d", i))
		task.Created -= int64(i % 2) // the cursor is the id; when they were made says nothing about their order
		mustTask(t, s, task)
		if i%3 == 0 {
			mustEnd(t, s, done(task.ID), true)
			continue
		}
		want = append(want, task.ID)
	}
	var got []string
	for after := ""; ; {
		page, err := s.UnfinishedTasks(t.Context(), after, 7)
		require.NoError(t, err)
		got = append(got, taskIDs(page)...)
		if len(page) < 7 {
			break
		}
		after = page[6].ID
		mustEnd(t, s, done(after), true) // what was read is not in the way of what was not
	}
	require.Equal(t, want, got)
	for _, limit := range []int{0, -1, bounds.MaxPage + 1} {
		_, err := s.UnfinishedTasks(t.Context(), "", limit)
		requireCode(t, core.CodeInvalid, err)
	}
}

// listTasks reads lists by every filter and several at once, in pages of any size.
func listTasks(t *testing.T, s school.ResultStore) {
	var all []core.Task // newest first
	for i := range 60 {
		task := Task(fmt.Sprintf("t%02d", 59-i))
		task.Created += int64(i % 7) // the order is the ids'
		task.Kind = []string{"archive", "rerun"}[i%2]
		task.Requester = []string{"", "ann", "bob"}[i%3]
		task.About = []string{"", "cs1", "cs1/hw1", "cs10", "cs10/hw1"}[i%5]
		task.Parent = []string{"", "", "above", "below"}[i/2%4]
		task.Lane = []string{"a", "", "b"}[i/3%3]
		mustTask(t, s, task)
		if i%4 > 0 {
			end := core.TaskEnd{ID: task.ID, Generation: 1, State: []core.TaskState{"", core.TaskDone, core.TaskDead, core.TaskCancelled}[i%4]}
			mustEnd(t, s, end, true)
			task = mustGetTask(t, s, task.ID)
		}
		all = append(all, task)
	}
	for _, f := range everyFilter() {
		want := slices.DeleteFunc(slices.Clone(all), func(t core.Task) bool { return !selects(f, t) })
		for _, f.Limit = range []int{0, 5} {
			require.Equal(t, want, pages(t, s, f, len(want)), "%+v", f)
		}
	}
	for _, limit := range []int{-1, bounds.MaxRows + 1} {
		_, err := s.ListTasks(t.Context(), core.TaskFilter{Limit: limit})
		requireCode(t, core.CodeInvalid, err)
	}
	_, err := s.ListTasks(t.Context(), core.TaskFilter{States: make([]core.TaskState, bounds.MaxStates+1)})
	requireCode(t, core.CodeInvalid, err)
}

// everyFilter combines all that a filter may select by.
func everyFilter() []core.TaskFilter {
	all := []core.TaskFilter{{}}
	with := func(changes ...func(f *core.TaskFilter)) {
		for _, f := range slices.Clone(all) {
			for _, change := range changes {
				more := f
				change(&more)
				all = append(all, more)
			}
		}
	}
	states := func(states ...core.TaskState) func(f *core.TaskFilter) {
		return func(f *core.TaskFilter) { f.States = states }
	}
	with(states(core.TaskQueued), states(core.TaskDone, core.TaskDead), states(core.TaskRunning))
	with(func(f *core.TaskFilter) { f.Kind = "rerun" }, func(f *core.TaskFilter) { f.Kind = "nothing" })
	with(func(f *core.TaskFilter) { f.Requester = "ann" })
	with(func(f *core.TaskFilter) { f.Class = "cs1" }, func(f *core.TaskFilter) { f.Class = "hw1" })
	with(func(f *core.TaskFilter) { f.Parent = "above" })
	with(func(f *core.TaskFilter) { f.Lane = "a" })
	return all
}

// selects says what a filter should take.
func selects(f core.TaskFilter, t core.Task) bool {
	class, _, _ := strings.Cut(t.About, "/")
	return (len(f.States) == 0 || slices.Contains(f.States, t.State)) && (f.Kind == "" || f.Kind == t.Kind) &&
		(f.Requester == "" || f.Requester == t.Requester) && (f.Class == "" || f.Class == class) && (f.Parent == "" || f.Parent == t.Parent) &&
		(f.Lane == "" || f.Lane == t.Lane)
}

// pages reads a list to its end, and requires full pages up to there.
func pages(t *testing.T, s school.ResultStore, f core.TaskFilter, most int) []core.Task {
	t.Helper()
	full := f.Limit
	if full == 0 {
		full = bounds.DefaultRows
	}
	all := []core.Task{}
	for {
		page, err := s.ListTasks(t.Context(), f)
		require.NoError(t, err)
		all = append(all, page...)
		require.LessOrEqual(t, len(all), most)
		if len(page) < full {
			return all
		}
		require.Len(t, page, full)
		f.Before = page[full-1].ID
	}
}

func tasksChildren(t *testing.T, s school.ResultStore) {
	mustTask(t, s, Task("above"))
	none, err := s.CountChildren(t.Context(), "above")
	require.NoError(t, err)
	require.Zero(t, none)
	const n = 1000
	together(t, n, func(i int) error {
		child := Task(fmt.Sprintf("child-%04d", i))
		child.Parent = "above"
		_, err := s.CreateTask(t.Context(), child)
		if state := []core.TaskState{core.TaskDone, core.TaskDead, core.TaskCancelled, core.TaskDone, ""}[i%5]; err == nil && state != "" {
			_, err = s.EndTask(t.Context(), core.TaskEnd{ID: child.ID, Generation: 1, State: state})
		}
		return err
	})
	tally, err := s.CountChildren(t.Context(), "above")
	require.NoError(t, err)
	require.Equal(t, core.TaskTally{Total: n, Done: n * 2 / 5, Dead: n / 5, Cancelled: n / 5}, tally)
	require.Equal(t, n/5, tally.Open())
	page, err := s.ListTasks(t.Context(), core.TaskFilter{Parent: "above", Limit: bounds.MaxRows})
	require.NoError(t, err)
	require.Len(t, page, n)
	require.Equal(t, "child-0999", page[0].ID)
	require.Equal(t, "child-0000", page[n-1].ID)

	_, err = s.RetryTask(t.Context(), "child-0001", 5)
	require.NoError(t, err)
	tally, err = s.CountChildren(t.Context(), "above")
	require.NoError(t, err)
	require.Equal(t, core.TaskTally{Total: n, Done: n * 2 / 5, Dead: n/5 - 1, Cancelled: n / 5}, tally)
	tally, err = s.CountChildren(t.Context(), "")
	require.NoError(t, err)
	require.Zero(t, tally, "no parent is no parent")
}
