package redisstore_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/redisstore"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var manyWaiting = flag.Int("waiting", 100_000, "requests that wait in TestNoScriptIsSlow; 1000000 for the whole of it, which logs all times")

// Bounds of one call of a script, whatever waits.
const (
	mostCommands = 3000 // of Redis
	slowScript   = 2 * time.Millisecond
)

// No script holds Redis up in a large cluster, see largeCrowd. Every script there is is called: what is not called here
// fails the test. Judged are the commands that a call makes. Its time is judged against a script that does as many, in
// the same run, and only if it is too long each of three times.
func TestNoScriptIsSlow(t *testing.T) {
	tier.OnlyInAll(t, tier.Long)
	t.Parallel()
	x := newSuite(t, coretest.Alone(t), false)
	largeCrowd.come(t, x, *manyWaiting)
	ctx := t.Context()
	require.NoError(t, x.b.Admin.ConfigSet(ctx, "slowlog-max-len", "100000").Err())
	names := make(map[string]string)
	for _, name := range redisstore.ScriptNames() {
		names[redis.NewScript(redisstore.Assemble(name)).Hash()] = name
	}
	var own atomic.Int64 // commands of the client that call no script
	x.Store.Client().AddHook(ownCommands{&own})
	least, inner := make(map[string]time.Duration), make(map[string]int)
	allowed := slowScript
	for round := range 4 {
		// The first round counts: the log has every command, and costs time. The others measure.
		counts, slower := round == 0, "100"
		if counts {
			slower = "0"
		}
		require.NoError(t, x.b.Admin.ConfigSet(ctx, "slowlog-log-slower-than", slower).Err())
		worst := make(map[string]time.Duration)
		step := func(do func()) {
			t.Helper()
			require.NoError(t, x.b.Admin.Do(ctx, "SLOWLOG", "RESET").Err())
			own.Store(0)
			total, before := 0, computed(t, x)
			made := commands(t, x.b, do)
			for _, n := range made {
				total += n
			}
			most := computed(t, x) - before // the rest of a script's time others had the processor
			if n := made["evalsha"]; n > 1 {
				most = 2 * most / time.Duration(n) // of as many calls none takes much more than the others
			}
			log, err := x.b.Admin.SlowLogGet(ctx, 100_000).Result()
			require.NoError(t, err)
			called := make(map[string]int)
			for _, e := range log {
				name := names[e.Args[min(1, len(e.Args)-1)]]
				if (e.Args[0] == "evalsha" || e.Args[0] == "EVALSHA") && name != "" {
					called[name]++
					worst[name] = max(worst[name], min(e.Duration, most))
				}
			}
			for name := range called {
				if counts && len(called) == 1 { // else nobody knows whose they are
					inner[name] = max(inner[name], (total-int(own.Load()))/called[name]-1)
				}
			}
		}
		largeCrowd.tour(t, x, round, step)
		if counts {
			for name := range worst {
				least[name] = time.Hour
			}
			continue
		}
		for name, had := range least {
			least[name] = min(had, worst[name])
		}
		allowed = max(allowed, 4*calibrated(t, x)) // the machine may be busy
	}
	for _, name := range redisstore.ScriptNames() {
		if _, called := least[name]; !called {
			t.Errorf("script %s is not called: call it in tour", name)
			continue
		}
		assert.LessOrEqual(t, inner[name], mostCommands, "%s makes too many commands in one call", name)
		assert.LessOrEqual(t, least[name], allowed, "%s is slow", name)
	}
	order := slices.SortedFunc(maps.Keys(least), func(a, b string) int { return int(least[b] - least[a]) })
	shown := 10
	if *manyWaiting >= 1_000_000 {
		shown = len(order)
	}
	for _, name := range order[:shown] {
		t.Logf("%-16s %6d µs, %d commands a call", name, least[name].Microseconds(), inner[name])
	}
	t.Logf("%d waiting; as slow as this is too slow here: %s", *manyWaiting, allowed)
}

// ownCommands counts a client's commands that call no script.
type ownCommands struct{ n *atomic.Int64 }

func (o ownCommands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o ownCommands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" {
			o.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (o ownCommands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		o.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// computed is how long the server's thread has had a processor.
func computed(t *testing.T, x *suite) time.Duration {
	t.Helper()
	text, err := x.b.Admin.Info(t.Context(), "cpu").Result()
	require.NoError(t, err)
	sum, found := 0.0, 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user_main_thread" || name == "used_cpu_sys_main_thread" {
			seconds, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			sum, found = sum+seconds, found+1
		}
	}
	require.Equal(t, 2, found, text)
	return time.Duration(sum * float64(time.Second))
}

// calibrated is how long a script takes here that makes as many commands as one may.
func calibrated(t *testing.T, x *suite) time.Duration {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, x.b.Admin.Do(ctx, "SLOWLOG", "RESET").Err())
	for range 5 {
		require.NoError(t, x.b.Admin.Eval(ctx, `for i=1,tonumber(ARGV[1]) do redis.call('HGET', KEYS[1], 'schema') end return 1`,
			[]string{x.key("meta")}, mostCommands).Err())
	}
	log, err := x.b.Admin.SlowLogGet(ctx, 100).Result()
	require.NoError(t, err)
	var took time.Duration
	for _, e := range log {
		took = max(took, e.Duration)
	}
	return took
}

// becomeDue lets requests of many submitters become due soon at once.
func becomeDue(t *testing.T, x *suite, name string) {
	t.Helper()
	ctx := t.Context()
	all := specs(name, 300, "u0")
	now := x.now(t)
	for i := range all {
		all[i].Pool, all[i].Submitter, all[i].Due = "p8", fmt.Sprintf("u%d", 9_000+i), now.Add(2*time.Hour).UnixMilli()
	}
	x.Submit(t, all...)
	for i := range all {
		all[i].Due = now.Add(30 * time.Minute).UnixMilli()
		text, err := json.Marshal(all[i])
		require.NoError(t, err)
		require.NoError(t, x.b.Admin.HSet(ctx, x.key("specs"), all[i].Key(), text).Err())
		require.NoError(t, x.b.Admin.ZAdd(ctx, x.key("due"), redis.Z{Member: all[i].Key(), Score: 1}).Err())
	}
}

// tour makes every call that components, pages, the API and scrapes make, in one go each.
func (of crowd) tour(t *testing.T, x *suite, round int, step func(do func())) {
	t.Helper()
	ctx := context.Background()
	s := x.Store
	id := func(name string) string { return fmt.Sprintf("%s%d", name, round) }
	flood := func(last int) string { return fmt.Sprintf("flood-%d-1", of.flood-last) } // the last one waits longest
	ok := func(err error) { t.Helper(); require.NoError(t, err) }
	seq := int64(100 * (round + 1))

	// Cluster, pages and scrapes.
	step(func() { x.b.Open(t) }) // life
	step(func() { ok(s.Join(ctx, redisstore.Stores{Results: "l", Blobs: "b"})) })
	step(func() { ok(s.SetPool(ctx, core.DefaultPool("p3"))) })
	step(func() { ok(s.SetPool(ctx, core.DefaultPool("empty"))) })
	step(func() { ok(s.RemovePool(ctx, "empty", false)) })
	step(func() { _, err := s.SetOutage(ctx, "p3", core.Outage{Host: "h1", Why: "no image"}); ok(err) })
	step(func() { _, err := s.Outages(ctx); ok(err) })
	step(func() { ok(s.Oversee(ctx, time.Minute)) })
	ground, err := s.Ground(ctx)
	ok(err)
	targets := core.Round{Targets: map[string]core.Targets{}, Use: ground.Use, Lasts: time.Minute}
	for _, h := range ground.Hosts {
		targets.Targets[h.Name] = core.Targets{x.Pool: {Warm: 1}}
	}
	step(func() { _, err := s.SetTargets(ctx, ground.Number, targets); ok(err) })
	step(func() { _, err := s.Waiting(ctx); ok(err) })
	step(func() { _, err := s.TaskQueues(ctx); ok(err) })
	for _, key := range []string{"p1normalu900-1-1", "p8lowu1-1-1", flood(1), "m99-r3-1"} {
		step(func() { _, _, err := s.Preceding(ctx, key); ok(err) })
		step(func() { _, err := s.Locate(ctx, key); ok(err) })
	}
	step(func() { _, err := s.Cancel(ctx, flood(2), "bob", core.CancelAny); ok(err) })
	step(func() {
		spec := specs(fmt.Sprintf("flood-%d", 60+round), 1, "flood")[0].With(1, core.Change{Pool: "p2", Priority: core.PriorityLow})
		_, _, err := s.Change(ctx, spec, 0)
		ok(err)
	})
	step(func() { _, err := s.Withdraw(ctx, flood(10+round)); ok(err) })
	step(func() { x.take(t, "sign-in:ann", core.Rate{Every: time.Second, Burst: 5}, 1) })
	step(func() { ok(s.Sessions().CommitCtx(ctx, id("token"), []byte("x"), time.Now().Add(time.Hour))) })
	step(func() { ok(s.Sessions().DeleteCtx(ctx, id("token"))) })

	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf("flood-%d-1", i)
	}
	step(func() { ok(s.WaitAnew(ctx, many)) })
	step(func() { _, err := s.WaitingSince(ctx, many); ok(err) })
	step(func() { _, err := s.ReadClock(ctx); ok(err) })

	// Requests and VMs.
	step(func() { x.Submit(t, specs(id("n")+"-", 500, "zoe")...) })
	x.AddVMs(t, 100)
	step(func() { ok(s.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{id("v")})) })
	step(func() { ok(s.Ready(ctx, x.Factory, x.Made, "h1", map[string]bool{id("v"): true})) })
	var pools []string
	for i := range of.pools {
		pools = append(pools, fmt.Sprintf("p%d", i))
	}
	step(func() { _, err := s.Load(ctx, "h1", pools); ok(err) })
	step(func() {
		var wants []core.VMWant
		for _, pool := range pools {
			wants = append(wants, core.VMWant{Pool: pool, More: 8})
		}
		_, err := s.Promise(ctx, "h1", wants)
		ok(err)
	})
	step(func() { ok(s.Note(ctx, x.Factory, x.Made, "h1", core.HostNotes{})) })
	step(func() { _, err := s.Measured(ctx, x.Factory, x.Made, "h1", core.HostMeasure{}); ok(err) })
	step(func() { ok(s.SetHost(ctx, "h1", core.HostSettings{})) })
	step(func() {
		call := x.Call(seq-1, 0)
		call.Pools = pools
		_, err := s.Exchange(ctx, call)
		ok(err)
	})
	var claims []core.Claim
	step(func() { claims = x.Exchange(t, seq, 64).Claims })
	require.Len(t, claims, 64)
	step(func() { ok(s.Progress(ctx, x.Runner, x.Epoch, claims[0].Key, claims[0].Token, "running", 0)) })
	step(func() { _, err := s.Beat(ctx, x.Runner, x.Epoch, time.Minute); ok(err) })
	chunks := make([]core.OutputChunk, 128)
	for i := range chunks {
		chunks[i] = core.OutputChunk{Stream: "stdout", Data: make([]byte, 2<<10)}
	}
	for range 3 {
		step(func() { ok(s.Append(ctx, claims[0].Key, claims[0].Token, chunks)) })
	}
	// Leases: 50 submitters' requests go there and back.
	ok(s.SetPool(ctx, core.DefaultPool("p7")))
	leased := core.LeasedPoolSetting{Pool: leasedPool(id("tour"), "p7"), Open: true, Class: "cs101", Submitters: []string{"zoe"}}
	step(func() { ok(s.SetLeased(ctx, leased)) })
	holders := specs(id("h")+"-", 50, "zoe")
	for i := range holders {
		holders[i].Pool = "p7"
	}
	step(func() { x.Submit(t, holders...) })
	leased.Open = false
	ok(s.SetLeased(ctx, leased))
	step(func() { n, err := s.Reroute(ctx, holders); ok(err); require.Equal(t, 50, n) })
	step(func() { _, err := s.Leased(ctx); ok(err) })
	// Retries that are due, after their second fault: each looks for another host.
	x.Exchange(t, seq+1, 0, ends(claims[:32], core.OutcomeRetry)...)
	for _, c := range claims[:32] {
		ok(x.b.Admin.HSet(ctx, x.key("attempts"), c.Key, 2).Err())
	}
	x.pausesEnd(t)
	becomeDue(t, x, id("due"))
	step(func() { _, err := s.Promote(ctx); ok(err) })
	for _, host := range []string{"m0", "m1", "m2"} {
		step(func() { _, err := s.Unassign(ctx, host, 0); ok(err) })
	}
	step(func() { x.Exchange(t, seq+2, 0, ends(claims[32:40], core.OutcomeDone)...) })
	var held []core.Held
	step(func() { var err error; held, err = s.Held(ctx, x.Runner, 0); ok(err) })
	step(func() {
		ok(s.Revoke(ctx, x.Runner, held[0], core.Settlement{Key: held[0].Key, Token: held[0].Token, Outcome: core.OutcomeRetry}, "hangs"))
	})
	step(func() { x.Epoch = x.Register(t, x.Runner).Epoch })
	var left []core.Settlement
	for _, h := range held[1:] {
		left = append(left, core.Settlement{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRetry})
	}
	step(func() { _, err := s.Settle(ctx, x.Runner, x.Epoch, left, 0); ok(err) })
	clean, err := s.CleanVMs(ctx, "h1", "p1")
	ok(err)
	step(func() { _, err := s.Retire(ctx, x.Factory, x.Made, "h1", clean[:5]); ok(err) })
	var vms []string
	step(func() { vms, err = s.Destroy(ctx, x.Factory, x.Made, "h1", 64); ok(err) })
	gone := make(map[string]string)
	for _, vm := range vms {
		gone[vm] = ""
	}
	step(func() { ok(s.Gone(ctx, x.Factory, x.Made, "h1", gone)) })
	step(func() {
		_, err := s.Reconcile(ctx, x.Factory, x.Made, "h1", map[string]core.Found{"v9": {Pool: "p1", Usable: true}}, nil)
		ok(err)
	})

	// Tasks.
	k := newTasker(t, x)
	step(func() { k.add(t, id("ta"), id("tb"), id("tc"), id("td")) })
	var got core.TaskExchanged
	step(func() { got = k.run(t, 1, 1) })
	c := got.Claims[0]
	step(func() {
		ok(s.ProgressTask(ctx, k.owner, k.epoch, c.Task.Key(), c.Token, core.TaskProgress{Done: 1}, time.Hour))
	})
	step(func() { _, err := s.LocateTasks(ctx, []string{c.Task.Key()}); ok(err) })
	step(func() { _, err := s.CancelTask(ctx, c.Task.Key(), "bob"); ok(err) })
	k.run(t, 2, 0, ended(c, core.OutcomeRetry, time.Hour))
	step(func() { ok(s.WakeTask(ctx, c.Task.Key())) })
	step(func() { _, err := s.WithdrawTask(ctx, c.Task.Key()); ok(err) })
	step(func() { ok(s.SetTaskRates(ctx, nil)) })

	// Hosts and owners.
	h2 := x.other(t, id("z"))
	dog := h2.Host
	step(func() { _, err := s.Late(ctx, time.Second); ok(err) })
	step(func() { _, err := s.Judge(ctx, time.Second, time.Minute); ok(err) })
	step(func() { ok(s.Drain(ctx, dog, true, 0)) })
	step(func() { ok(s.Probation(ctx, dog, "it flaps", 0, 1)) })
	step(func() {
		step(func() { ok(s.AddHostReport(ctx, core.HostReport{Host: dog, Event: core.HostFailed, By: "dog"})) })
		ok(coretest.ErrOf(s.Report(ctx, core.HostReport{Host: dog, Event: core.HostFailed, By: "dog"})))
	})
	x.owners(t, 2)
	step(func() { _, err := s.DeclareDead(ctx, "testrunner@o0#0", x.epochOf(t, "testrunner@o0#0")); ok(err) })
	x.due(t, -time.Hour, "testrunner@o1#0")
	step(func() { _, err := s.Fence(ctx, "testrunner@o1#0", time.Second); ok(err) })
	step(func() { ok(s.Deregister(ctx, "testrunner@o1#0", x.epochOf(t, "testrunner@o1#0"))) })
	ok(x.b.Admin.HSet(ctx, x.key("host", "o1"), "state", "suspect").Err())
	step(func() { ok(s.Down(ctx, "o1", time.Second)) })
	step(func() { ok(s.ForgetHost(ctx, "o1")) })
	step(func() { _, err := s.Trim(ctx, 0); ok(err) })

	// What an overseer mends.
	for _, v := range []core.Violation{
		{Rule: core.RuleRequests, ID: "flood-5-1", Text: "it is in queue:p9:normal:flood and assigned:m1:p1, parked:p1"},
		{Rule: core.RuleTurns, ID: "queue:p1:normal:u1"},
		{Rule: core.RuleTurns, ID: "tasks:lanes:low:none"},
		{Rule: core.RuleOwners, ID: "testrunner@m1#0"},
		{Rule: core.RuleTokens, ID: "nobody-1", Text: "its token is not of an epoch of testrunner@m1#0, it is said"},
		{Rule: core.RuleVMs, ID: "m1-vm", Text: "it is in vms:m1:p1:clean and vms:m2:dirty"},
		{Rule: core.RuleTasks, ID: id("tb") + "-1"},
		{Rule: core.RuleHosts, ID: "m1"},
		{Rule: core.RuleLeft, ID: "nobody-1"},
		{Rule: core.RuleCounts, ID: "bytes", Text: "it is counted 1, and there are 2"},
		{Rule: core.RuleOutput, ID: "output:nobody-1:1.1"},
	} {
		step(func() { _, err := s.Mend(ctx, v); ok(err) })
	}
}

// What is called here works on the embedded server.
func TestEveryScriptOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	smallCrowd.come(t, x, 0)
	smallCrowd.tour(t, x, 0, func(do func()) { do() })
}

// epochOf is an owner's epoch.
func (x *suite) epochOf(t *testing.T, owner string) int64 {
	t.Helper()
	n, err := x.b.Admin.HGet(t.Context(), x.key("owner", owner), "epoch").Int64()
	require.NoError(t, err)
	return n
}
