package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

const (
	suspectAfter = 3 * time.Second
	downAfter    = 5 * time.Second
)

func (x *suite) judge(t *testing.T) []string {
	t.Helper()
	down, err := x.Store.Judge(t.Context(), suspectAfter, downAfter)
	require.NoError(t, err)
	return down
}

func (x *suite) host(t *testing.T, name string) core.HostInfo {
	t.Helper()
	hosts, err := x.Store.ListHosts(t.Context())
	require.NoError(t, err)
	for _, h := range hosts {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("there is no host %s", name)
	return core.HostInfo{}
}

// fell makes a host late beyond the limit and takes it down.
func (x *suite) fell(t *testing.T, owners ...string) {
	t.Helper()
	_, host, err := core.ParseOwner(owners[0])
	require.NoError(t, err)
	x.due(t, -time.Minute, owners...)
	require.Contains(t, x.judge(t), host)
	require.NoError(t, x.Store.Down(t.Context(), host, downAfter))
}

func TestHostGoesUpSuspectDownUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		both := []string{x.Runner, x.Factory}
		require.Empty(t, x.judge(t))
		require.Equal(t, core.HostUp, x.host(t, "h1").State)
		x.due(t, -4*time.Second, both...)
		require.Empty(t, x.judge(t))
		require.Equal(t, core.HostSuspect, x.host(t, "h1").State)
		refused(t, x.Store.Down(ctx, "h1", downAfter), core.CodeConflict)
		_, err := x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		require.NoError(t, err)
		require.Empty(t, x.judge(t))
		require.Equal(t, core.HostUp, x.host(t, "h1").State, "one heartbeat is enough")
		x.due(t, -6*time.Second, both...)
		require.Equal(t, []string{"h1"}, x.judge(t))
		require.Equal(t, []string{"h1"}, x.judge(t), "until somebody takes it down")
		epoch := x.host(t, "h1").Epoch
		require.NoError(t, x.Store.Down(ctx, "h1", downAfter))
		require.NoError(t, x.Store.Down(ctx, "h1", downAfter), "again is fine")
		h := x.host(t, "h1")
		require.Equal(t, core.HostDown, h.State)
		require.Greater(t, h.Epoch, epoch)
		require.False(t, h.Ready)
		require.Empty(t, x.judge(t))
		x.Register(t, x.Runner)
		h = x.host(t, "h1")
		require.Equal(t, core.HostUp, h.State)
		require.False(t, h.Ready, "it has to reconcile first")
	})
}

// Rule 8: a host is down when all its owners are late, not when one is.
func TestOneLiveOwnerKeepsAHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.due(t, -time.Hour, x.Factory)
		x.due(t, time.Minute, x.Runner)
		require.Empty(t, x.judge(t))
		require.Equal(t, core.HostUp, x.host(t, "h1").State)
	})
}

func TestAHostWithoutOwnersGoesDown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.owners(t, 4) // others that live
		require.NoError(t, x.Store.Deregister(ctx, x.Runner, x.Epoch))
		require.NoError(t, x.Store.Deregister(ctx, x.Factory, x.Made))
		require.NoError(t, x.b.Admin.ZIncrBy(ctx, x.key("hosts"), -float64(time.Hour.Milliseconds()), "h1").Err())
		require.Equal(t, []string{"h1"}, x.judge(t))
	})
}

// Host_down empties the host's lists and fences its living owners: a paused
// vmfactory that wakes must not list VMs of a host that has none.
func TestDownFencesAllOfTheHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "a")
		x.AddVMs(t, 2)
		require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"vm-late"}))
		require.NoError(t, x.Store.Drain(ctx, "h1", true, 0))
		x.fell(t, x.Runner, x.Factory)
		coretest.RequireSound(t, x.Store)
		_, err := x.Store.Beat(ctx, x.Runner, x.Epoch, time.Hour)
		refused(t, err, core.CodeFenced)
		_, err = x.Store.Exchange(ctx, x.Call(2, 1, end(c, core.OutcomeDone)))
		refused(t, err, core.CodeFenced)
		refused(t, x.Store.Ready(ctx, x.Factory, x.Made, "h1", map[string]bool{"vm-late": true}), core.CodeFenced)
		for _, line := range x.picture(t) {
			require.NotRegexp(t, `^(vms:h1|idle|bell:h1)\b`, line)
		}
		require.ElementsMatch(t, []string{x.Runner, x.Factory}, x.late(t, x.Store, time.Hour), "they are there to be emptied")
		for _, owner := range []string{x.Runner, x.Factory} {
			epoch, err := x.Store.Fence(ctx, owner, downAfter)
			require.NoError(t, err)
			held, err := x.Store.Held(ctx, owner, 0)
			require.NoError(t, err)
			for _, h := range held {
				_, err := x.Store.Settle(ctx, owner, epoch, []core.Settlement{{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRetry}}, 0)
				require.NoError(t, err)
			}
			require.NoError(t, x.Store.Forget(ctx, owner, epoch))
		}
		for _, line := range x.picture(t) {
			require.NotRegexp(t, `^vms:h1`, line, "what it had is lost: settling lists nothing")
		}
		place, err := x.Store.Locate(ctx, c.Key)
		require.NoError(t, err)
		require.Equal(t, core.RequestQueued, place.State)
		// Rule 15: a drained host that returns is still drained.
		x.Epoch, x.Made = x.Register(t, x.Runner).Epoch, x.Register(t, x.Factory).Epoch
		_, err = x.Store.Reconcile(ctx, x.Factory, x.Made, "h1", map[string]core.Found{"vm-h1-2": {Pool: "p1", Usable: true}, "vm-h1-1": {Pool: "p1"}}, nil)
		require.NoError(t, err)
		got := x.Exchange(t, 3, 1)
		require.True(t, got.Draining)
		require.Empty(t, got.Claims)
		require.NoError(t, x.Store.Drain(ctx, "h1", false, 0))
		require.Equal(t, "vm-h1-2", x.Exchange(t, 4, 1).Claims[0].VM)
	})
}

// What is left in slots of a lost host is settled after the host is back as well.
func TestSettlingAfterTheHostIsBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		found, gone := x.claim(t, 1, "a"), x.claim(t, 2, "b")
		x.fell(t, x.Runner, x.Factory)
		made := x.Register(t, x.Factory).Epoch
		r, err := x.Store.Reconcile(ctx, x.Factory, made, "h1", map[string]core.Found{found.VM: {Pool: "p1"}}, nil)
		require.NoError(t, err)
		require.Equal(t, core.Reconciled{}, r, "it is in a slot")
		coretest.RequireSound(t, x.Store)
		epoch := x.Register(t, x.Runner).Epoch
		_, err = x.Store.Settle(ctx, x.Runner, epoch, []core.Settlement{
			{Key: found.Key, Token: found.Token, Outcome: core.OutcomeRetry}, {Key: gone.Key, Token: gone.Token, Outcome: core.OutcomeRetry},
		}, 0)
		require.NoError(t, err)
		dirty, err := x.b.Admin.LRange(ctx, x.key("dirty", "h1"), 0, -1).Result()
		require.NoError(t, err)
		require.Equal(t, []string{found.VM}, dirty, "the one that is really there")
	})
}

// Rule 7 holds for hosts too: also while an owner that was fenced before waits to be emptied.
func TestJudgeWaitsWhileMostAreLate(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	all := append(x.owners(t, 5), x.Factory)
	x.due(t, -time.Hour, "testrunner@o4#0")
	_, err := x.Store.Fence(t.Context(), "testrunner@o4#0", time.Minute)
	require.NoError(t, err)
	x.due(t, -6*time.Second, all[:4]...)
	require.Empty(t, x.judge(t), "four of six at once")
	require.Equal(t, core.HostUp, x.host(t, "o0").State)
	x.b.Mini.SetTime(start.Add(suspectAfter))
	require.Empty(t, x.judge(t), "the grace for suspects is over, that for the lost is not")
	require.Equal(t, core.HostSuspect, x.host(t, "o0").State)
	require.Equal(t, core.HostUp, x.host(t, "h1").State)
	x.b.Mini.SetTime(start.Add(downAfter))
	require.ElementsMatch(t, []string{"o0", "o1", "o2", "o3", "o4"}, x.judge(t))
}

func TestJudgeCountsFromRedisStart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.due(t, -time.Hour, x.Runner, x.Factory)
		young := open(t, x.b, "second-incarnation", x.now(t).Add(-4*time.Second))
		down, err := young.Judge(t.Context(), suspectAfter, downAfter)
		require.NoError(t, err)
		require.Empty(t, down)
		require.Equal(t, core.HostSuspect, x.host(t, "h1").State)
	})
}

func TestForgetHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		refused(t, x.Store.ForgetHost(ctx, "nohost"), core.CodeNotFound)
		refused(t, x.Store.ForgetHost(ctx, "h1"), core.CodeConflict)
		held := x.start(t, 1)[0]
		x.fell(t, x.Runner, x.Factory)
		refused(t, x.Store.ForgetHost(ctx, "h1"), core.CodeConflict)
		for _, owner := range []string{x.Runner, x.Factory} {
			epoch, err := x.Store.Fence(ctx, owner, downAfter)
			require.NoError(t, err)
			if owner == x.Runner {
				_, err := x.Store.Settle(ctx, owner, epoch, []core.Settlement{settlement(held, core.OutcomeDone, "")}, 0)
				require.NoError(t, err)
			}
			require.NoError(t, x.Store.Forget(ctx, owner, epoch))
		}
		require.NoError(t, x.Store.Drain(ctx, "h1", true, 0)) // rings
		err := x.Store.ForgetHost(ctx, "h1")
		if x.twice {
			refused(t, err, core.CodeNotFound)
		} else {
			require.NoError(t, err)
		}
		for _, line := range x.picture(t) {
			if !strings.HasPrefix(line, "epochs ") && !strings.HasPrefix(line, "events:") {
				require.NotContains(t, line, "h1")
			}
		}
	})
}

func TestDrainRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		before := x.picture(t)
		refused(t, x.Store.Drain(t.Context(), "nohost", true, 0), core.CodeNotFound)
		refused(t, x.Store.Down(t.Context(), "nohost", 0), core.CodeNotFound)
		refused(t, x.Store.Down(t.Context(), "h1", 0), core.CodeConflict)
		x.changed(t, before)
	})
}

func TestListHosts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.claim(t, 1, "a")
		x.AddVMs(t, 2)
		x.owners(t, 1)
		got, err := x.Store.ListHosts(t.Context())
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.Equal(t, "h1", got[0].Name)
		require.Equal(t, map[string]int{"claimed": 1, "clean": 2}, got[0].VMs)
		require.ElementsMatch(t, []string{x.Runner, x.Factory}, got[0].Owners)
		require.True(t, got[0].Ready)
		require.False(t, got[1].Ready)
		require.Equal(t, 4, got[1].CPU)
		require.Equal(t, int64(1<<33), got[1].Memory)
	})
}

// trips counts how often a client goes to Redis.
type trips struct{ n atomic.Int64 }

func (c *trips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := cmd.Name(); name != "hello" && name != "info" { // those begin a connection
			c.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}

// Many hosts and pools are read in as few trips to Redis as one.
func TestManyHostsAreReadInTwoTrips(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	ctx, store := t.Context(), b.Open(t)
	key := store.Namespace().Key
	const many = 200
	pipe := b.Admin.Pipeline()
	for i := range many {
		name := fmt.Sprintf("host-%03d", i)
		pipe.ZAdd(ctx, key("hosts"), redis.Z{Member: name, Score: float64(i)})
		pipe.HSet(ctx, key("host", name), "state", "up", "cpu", i)
		pipe.HSet(ctx, key("vms", name), "vm", "p1|1", "vm-2", "p2|1")
		pipe.ZAdd(ctx, key("owners"), redis.Z{Member: core.OwnerName(core.RoleTestrunner, name, 1), Score: 1})
		pipe.HSet(ctx, key("slots", core.OwnerName(core.RoleTestrunner, name, 1)), "r-1", "vm|t|1|running|0|")
	}
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	for i := range 20 {
		require.NoError(t, store.SetPool(ctx, core.DefaultPool(fmt.Sprintf("pool-%d", i))))
	}
	count := &trips{}
	store.Client().AddHook(count)
	hosts, err := store.ListHosts(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(2), count.n.Load())
	require.Len(t, hosts, many)
	for i, h := range hosts {
		require.Equal(t, i, h.CPU)
		require.Equal(t, int64(i), h.Deadline)
		require.Equal(t, []string{core.OwnerName(core.RoleTestrunner, h.Name, 1)}, h.Owners)
		require.Equal(t, map[string]map[core.VMState]int{"p1": {core.VMClaimed: 1}, "p2": {core.VMClean: 1}}, h.VMsOf)
	}
	vms, err := store.ListVMs(ctx, "")
	require.NoError(t, err)
	require.Len(t, vms, 2*many)
	require.Equal(t, int64(5), count.n.Load(), "hosts, owners, VMs")
	pools, err := store.ListPools(ctx)
	require.NoError(t, err)
	require.Len(t, pools, 20)
	require.Equal(t, int64(7), count.n.Load())
}

func TestSetHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.Zero(t, x.host(t, "h1").Settings)
		want := core.HostSettings{
			Labels: map[string]string{"gpu": "yes", "zone": "a"}, Reserve: &core.Size{CPU: 500, Memory: 1 << 30}, Overcommit: core.Overcommit{CPU: 2.5},
		}
		require.NoError(t, x.Store.SetHost(ctx, "h1", want))
		require.Equal(t, want, x.host(t, "h1").Settings)
		load, err := x.Store.Load(ctx, "h1", nil)
		require.NoError(t, err)
		require.Equal(t, want, load.Settings, "the vmfactory plans with it")
		refused(t, x.Store.SetHost(ctx, "nosuch", want), core.CodeNotFound)
		refused(t, x.Store.SetHost(ctx, "h1", core.HostSettings{Overcommit: core.Overcommit{Memory: 0.5}}), core.CodeInvalid)
		require.NoError(t, x.Store.SetHost(ctx, "h1", core.HostSettings{}))
		require.Zero(t, x.host(t, "h1").Settings)
	})
}

// Who only ends what is on a host does not bring it up.
func TestClearingAHostIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		clears := registration(x.Factory, "h1", "m-h1")
		clears.Clears = true
		x.fell(t, x.Runner, x.Factory)
		for _, owner := range []string{x.Runner, x.Factory} {
			epoch, err := x.Store.Fence(ctx, owner, downAfter)
			require.NoError(t, err)
			require.NoError(t, x.Store.Forget(ctx, owner, epoch))
		}
		r, err := x.Store.Register(ctx, clears)
		require.NoError(t, err)
		require.Equal(t, core.HostDown, x.host(t, "h1").State)
		require.NoError(t, x.Store.Deregister(ctx, x.Factory, r.Epoch))
		require.Equal(t, core.HostDown, x.host(t, "h1").State)
		if err := x.Store.ForgetHost(ctx, "h1"); !x.twice {
			require.NoError(t, err, "nobody has to judge it once more")
		}
		before := x.picture(t)
		_, err = x.Store.Register(ctx, clears)
		refused(t, err, core.CodeNotFound)
		x.changed(t, before)
	})
}

// A host was removed if somebody did so, and not if Redis does not know it.
func TestRemovedHosts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		h2 := x.other(t, "h2")
		x.fell(t, h2.Runner, h2.Factory)
		for _, owner := range []string{h2.Runner, h2.Factory} {
			epoch, err := x.Store.Fence(ctx, owner, downAfter)
			require.NoError(t, err)
			require.NoError(t, x.Store.Forget(ctx, owner, epoch))
		}
		_ = x.Store.ForgetHost(ctx, "h2") // made twice, the second one finds nothing
		removed, err := x.Store.RemovedHosts(ctx, []string{"h1", "h2", "h3"})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{"h1": false, "h2": true, "h3": false}, removed)
	})
}
