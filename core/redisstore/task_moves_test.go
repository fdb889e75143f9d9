package redisstore_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// look is the namespace as it is, as in model.
func (m *taskModel) look() *redisstore.Look {
	if m.seen == nil {
		l, err := m.Store.Look(context.Background())
		require.NoError(m.t, err)
		m.seen = l
	}
	return m.seen
}

// check requires that what a call of a script changed are moves that the table lets it make.
func (m *taskModel) check(c *call) {
	require.Empty(m.t, c.after.Found, c.name)
	for _, move := range c.tasksMoved(func(key string) core.TaskState { return m.tasks[key].end }) {
		require.NotEmpty(m.t, move.to, "task %s was %s and is gone after %s without an end", move.key, move.from, c.name)
		require.True(m.t, c.leads(core.EntityTask, move.from, move.to), "%s made task %s go from %q to %s, which the table does not have",
			c.name, move.key, move.from, move.to)
	}
}

type taskMove struct{ key, from, to string }

// tasksMoved lists the tasks that are not where they were; those that are gone went to their ends.
func (c *call) tasksMoved(end func(key string) core.TaskState) (out []taskMove) {
	ids := maps.Clone(c.before.States)
	maps.Copy(ids, c.after.States)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		key, is := strings.CutPrefix(id, "task ")
		from, to := c.before.States[id], c.after.States[id]
		if !is || from == to {
			continue
		}
		if to == "" {
			to = string(end(key))
		}
		out = append(out, taskMove{key, from, to})
	}
	return out
}

// record is the result store's: a terminal end is recorded there before the call to Redis.
func (m *taskModel) record(task *modelTask, outcome core.Outcome) {
	switch {
	case outcome == core.OutcomeDead:
		task.end = core.TaskDead
	case outcome == core.OutcomeDone && task.by != "" && m.n("was stopped", 2) == 0:
		task.end = core.TaskCancelled
	case outcome == core.OutcomeDone:
		task.end = core.TaskDone
	}
}

// settled draws how a task ends in its slot that its owner does not end itself.
func (m *taskModel) settled(key string) core.Outcome {
	outcomes := []core.Outcome{core.OutcomeDone, core.OutcomeDead, core.OutcomeRelease, core.OutcomeRetry}
	outcome := outcomes[m.n("outcome", len(outcomes))]
	m.record(m.tasks[key], outcome)
	return outcome
}

// lost is such an end. A retry whose owner did not end it pauses from the second on.
func (m *taskModel) lost(key string, outcome core.Outcome) core.TaskFinish {
	end := core.TaskFinish{Key: key, Outcome: outcome}
	if tries := m.tasks[key].tries; tries > 0 {
		end.Delay = 250 * time.Millisecond << min(2*(tries-1), 10)
	}
	return end
}

// revoke takes a task from a taskrunner that lives.
func (m *taskModel) revoke(*rapid.T) {
	key, task := m.pick("revoked", func(t *modelTask) bool { return t.owner != nil })
	if task == nil {
		return
	}
	held, err := m.Store.Held(context.Background(), task.owner.owner, 0)
	require.NoError(m.t, err)
	at := slices.IndexFunc(held, func(h core.Held) bool { return h.Key == key })
	require.GreaterOrEqual(m.t, at, 0)
	outcome := m.settled(key)
	it := core.Settlement{Key: key, Token: task.token, Outcome: outcome}
	require.NoError(m.t, m.Store.Revoke(context.Background(), task.owner.owner, held[at], it, "the model says so"))
	m.finish([]core.TaskFinish{m.lost(key, outcome)})
}

// moved is what a test of all moves works on.
type moved struct {
	*tasker
	t    *testing.T
	at   time.Time
	seq  int64
	n    int                       // tasks made
	ends map[string]core.TaskState // as recorded
	seen map[string]bool           // "script from→to"
}

// The scripts make each move of tasks that the table has, and no other.
func TestEveryMoveOfTasks(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	m := &moved{tasker: newTasker(t, x), t: t, at: start, ends: make(map[string]core.TaskState), seen: make(map[string]bool)}
	look := func() *redisstore.Look {
		l, err := x.Store.Look(t.Context())
		require.NoError(t, err)
		return l
	}
	x.Store.Client().AddHook(watcher{look, func() {}, func(c *call) {
		for _, move := range c.tasksMoved(func(key string) core.TaskState { return m.ends[key] }) {
			m.seen[c.name+" "+move.from+"→"+move.to] = true
		}
	}})
	m.waits()
	m.apart()
	m.mends()
	for _, by := range []string{"task_exchange", "settle", "revoke"} {
		for _, cancelled := range []bool{false, true} {
			for outcome, end := range map[core.Outcome]core.TaskState{
				core.OutcomeRelease: "", core.OutcomeRetry: "", core.OutcomeDone: core.TaskDone, core.OutcomeDead: core.TaskDead,
			} {
				m.ended(by, cancelled, outcome, end)
			}
		}
		m.ended(by, true, core.OutcomeDone, core.TaskCancelled)
	}
	want := make(map[string]bool)
	for _, tr := range transitions {
		for _, by := range tr.By {
			if tr.Entity == core.EntityTask {
				want[by+" "+tr.From+"→"+tr.To] = true
			}
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(m.seen)))
}

// add makes a task that waits so long, and returns its key.
func (m *moved) add(delay time.Duration) string {
	m.t.Helper()
	m.n++
	task := core.Task{ID: fmt.Sprint("t", m.n), Generation: 1, Kind: "none"}
	if delay > 0 {
		task.NotBefore = m.at.Add(delay).UnixMilli()
	}
	require.NoError(m.t, m.Store.EnqueueTask(m.t.Context(), task))
	return task.Key()
}

func (m *moved) exchange(want int, finish ...core.TaskFinish) []core.TaskClaim {
	m.t.Helper()
	m.seq++
	return m.run(m.t, m.seq, want, finish...).Claims
}

func (m *moved) withdraw(keys ...string) {
	m.t.Helper()
	for _, key := range keys {
		m.ends[key] = core.TaskCancelled
		is, err := m.Store.WithdrawTask(m.t.Context(), key)
		require.NoError(m.t, err)
		require.True(m.t, is, key)
	}
}

// waits moves tasks that nobody takes.
func (m *moved) waits() {
	ctx := m.t.Context()
	late := m.add(time.Hour)
	require.NoError(m.t, m.Store.WakeTask(ctx, late))
	m.withdraw(late, m.add(time.Hour))
	for _, promote := range []func() error{
		func() error { m.exchange(0); return nil },
		func() error { return coretest.ErrOf(m.Store.Beat(ctx, m.owner, m.epoch, time.Hour)) },
		func() error { return coretest.ErrOf(m.Store.Promote(ctx)) },
	} {
		key := m.add(time.Second)
		m.at = m.at.Add(time.Second)
		m.b.Mini.SetTime(m.at)
		require.NoError(m.t, promote())
		m.withdraw(key)
	}
	key := m.add(0)
	require.NoError(m.t, coretest.ErrOf(m.Store.CancelTask(ctx, key, "ann")))
	c := m.exchange(1)[0]
	m.ends[key] = core.TaskCancelled
	m.exchange(0, ended(c, core.OutcomeDone, 0))
}

// apart takes two tasks at once that met a death: one has to wait.
func (m *moved) apart() {
	one, two := m.add(0), m.add(0)
	deaths := m.key("deaths")
	require.NoError(m.t, m.b.Admin.HSet(m.t.Context(), deaths, one, "taskrunner@h1#7", two, "taskrunner@h1#7").Err())
	c := m.exchange(2)[0]
	m.ends[one] = core.TaskDone
	m.exchange(0, ended(c, core.OutcomeDone, 0))
	m.withdraw(two)
}

// mends puts tasks right that are in no place, or in two.
func (m *moved) mends() {
	ctx := m.t.Context()
	lost, two := m.add(0), m.add(time.Hour)
	require.NoError(m.t, m.b.Admin.LRem(ctx, m.key("tasks_queue", "normal", "none", "-"), 0, lost).Err())
	require.NoError(m.t, m.b.Admin.SAdd(ctx, m.key("tasks_hand", "none"), two).Err())
	for range 2 { // what was mended may show what else is wrong
		found, err := m.Store.CheckConsistency(ctx)
		require.NoError(m.t, err)
		for _, v := range found {
			require.NoError(m.t, coretest.ErrOf(m.Store.Mend(ctx, v)))
		}
	}
	coretest.RequireSound(m.t, m.Store)
	m.withdraw(lost, two)
}

// ended takes a task, which may be cancelled then, and ends its claim.
func (m *moved) ended(by string, cancelled bool, outcome core.Outcome, end core.TaskState) {
	m.t.Helper()
	ctx := m.t.Context()
	key := m.add(0)
	c := m.exchange(1)[0]
	require.Equal(m.t, key, c.Task.Key())
	if cancelled {
		require.NoError(m.t, coretest.ErrOf(m.Store.CancelTask(ctx, key, "ann")))
	}
	if m.ends[key] = end; end == "" {
		m.ends[key] = core.TaskCancelled
	}
	it := core.Settlement{Key: key, Token: c.Token, Outcome: outcome}
	switch by {
	case "task_exchange":
		m.exchange(0, ended(c, outcome, time.Hour))
	case "settle":
		m.epoch, m.seq = m.Register(m.t, m.owner).Epoch, 0
		require.NoError(m.t, coretest.ErrOf(m.Store.Settle(ctx, m.owner, m.epoch, []core.Settlement{it}, 0)))
	case "revoke":
		held := m.heldOf(m.t, m.owner)
		require.Len(m.t, held, 1)
		require.NoError(m.t, m.Store.Revoke(ctx, m.owner, held[0], it, "it hangs"))
	}
	if end == "" {
		m.withdraw(key)
	}
}
