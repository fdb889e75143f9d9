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
	"pgregory.net/rapid"
)

// ledger is what a few tasks should be, newest first, and what the outbox should hold of them.
type ledger struct {
	mark   string // begins their ids and keys; others use the same store
	tasks  []*core.Task
	outbox []core.Notice
}

// modelTasks does random things to a few tasks and compares the store with what
// they should have made of it.
func modelTasks(t *testing.T, s school.ResultStore) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &ledger{mark: NewID()}
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(rt *rapid.T) { m.create(rt, t, s) },
			"end":    func(rt *rapid.T) { m.end(rt, t, s) },
			"fail":   func(rt *rapid.T) { m.fail(rt, t, s) },
			"retry":  func(rt *rapid.T) { m.retry(rt, t, s) },
			"send":   func(rt *rapid.T) { m.send(rt, t, s) },
			"":       func(rt *rapid.T) { m.check(rt, t, s) },
		})
	})
}

func (m *ledger) pick(rt *rapid.T) *core.Task {
	if len(m.tasks) == 0 {
		rt.Skip("nothing there yet")
	}
	return rapid.SampledFrom(m.tasks).Draw(rt, "task")
}

// taken says whether a task waits that has the key.
func (m *ledger) taken(key string) bool {
	return key != "" && slices.ContainsFunc(m.tasks, func(t *core.Task) bool { return t.Unique == key && t.State == core.TaskQueued })
}

func (m *ledger) create(rt *rapid.T, t *testing.T, s school.ResultStore) {
	task := Task(fmt.Sprintf("%s-%03d", m.mark, len(m.tasks)))
	if key := rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "key"); key != "" {
		task.Unique = m.mark + key
	}
	if rapid.Bool().Draw(rt, "notify") {
		task.Notify = []string{"w"}
	}
	if rapid.Bool().Draw(rt, "part") {
		task.Parent = m.mark
	}
	free := !m.taken(task.Unique)
	for _, want := range []bool{free, false} {
		is, err := s.CreateTask(t.Context(), task)
		require.NoError(rt, err)
		require.Equal(rt, want, is)
	}
	if free {
		m.tasks = slices.Insert(m.tasks, 0, &task)
	}
}

func (m *ledger) end(rt *rapid.T, t *testing.T, s school.ResultStore) {
	task := m.pick(rt)
	e := core.TaskEnd{
		ID: task.ID, Generation: rapid.IntRange(1, task.Generation).Draw(rt, "generation"), Note: rapid.StringN(0, 5, 20).Draw(rt, "note"),
		State: rapid.SampledFrom([]core.TaskState{core.TaskDone, core.TaskDead, core.TaskCancelled}).Draw(rt, "state"),
	}
	want := e.Generation == task.Generation && task.State == core.TaskQueued
	is, err := s.EndTask(t.Context(), e)
	require.NoError(rt, err)
	require.Equal(rt, want, is)
	if !want {
		return
	}
	task.State, task.Note = e.State, e.Note
	if len(task.Notify) > 0 {
		m.outbox = append(m.outbox, ofTask(task.Key()))
	}
}

func (m *ledger) fail(rt *rapid.T, t *testing.T, s school.ResultStore) {
	task := m.pick(rt)
	f := core.TaskFailure{Generation: rapid.IntRange(1, task.Generation).Draw(rt, "generation"), Attempt: rapid.IntRange(1, 20).Draw(rt, "attempt")}
	require.NoError(rt, s.FailTask(t.Context(), task.ID, f))
	if !slices.Contains(task.Failures, f) {
		task.Failures = append(task.Failures, f)
		task.Failures = slices.Clone(task.Failures[max(0, len(task.Failures)-core.MaxTaskFailures):])
	}
}

func (m *ledger) retry(rt *rapid.T, t *testing.T, s school.ResultStore) {
	task := m.pick(rt)
	got, err := s.RetryTask(t.Context(), task.ID, int64(task.Generation))
	if task.State == core.TaskQueued || task.State == core.TaskDone || m.taken(task.Unique) {
		require.Equal(rt, core.CodeConflict, core.CodeOf(err))
		return
	}
	require.NoError(rt, err)
	task.Created, task.Generation = int64(task.Generation), task.Generation+1
	task.State, task.Note, task.Ended = core.TaskQueued, "", 0
	require.Equal(rt, *task, got)
}

func (m *ledger) send(rt *rapid.T, t *testing.T, s school.ResultStore) {
	if len(m.outbox) == 0 {
		rt.Skip("nothing to send")
	}
	i := rapid.IntRange(0, len(m.outbox)-1).Draw(rt, "notice")
	require.NoError(rt, s.Sent(t.Context(), m.outbox[i:i+1]))
	m.outbox = slices.Delete(m.outbox, i, i+1)
}

// check compares all of it with the store.
func (m *ledger) check(rt *rapid.T, t *testing.T, s school.ResultStore) {
	var want core.TaskTally
	var open []core.Task
	for _, task := range m.tasks {
		got, err := s.GetTask(t.Context(), task.ID)
		require.NoError(rt, err)
		require.Equal(rt, task.State.Terminal(), got.Ended > 0)
		task.Ended = got.Ended
		require.Equal(rt, *task, got)
		if task.State == core.TaskQueued {
			open = slices.Insert(open, 0, got)
		}
		if task.Parent != "" {
			want.Total++
			*map[core.TaskState]*int{core.TaskDone: &want.Done, core.TaskDead: &want.Dead, core.TaskCancelled: &want.Cancelled, core.TaskQueued: new(int)}[task.State]++
		}
	}
	tally, err := s.CountChildren(t.Context(), m.mark)
	require.NoError(rt, err)
	require.Equal(rt, want, tally)
	waiting, err := s.UnfinishedTasks(t.Context(), m.mark, max(1, len(m.tasks)))
	require.NoError(rt, err)
	require.Equal(rt, open, waiting)
	notices, err := s.Outbox(t.Context(), bounds.MaxPage)
	require.NoError(rt, err)
	mine := slices.DeleteFunc(notices, func(n core.Notice) bool { return !strings.HasPrefix(n.Key, m.mark) })
	require.ElementsMatch(rt, m.outbox, mine)
}
