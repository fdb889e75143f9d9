package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// Rules 4 and 13. Between Redis and a runner and a vmfactory, every few answers are lost
// and their connection with them: answers to claims, finishes, new VMs. Each call is
// repeated and acts once, so nothing is claimed twice or stays in a slot that nobody knows,
// no VM becomes clean twice, and no attempt is used. Nobody watches: no overseer mends it.
func TestLostAnswersStrandNothing(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, neverLate)
	h.pool()
	toFactory, toRunner := h.newLine(), h.newLine()
	toFactory.Loses(7)
	toRunner.Loses(5)
	factory, runner := h.over(toFactory).start("vmfactory"), h.over(toRunner).start("testrunner")
	ids := h.submit(40, "true")
	h.awaitLeft(0)
	h.requireOnce(ids)
	h.requireVMsOnce(ids)
	h.requireOneClaim(ids)
	toFactory.Release()
	toRunner.Release()
	h.end(factory, runner)
}

// Rule 5. Four finishes wait together, and one of their slots was taken back meanwhile:
// that one is refused, and the others end in the same call. Claimed again it has ended
// already: while Redis is young its runner asks the ledger, and does not run it.
func TestOneStaleFinishHoldsNoOtherBack(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, neverLate)
	h.pool()
	l := h.newLine()
	factory, runner := h.start("vmfactory"), h.over(l).start("testrunner")
	h.awaitHost("h1", func(host core.HostInfo) bool { return host.VMs[string(core.VMClean)] == 4 })
	ids := h.submit(4, "sleep", "1")
	for _, id := range ids {
		h.awaitRun(id)
	}
	l.Holds("")
	h.awaitLeft(0)
	owner := h.owner(runner).Name
	held, err := h.cluster.Redis.Held(t.Context(), owner, 0)
	require.NoError(t, err)
	require.Len(t, held, 4)
	stale := held[0]
	require.NoError(t, h.cluster.Redis.Revoke(t.Context(), owner, stale,
		core.Settlement{Key: stale.Key, Token: stale.Token, Outcome: core.OutcomeRetry}, "the test took it"))
	l.Release()
	h.requireOnce(ids)
	for _, id := range ids {
		claims := 1
		if core.Key(id, 1) == stale.Key {
			claims = 2
		}
		require.Len(t, h.tries(id), 1)
		require.Equal(t, claims, h.claims(id))
	}
	h.end(factory, runner)
}

// Rule 11. Turns that are empty, because what waited was cancelled, or were put there
// twice, hold nobody up and give nobody more than one turn; runners that die put back what
// they held into turns that are there or not.
func TestStaleTurnsHoldNobodyUp(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, noQuarantine, manyTries)
	h.pool()
	ids := h.submit(70, "sh", "-c", "echo hello; sleep 0.02") // ten of each of seven submitters
	for i, id := range ids {
		if i%7 < 3 {
			_, err := h.cluster.Intake.Cancel(t.Context(), id, "somebody")
			require.NoError(t, err)
		}
	}
	h.submit(1, "true")
	db, turns := h.cluster.Redis.Client(), h.cluster.Redis.Namespace().Key("turns", "default", "normal")
	waiting, err := db.LRange(t.Context(), turns, 0, -1).Result()
	require.NoError(t, err)
	require.NoError(t, db.Del(t.Context(), turns).Err())
	for _, submitter := range waiting {
		require.NoError(t, db.RPush(t.Context(), turns, "ghost", submitter, "ghost").Err())
	}
	factory := h.start("vmfactory")
	h.awaitHost("h1", func(host core.HostInfo) bool { return host.VMs[string(core.VMClean)] >= 4 })
	all := append(h.startAll("testrunner", "testrunner", "overseer"), factory)
	h.awaitLeft(25)
	all[0].kill()
	all[0] = h.start("testrunner")
	h.awaitLeft(0)
	for i, id := range ids {
		if i%7 < 3 {
			h.requireState(id, core.RequestCancelled)
			require.Zero(t, h.claims(id))
		} else {
			h.requireState(id, core.RequestCompleted)
		}
	}
	await(t, "no turn is left", func() bool { return db.Exists(t.Context(), turns).Val() == 0 })
	h.end(all...)
	h.requireSound()
}

// Rule 12. Nobody looks by himself for an hour, and each way to make a pair of a
// request and a VM possible must ring an owner that can use it.
func TestBellsAloneBringWork(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, "DROVER_POLL=1h", "DROVER_SLOTS=1", noQuarantine, manyTries)
	pool := core.DefaultPool("default")
	pool.Warm, pool.Max = 1, 1
	set := func() { require.NoError(t, h.cluster.Intake.SetPool(t.Context(), pool)) }
	set()
	factory, runner := h.start("vmfactory"), h.start("testrunner")
	h.awaitHost("h1", warm)
	done := func(how string, ids ...string) {
		t.Helper()
		await(t, how, func() bool { return h.unfinished() == 0 })
		h.requireOnce(ids)
	}
	done("a submit rings", h.submit(1, "true")...)
	done("a new VM rings: there is only one at a time", h.submit(4, "true")...)

	id := h.submit(1, "sh", "-c", "sleep 2; echo done")[0]
	h.awaitRun(id)
	other := h.start("testrunner")
	h.awaitOwner(other, 0)
	runner.kill()
	done("what is put back rings", id)

	run := func(args ...string) {
		t.Helper()
		_, errs, code := h.run(args...)
		require.Zero(t, code, errs)
	}
	run("host", "drain", "h1")
	id = h.submit(1, "true")[0]
	run("host", "undrain", "h1")
	done("the end of a drain rings", id)

	pool.Paused = true
	set()
	id = h.submit(1, "true")[0]
	pool.Paused = false
	set()
	done("the end of a pause rings", id)
	h.end(other, factory)
}

// Rule 12, the other half. A bell is a hint: where all rings are lost, and where
// bells ring all the time for nothing, the poll still finds all work.
func TestBellsThatLieChangeNothing(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, neverLate)
	h.pool()
	all := h.startAll("vmfactory", "testrunner", "testrunner")
	ids := h.submit(40, "true")
	db, space := h.cluster.Redis.Client(), h.cluster.Redis.Namespace()
	bells := []string{space.Key("bell", "h1"), space.Key("factory_bell", "h1")}
	for i := 0; h.unfinished() > 0; i++ {
		if i%2 == 0 {
			require.NoError(t, db.Del(t.Context(), bells...).Err())
			continue
		}
		for _, bell := range bells {
			require.NoError(t, db.LPush(t.Context(), bell, "1").Err())
		}
	}
	h.requireOnce(ids)
	h.requireOneClaim(ids)
	h.end(all...)
}

// Rule 15. A drained host takes nothing more, not with the finish of what it had in
// hand either. It dies, is fenced and comes back, and is drained still. Work goes to
// others until the drain ends.
func TestADrainedHostThatDiesComesBackDrained(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, append(lateSoon, "DROVER_SLOTS=1")...)
	h.pool()
	first, watch := h.startAll("vmfactory", "testrunner"), h.start("overseer")
	inHand := h.submit(1, "sleep", "3600")
	h.awaitRun(inHand[0])
	waiting := h.submit(3, "true")
	_, errs, code := h.run("host", "drain", "h1")
	require.Zero(t, code, errs)
	_, errs, code = h.run("request", "cancel", inHand[0]) // only now may it end
	require.Zero(t, code, errs)
	await(t, "what is in hand ends", func() bool { return h.place(inHand[0]).State == "" })
	for _, p := range first {
		p.kill()
	}
	h.awaitHost("h1", func(host core.HostInfo) bool { return host.State == core.HostDown })
	first = h.startAll("vmfactory", "testrunner")
	h.awaitOwner(first[1], 0)
	h.awaitHost("h1", func(host core.HostInfo) bool { return host.State == core.HostUp && host.Ready && host.Drain })
	second := h.on("h2").startAll("vmfactory", "testrunner")
	h.awaitLeft(0)
	for _, id := range waiting {
		require.Equal(t, "h2", h.requireState(id, core.RequestCompleted).Result.Host)
	}
	stopAll(second...)
	last := h.submit(1, "true")
	_, errs, code = h.run("host", "undrain", "h1")
	require.Zero(t, code, errs)
	h.awaitLeft(0)
	require.Equal(t, "h1", h.requireState(last[0], core.RequestCompleted).Result.Host)
	h.requireOneClaim(append(append(inHand, waiting...), last...))
	h.end(append(first, watch)...)
	h.requireSound()
}
