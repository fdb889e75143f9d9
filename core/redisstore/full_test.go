package redisstore_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What becomes of scripts while Redis is full. Every script is in one of these lists.
const (
	// readsWhenFull write nothing.
	readsWhenFull = "held lease_list locate preceding task_locate task_waiting vm_load waiting"
	// refusedWhenFull take something new. What they find done already they may say.
	refusedWhenFull = "change enqueue output session_keep take task_enqueue"
	// passesWhenFull end, heal, record a heartbeat, make room, or work off what is there.
	passesWhenFull = "beat cancel declare_dead deregister exchange fence host_down host_drain host_forget host_judge host_measured host_probation host_set hosts_ring " +
		"host_report host_tell join late incarnation mend_count mend_host mend_left mend_output mend_owner mend_request mend_slot " +
		"lease_reroute lease_set mend_task mend_task_turn mend_turn mend_vm revoke oversee place_set pool_outage pool_remove pool_set progress promote reclaim register session_end settle " +
		"task_cancel task_exchange task_progress task_rates task_wake task_withdraw trim unassign vm_create vm_destroy vm_gone " +
		"vm_note vm_promise vm_ready vm_reconcile vm_retire wait_anew withdraw"
)

// full is the hook of a store's clients that fills a server of the test's own for each call of a
// script. Who refuses then and may is called once more with room.
type full struct {
	t       testing.TB
	server  *redis.Client     // to fill it, past hooks
	names   map[string]string // of scripts, by their hashes
	wrote   map[string]bool   // scripts that were called, and whether a call that was not refused wrote
	refused map[string]bool
}

// whileFull has every script of the store called while its server is full.
func whileFull(t testing.TB, x *suite) *full {
	t.Helper()
	f := &full{
		t: t, server: redis.NewClient(x.b.Admin.Options()),
		names: make(map[string]string), wrote: make(map[string]bool), refused: make(map[string]bool),
	}
	t.Cleanup(func() { require.NoError(t, f.server.Close()) })
	for _, name := range redisstore.ScriptNames() {
		f.names[redis.NewScript(redisstore.Assemble(name)).Hash()] = name
	}
	f.watch(x)
	return f
}

func (f *full) watch(x *suite) {
	x.Store.Client().AddHook(f)
	x.Store.Once().AddHook(f)
}

// call makes a call of a script while the server is full. It answers whether that was refused.
func (f *full) call(name string, do func() error) (bool, error) {
	ctx := context.Background() // the caller's own may have ended
	set := func(bytes string) { assert.NoError(f.t, f.server.ConfigSet(ctx, "maxmemory", bytes).Err()) }
	changes := func() string {
		text, err := f.server.Info(ctx, "persistence").Result()
		assert.NoError(f.t, err)
		return redisstore.InfoField(text, "rdb_changes_since_last_save")
	}
	before := changes()
	set("1")
	err := do()
	set("0")
	switch {
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
	case redis.HasErrorPrefix(err, "OOM"):
		f.refused[name] = true
		assert.Contains(f.t, strings.Fields(refusedWhenFull), name, "a full Redis refuses it: see lib/pass_when_full.lua")
		return true, err
	default:
		f.wrote[name] = f.wrote[name] || changes() != before
	}
	return false, err
}

// DialHook implements redis.Hook.
func (*full) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (f *full) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" && cmd.Name() != "eval" {
			return next(ctx, cmd)
		}
		hash, _ := cmd.Args()[1].(string)
		if cmd.Name() == "eval" {
			hash = redis.NewScript(hash).Hash()
		}
		refused, err := f.call(f.names[hash], func() error { return next(ctx, cmd) })
		if refused {
			cmd.SetErr(nil)
			return next(ctx, cmd)
		}
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (*full) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Rule 9, of every script there is: called while Redis is full it reads, or passes and writes, or
// is refused, as the lists say. What is not called here fails the test.
func TestEveryScriptWhileRedisIsFull(t *testing.T) {
	t.Parallel()
	b := coretest.Alone(t)
	x := newSuite(t, b, false)
	smallCrowd.come(t, x, 0)
	f := whileFull(t, x)
	smallCrowd.tour(t, x, 0, func(do func()) { do() })
	anew := func() *suite {
		require.NoError(t, b.Admin.FlushAll(t.Context()).Err())
		x := newSuite(t, b, false)
		f.watch(x)
		return x
	}
	f.moreOfTheTour(t, anew())
	for _, flaw := range flaws {
		x := anew()
		busy(t, x)
		require.NoError(t, flaw.do(t.Context(), b.Admin, x.key))
		found, err := x.Store.CheckConsistency(t.Context())
		require.NoError(t, err)
		requireMended(t, x, found)
	}
	reads, passes, refused := strings.Fields(readsWhenFull), strings.Fields(passesWhenFull), strings.Fields(refusedWhenFull)
	require.ElementsMatch(t, redisstore.ScriptNames(), slices.Concat(reads, passes, refused), "a script is in one list")
	for _, name := range redisstore.ScriptNames() {
		wrote, called := f.wrote[name]
		switch {
		case slices.Contains(refused, name):
			assert.True(t, f.refused[name], "%s is not refused, or not called", name)
		case slices.Contains(reads, name):
			assert.True(t, called && !wrote, "%s writes, or is not called", name)
		default:
			assert.True(t, wrote, "%s does not come to write in tour and moreOfTheTour, or is not called there", name)
		}
	}
}

// moreOfTheTour makes calls that write, of scripts that have nothing to write in tour.
func (f *full) moreOfTheTour(t *testing.T, x *suite) {
	t.Helper()
	ctx, ok := t.Context(), func(err error) { t.Helper(); require.NoError(t, err) }
	ok(x.b.Admin.HDel(ctx, x.key("meta"), "incarnation").Err())
	_, err := f.call("incarnation", func() error {
		s, err := redisstore.Open(ctx, x.b.Options()) // it calls the script before it can be given a hook
		if err != nil {
			return err
		}
		return s.Close()
	})
	ok(err)
	ok(x.Store.Note(ctx, x.Factory, x.Made, "h1", core.HostNotes{Broken: map[string]string{"p1": "no image"}}))
	_, err = x.Store.Measured(ctx, x.Factory, x.Made, "h1", core.HostMeasure{})
	ok(err)
	ok(x.Store.SetHost(ctx, "h1", core.HostSettings{Labels: map[string]string{"zone": "a"}}))
	x.Exchange(t, 1, 1) // nothing is there to claim
	_, err = x.Store.Reclaim(ctx, x.Runner, "h1", x.Epoch, "", []core.HeldClaim{{Claim: core.Claim{Key: "r-1", VM: "v", Token: "1.1", Text: `{"id":"r","gen":1,"pool":"p1","priority":"normal","submitter":"ann"}`}, Phase: "running"}})
	ok(err)
	x.Exchange(t, 2, 0, core.Finish{Key: "r-1", Token: "1.1", Outcome: core.OutcomeDone})
	newTasker(t, x).run(t, 1, 0)
	x.owners(t, 1)
	x.due(t, time.Hour, "testrunner@o0#0")
	x.late(t, x.Store, time.Hour)
	x.due(t, -time.Minute, "testrunner@o0#0")
	x.judge(t)
	require.Equal(t, core.HostSuspect, x.host(t, "o0").State)
	x.other(t, "h2")
	x.AddVMs(t, 1)
	x.Submit(t, coretest.Spec("a", "p1", "ann"))
	claim := x.Exchange(t, 3, 1).Claims[0]
	_, placed, err := x.Store.Rooms(ctx)
	ok(err)
	_, err = x.Store.Settle(ctx, x.Runner, x.lose(t), []core.Settlement{settlement(claim, core.OutcomeRetry, "h2")}, placed)
	ok(err)
	n, err := x.Store.Unassign(ctx, "h2", 0)
	ok(err)
	require.Equal(t, 1, n)
}
