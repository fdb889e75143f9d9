package taskrunner_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite/sqlitetest"
	"drover/taskrunner"
)

// redisRig is a taskrunner on real stores.
type redisRig struct {
	*rig
	redis *redisstore.Store
	store school.ResultStore
	blobs core.Blobs
	in    *intake.Intake
}

func newRedisRig(t *testing.T, b *coretest.Backend) *redisRig {
	ctx := context.Background()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "file://"+t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	r := &redisRig{rig: newRig(t), redis: b.Open(t), store: store, blobs: blobs}
	r.in = &intake.Intake{Store: store, Queue: r.redis, Pools: r.redis, Tasks: r.redis}
	r.cfg.Poll, r.cfg.RetryFirst = 20*time.Millisecond, time.Millisecond
	return r
}

func (r *redisRig) deps() taskrunner.Deps {
	return taskrunner.Deps{Owners: r.redis, Tasks: r.redis, Store: r.store, Blobs: r.blobs}
}

func (r *redisRig) submit(kind, unique string) (id string, first bool) {
	r.t.Helper()
	task, first, err := r.in.SubmitTask(context.Background(), core.Task{Kind: kind, Unique: unique})
	require.NoError(r.t, err)
	return task.ID, first
}

// states maps the tasks in the store to how they ended.
func (r *redisRig) states() map[string]core.Task {
	all, err := r.store.ListTasks(context.Background(), core.TaskFilter{Limit: 1000})
	require.NoError(r.t, err)
	tasks := map[string]core.Task{}
	for _, t := range all {
		tasks[t.ID] = t
	}
	return tasks
}

// until waits for something that a real server and real time bring about.
func until(t *testing.T, reached func() bool) {
	t.Helper()
	for late := time.After(5 * time.Minute); !reached(); {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-late:
			t.Fatal("it never came to that")
		}
	}
}

func (r *redisRig) untilEnded() {
	r.t.Helper()
	until(r.t, func() bool {
		for _, task := range r.states() {
			if task.State == core.TaskQueued {
				return false
			}
		}
		return true
	})
}

func (p *process) stop() {
	p.rig.t.Helper()
	p.Drain()
	require.NoError(p.rig.t, <-p.ended)
	p.kill()
}

func TestOnRedisTasksEnd(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		r := newRedisRig(t, b)
		coretest.Twice(r.redis)
		r.handle("bad", func(context.Context) error { return fmt.Errorf("always") })
		p := r.startWith(r.deps())
		var good []string
		for range 20 {
			id, _ := r.submit("ok", "")
			good = append(good, id)
		}
		bad, _ := r.submit("bad", "")
		strange, _ := r.submit("strange", "")
		purge, first := r.submit(core.KindPurge, core.KindPurge)
		require.True(t, first)
		r.untilEnded()
		states := r.states()
		for _, id := range append(good, purge) {
			require.Equal(t, core.TaskDone, states[id].State, states[id].Note)
		}
		require.Equal(t, core.TaskDead, states[bad].State)
		require.Equal(t, core.TaskDead, states[strange].State)
		require.Equal(t, 3, r.runs("bad"))
		require.Equal(t, 20, r.runs("ok"))
		require.Contains(t, states[purge].Note, "deleted 0 rows")
		p.stop()
		owners, err := r.redis.ListOwners(context.Background())
		require.NoError(t, err)
		require.Empty(t, owners)
		coretest.RequireSound(t, r.redis)
	})
}

// mortal ends a process at its nth exchange: nothing that it does afterwards has any effect.
type mortal struct {
	core.Owners
	core.Tasks
	school.ResultStore
	at    int64
	after bool
	n     atomic.Int64
	dead  atomic.Bool
}

// errKilled makes what is left of the process let go at once.
var errKilled = core.Errorf(core.CodeFenced, "", "killed")

func (m *mortal) Register(ctx context.Context, reg core.Registration) (core.Registered, error) {
	if m.dead.Load() {
		return core.Registered{}, errDown
	}
	return m.Owners.Register(ctx, reg)
}

func (m *mortal) ExchangeTasks(ctx context.Context, x core.TaskExchange) (out core.TaskExchanged, err error) {
	if m.dead.Load() {
		return out, errKilled
	}
	last := m.n.Add(1) == m.at
	if last && !m.after {
		m.dead.Store(true)
		return out, errDown
	}
	out, err = m.Tasks.ExchangeTasks(ctx, x)
	if last {
		m.dead.Store(true)
		return core.TaskExchanged{}, errDown
	}
	return out, err
}

func (m *mortal) EndTask(ctx context.Context, e core.TaskEnd) (bool, error) {
	if m.dead.Load() {
		return false, errDown
	}
	return m.ResultStore.EndTask(ctx, e)
}

func (m *mortal) Deregister(ctx context.Context, owner string, epoch int64) error {
	if m.dead.Load() {
		return errDown
	}
	return m.Owners.Deregister(ctx, owner, epoch)
}

// The process is killed at every exchange, before and after it took effect; the
// next one finds what it left. Every task ends done, once in the store, and none
// is left behind.
func TestOnRedisKilledAtEveryExchange(t *testing.T) {
	t.Parallel()
	r := newRedisRig(t, coretest.Real(t))
	r.cfg.MaxAttempts = 50
	for life := range int64(14) {
		m := &mortal{Owners: r.redis, Tasks: r.redis, ResultStore: r.store, at: 1 + life/2, after: life%2 == 0}
		for range 3 {
			r.submit("ok", "")
		}
		p := r.startWith(taskrunner.Deps{Owners: m, Tasks: m, Store: m, Blobs: r.blobs})
		until(t, m.dead.Load)
		p.kill()
		require.NoError(t, <-p.ended)
	}
	p := r.startWith(r.deps())
	r.untilEnded()
	p.stop()
	for _, task := range r.states() {
		require.Equal(t, core.TaskDone, task.State, task.Note)
	}
	require.Len(t, r.states(), 42)
	coretest.RequireSound(t, r.redis)
}

// Two taskrunners of one host share the work; each task is done once.
func TestOnRedisTwoRunnersShare(t *testing.T) {
	t.Parallel()
	r := newRedisRig(t, coretest.Real(t))
	first := r.startWith(r.deps())
	r.cfg.Registration.Owner = core.OwnerName(core.RoleTaskrunner, "h1", 1)
	second := r.startWith(r.deps())
	for range 50 {
		r.submit("ok", "")
	}
	r.untilEnded()
	require.Equal(t, 50, r.runs("ok"))
	first.stop()
	second.stop()
	coretest.RequireSound(t, r.redis)
}
