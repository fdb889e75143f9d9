package taskrunner_test

import (
	"context"
	"testing"

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
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		r := newRedisRig(t, b)
		id, _ := r.submit("ok", "")
		_, err := r.store.EndTask(context.Background(), core.TaskEnd{ID: id, Generation: 1, State: core.TaskDone, Note: "before"})
		require.NoError(t, err)
		fresh, _ := r.submit("ok", "")
		parts := r.parts()
		parts.Tasks = young{parts.Tasks}
		p := r.startWith(parts)
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
	})
}
