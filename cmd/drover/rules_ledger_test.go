package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// Rules 1 and 3. Redis loses everything while claims are in flight and two overseers
// watch. The store has all that was accepted, so the sweep puts it back; the hosts have
// all VMs, so none that began to serve is taken for a clean one.
func TestRedisWipedWhileClaimsAreInFlight(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, noQuarantine, manyTries)
	h.pool()
	all := h.startAll("vmfactory", "testrunner", "testrunner", "overseer", "overseer")
	ids := h.submit(60, "sh", "-c", "echo hello; sleep 0.05")
	h.awaitLeft(45)
	require.NoError(t, h.redis.Kill())
	require.NoError(t, os.RemoveAll(filepath.Join(h.redis.Dir, "appendonlydir")))
	require.NoError(t, h.redis.Restart(t.Context()))
	h.awaitLeft(0)
	h.end(all...)
	h.requireOnce(ids)
	h.requireVMsOnce(ids)
}

// Rule 2. A runner records a result and freezes before it can finish. The reaper
// reads the store, so the request does not run again, though another runner is idle. The
// finish arrives after that, and changes nothing. A rerun is a new generation, whose result is
// not refused for the first one's.
func TestARunnerThatFreezesBetweenRecordAndFinish(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, lateSoon...)
	h.pool()
	l := h.newLine()
	factory, frozen := h.start("vmfactory"), h.over(l).start("testrunner")
	id := h.submit(1, "sh", "-c", "sleep 1; echo done")[0]
	h.awaitRun(id)
	l.Holds("")
	h.awaitLeft(0)
	freeze(frozen)
	epoch := h.owner(frozen).Epoch
	require.NotEmpty(t, h.place(id).Owner, "the slot is full until somebody ends it")
	others := h.startAll("testrunner", "overseer", "overseer")
	h.awaitReaped(frozen)
	require.Empty(t, h.place(id).State, "it has its end")
	l.Release()
	thaw(frozen)
	h.awaitOwner(frozen, epoch)
	h.requireOneClaim([]string{id})
	h.requireOnce([]string{id})

	_, errs, code := h.run("request", "rerun", id)
	require.Zero(t, code, errs)
	await(t, "the rerun has a result", func() bool { return len(h.tries(id)) == 2 })
	h.end(append(others, frozen, factory)...)
	for i, try := range h.tries(id) {
		require.True(t, try.Accepted, "%+v", try)
		require.Equal(t, i+1, try.Result.Generation)
	}
	h.requireSound()
}

// Rules 1 and 19. A submit dies between the store and Redis, and what it said to Redis
// arrives when the sweep has long queued the request and it has ended: its tombstone
// keeps it from running twice. Tombstones go once they are older than any such call.
func TestASubmitThatReachesRedisAfterTheEnd(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, noQuarantine, neverLate)
	h.pool()
	l := h.newLine()
	l.Holds(`"submitter":"late"`)
	submitter := h.over(l).start("run", "--submitter", "late", "--", "echo", "once")
	awaitHeld(t, l)
	rows, err := h.cluster.Store.List(t.Context(), core.Filter{Submitter: "late"})
	require.NoError(t, err)
	require.Len(t, rows, 1, "the store is first")
	id := rows[0].Spec.ID
	require.Empty(t, h.place(id).State)
	submitter.kill()
	all := h.startAll("vmfactory", "testrunner", "overseer", "overseer")
	h.awaitLeft(0)
	before := l.Answered()
	l.Release()
	await(t, "the late enqueue has run", func() bool { return l.Answered() > before })
	h.requireOnce([]string{id})
	h.requireOneClaim([]string{id})
	h.end(all...)

	tombs := []string{h.cluster.Redis.Namespace().Key("tombstones"), h.cluster.Redis.Namespace().Key("tombstones_old")}
	exist := func() int64 { return h.cluster.Redis.Client().Exists(t.Context(), tombs...).Val() }
	require.Positive(t, exist())
	await(t, "they are forgotten", func() bool { // the younger take the place of the older before
		_, err := h.cluster.Redis.Trim(t.Context(), time.Millisecond) // sooner than overseers may
		require.NoError(t, err)
		return exist() == 0
	})
}

// Rule 1. A submit that supersedes an older one dies when it has told the store and
// nobody else. The sweep withdraws the older one, in the store first, and queues the newer.
func TestASupersedeThatDiesInTheMiddle(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, noQuarantine, neverLate)
	h.pool()
	dir := t.TempDir()
	cases := filepath.Join(dir, "cases.yaml")
	require.NoError(t, os.WriteFile(cases, []byte("run: cat cases.yaml\ntests:\n  - {input: 1, output: 1}\n"), 0o600))
	submit := func(h *testCluster) *process {
		return h.start("submit", "--no-wait", "--submitter", "ann", "--assignment", "a1", "--supersede",
			"--harness", dir, "--submission", cases)
	}
	older := submit(h)
	older.await()
	old := strings.TrimSpace(older.said())
	h.awaitPlace(old, "it waits", func(p core.Place) bool { return p.State == core.RequestQueued })
	l := h.newLine()
	l.Holds(core.Key(old, 1))
	newer := submit(h.over(l))
	awaitHeld(t, l)
	newer.kill()
	rows, err := h.cluster.Store.List(t.Context(), core.Filter{Submitter: "ann"})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	id := rows[0].Spec.ID
	require.Empty(t, h.place(id).State, "Redis has not heard of it")

	watch := h.start("overseer")
	h.awaitPlace(id, "the sweep queued it", func(p core.Place) bool { return p.State == core.RequestQueued })
	h.requireState(old, core.RequestCancelled)
	l.Release()
	all := h.startAll("vmfactory", "testrunner")
	h.awaitLeft(0)
	require.Zero(t, h.claims(old))
	h.requireOneClaim([]string{id})
	h.end(append(all, watch)...)
	h.requireSound()
}
