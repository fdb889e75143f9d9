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
	"drover/core/redisstore"

	"github.com/stretchr/testify/require"
)

func registration(owner, host, machine string) core.Registration {
	return core.Registration{Owner: owner, Host: host, Machine: machine, PID: 7, Version: "v1", Beat: time.Minute, CPU: 4, MemoryBytes: 1 << 33, DiskBytes: 100 << 30}
}

func TestRegisterMovesNothingElse(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	s := b.Open(t)
	r, err := s.Register(t.Context(), registration("testrunner@h7#0", "h7", "m7"))
	require.NoError(t, err)
	require.Empty(t, r.Left)
	require.Equal(t, coretest.Picture{
		"epochs host:h7: E", "epochs testrunner@h7#0: E",
		"events: by:testrunner@h7#0 moved:E op:register pid:7", "events: by:testrunner@h7#0 moved:h7 op:host up",
		"host:h7 cpu: 4", "host:h7 disk: 107374182400", "host:h7 epoch: E", "host:h7 machine: m7", "host:h7 memory: 8589934592", "host:h7 since: TIME", "host:h7 state: up",
		"hosts h7: TIME", "meta schema: 14",
		"owner:testrunner@h7#0 epoch: E", "owner:testrunner@h7#0 former: 0", "owner:testrunner@h7#0 host: h7", "owner:testrunner@h7#0 idle: 1", "owner:testrunner@h7#0 pid: 7", "owner:testrunner@h7#0 process: ",
		"owner:testrunner@h7#0 role: testrunner", "owner:testrunner@h7#0 since: TIME", "owner:testrunner@h7#0 version: v1",
		"owners testrunner@h7#0: TIME",
	}, b.Picture(t, strconv.FormatInt(r.Epoch, 10), "E"))
	coretest.RequireSound(t, s)
}

func TestRegisterAgainFencesAndTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c, d := x.claim(t, 1, "a"), x.claim(t, 2, "b")
		require.NoError(t, x.Store.Progress(ctx, x.Runner, x.Epoch, d.Key, d.Token, "running", 90*time.Second))
		_, err := x.Store.Cancel(ctx, d.Key, "bob", core.CancelAny)
		require.NoError(t, err)
		require.NoError(t, x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"vm-new"}))
		before := x.picture(t)
		r := x.Register(t, x.Runner)
		require.Greater(t, r.Epoch, x.Epoch)
		require.Len(t, r.Left, 2)
		slices.SortFunc(r.Left, func(a, b core.Held) int { return strings.Compare(a.Key, b.Key) })
		require.Equal(t, fmt.Sprintf("%s|%s|%d|claimed|0|", c.VM, c.Token, c.Since), strings.TrimRight(r.Left[0].Slot, " "))
		require.Equal(t, fmt.Sprintf("%s|%s|%d|running|90000|", d.VM, d.Token, r.Left[1].Since), strings.TrimRight(r.Left[1].Slot, " "))
		r.Left[1].Since, r.Left[0].Slot, r.Left[1].Slot = 0, "", ""
		require.Equal(t, []core.Held{
			{Key: "a-1", VM: c.VM, Token: c.Token, Phase: "claimed", Since: c.Since, Pool: "p1"},
			{Key: "b-1", VM: d.VM, Token: d.Token, Phase: "running", Limit: 90 * time.Second, Cancelled: "bob", Pool: "p1"},
		}, r.Left)
		diff := before.To(x.picture(t))
		for _, line := range diff {
			require.NotRegexp(t, `slots:|queue|vms:|cancels|specs`, line, "what is held stays")
		}
		made := x.Register(t, x.Factory)
		require.Len(t, made.Left, 1)
		made.Left[0].Since, made.Left[0].Slot = 0, ""
		require.Equal(t, core.Held{Key: "vm-new", VM: "vm-new", Token: fmt.Sprintf("%d.0", x.Made), Phase: "creating", Pool: "p1"}, made.Left[0])
		held, err := x.Store.Held(ctx, x.Runner, 0)
		require.NoError(t, err)
		require.Len(t, held, 2)
	})
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		before := x.picture(t)
		for _, r := range []core.Registration{
			registration("testrunner", "h1", "m-h1"), registration("testrunner@h1#0", "h2", "m"), registration("testrunner@H1#0", "H1", "m"), registration("", "", ""),
		} {
			_, err := x.Store.Register(ctx, r)
			refused(t, err, core.CodeInvalid)
		}
		_, err := x.Store.Register(ctx, registration("testrunner@h1#5", "h1", "another machine"))
		refused(t, err, core.CodeBusy)
		x.changed(t, before)
	})
}

// Rule 20: programs of another schema refuse to join, and say so.
func TestSchemasDoNotMix(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.unsound = true
		for _, schema := range []string{"999", "1", "2"} { // 1 kept its tombstones in a sorted set, 2 did not know its ledger
			require.NoError(t, x.b.Admin.HSet(ctx, x.key("meta"), "schema", schema).Err())
			before := x.picture(t)
			_, err := x.Store.Register(ctx, registration("testrunner@h1#5", "h1", "m-h1"))
			refused(t, err, core.CodeVersion)
			require.Contains(t, err.Error(), "schema "+schema)
			require.NotContains(t, err.Error(), "%!")
			refused(t, x.Store.Ping(ctx), core.CodeVersion)
			_, err = redisstore.Open(ctx, x.b.Options())
			refused(t, err, core.CodeVersion)
			x.changed(t, before)
		}
	})
}

// A name that comes back on another machine brings nothing of the old one along: its
// owners are fenced, its VMs are not claimed.
func TestAnotherMachineTakesTheNameOfALostOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "a")
		x.AddVMs(t, 2)
		x.Submit(t, coretest.Spec("b", "p1", "ann"))
		x.due(t, -time.Second, x.Runner, x.Factory)
		r, err := x.Store.Register(ctx, registration("testrunner@h1#7", "h1", "m-new"))
		require.NoError(t, err)
		call := x.Call(1, 1)
		call.Owner, call.Epoch = "testrunner@h1#7", r.Epoch
		got, err := x.Store.Exchange(ctx, call)
		require.NoError(t, err)
		require.False(t, got.Ready)
		require.Empty(t, got.Claims)
		_, err = x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		refused(t, err, core.CodeFenced)
		_, err = x.Store.Beat(ctx, x.Factory, x.Made, time.Minute)
		refused(t, err, core.CodeFenced)
		epoch, err := x.Store.Fence(ctx, x.Runner, 0)
		require.NoError(t, err)
		_, err = x.Store.Settle(ctx, x.Runner, epoch, []core.Settlement{{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry}}, 0)
		require.NoError(t, err)
		vms, err := x.Store.ListVMs(ctx, "h1")
		require.NoError(t, err)
		require.Empty(t, vms, "they are on the other machine")
		place, err := x.Store.Locate(ctx, c.Key)
		require.NoError(t, err)
		require.Equal(t, core.RequestQueued, place.State)
	})
}

// Rule 6: a fenced owner that wakes cannot beat itself back.
func TestAFencedOwnerCannotBeatBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "a")
		x.due(t, -time.Minute, x.Runner)
		epoch, err := x.Store.Fence(ctx, x.Runner, time.Second)
		require.NoError(t, err)
		require.Greater(t, epoch, x.Epoch)
		require.True(t, x.rung(t, "notice", x.Runner), "it hears of it at once")
		again, err := x.Store.Fence(ctx, x.Runner, time.Second)
		require.NoError(t, err)
		require.Equal(t, epoch, again, "fencing twice is fencing once")
		before := x.picture(t)
		_, err = x.Store.Beat(ctx, x.Runner, x.Epoch, time.Hour)
		refused(t, err, core.CodeFenced)
		_, err = x.Store.Exchange(ctx, x.Call(2, 1, end(c, core.OutcomeDone)))
		refused(t, err, core.CodeFenced)
		x.changed(t, before)
		refused(t, x.Store.Forget(ctx, x.Runner, epoch), core.CodeConflict)
		n, err := x.Store.Settle(ctx, x.Runner, epoch, []core.Settlement{{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry}}, 0)
		require.NoError(t, err)
		require.Equal(t, !x.twice, n.Moved == 1)
		require.NoError(t, x.Store.Forget(ctx, x.Runner, epoch))
		_, err = x.Store.Beat(ctx, x.Runner, x.Epoch, time.Hour)
		refused(t, err, core.CodeFenced)
		owners, err := x.Store.ListOwners(ctx)
		require.NoError(t, err)
		require.Len(t, owners, 1)
		require.Greater(t, x.Register(t, x.Runner).Epoch, epoch, "epochs are never used again")
	})
}

func TestFenceRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		before := x.picture(t)
		_, err := x.Store.Fence(t.Context(), "testrunner@h9#0", 0)
		refused(t, err, core.CodeNotFound)
		_, err = x.Store.Fence(t.Context(), x.Runner, 0)
		refused(t, err, core.CodeConflict)
		x.due(t, -time.Second, x.Runner)
		_, err = x.Store.Fence(t.Context(), x.Runner, 2*time.Second)
		refused(t, err, core.CodeConflict)
		x.changed(t, before)
	})
}

func TestSettle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.AddVMs(t, 4)
		x.Submit(t, specs("a", 4, "ann")...)
		cs := x.Exchange(t, 1, 4).Claims
		epoch := x.Register(t, x.Runner).Epoch
		items := []core.Settlement{
			{Key: cs[0].Key, Token: cs[0].Token, Outcome: core.OutcomeDone},
			{Key: cs[1].Key, Token: cs[1].Token, Outcome: core.OutcomeRetry},
			{Key: cs[2].Key, Token: cs[2].Token, Outcome: core.OutcomeRelease},
			{Key: cs[3].Key, Token: cs[3].Token, Outcome: core.OutcomeDead},
			{Key: cs[3].Key, Token: cs[3].Token, Outcome: core.OutcomeDone},
			{Key: "nobody-1", Token: cs[0].Token, Outcome: core.OutcomeDone},
		}
		_, err := x.Store.Settle(ctx, x.Runner, x.Epoch, items, 0)
		refused(t, err, core.CodeFenced)
		moved, err := x.Store.Settle(ctx, x.Runner, epoch, items, 0)
		require.NoError(t, err)
		if !x.twice {
			require.Equal(t, 4, moved.Moved)
		}
		before := x.picture(t)
		moved, err = x.Store.Settle(ctx, x.Runner, epoch, items, 0)
		require.NoError(t, err)
		require.Zero(t, moved.Moved)
		x.changed(t, before)
		queue, err := x.b.Admin.LRange(ctx, x.key("queue", "p1", "normal", "ann"), 0, -1).Result()
		require.NoError(t, err)
		require.Equal(t, []string{"a1-1", "a2-1"}, queue)
		require.NoError(t, x.Store.Deregister(ctx, x.Runner, epoch))
	})
}

func TestSettleMoreThanOneCallTakes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		const n = 500
		x.AddVMs(t, 3*n)
		x.Submit(t, specs("a", 3*n, "ann")...)
		var items []core.Settlement
		for seq := int64(1); seq <= 3; seq++ {
			for _, c := range x.Exchange(t, seq, n).Claims {
				items = append(items, core.Settlement{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry})
			}
		}
		epoch := x.Register(t, x.Runner).Epoch
		moved, err := x.Store.Settle(t.Context(), x.Runner, epoch, items, 0)
		require.NoError(t, err)
		require.LessOrEqual(t, moved.Moved, 3*n) // less if a busy machine's client asked again
		left, err := x.Store.Held(t.Context(), x.Runner, 0)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func TestDeregister(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "a")
		_, err := x.Store.Cancel(ctx, c.Key, "bob", core.CancelAny) // leaves a notice
		require.NoError(t, err)
		refused(t, x.Store.Deregister(ctx, x.Runner, x.Epoch), core.CodeConflict)
		x.Exchange(t, 2, 0, end(c, core.OutcomeDone))
		require.NoError(t, x.Store.Deregister(ctx, x.Runner, x.Epoch))
		for _, line := range x.picture(t) {
			require.NotRegexp(t, `^(owner|owners|slots|notice|idle)\b.*testrunner@h1#0`, line)
		}
		require.Contains(t, x.picture(t), "events: by:testrunner@h1#0 moved:- op:deregister")
		require.NoError(t, x.Store.Deregister(ctx, x.Runner, x.Epoch), "again is fine")
		require.NoError(t, x.Store.Deregister(ctx, "testrunner@h9#9", 1), "there is nothing to end")
	})
}

// A beat and both exchanges are a heartbeat of their owner and of its host.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		k := newTasker(t, x)
		for owner, beat := range map[string]func() error{
			x.Factory: func() error { _, err := x.Store.Beat(ctx, x.Factory, x.Made, time.Hour); return err },
			x.Runner: func() error {
				call := x.Call(1, 0)
				call.Beat = time.Hour
				_, err := x.Store.Exchange(ctx, call)
				return err
			},
			k.owner: func() error {
				call := k.call(1, 0)
				call.Beat = time.Hour
				_, err := x.Store.ExchangeTasks(ctx, call)
				return err
			},
		} {
			x.due(t, -time.Minute, x.Factory, x.Runner, k.owner)
			at := x.now(t).UnixMilli()
			require.NoError(t, beat(), owner)
			owners, err := x.Store.ListOwners(ctx)
			require.NoError(t, err)
			for _, o := range owners {
				require.Equal(t, o.Name != owner, o.Late, "%s after %s sent a heartbeat", o.Name, owner)
				if o.Name == owner {
					require.GreaterOrEqual(t, o.Deadline, at+time.Hour.Milliseconds())
					require.Less(t, o.Deadline, at+2*time.Hour.Milliseconds())
				}
			}
			require.GreaterOrEqual(t, x.host(t, "h1").Deadline, at+time.Hour.Milliseconds())
		}
		_, err := x.Store.Beat(ctx, x.Factory, x.Made, time.Second)
		require.NoError(t, err)
		require.Greater(t, x.host(t, "h1").Deadline, x.now(t).Add(time.Minute).UnixMilli(), "a host lives as long as its last owner")
	})
}

func TestListOwners(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.claim(t, 1, "a")
		x.due(t, -time.Second, x.Factory)
		got, err := x.Store.ListOwners(t.Context())
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.Equal(t, []string{x.Runner, x.Factory}, []string{got[0].Name, got[1].Name})
		require.Equal(t, []bool{false, true}, []bool{got[0].Late, got[1].Late})
		require.Equal(t, 1, got[0].Slots)
		require.Equal(t, core.RoleTestrunner, got[0].Role)
		require.Equal(t, x.Epoch, got[0].Epoch)
	})
}

// owners registers n more runners on hosts of their own.
func (x *suite) owners(t *testing.T, n int) []string {
	t.Helper()
	out := make([]string, n)
	for i := range out {
		host := fmt.Sprintf("o%d", i)
		out[i] = core.OwnerName(core.RoleTestrunner, host, 0)
		_, err := x.Store.Register(t.Context(), registration(out[i], host, "m"))
		require.NoError(t, err)
	}
	return out
}

func TestFencedOwnersAreListedWhateverTheHour(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.owners(t, 4)
		x.due(t, -time.Minute, x.Runner)
		_, err := x.Store.Fence(t.Context(), x.Runner, time.Second)
		require.NoError(t, err)
		x.due(t, -time.Minute, "testrunner@o0#0", "testrunner@o1#0", "testrunner@o2#0", x.Factory)
		require.Equal(t, []string{x.Runner}, x.late(t, x.Store, time.Second), "also while most are late")
		young := open(t, x.b, "second-incarnation", x.now(t))
		require.Equal(t, []string{x.Runner}, x.late(t, young, time.Hour), "also right after Redis began")
	})
}

// Epochs do not come again, even if Redis forgot all of them.
func TestEpochsOutliveALossOfRedis(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	seen := map[int64]bool{x.Epoch: true}
	at := start
	for i := range 20 {
		at = at.Add(time.Second)
		x.b.Mini.SetTime(at)
		if i%3 == 0 {
			x.b.Mini.FlushAll()
		}
		r := x.Register(t, x.Runner)
		require.False(t, seen[r.Epoch], "epoch %d came twice", r.Epoch)
		seen[r.Epoch] = true
	}
}

func TestBeatOfManySlots(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		const n = 9000 // more than Lua unpacks
		fields := make([]any, 0, 2*n)
		for i := range n {
			fields = append(fields, fmt.Sprintf("r%d-1", i), fmt.Sprintf("vm%d|%d.1|1|claimed|0|", i, x.Epoch))
		}
		x.unsound = true
		require.NoError(t, x.b.Admin.HSet(ctx, x.key("slots", x.Runner), fields...).Err())
		require.NoError(t, x.b.Admin.HSet(ctx, x.key("cancels"), "r1-1", "bob", "r8999-1", "eve").Err())
		got, err := x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		require.NoError(t, err)
		require.Equal(t, n, got.Slots)
		require.Equal(t, map[string]string{"r1-1": "bob", "r8999-1": "eve"}, got.Cancelled)
		require.Equal(t, got.Cancelled, x.Exchange(t, 1, 0).Cancelled)
	})
}

// An owner that Redis forgot says which epoch it had: whatever the clock says by then, the next one is greater.
func TestAForgottenOwnersEpochDoesNotComeAgain(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	x.b.Mini.FlushAll()
	x.b.Mini.SetTime(start.Add(-24 * time.Hour))
	reg := registration(x.Runner, "h1", "m-h1")
	reg.Former = x.Epoch
	r, err := x.Store.Register(t.Context(), reg)
	require.NoError(t, err)
	require.Greater(t, r.Epoch, x.Epoch)
}
