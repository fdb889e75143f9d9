package taskrunner_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// young are tasks of a Redis whose life is young.
type young struct{ core.Tasks }

func (y young) ExchangeTasks(ctx context.Context, x core.TaskExchange) (core.TaskExchanged, error) {
	got, err := y.Tasks.ExchangeTasks(ctx, x)
	for i := range got.Claims {
		got.Claims[i].Young = true
	}
	return got, err
}

// A Redis that was set back gives out tasks that have ended since: nobody does them again.
func TestOnRedisWhatHasEndedIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	r := newRedisRig(t, coretest.Real(t))
	id, _ := r.submit("ok", "")
	_, err := r.store.EndTask(context.Background(), core.TaskEnd{ID: id, Generation: 1, State: core.TaskDone, Note: "before"})
	require.NoError(t, err)
	fresh, _ := r.submit("ok", "")
	deps := r.deps()
	deps.Tasks = young{deps.Tasks}
	p := r.startWith(deps)
	r.untilEnded()
	until(t, func() bool {
		at, err := r.redis.LocateTasks(context.Background(), []string{core.Key(id, 1), core.Key(fresh, 1)})
		require.NoError(t, err)
		return at[0].State == "" && at[1].State == ""
	})
	p.stop()
	require.Equal(t, 1, r.runs("ok"), "only what has no end is done")
	require.Equal(t, "before", r.states()[id].Note)
	coretest.RequireSound(t, r.redis)
}

// Redis is set back to when a task was running that has ended since: its runner does not know it
// any more, and gives it back, or its kind would be held up until the slot counts as hung.
func TestOnRedisASlotOfBeforeIsGivenBack(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	ctx := context.Background()
	r := newRedisRig(t, b)
	runs, goOn := make(chan bool), make(chan bool)
	r.handle("slow", func(context.Context) error {
		runs <- true
		<-goOn
		return nil
	})
	deps := r.deps()
	deps.Tasks = young{deps.Tasks}
	p := r.startWith(deps)
	id, _ := r.submit("slow", "")
	key, space := core.Key(id, 1), b.Namespace
	<-runs
	slot := b.Admin.HGet(ctx, space+":slots:"+owner, key).Val()
	held := b.Admin.HGet(ctx, space+":held", key).Val()
	task := b.Admin.HGet(ctx, space+":tasks", key).Val()
	require.NotEmpty(t, slot)
	goOn <- true
	r.untilEnded()
	gone := func() bool {
		at, err := r.redis.LocateTasks(ctx, []string{key})
		require.NoError(t, err)
		return at[0].State == ""
	}
	until(t, gone)
	_, err := b.Admin.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.SRem(ctx, space+":tombstones", key)
		p.HSet(ctx, space+":tasks", key, task)
		p.HSet(ctx, space+":slots:"+owner, key, slot)
		p.HSet(ctx, space+":held", key, held)
		p.SAdd(ctx, space+":tasks:hand:slow", key)
		return nil
	})
	require.NoError(t, err)
	until(t, gone)
	p.stop()
	require.Equal(t, 1, r.runs("slow"))
	coretest.RequireSound(t, r.redis)
}
