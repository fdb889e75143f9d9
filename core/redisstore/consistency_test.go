package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// busy makes a cluster with something of everything.
func busy(t *testing.T, x *suite) core.Claim {
	t.Helper()
	ctx := t.Context()
	k := newTasker(t, x)
	require.NoError(t, x.Store.SetTaskRates(ctx, map[string]core.TaskRate{"none": {Every: time.Millisecond, Burst: 100, Most: 9}}))
	k.add(t, "t1", "t2", "t3")
	got := k.run(t, 1, 2).Claims
	require.NoError(t, x.Store.ProgressTask(ctx, k.owner, k.epoch, got[1].Task.Key(), got[1].Token, core.TaskProgress{Done: 1}, time.Hour))
	k.run(t, 2, 0, ended(got[0], core.OutcomeRetry, time.Hour))
	running := x.claim(t, 1, "running")
	require.NoError(t, x.Store.Progress(ctx, x.Runner, x.Epoch, running.Key, running.Token, "running", 0))
	_, err := x.Store.Cancel(ctx, running.Key, "bob", core.CancelAny)
	require.NoError(t, err)
	retried, done := x.claim(t, 2, "retried"), x.claim(t, 3, "done")
	dead := x.claim(t, 4, "dead")
	x.Exchange(t, 5, 0, end(retried, core.OutcomeRetry), end(done, core.OutcomeDone), end(dead, core.OutcomeDead))
	x.Submit(t, specs("w", 3, "ann")...)
	x.Submit(t, withPriority(coretest.Spec("low", "p1", "bob"), core.PriorityLow))
	vms := x.AddVMs(t, 6)
	_, err = x.Store.Retire(ctx, x.Factory, x.Made, "h1", vms[:3])
	require.NoError(t, err)
	_, err = x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 2)
	require.NoError(t, err)
	require.NoError(t, x.Store.Gone(ctx, x.Factory, x.Made, "h1", map[string]string{retried.VM: "stuck"}))
	require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"vm-making"}))
	require.NoError(t, x.Store.Append(ctx, running.Key, running.Token, []core.OutputChunk{{Stream: "stdout", Data: []byte("x")}}))
	h2 := coretest.NewCluster(t, x.Store, "h2", "p1")
	h2.AddVMs(t, 1)
	x.owners(t, 1)
	x.fell(t, "testrunner@o0#0")
	return running
}

func TestConsistencyCheckFindsNothingInASoundCluster(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) { busy(t, x) }) // each checks at the end
}

// keyFunc names a key of the test's namespace.
type keyFunc func(name string, args ...string) string

// A flaw is what a consistency check finds after do, by the rule, of busy's cluster.
type flaw struct {
	rule core.Rule
	id   string
	do   func(ctx context.Context, db *redis.Client, key keyFunc) error
}

var flaws = map[string]flaw{
	"a stranger's key": {core.RuleKeys, "lost", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Set(ctx, key("meta")[:len(key("meta"))-len("meta")]+"lost", 1, 0).Err()
	}},
	"a key of another type": {core.RuleKeys, "dead", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return errors.Join(db.Del(ctx, key("dead")).Err(), db.RPush(ctx, key("dead"), "x").Err())
	}},
	"another schema": {core.RuleKeys, "meta", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("meta"), "schema", "99").Err()
	}},
	"a pool that is not listed": {core.RuleKeys, "pool:p1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.SRem(ctx, key("pools"), "p1").Err()
	}},
	"a request that is nowhere": {core.RuleRequests, "w0-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.LRem(ctx, key("queue", "p1", "normal", "ann"), 0, "w0-1").Err()
	}},
	"a request in two queues": {core.RuleRequests, "w0-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("queue", "p1", "normal", "ann"), "w0-1").Err()
	}},
	"a request in a queue and a slot": {core.RuleRequests, "running-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("queue", "p1", "normal", "ann"), "running-1").Err()
	}},
	"a request in a wrong queue": {core.RuleRequests, "low-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("queue", "p1", "normal", "ann"), "low-1").Err()
	}},
	"a request without a spec": {core.RuleRequests, "w1-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HDel(ctx, key("specs"), "w1-1").Err()
	}},
	"a submitter who never has its turn": {core.RuleTurns, "queue:p1:low:bob", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Del(ctx, key("turns", "p1", "low")).Err()
	}},
	"a submitter with two turns": {core.RuleTurns, "queue:p1:low:bob", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("turns", "p1", "low"), "bob").Err()
	}},
	"a submitter with a turn for nothing": {core.RuleTurns, "queue:p1:low:ghost", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("turns", "p1", "low"), "ghost").Err()
	}},
	"an owner that is not listed": {core.RuleOwners, "testrunner@h1#0", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.ZRem(ctx, key("owners"), "testrunner@h1#0").Err()
	}},
	"an owner without a record": {core.RuleOwners, "testrunner@h2#0", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Del(ctx, key("owner", "testrunner@h2#0")).Err()
	}},
	"an owner of a wrong epoch": {core.RuleOwners, "testrunner@h2#0", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HIncrBy(ctx, key("owner", "testrunner@h2#0"), "epoch", 1).Err()
	}},
	"an owner of no host": {core.RuleOwners, "testrunner@h9#0", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.ZAdd(ctx, key("owners"), redis.Z{Member: "testrunner@h9#0", Score: 1}).Err()
	}},
	"a slot of nobody": {core.RuleOwners, "testrunner@h9#0", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("slots", "testrunner@h9#0"), "w0-1", "vm|1.1|1|claimed|0|").Err()
	}},
	"a slot with a token of the future": {core.RuleTokens, "w0-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("slots", "testrunner@h1#0"), "w0-1", "vm|99999999999.1|1|claimed|0|").Err()
	}},
	"a slot that cannot be read": {core.RuleTokens, "w0-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("slots", "testrunner@h1#0"), "w0-1", "?").Err()
	}},
	"a VM that is nowhere": {core.RuleVMs, "vm-h2-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Del(ctx, key("clean", "h2", "p1")).Err()
	}},
	"a VM that is clean and dirty": {core.RuleVMs, "vm-h2-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("dirty", "h2"), "vm-h2-1").Err()
	}},
	"a VM that is clean and in use": {core.RuleVMs, "vm-h1-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("clean", "h1", "p1"), "vm-h1-1").Err()
	}},
	"a VM that nobody made": {core.RuleVMs, "vm-x", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("quarantined", "h1"), "vm-x", "why").Err()
	}},
	"a VM of another pool": {core.RuleVMs, "vm-h2-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("vms", "h2"), "vm-h2-1", "p2|1").Err()
	}},
	"a VM on two hosts": {core.RuleVMs, "vm-h2-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("vms", "h1"), "vm-h2-1", "p1|1").Err()
	}},
	"a VM in a slot on another host": {core.RuleVMs, "vm-h2-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("slots", "testrunner@h1#0"), "w0-1", "vm-h2-1|1.1|1|claimed|0|").Err()
	}},
	"a task that is nowhere": {core.RuleTasks, "t3-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Del(ctx, key("tasks_queue", "normal", "none", "-")).Err()
	}},
	"a task in two places": {core.RuleTasks, "t1-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("tasks_queue", "normal", "none", "-"), "t1-1").Err()
	}},
	"a task in a wrong queue": {core.RuleTasks, "t3-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Rename(ctx, key("tasks_queue", "normal", "none", "-"), key("tasks_queue", "low", "none", "ann")).Err()
	}},
	"a task that is not known": {core.RuleTasks, "t9-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("tasks_queue", "normal", "none", "-"), "t9-1").Err()
	}},
	"a task without a head": {core.RuleTasks, "t3-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("tasks"), "t3-1", "normal other - {}").Err()
	}},
	"a task in hand that does not count": {core.RuleTasks, "t2-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Del(ctx, key("tasks_hand", "none")).Err()
	}},
	"a task that counts and is not in hand": {core.RuleTasks, "t3-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.SAdd(ctx, key("tasks_hand", "other"), "t3-1").Err()
	}},
	"a lane without a turn": {core.RuleTurns, "tasks:queue:normal:none:-", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("tasks_lanes", "normal", "none"), "-").Err()
	}},
	"a lane with a turn for nothing": {core.RuleTurns, "tasks:queue:normal:none:ann", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("tasks_lanes", "normal", "none"), "ann").Err()
	}},
	"a kind without a turn": {core.RuleTurns, "tasks:lanes:normal:none", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Del(ctx, key("tasks_kinds", "normal")).Err()
	}},
	"a kind with a turn for nothing": {core.RuleTurns, "tasks:lanes:low:none", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("tasks_kinds", "low"), "none").Err()
	}},
	"progress of nothing": {core.RuleLeft, "t9-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("tasks_progress"), "t9-1", "1|1|1|").Err()
	}},
	"a rhythm without a rate": {core.RuleLeft, "tasks:arrivals", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("tasks_arrivals"), "other", "1").Err()
	}},
	"a host without a record": {core.RuleHosts, "h8", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.ZAdd(ctx, key("hosts"), redis.Z{Member: "h8", Score: 1}).Err()
	}},
	"a host that is not listed": {core.RuleHosts, "h2", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.ZRem(ctx, key("hosts"), "h2").Err()
	}},
	"a host in no state": {core.RuleHosts, "h2", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("host", "h2"), "state", "sleepy").Err()
	}},
	"a host of a wrong epoch": {core.RuleHosts, "h2", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("host", "h2"), "epoch", "1").Err()
	}},
	"VMs of a lost host": {core.RuleHosts, "o0", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("clean", "o0", "p1"), "vm-x").Err()
	}},
	"a request that counts as running and does not run": {core.RuleLeft, "w0-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return errors.Join(db.HSet(ctx, key("running"), "w0-1", "p1:normal:ann").Err(), db.HSet(ctx, key("counts"), "running:p1:normal:ann", 1).Err())
	}},
	"a wrong count of what runs": {core.RuleCounts, "running:p1:normal:ann", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("counts"), "running:p1:normal:ann", 1).Err()
	}},
	"a wrong count of what waits": {core.RuleCounts, "p1:normal", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HIncrBy(ctx, key("counts"), "p1:normal", 3).Err()
	}},
	"a count of what is not there": {core.RuleCounts, "p7:low", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("counts"), "p7:low", -3).Err()
	}},
	"no count of tasks": {core.RuleCounts, "tasks:normal:none", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HDel(ctx, key("counts"), "tasks:normal:none").Err()
	}},
	"a wrong count of bytes": {core.RuleCounts, "bytes", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HIncrBy(ctx, key("counts"), "bytes", -1).Err()
	}},
	"live output that stays": {core.RuleOutput, "output:running-1:TOKEN", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Persist(ctx, key("output", "running-1", db.HKeys(ctx, key("outputs_sizes")).Val()[0][len("running-1:"):])).Err()
	}},
	"live output that is not counted": {core.RuleOutput, "output:a-1:1.1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Do(ctx, "XADD", key("output", "a-1", "1.1"), "*", "s", "stdout", "o", "0", "d", "x").Err()
	}},
	"a wrong sum of live output": {core.RuleOutput, "*", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HIncrBy(ctx, key("outputs_sums"), "*", 7).Err()
	}},
	"a sum of nobody's live output": {core.RuleOutput, "zoe", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("outputs_sums"), "zoe", 7).Err()
	}},
	"live output that never goes first": {core.RuleOutput, "output:running-1:TOKEN", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.Del(ctx, key("outputs")).Err()
	}},
	"a request in a slot that is not found": {core.RuleRequests, "running-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HDel(ctx, key("held"), "running-1").Err()
	}},
	"a request in a slot that is looked for elsewhere": {core.RuleRequests, "running-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("held"), "running-1", "testrunner@h2#0|").Err()
	}},
	"a request that is looked for in a slot": {core.RuleLeft, "w0-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("held"), "w0-1", "testrunner@h2#0|").Err()
	}},
	"a task in a slot that is not found": {core.RuleTasks, "t2-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HDel(ctx, key("held"), "t2-1").Err()
	}},
	"an owner that is not listed with its host": {core.RuleOwners, "testrunner@h2#0", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.SRem(ctx, key("owners_on", "h2"), "testrunner@h2#0").Err()
	}},
	"an owner that is only listed with its host": {core.RuleOwners, "testrunner@h2#7", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.SAdd(ctx, key("owners_on", "h2"), "testrunner@h2#7").Err()
	}},
	"a suspect that nobody suspects": {core.RuleHosts, "h2", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("host", "h2"), "state", "suspect").Err()
	}},
	"a cancel of nothing": {core.RuleLeft, "gone-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("cancels"), "gone-1", "bob").Err()
	}},
	"attempts of nothing": {core.RuleLeft, "gone-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("attempts"), "gone-1", 2).Err()
	}},
	"a tombstone of what lives": {core.RuleLeft, "w0-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.SAdd(ctx, key("tombstones"), "w0-1").Err()
	}},
	"an old tombstone of what lives": {core.RuleLeft, "w0-1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.SAdd(ctx, key("tombstones_old"), "w0-1").Err()
	}},
	"a bell that rings twice": {core.RuleLeft, "bell:h1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("bell", "h1"), "1", "1").Err()
	}},
	"what an owner of no host held": {core.RuleLeft, "hands", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.HSet(ctx, key("hands"), "testrunner@gone#0", "p1 3 a-1 a-1").Err()
	}},
	"a bell of nobody": {core.RuleLeft, "bell:h8", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("bell", "h8"), "1").Err()
	}},
	"a notice to nobody": {core.RuleLeft, "notice:testrunner@h8#0", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.RPush(ctx, key("notice", "testrunner@h8#0"), "1").Err()
	}},
	"an idle host that is not there": {core.RuleLeft, "idle:p1", func(ctx context.Context, db *redis.Client, key keyFunc) error {
		return db.SAdd(ctx, key("idle", "p1"), "h8").Err()
	}},
}

func TestConsistencyCheckFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for name, c := range flaws {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSuite(t, coretest.Mini(t), false)
			running := busy(t, x)
			coretest.RequireSound(t, x.Store)
			require.NoError(t, c.do(t.Context(), x.b.Admin, x.key))
			found, err := x.Store.CheckConsistency(t.Context())
			require.NoError(t, err)
			var told []string
			for _, v := range found {
				told = append(told, string(v.Rule)+" "+v.ID)
				require.NotEmpty(t, v.Text)
			}
			id := strings.Replace(c.id, "TOKEN", running.Token, 1)
			require.Contains(t, told, string(c.rule)+" "+id, "%v", found)
			requireMended(t, x, found)
		})
	}
}

// asked notes the commands that name one key.
type asked struct {
	key string

	mu       sync.Mutex
	commands [][]any
}

func (a *asked) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *asked) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		a.note(cmd)
		return next(ctx, cmd)
	}
}

func (a *asked) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			a.note(cmd)
		}
		return next(ctx, cmds)
	}
}

func (a *asked) note(cmd redis.Cmder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if args := cmd.Args(); len(args) > 1 && args[1] == a.key {
		a.commands = append(a.commands, args)
	}
}

// The dead are many more than the living: the consistency check does not read them.
func TestConsistencyCheckAsksOnlyAboutTheLiving(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	const living, most = 1300, 502 // a command, its key and 500 members
	x.Submit(t, specs("w", living, "ann")...)
	for _, name := range []string{"tombstones", "tombstones_old"} {
		require.NoError(t, x.b.Admin.SAdd(t.Context(), x.key(name), "gone-1", "gone-2").Err())
		a := &asked{key: x.key(name)}
		x.Store.Client().AddHook(a)
		coretest.RequireSound(t, x.Store)
		members := 0
		for _, args := range a.commands {
			if args[0] == "type" {
				continue
			}
			require.Equal(t, "smismember", args[0])
			require.LessOrEqual(t, len(args), most)
			members += len(args) - 2
		}
		require.Equal(t, living, members)
	}
	require.NoError(t, x.b.Admin.SAdd(t.Context(), x.key("tombstones"), "w1299-1").Err())
	found, err := x.Store.CheckConsistency(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "w1299-1", found[0].ID)
}

// requireMended mends what a consistency check found, until it finds only what a person must mend
// or what ends by itself.
func requireMended(t *testing.T, x *suite, found []core.Violation) {
	t.Helper()
	var left []string
	for range 4 {
		for _, v := range found {
			_, err := x.Store.Mend(t.Context(), v)
			require.NoError(t, err)
		}
		var err error
		found, err = x.Store.CheckConsistency(t.Context())
		require.NoError(t, err)
		left = nil
		for _, v := range found {
			mended, err := x.Store.Mend(t.Context(), v)
			require.NoError(t, err)
			if mended || !theirs[string(v.Rule)+" "+v.ID] {
				left = append(left, string(v.Rule)+" "+v.ID+": "+v.Text)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	require.Empty(t, left)
}

// Mending what is not broken leaves a sound cluster sound, and work in the hands that have it.
func TestMendLeavesWhatIsSound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		busy(t, x)
		ctx := t.Context()
		var all []core.Violation
		mend := func(rule core.Rule, ids ...string) {
			for _, id := range ids {
				all = append(all, core.Violation{Rule: rule, ID: id, Text: "its token is not of an epoch of testrunner@h1#0, it is said"})
			}
		}
		hashes := func(name string, args ...string) []string {
			fields, err := x.b.Admin.HKeys(ctx, x.key(name, args...)).Result()
			require.NoError(t, err)
			return fields
		}
		held := hashes("slots", x.Runner)
		mend(core.RuleRequests, hashes("specs")...)
		mend(core.RuleMoves, hashes("specs")...)
		mend(core.RuleTokens, held...)
		mend(core.RuleTasks, hashes("tasks")...)
		mend(core.RuleLeft, hashes("specs")...)
		mend(core.RuleVMs, append(hashes("vms", "h1"), hashes("vms", "h2")...)...)
		mend(core.RuleOwners, "testrunner@h1#0", "vmfactory@h1#0", "testrunner@h2#0", "nobody")
		mend(core.RuleHosts, "h1", "h2", "o0")
		mend(core.RuleTurns, "queue:p1:normal:ann", "queue:p1:low:bob", "nobody")
		mend(core.RuleKeys, "pool:p1", "a stranger's")
		for _, v := range all {
			_, err := x.Store.Mend(ctx, v)
			require.NoError(t, err)
			coretest.RequireSound(t, x.Store)
		}
		require.ElementsMatch(t, held, hashes("slots", x.Runner))
		require.Equal(t, "up", x.b.Admin.HGet(ctx, x.key("host", "h1"), "state").Val())
		require.NotZero(t, x.b.Admin.ZScore(ctx, x.key("owners"), x.Runner).Val(), "nobody was fenced")
	})
}

// theirs are violations that no program can mend, or that a claim's end does.
var theirs = map[string]bool{
	"keys lost": true, "keys dead": true, "keys meta": true, // somebody else wrote it
	"vms vm-h2-1":            true, // in a slot on another host: the claim fails, or is found hung
	"owners testrunner@h9#0": true, // fenced: it is reaped
}

// What moves while the consistency check reads is not wrong.
func TestConsistencyCheckOfABusyCluster(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		stop, done := make(chan struct{}), make(chan struct{})
		t.Cleanup(func() { <-done })
		t.Cleanup(sync.OnceFunc(func() { close(stop) }))
		go func() {
			defer close(done)
			for seq := int64(1); ; seq++ {
				select {
				case <-stop:
					return
				default:
				}
				x.Submit(t, specs("r", 1, "ann")...)
				x.AddVMs(t, 1)
				x.Exchange(t, seq, 1)
			}
		}()
		for range 20 {
			coretest.RequireSound(t, x.Store)
		}
	})
}

func TestConsistencyCheckNeedsRedis(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	x.b.Mini.SetError("LOADING")
	_, err := x.Store.CheckConsistency(t.Context())
	refused(t, err, core.CodeUnavailable)
}
