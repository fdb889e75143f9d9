package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func (x *suite) heldOf(t *testing.T, owner string) []core.Held {
	t.Helper()
	held, err := x.Store.Held(t.Context(), owner, 0)
	require.NoError(t, err)
	return held
}

// A slot is taken from a living owner only if it still reads as it was read; the work runs
// again, and what the owner says of it later moves nothing.
func TestRevoke(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.start(t, 1)[0]
		x.AddVMs(t, 2)
		old := x.heldOf(t, x.Runner)[0]
		require.NoError(t, x.Store.Progress(ctx, x.Runner, x.Epoch, c.Key, c.Token, "running", time.Minute))
		x.hush(t)
		before := x.picture(t)
		retry := core.Settlement{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry}
		refused(t, x.Store.Revoke(ctx, x.Runner, old, retry, "it hangs"), core.CodeConflict)
		x.changed(t, before)
		held := x.heldOf(t, x.Runner)[0]
		require.Equal(t, time.Minute, held.Limit)
		require.NoError(t, x.Store.Revoke(ctx, x.Runner, held, retry, "it hangs"))
		require.True(t, x.rung(t, "notice", x.Runner), "it looks at once")
		require.True(t, x.rung(t, "factory_bell", "h1"), "its VM is to be destroyed")
		x.changed(t, before,
			"- slots:testrunner@h1#0 a0-1: vm-h1-1|E.1000|TIME|running|60000|",
			"+ attempts a0-1: 1", "+ shun a0-1: h1", "+ later a0-1: TIME", "+ waits a0-1: TIME", "+ vms:h1:dirty: vm-h1-1",
			"+ events: by:testrunner@h1#0 moved: a0-1=retry op:revoke vms:=dirty vm-h1-1 why:it hangs")
		require.NoError(t, x.Store.Revoke(ctx, x.Runner, held, retry, "it hangs"), "an empty slot is as good")
		x.pausesEnd(t)
		got := x.Exchange(t, 2, 1, end(c, core.OutcomeDone))
		require.Equal(t, []bool{false}, got.Finished)
		require.Equal(t, 1, got.Slots)
		require.Equal(t, c.Key, got.Claims[0].Key)
		refused(t, x.Store.Revoke(ctx, x.Runner, held, retry, "it hangs"), core.CodeConflict)
		require.Empty(t, x.heldOf(t, x.Runner)[0].Deaths, "it was no death")
	})
}

// Work is moved off a host that drains: no attempt is used, it is taken first where it goes.
func TestRevokeAssigns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		h2 := x.other(t, "h2")
		c := x.start(t, 1)[0]
		held := x.heldOf(t, x.Runner)[0]
		move := core.Settlement{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRelease, To: "h3"}
		refused(t, x.Store.Revoke(ctx, x.Runner, held, move, "h1 is drained"), core.CodeConflict)
		_, placed, err := x.Store.Rooms(ctx)
		require.NoError(t, err)
		move.To = "h2"
		require.NoError(t, x.Store.Revoke(ctx, x.Runner, held, move, "h1 is | drained"))
		_, again, err := x.Store.Rooms(ctx)
		require.NoError(t, err)
		require.Equal(t, placed+1, again, "who places at the same time looks again")
		moves, err := x.Store.Evacuations(ctx)
		require.NoError(t, err)
		require.Equal(t, "h1 is | drained", moves[0].Why)
		h2.AddVMs(t, 1)
		got := h2.Exchange(t, 1, 1).Claims
		require.Equal(t, []string{c.Key}, keysOf(got))
		require.Zero(t, got[0].Attempts)
		move.Outcome = core.OutcomeDone
		refused(t, x.Store.Revoke(ctx, x.Runner, held, move, ""), core.CodeInvalid)
	})
}

// A VM on which a vmfactory hangs becomes dirty; what that says of it later moves nothing.
func TestRevokeOfAVM(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"vm-new"}))
		held := x.heldOf(t, x.Factory)[0]
		release := core.Settlement{Key: held.Key, Token: held.Token, Outcome: core.OutcomeRelease}
		require.NoError(t, x.Store.Revoke(ctx, x.Factory, held, release, "it hangs"))
		require.NoError(t, x.Store.Ready(ctx, x.Factory, x.Made, "h1", map[string]bool{"vm-new": true}))
		clean, err := x.Store.CleanVMs(ctx, "h1", "p1")
		require.NoError(t, err)
		require.Empty(t, clean)
		vms, err := x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 1)
		require.NoError(t, err)
		require.Equal(t, []string{"vm-new"}, vms)
		held = x.heldOf(t, x.Factory)[0]
		require.Equal(t, "destroying", held.Phase)
		release.Token = held.Token
		require.NoError(t, x.Store.Revoke(ctx, x.Factory, held, release, "it hangs"))
		vms, err = x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 1)
		require.NoError(t, err)
		require.Equal(t, []string{"vm-new"}, vms)
	})
}

// A full Redis does not keep anybody from healing.
func TestHealingPassesWhenFull(t *testing.T) {
	t.Parallel()
	b := coretest.Alone(t)
	x := newSuite(t, b, false)
	ctx := t.Context()
	h2 := x.other(t, "h2")
	h2.AddVMs(t, 3)
	cs := x.start(t, 4)
	x.Exchange(t, 2, 0, end(cs[3], core.OutcomeRetry))
	x.pausesEnd(t)
	require.NoError(t, b.Admin.ZAdd(ctx, x.key("owners"), redis.Z{Score: 1, Member: x.Runner}).Err(), "it is late")
	require.NoError(t, b.Admin.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err())
	require.NoError(t, b.Admin.ConfigSet(ctx, "maxmemory", "1").Err())
	verdicts, err := x.Store.Enqueue(ctx, specs("z", 1, "ann"))
	require.NoError(t, err)
	refused(t, verdicts[0], core.CodeFull)
	_, err = x.Store.Promote(ctx)
	require.NoError(t, err)
	held := x.heldOf(t, x.Runner)
	require.NoError(t, x.Store.Revoke(ctx, x.Runner, held[0], core.Settlement{Key: held[0].Key, Token: held[0].Token, Outcome: core.OutcomeRetry}, "it hangs"))
	require.NoError(t, x.Store.Progress(ctx, x.Runner, x.Epoch, held[1].Key, held[1].Token, "running", time.Minute))
	_, placed, err := x.Store.Rooms(ctx)
	require.NoError(t, err)
	epoch, err := x.Store.Fence(ctx, x.Runner, time.Millisecond)
	require.NoError(t, err)
	_, err = x.Store.Settle(ctx, x.Runner, epoch, []core.Settlement{
		{Key: held[1].Key, Token: held[1].Token, Outcome: core.OutcomeRetry, To: "h2"},
		{Key: held[2].Key, Token: held[2].Token, Outcome: core.OutcomeRetry, To: core.Parked},
	}, placed)
	require.NoError(t, err)
	require.NoError(t, x.Store.Probation(ctx, "h2", "it flaps", 0, 1))
	_, err = x.Store.Unassign(ctx, "h2", 0)
	require.NoError(t, err)
	require.NoError(t, coretest.ErrOf(x.Store.Report(ctx, core.HostReport{Host: "h1", Event: core.HostFailed, By: "dog"})))
	require.NoError(t, coretest.ErrOf(x.Store.Report(ctx, core.HostReport{Host: "h1", Event: core.HostRecovered, By: "dog"})))
	require.Len(t, h2.Exchange(t, 1, 3).Claims, 1)
	coretest.RequireSound(t, x.Store)
}

// Evidence that a process is gone ends its epoch at once, and no other's.
func TestDeclareDead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.start(t, 1)[0]
		_, err := x.Store.DeclareDead(ctx, "testrunner@h1#9", 1)
		refused(t, err, core.CodeNotFound)
		before := x.picture(t)
		for _, wrong := range []int64{x.Epoch - 1, x.Epoch + 1} {
			_, err = x.Store.DeclareDead(ctx, x.Runner, wrong)
			refused(t, err, core.CodeConflict)
		}
		x.changed(t, before)
		epoch, err := x.Store.DeclareDead(ctx, x.Runner, x.Epoch)
		require.NoError(t, err)
		require.Greater(t, epoch, x.Epoch)
		again, err := x.Store.DeclareDead(ctx, x.Runner, x.Epoch)
		require.NoError(t, err)
		require.Equal(t, epoch, again)
		fenced, err := x.Store.Fence(ctx, x.Runner, time.Hour)
		require.NoError(t, err)
		require.Equal(t, epoch, fenced, "it is as good as fenced")
		_, err = x.Store.Exchange(ctx, x.Call(2, 0, end(c, core.OutcomeDone)))
		refused(t, err, core.CodeFenced)
		late, err := x.Store.Late(ctx, time.Hour)
		require.NoError(t, err)
		require.Equal(t, []string{x.Runner}, late, "who declared it dead may die before it settles")
		r := x.Register(t, x.Runner)
		require.Len(t, r.Left, 1)
		_, err = x.Store.DeclareDead(ctx, x.Runner, x.Epoch)
		refused(t, err, core.CodeConflict)
	})
}

// A host that is reported failed is down at once and stays so, even if owners register there.
func TestAHostIsReportedFailed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.start(t, 1)[0]
		x.AddVMs(t, 1)
		report := core.HostReport{Host: "h1", Event: core.HostFailed, By: "dog", Reason: "no power"}
		unknown := report
		unknown.Host = "h9"
		refused(t, coretest.ErrOf(x.Store.Report(ctx, unknown)), core.CodeNotFound)
		recovered := report
		recovered.Event = core.HostRecovered
		before := x.picture(t)
		require.NoError(t, coretest.ErrOf(x.Store.Report(ctx, recovered)), "of a host that is well")
		x.changed(t, before)
		epoch := x.host(t, "h1").Epoch
		require.NoError(t, coretest.ErrOf(x.Store.Report(ctx, report)))
		h := x.host(t, "h1")
		require.Equal(t, core.HostDown, h.State)
		require.Greater(t, h.Epoch, epoch)
		require.Empty(t, h.VMs)
		h.Failed.At = 0
		require.Equal(t, &report, h.Failed)
		_, err := x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		refused(t, err, core.CodeFenced)
		before = x.picture(t)
		require.NoError(t, coretest.ErrOf(x.Store.Report(ctx, report)))
		x.changed(t, before)

		// Its owners come back before somebody says that it is well: it gets nothing.
		r := x.Register(t, x.Runner)
		require.Len(t, r.Left, 1)
		_, err = x.Store.Settle(ctx, x.Runner, r.Epoch, []core.Settlement{settlement(c, core.OutcomeRetry, "")}, 0)
		require.NoError(t, err)
		x.Epoch, x.Made = r.Epoch, x.Register(t, x.Factory).Epoch
		found := map[string]core.Found{"vm-h1-2": {Pool: "p1", Usable: true}}
		_, err = x.Store.Reconcile(ctx, x.Factory, x.Made, "h1", found, nil)
		require.NoError(t, err)
		require.Equal(t, core.HostDown, x.host(t, "h1").State)
		got := x.Exchange(t, 1, 1)
		require.False(t, got.Ready)
		require.Empty(t, got.Claims)
		coretest.RequireSound(t, x.Store)

		x.hush(t)
		require.NoError(t, coretest.ErrOf(x.Store.Report(ctx, recovered)))
		require.True(t, x.rung(t, "factory_bell", "h1"))
		h = x.host(t, "h1")
		require.Equal(t, core.HostUp, h.State)
		require.Nil(t, h.Failed)
		require.False(t, h.Ready, "its vmfactory looks first")
		_, err = x.Store.Reconcile(ctx, x.Factory, x.Made, "h1", found, nil)
		require.NoError(t, err)
		require.Equal(t, []string{c.Key}, keysOf(x.Exchange(t, 2, 1).Claims))
	})
}

// One that is reported recovered before its owners are back comes up with them.
func TestAHostRecoversBeforeItsOwners(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		report := core.HostReport{Host: "h1", Event: core.HostFailed, By: "dog"}
		require.NoError(t, coretest.ErrOf(x.Store.Report(t.Context(), report)))
		x.Register(t, x.Factory)
		_, err := x.Store.Reconcile(t.Context(), x.Factory, x.Register(t, x.Factory).Epoch, "h1", map[string]core.Found{"vm-a": {Pool: "p1"}}, nil)
		require.NoError(t, err)
		x.due(t, -time.Minute, x.Factory)
		report.Event = core.HostRecovered
		require.NoError(t, coretest.ErrOf(x.Store.Report(t.Context(), report)))
		require.Equal(t, core.HostDown, x.host(t, "h1").State)
		coretest.RequireSound(t, x.Store)
		x.Register(t, x.Factory)
		require.Equal(t, core.HostUp, x.host(t, "h1").State)
	})
}

// One that failed for good can be forgotten, with what it had said of its VMs.
func TestAFailedHostIsForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, coretest.ErrOf(x.Store.Report(ctx, core.HostReport{Host: "h1", Event: core.HostFailed, By: "dog"})))
		made := x.Register(t, x.Factory).Epoch
		_, err := x.Store.Reconcile(ctx, x.Factory, made, "h1", map[string]core.Found{"vm-a": {Pool: "p1"}}, nil)
		require.NoError(t, err)
		require.NoError(t, x.Store.Deregister(ctx, x.Factory, made))
		epoch, err := x.Store.DeclareDead(ctx, x.Runner, 0)
		require.NoError(t, err)
		require.NoError(t, x.Store.Forget(ctx, x.Runner, epoch))
		err = x.Store.ForgetHost(ctx, "h1")
		require.True(t, err == nil || x.twice && core.Is(err, core.CodeNotFound), "%v", err)
		coretest.RequireSound(t, x.Store)
	})
}

// A host on probation gets one request at a time, and none before its time; a fault of it is
// the host's and makes it wait longer, enough that go well in a row end it.
func TestProbation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.AddVMs(t, 20)
		x.Submit(t, specs("a", 8, "ann")...)
		refused(t, x.Store.Probation(ctx, "h9", "it flaps", time.Minute, 2), core.CodeNotFound)
		require.NoError(t, x.Store.Probation(ctx, "h1", "it flaps", time.Minute, 2))
		before := x.picture(t)
		require.NoError(t, x.Store.Probation(ctx, "h1", "it flaps", time.Hour, 5))
		x.changed(t, before)
		p := x.host(t, "h1").Probation
		require.InDelta(t, x.now(t).Add(time.Minute).UnixMilli(), p.Until, 30_000)
		require.Equal(t, &core.Probation{Reason: "it flaps", Until: p.Until, Needed: 2, Times: 1}, p)
		require.Empty(t, x.Exchange(t, 1, 3).Claims)
		x.served(t)
		got := x.Exchange(t, 2, 3).Claims
		require.Len(t, got, 1)
		require.Equal(t, got[0].Key, x.host(t, "h1").Probation.Canary)
		require.Empty(t, x.Exchange(t, 3, 3).Claims, "one at a time")
		coretest.RequireSound(t, x.Store)

		again := x.Exchange(t, 4, 3, end(got[0], core.OutcomeRelease)).Claims
		require.Equal(t, keysOf(got), keysOf(again), "given back, it says nothing")
		x.Exchange(t, 5, 0, end(again[0], core.OutcomeRetry))
		p = x.host(t, "h1").Probation
		require.InDelta(t, x.now(t).Add(2*time.Minute).UnixMilli(), p.Until, 30_000)
		require.Empty(t, p.Canary)
		place := x.place(t, again[0].Key)
		require.Zero(t, place.Attempts, "the fault is the host's")
		require.Zero(t, place.Due)

		x.served(t)
		for seq := int64(6); x.host(t, "h1").Probation != nil; seq++ {
			require.Less(t, seq, int64(8))
			got = x.Exchange(t, seq, 1, ends(got, core.OutcomeDone)...).Claims
			if x.host(t, "h1").Probation != nil {
				require.Len(t, got, 1)
			}
			if seq == 7 {
				require.Equal(t, 1, x.host(t, "h1").Probation.Good)
				x.Exchange(t, 8, 0, end(got[0], core.OutcomeDone))
			}
		}
		require.Len(t, x.Exchange(t, 9, 4).Claims, 4, "it is trusted again")
		h := x.host(t, "h1")
		require.Nil(t, h.Probation)
		require.Equal(t, 1, h.Probations)
		require.NoError(t, x.Store.Probation(ctx, "h1", "a black hole", 0, 1))
		require.Equal(t, 2, x.host(t, "h1").Probation.Times)
		require.NoError(t, x.Store.Probation(ctx, "h1", "", 0, 0))
		require.Nil(t, x.host(t, "h1").Probation)
	})
}

func ends(claims []core.Claim, outcome core.Outcome) []core.Finish {
	var out []core.Finish
	for _, c := range claims {
		out = append(out, end(c, outcome))
	}
	return out
}

// served ends the delay of the host's probation.
func (x *suite) served(t *testing.T) {
	t.Helper()
	key := x.key("host", "h1")
	text, err := x.b.Admin.HGet(t.Context(), key, "probation").Result()
	require.NoError(t, err)
	_, rest, ok := strings.Cut(text, "|")
	require.True(t, ok)
	require.NoError(t, x.b.Admin.HSet(t.Context(), key, "probation", "1|"+rest).Err())
}

// A canary whose owner dies is one that failed; a host that is lost has none.
func TestACanaryDies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.AddVMs(t, 5)
		x.Submit(t, specs("a", 3, "ann")...)
		require.NoError(t, x.Store.Probation(ctx, "h1", "it flaps", time.Minute, 2))
		x.served(t)
		c := x.Exchange(t, 1, 1).Claims[0]
		_, err := x.Store.DeclareDead(ctx, x.Runner, x.Epoch)
		require.NoError(t, err)
		r := x.Register(t, x.Runner)
		_, err = x.Store.Settle(ctx, x.Runner, r.Epoch, []core.Settlement{settlement(c, core.OutcomeRetry, "")}, 0)
		require.NoError(t, err)
		p := x.host(t, "h1").Probation
		require.Empty(t, p.Canary)
		require.InDelta(t, x.now(t).Add(2*time.Minute).UnixMilli(), p.Until, 30_000)
		require.Zero(t, x.place(t, c.Key).Attempts)
		deaths, err := x.b.Admin.HGet(ctx, x.key("deaths"), c.Key).Result()
		require.NoError(t, err)
		require.Equal(t, x.Runner+"!", deaths, "a request that kills is found out nevertheless")

		x.served(t)
		x.Epoch = r.Epoch
		c = x.Exchange(t, 1, 1).Claims[0]
		require.NoError(t, coretest.ErrOf(x.Store.Report(ctx, core.HostReport{Host: "h1", Event: core.HostFailed, By: "dog"})))
		h := x.host(t, "h1")
		require.Empty(t, h.Probation.Canary)
		epoch, err := x.Store.Fence(ctx, x.Runner, 0)
		require.NoError(t, err)
		_, err = x.Store.Settle(ctx, x.Runner, epoch, []core.Settlement{settlement(c, core.OutcomeRetry, "")}, 0)
		require.NoError(t, err)
		require.Equal(t, 1, x.place(t, c.Key).Attempts)
	})
}

// Rule 12: a ring does not go to a host that may not use it.
func TestAHostOnProbationIsNotWoken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		h2 := x.other(t, "h2")
		x.AddVMs(t, 1)
		h2.AddVMs(t, 1)
		require.Empty(t, x.Exchange(t, 1, 1).Claims)
		require.Empty(t, h2.Exchange(t, 1, 1).Claims)
		require.NoError(t, x.Store.Probation(t.Context(), "h1", "it flaps", 0, 1))
		require.Empty(t, x.Exchange(t, 2, 1).Claims)
		x.hush(t)
		x.rung(t, "bell", "h2")
		x.Submit(t, coretest.Spec("a", "p1", "ann"))
		require.False(t, x.rung(t, "bell", "h1"))
		require.True(t, x.rung(t, "bell", "h2"))
		require.Len(t, x.Exchange(t, 3, 1).Claims, 1, "it looks by itself")
	})
}

// Whatever does not fit what is told of moves and trials is found.
func TestTheConsistencyCheckKnowsWhereMovesLead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(t *testing.T, x *suite, key func(string, ...string) string) error
		rule   core.Rule
	}{
		"assigned without a record": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.HDel(t.Context(), key("evacuations"), "a0-1").Err()
		}, core.RuleMoves},
		"a record of what is nowhere": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.HSet(t.Context(), key("evacuations"), "z-1", "parked|h1||1|0|").Err()
		}, core.RuleMoves},
		"accepted elsewhere": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.HSet(t.Context(), key("evacuations"), "a0-1", "accepted|h1|h3|1|1|").Err()
		}, core.RuleMoves},
		"an unreadable record": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.HSet(t.Context(), key("evacuations"), "a0-1", "?").Err()
		}, core.RuleMoves},
		"assigned twice": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.RPush(t.Context(), key("parked", "p1"), "a0-1").Err()
		}, core.RuleRequests},
		"assigned in another pool": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.Rename(t.Context(), key("assigned", "h2", "p1"), key("assigned", "h2", "p2")).Err()
		}, core.RuleRequests},
		"pausing and assigned": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.ZAdd(t.Context(), key("later"), redis.Z{Member: "a0-1"}).Err()
		}, core.RuleRequests},
		"assigned to a host that drains": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.HSet(t.Context(), key("host", "h2"), "drain", "1").Err()
		}, core.RuleHosts},
		"a canary that is nowhere": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.HSet(t.Context(), key("host", "h2"), "canary", "a0-1|testrunner@h2#0").Err()
		}, core.RuleHosts},
		"deaths of what ended": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.HSet(t.Context(), key("deaths"), "z-1", "x").Err()
		}, core.RuleLeft},
		"a wait of what ended": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.HSet(t.Context(), key("waits"), "z-1", "1").Err()
		}, core.RuleLeft},
		"a host shunned by what ended": {func(t *testing.T, x *suite, key func(string, ...string) string) error {
			t.Helper()
			return x.b.Admin.HSet(t.Context(), key("shun"), "z-1", "h1").Err()
		}, core.RuleLeft},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSuite(t, coretest.Mini(t), false)
			x.other(t, "h2")
			claims := x.start(t, 1)
			_, err := x.Store.Settle(t.Context(), x.Runner, x.lose(t), []core.Settlement{settlement(claims[0], core.OutcomeRelease, "h2")}, 0)
			require.NoError(t, err)
			coretest.RequireSound(t, x.Store)
			require.NoError(t, c.damage(t, x, x.key))
			found, err := x.Store.CheckConsistency(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, found)
			rules := make(map[core.Rule]bool)
			for _, v := range found {
				rules[v.Rule] = true
				require.NotEmpty(t, v.ID)
			}
			require.True(t, rules[c.rule], "%v", found)
		})
	}
}
