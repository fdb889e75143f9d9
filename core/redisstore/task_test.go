package redisstore_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// tasker is a taskrunner of the suite's cluster.
type tasker struct {
	*suite
	owner string
	epoch int64
}

func newTasker(t *testing.T, x *suite) *tasker {
	t.Helper()
	owner := core.OwnerName(core.RoleTaskrunner, "h1", 0)
	return &tasker{suite: x, owner: owner, epoch: x.Register(t, owner).Epoch}
}

func (k *tasker) call(seq int64, want int, finish ...core.TaskFinish) core.TaskExchange {
	return core.TaskExchange{Owner: k.owner, Epoch: k.epoch, Seq: seq, Want: want, TokenBase: seq, Finish: finish, Beat: time.Minute}
}

func (k *tasker) run(t *testing.T, seq int64, want int, finish ...core.TaskFinish) core.TaskExchanged {
	t.Helper()
	got, err := k.Store.ExchangeTasks(t.Context(), k.call(seq, want, finish...))
	require.NoError(t, err)
	return got
}

func (k *tasker) add(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		require.NoError(t, k.Store.EnqueueTask(t.Context(), core.Task{ID: id, Generation: 1, Kind: "none", Args: json.RawMessage(`{"n":1}`)}))
	}
}

func ended(c core.TaskClaim, o core.Outcome, delay time.Duration) core.TaskFinish {
	return core.TaskFinish{Key: c.Task.Key(), Token: c.Token, Outcome: o, Delay: delay}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		k := newTasker(t, x)
		k.hush(t)
		before := k.picture(t)
		k.add(t, "t1")
		k.changed(t, before, "+ tasks t1-1: normal none - SPEC", "+ tasks:queue:normal:none:-: t1-1", "+ tasks:lanes:normal:none: -",
			"+ tasks:kinds:normal: none", "+ tasks:bell: 1", "+ events: by:- moved:t1-1 op:task")
		k.add(t, "t1", "t2", "t3", "t4")
		have, err := k.Store.PresentTasks(t.Context(), []string{"t4-1", "t5-1", "t4-2"})
		require.NoError(t, err)
		require.Equal(t, []bool{true, false, false}, have)
		got := k.run(t, 1, 3)
		require.Len(t, got.Claims, 3)
		require.Equal(t, "t1", got.Claims[0].Task.ID)
		require.JSONEq(t, `{"n":1}`, string(got.Claims[0].Task.Args))
		require.Equal(t, fmt.Sprintf("%d.1", k.epoch), got.Claims[0].Token)
		require.Equal(t, got, k.run(t, 1, 3), "the same call, the same answer")
		require.True(t, k.rung(t, "tasks_bell"), "one is left for another taskrunner")
		wrong := ended(got.Claims[1], core.OutcomeDone, 0)
		wrong.Token = "1.1"
		second := k.run(t, 2, 0, ended(got.Claims[0], core.OutcomeDone, 0), wrong, ended(got.Claims[1], core.OutcomeRelease, 0),
			ended(got.Claims[2], core.OutcomeDead, 0))
		require.Equal(t, []bool{true, false, true, true}, second.Finished)
		queue, err := k.b.Admin.LRange(t.Context(), k.key("tasks_queue", "normal", "none", "-"), 0, -1).Result()
		require.NoError(t, err)
		require.Equal(t, []string{"t2-1", "t4-1"}, queue, "a release goes to the front")
		before = k.picture(t)
		for _, id := range []string{"t1", "t3"} {
			refused(t, k.Store.EnqueueTask(t.Context(), core.Task{ID: id, Generation: 1, Kind: "none"}), core.CodeEnded)
		}
		knows, err := k.Store.KnowsEnds(t.Context(), []string{"t1-1", "t2-1", "t3-1", "t9-1"})
		require.NoError(t, err)
		require.Equal(t, []bool{true, false, true, false}, knows)
		k.changed(t, before)
		_, err = k.Store.ExchangeTasks(t.Context(), k.call(1, 1))
		refused(t, err, core.CodeStale)
		stale := k.call(3, 1)
		stale.Epoch--
		_, err = k.Store.ExchangeTasks(t.Context(), stale)
		refused(t, err, core.CodeFenced)
	})
}

func TestTasksRetryAfterTheirDelay(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		t.Run(fmt.Sprint(twice), func(t *testing.T) {
			t.Parallel()
			k := newTasker(t, newSuite(t, coretest.Mini(t), twice))
			k.add(t, "t1")
			c := k.run(t, 1, 1).Claims[0]
			k.run(t, 2, 0, ended(c, core.OutcomeRetry, 1500*time.Millisecond))
			coretest.RequireSound(t, k.Store)
			have, err := k.Store.PresentTasks(t.Context(), []string{"t1-1"})
			require.NoError(t, err)
			require.Equal(t, []bool{true}, have)
			k.b.Mini.SetTime(start.Add(1499 * time.Millisecond))
			require.Empty(t, k.run(t, 3, 1).Claims)
			k.b.Mini.SetTime(start.Add(1500 * time.Millisecond))
			got := k.run(t, 4, 1)
			require.Len(t, got.Claims, 1)
			require.Equal(t, 1, got.Claims[0].Attempts)
			k.run(t, 5, 0, ended(got.Claims[0], core.OutcomeDone, 0))
			require.NotContains(t, fmt.Sprint(k.picture(t)), "attempts")
			coretest.RequireSound(t, k.Store)
		})
	}
}

func TestTasksRefuse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		before := x.picture(t)
		good := core.Task{ID: "t", Generation: 1, Kind: "none"}
		for _, spoil := range []func(t *core.Task){
			func(t *core.Task) { t.ID = "No Id" },
			func(t *core.Task) { t.Generation = 0 },
			func(t *core.Task) { t.Kind = "a:b" },
			func(t *core.Task) { t.Kind = "" },
			func(t *core.Task) { t.Priority = "urgent" },
			func(t *core.Task) { t.Lane = "a b" },
			func(t *core.Task) { t.Requester = "a:b" },
			func(t *core.Task) { t.Args = json.RawMessage("{") },
		} {
			bad := good
			spoil(&bad)
			refused(t, x.Store.EnqueueTask(t.Context(), bad), core.CodeInvalid)
		}
		good.Args = json.RawMessage(`"` + strings.Repeat("x", core.MaxSpecBytes) + `"`)
		refused(t, x.Store.EnqueueTask(t.Context(), good), core.CodeLimit)
		for _, want := range []int{-1, 501} {
			_, err := x.Store.ExchangeTasks(t.Context(), core.TaskExchange{Owner: "taskrunner@h1#0", Want: want})
			refused(t, err, core.CodeLimit)
		}
		_, err := x.Store.ExchangeTasks(t.Context(), core.TaskExchange{Owner: "nobody"})
		refused(t, err, core.CodeInvalid)
		x.changed(t, before)
	})
}

// Rule 15 holds for tasks too.
func TestADrainedHostTakesNoTasks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		k := newTasker(t, x)
		k.add(t, "t1")
		require.NoError(t, k.Store.Drain(t.Context(), "h1", true, 0))
		require.Empty(t, k.run(t, 1, 1).Claims)
		require.NoError(t, k.Store.Drain(t.Context(), "h1", false, 0))
		require.Len(t, k.run(t, 2, 1).Claims, 1)
	})
}

func TestWhatADeadTaskrunnerLeft(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		k := newTasker(t, x)
		k.add(t, "t1", "t2", "t3")
		old := k.run(t, 1, 3).Claims
		x.due(t, -time.Minute, k.owner)
		epoch, err := k.Store.Fence(ctx, k.owner, time.Second)
		require.NoError(t, err)
		held, err := k.Store.Held(ctx, k.owner, 0)
		require.NoError(t, err)
		require.Len(t, held, 3)
		require.Equal(t, "task", held[0].Phase)
		items := []core.Settlement{
			{Key: "t1-1", Token: old[0].Token, Outcome: core.OutcomeRetry},
			{Key: "t2-1", Token: old[1].Token, Outcome: core.OutcomeDone},
			{Key: "t3-1", Token: old[2].Token, Outcome: core.OutcomeDead},
		}
		_, err = k.Store.Settle(ctx, k.owner, epoch, items, 0)
		require.NoError(t, err)
		_, err = k.Store.ExchangeTasks(ctx, k.call(2, 0, ended(old[0], core.OutcomeDone, 0)))
		refused(t, err, core.CodeFenced)
		k.epoch = k.Register(t, k.owner).Epoch
		got := k.run(t, 1, 5).Claims
		require.Len(t, got, 1)
		require.Equal(t, "t1", got[0].Task.ID)
		require.Equal(t, 1, got[0].Attempts)
	})
}
