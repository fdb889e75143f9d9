package redisstore_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// put queues n tasks that are named by the prefix and a number from 0.
func (k *tasker) put(t *testing.T, prefix string, n int, like core.Task) {
	t.Helper()
	for i := range n {
		like.ID, like.Generation = prefix+strconv.Itoa(i), 1
		require.NoError(t, k.Store.EnqueueTask(t.Context(), like))
	}
}

func idsOf(claims []core.TaskClaim) []string {
	out := make([]string, len(claims))
	for i, c := range claims {
		out[i] = c.Task.ID
	}
	return out
}

func (k *tasker) rates(t *testing.T, rates map[string]core.TaskRate) {
	t.Helper()
	require.NoError(t, k.Store.SetTaskRates(t.Context(), rates))
}

// Kinds take turns, and so do the lanes of a kind, however much of one waits and however
// many are claimed at once.
func TestKindsAndLanesOfTasksTakeTurns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		k := newTasker(t, x)
		k.put(t, "a", 5, core.Task{Kind: "archive", Requester: "ann"})
		k.put(t, "b", 2, core.Task{Kind: "archive", Requester: "bob"})
		k.put(t, "c", 1, core.Task{Kind: "archive", Requester: "ann", Lane: "cy"})
		k.put(t, "w", 3, core.Task{Kind: "webhook", Lane: "hook"})
		require.Equal(t, []string{"a0", "w0", "b0"}, idsOf(k.run(t, 1, 3).Claims))
		require.Equal(t, []string{"w1"}, idsOf(k.run(t, 2, 1).Claims))
		require.Equal(t, []string{"c0", "w2", "a1", "b1", "a2", "a3"}, idsOf(k.run(t, 3, 6).Claims))
		require.Equal(t, []string{"a4"}, idsOf(k.run(t, 4, 6).Claims))
		require.Empty(t, k.run(t, 5, 6).Claims)
	})
}

func TestPrioritiesShareTheClaimsOfTasks(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{1, 3, 10, 50} {
		x := newSuite(t, coretest.Mini(t), false)
		k := newTasker(t, x)
		for _, priority := range []core.Priority{core.PriorityLow, core.PriorityNormal, core.PriorityHigh} {
			k.put(t, string(priority[0]), 50, core.Task{Kind: "none", Priority: priority})
		}
		shares := map[string]int{}
		for seq := int64(1); seq <= int64(50/batch); seq++ {
			for _, id := range idsOf(k.run(t, seq, batch).Claims) {
				shares[id[:1]]++
			}
		}
		n := float64(50 / batch * batch)
		require.InDelta(t, 0.6*n, shares["h"], 2, "in batches of %d", batch)
		require.InDelta(t, 0.3*n, shares["n"], 2)
		require.InDelta(t, 0.1*n, shares["l"], 2)
	}
}

// A rate lets its burst begin at once and then one per period, by Redis' clock; other
// kinds go on meanwhile, and the answer says when to look again.
func TestTheRateOfAKind(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		t.Run(fmt.Sprint(twice), func(t *testing.T) {
			t.Parallel()
			k := newTasker(t, newSuite(t, coretest.Mini(t), twice))
			at := start
			pass := func(d time.Duration) {
				at = at.Add(d)
				k.b.Mini.SetTime(at)
			}
			rate := map[string]core.TaskRate{"rerun": {Every: 30 * time.Second, Burst: 2}, "webhook": {Most: 1}}
			k.rates(t, rate)
			k.put(t, "r", 9, core.Task{Kind: "rerun", Priority: core.PriorityHigh})
			k.put(t, "p", 1, core.Task{Kind: "purge", Priority: core.PriorityLow})
			got := k.run(t, 1, 9)
			require.ElementsMatch(t, []string{"r0", "r1", "p0"}, idsOf(got.Claims))
			require.Equal(t, 30*time.Second, got.Next)
			pass(29*time.Second + 500*time.Millisecond)
			got = k.run(t, 2, 9)
			require.Empty(t, got.Claims)
			require.Equal(t, 500*time.Millisecond, got.Next)
			k.rates(t, rate) // the same again changes no rhythm
			pass(500 * time.Millisecond)
			require.Equal(t, []string{"r2"}, idsOf(k.run(t, 3, 9).Claims))
			pass(45 * time.Second) // half a period is saved
			require.Equal(t, []string{"r3"}, idsOf(k.run(t, 4, 9).Claims))
			require.Equal(t, 15*time.Second, k.run(t, 5, 9).Next)
			pass(time.Hour) // a rest saves no more than the burst
			require.Equal(t, []string{"r4", "r5"}, idsOf(k.run(t, 6, 9).Claims))
			pass(-24 * time.Hour) // the clock was set back: at most one period is lost
			require.Equal(t, 30*time.Second, k.run(t, 7, 9).Next)
			pass(30 * time.Second)
			require.Equal(t, []string{"r6"}, idsOf(k.run(t, 8, 9).Claims))
			k.rates(t, nil)
			require.Equal(t, []string{"r7", "r8"}, idsOf(k.run(t, 9, 9).Claims))
			got = k.run(t, 10, 9)
			require.Zero(t, got.Next, "nothing waits")
			coretest.RequireSound(t, k.Store)
		})
	}
}

// The number of running tasks of a kind is counted over the whole cluster, whichever owner ends them.
func TestTheMostOfAKindInHand(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		k := newTasker(t, x)
		other := &tasker{suite: x, owner: core.OwnerName(core.RoleTaskrunner, "h1", 1)}
		other.epoch = x.Register(t, other.owner).Epoch
		k.rates(t, map[string]core.TaskRate{"webhook": {Most: 2}})
		k.put(t, "w", 7, core.Task{Kind: "webhook"})
		k.put(t, "p", 2, core.Task{Kind: "purge"})
		first := k.run(t, 1, 1)
		require.Equal(t, []string{"w0"}, idsOf(first.Claims))
		got := other.run(t, 1, 9)
		require.Equal(t, []string{"p0", "w1", "p1"}, idsOf(got.Claims))
		require.Zero(t, got.Next, "no time is known: a finish rings")
		k.rung(t, "tasks_bell")
		// Fewer than wanted: nothing is left for others, and none is woken in vain.
		require.Equal(t, []string{"w2"}, idsOf(k.run(t, 2, 5, ended(first.Claims[0], core.OutcomeDone, 0)).Claims))
		require.False(t, k.rung(t, "tasks_bell"))
		k.run(t, 3, 0, core.TaskFinish{Key: "w2-1", Token: fmt.Sprintf("%d.2", k.epoch), Outcome: core.OutcomeLater, Delay: time.Hour})
		require.True(t, k.rung(t, "tasks_bell"), "who wants none wakes another")
		require.Equal(t, []string{"w3"}, idsOf(k.run(t, 4, 1).Claims))

		x.due(t, -time.Minute, other.owner)
		epoch, err := x.Store.Fence(ctx, other.owner, time.Second)
		require.NoError(t, err)
		require.Empty(t, k.run(t, 5, 1).Claims, "who is fenced still holds them")
		k.rung(t, "tasks_bell")
		_, err = x.Store.Settle(ctx, other.owner, epoch, []core.Settlement{
			{Key: "w1-1", Token: got.Claims[1].Token, Outcome: core.OutcomeDone},
		}, 0)
		require.NoError(t, err)
		require.True(t, k.rung(t, "tasks_bell"))
		require.Equal(t, []string{"w4"}, idsOf(k.run(t, 6, 1).Claims))
	})
}

func TestRatesAreAllOrNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		k := newTasker(t, x)
		k.rates(t, map[string]core.TaskRate{"rerun": {Every: time.Hour}})
		before := x.picture(t)
		for _, bad := range []map[string]core.TaskRate{
			{"a:b": {Most: 1}},
			{"rerun": {}, "webhook": {Every: -1}},
			{"webhook": {Every: time.Nanosecond}},
			{"webhook": {Every: 1000 * time.Hour}},
			{"webhook": {Burst: -1}},
			{"webhook": {Burst: 1001}},
			{"webhook": {Most: -1}},
			{"webhook": {Most: 1001}},
		} {
			refused(t, x.Store.SetTaskRates(t.Context(), bad), core.CodeInvalid)
		}
		many := make(map[string]core.TaskRate)
		for i := range 101 {
			many[fmt.Sprint("k", i)] = core.TaskRate{Most: 1}
		}
		refused(t, x.Store.SetTaskRates(t.Context(), many), core.CodeLimit)
		x.changed(t, before)
	})
}

// However much waits behind kinds that are held back, a claim looks at each of them once; and
// with more of them than one claim looks at, the next ones look at the others.
func TestHeldBackTasksCostNothing(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Alone(t), false)
	k := newTasker(t, x)
	calls := func() (n int) {
		text, err := x.b.Admin.Info(t.Context(), "commandstats").Result()
		require.NoError(t, err)
		for line := range strings.Lines(text) {
			_, rest, _ := strings.Cut(line, ":calls=")
			word, _, _ := strings.Cut(rest, ",")
			m, _ := strconv.Atoi(word)
			n += m
		}
		return n
	}
	seq := int64(0)
	cost := func() int {
		seq++
		before := calls()
		got := idsOf(k.run(t, seq, 1).Claims)
		n := calls() - before
		require.Len(t, got, 1)
		require.Equal(t, "p", got[0][:1])
		return n
	}
	k.put(t, "p", 100, core.Task{Kind: "purge", Priority: core.PriorityLow})
	plain := cost()
	k.rates(t, map[string]core.TaskRate{"rerun": {Every: time.Hour}, "webhook": {Most: 1}})
	for i := range 1000 {
		for _, kind := range []string{"rerun", "webhook"} {
			k.put(t, fmt.Sprintf("%s-%d-", kind, i), 1, core.Task{Kind: kind, Priority: core.PriorityHigh, Lane: fmt.Sprint("lane", i)})
		}
	}
	seq++
	require.Len(t, k.run(t, seq, 4).Claims, 4)
	require.Less(t, cost(), plain+20, "2,000 lanes wait")

	rates := map[string]core.TaskRate{}
	for i := range 100 {
		kind := fmt.Sprint("kind", i)
		rates[kind] = core.TaskRate{Every: time.Hour}
		k.put(t, kind+"-", 2, core.Task{Kind: kind, Priority: core.PriorityNormal})
	}
	rates["rerun"], rates["webhook"] = core.TaskRate{Every: time.Hour}, core.TaskRate{Most: 1}
	delete(rates, "kind0")
	delete(rates, "kind1")
	k.rates(t, rates)
	for range 2 {
		seq++
		k.run(t, seq, 300) // of each kind one begins
	}
	k.put(t, "fresh", 1, core.Task{Kind: "fresh", Priority: core.PriorityNormal})
	k.put(t, "q", 50, core.Task{Kind: "purge", Priority: core.PriorityLow})
	for found := false; !found; {
		seq++
		require.Less(t, seq, int64(20), "it stands behind more kinds than one claim looks at")
		found = slices.Contains(idsOf(k.run(t, seq, 1).Claims), "fresh0")
	}
	coretest.RequireSound(t, x.Store)
}

func TestTaskQueues(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		k := newTasker(t, x)
		rate := core.TaskRate{Every: time.Hour, Burst: 1, Most: 7}
		k.rates(t, map[string]core.TaskRate{"rerun": rate})
		k.put(t, "r", 3, core.Task{Kind: "rerun", Priority: core.PriorityLow})
		require.Len(t, k.run(t, 1, 1).Claims, 1)
		k.put(t, "p", 1, core.Task{Kind: "purge", NotBefore: x.now(t).Add(time.Hour).UnixMilli()})
		k.put(t, "q", 1, core.Task{Kind: "purge", Lane: "ann"})
		k.put(t, "s", 2, core.Task{Kind: "purge", Lane: "bob"})
		got, err := k.Store.TaskQueues(t.Context())
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.InDelta(t, x.now(t).Add(time.Hour).UnixMilli(), got[1].Next, 5000)
		got[1].Next = 0
		require.Equal(t, []core.TaskQueueInfo{
			{Kind: "purge", Priority: core.PriorityNormal, Waiting: 3, Lanes: 2},
			{Kind: "rerun", Priority: core.PriorityLow, Waiting: 2, Lanes: 1, Rate: rate},
		}, got)
	})
}
