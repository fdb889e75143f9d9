package redisstore_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// other is another host of the suite's cluster.
func (x *suite) other(t *testing.T, host string) *coretest.Cluster {
	t.Helper()
	return coretest.NewCluster(t, x.Store, host, x.Pool)
}

// start claims n requests a0, a1, … on the suite's host.
func (x *suite) start(t *testing.T, n int) []core.Claim {
	t.Helper()
	x.Submit(t, specs("a", n, "ann")...)
	x.AddVMs(t, n)
	got := x.Exchange(t, 1, n).Claims
	require.Len(t, got, n)
	return got
}

// lose fences the suite's runner and returns the epoch under which it is settled.
func (x *suite) lose(t *testing.T) int64 {
	t.Helper()
	require.NoError(t, x.b.Admin.ZAdd(t.Context(), x.key("owners"), redis.Z{Score: 1, Member: x.Runner}).Err())
	epoch, err := x.Store.Fence(t.Context(), x.Runner, time.Millisecond)
	require.NoError(t, err)
	return epoch
}

func settlement(c core.Claim, outcome core.Outcome, to string) core.Settlement {
	return core.Settlement{Key: c.Key, Token: c.Token, Outcome: outcome, To: to}
}

func (x *suite) place(t *testing.T, key string) core.Place {
	t.Helper()
	p, err := x.Store.Locate(t.Context(), key)
	require.NoError(t, err)
	return p
}

// moves are the evacuations as "key state from>to", those under way first.
func (x *suite) moves(t *testing.T) []string {
	t.Helper()
	all, err := x.Store.Evacuations(t.Context())
	require.NoError(t, err)
	out := make([]string, len(all))
	for i, e := range all {
		require.Positive(t, e.Scheduled)
		ended := e.State == core.EvacuationFinished || e.State == core.EvacuationFailed
		require.Equal(t, ended, e.Ended > 0)
		out[i] = fmt.Sprintf("%s %s %s>%s", e.Key, e.State, e.From, e.To)
	}
	return out
}

func keysOf(claims []core.Claim) []string {
	out := make([]string, len(claims))
	for i, c := range claims {
		out[i] = c.Key
	}
	return out
}

// A lost host's work goes where it is assigned, before all that waits there, and its record
// says how far it is.
func TestWorkGoesWhereItIsAssigned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		h2, h3 := x.other(t, "h2"), x.other(t, "h3")
		h2.AddVMs(t, 5)
		h3.AddVMs(t, 5)
		cs := x.start(t, 4)
		_, placed, err := x.Store.Rooms(t.Context())
		require.NoError(t, err)
		x.rung(t, "bell", "h2")
		x.rung(t, "factory_bell", "h2")
		settled, err := x.Store.Settle(t.Context(), x.Runner, x.lose(t), []core.Settlement{
			settlement(cs[0], core.OutcomeRetry, "h2"), settlement(cs[1], core.OutcomeRelease, "h2"),
			settlement(cs[2], core.OutcomeRetry, core.Parked), settlement(cs[3], core.OutcomeRetry, ""),
		}, placed)
		require.NoError(t, err)
		if !x.twice {
			require.Equal(t, core.Settled{Moved: 4, Placed: placed + 1}, settled)
		}
		require.True(t, x.rung(t, "bell", "h2"))
		require.True(t, x.rung(t, "factory_bell", "h2"))
		require.Equal(t, core.Place{State: core.RequestQueued, Pool: "p1", Priority: core.PriorityNormal, Assigned: "h2", Attempts: 1}, x.place(t, "a0-1"))
		require.Equal(t, core.Place{State: core.RequestQueued, Pool: "p1", Priority: core.PriorityNormal, Assigned: "h2"}, x.place(t, "a1-1"))
		require.Equal(t, core.Place{State: core.RequestParked, Pool: "p1", Priority: core.PriorityNormal, Attempts: 1}, x.place(t, "a2-1"))
		require.Equal(t, []string{"a0-1 scheduled h1>h2", "a1-1 scheduled h1>h2", "a2-1 parked h1>"}, x.moves(t))
		waiting, err := x.Store.Waiting(t.Context())
		require.NoError(t, err)
		require.Contains(t, waiting, core.QueueInfo{Pool: "p1", Priority: core.PriorityNormal, Waiting: 4, Submitters: 1})
		for host, want := range map[string]int{"h2": 4, "h3": 2} {
			load, err := x.Store.Load(t.Context(), host, []string{"p1"})
			require.NoError(t, err)
			require.Equal(t, want, load.Pools[0].Waiting, "what %s may take", host)
		}
		coretest.RequireSound(t, x.Store)

		three := h3.Exchange(t, 1, 3).Claims
		require.Equal(t, []string{"a2-1", "a3-1"}, keysOf(three), "what is parked comes before the queue, what is assigned elsewhere never")
		two := h2.Exchange(t, 1, 5).Claims
		require.Equal(t, []string{"a0-1", "a1-1"}, keysOf(two))
		require.Equal(t, []string{"a0-1 accepted h1>h2", "a1-1 accepted h1>h2", "a2-1 accepted h1>h3"}, x.moves(t))
		coretest.RequireSound(t, x.Store)

		h2.Exchange(t, 2, 0, end(two[0], core.OutcomeDone), end(two[1], core.OutcomeRelease))
		h3.Exchange(t, 2, 0, end(three[0], core.OutcomeRetry), end(three[1], core.OutcomeDone))
		require.ElementsMatch(t, []string{"a0-1 finished h1>h2", "a1-1 failed h1>h2", "a2-1 failed h1>h3"}, x.moves(t))
		deaths, err := x.b.Admin.HGetAll(t.Context(), x.key("deaths")).Result()
		require.NoError(t, err)
		require.Empty(t, deaths, "a host that is not heard of is not known to have died")
	})
}

// Two who place at once do not give one room away twice.
func TestOnePlacesAtATime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.other(t, "h2")
		cs := x.start(t, 3)
		_, placed, err := x.Store.Rooms(t.Context())
		require.NoError(t, err)
		epoch := x.lose(t)
		settle := func(placed int64, to string, cs ...core.Claim) (core.Settled, error) {
			var items []core.Settlement
			for _, c := range cs {
				items = append(items, settlement(c, core.OutcomeRetry, to))
			}
			return x.Store.Settle(t.Context(), x.Runner, epoch, items, placed)
		}
		_, err = settle(placed, "h2", cs[0])
		require.NoError(t, err)
		before := x.picture(t)
		_, err = settle(placed, "h2", cs[1])
		refused(t, err, core.CodeConflict)
		x.changed(t, before)
		got, err := settle(placed, "h2", cs[0])
		require.NoError(t, err, "what it moved before is not in the way")
		require.Zero(t, got.Moved)
		_, again, err := x.Store.Rooms(t.Context())
		require.NoError(t, err)
		require.Equal(t, placed+1, again)
		_, err = settle(again, "h9", cs[1], cs[2])
		refused(t, err, core.CodeConflict)
		x.changed(t, before)
		_, err = settle(placed, core.Parked, cs[1])
		require.NoError(t, err, "what is parked takes no room")
		require.NoError(t, x.Store.Drain(t.Context(), "h2", true, 0))
		_, err = settle(again, "h2", cs[2])
		refused(t, err, core.CodeConflict)
		for _, bad := range []core.Settlement{settlement(cs[2], core.OutcomeDone, "h2"), settlement(cs[2], core.OutcomeRetry, "h 2")} {
			_, err = x.Store.Settle(t.Context(), x.Runner, epoch, []core.Settlement{bad}, again)
			refused(t, err, core.CodeInvalid)
		}
	})
}

// What a host does not take in time waits as before, in its order, ahead of the others.
func TestUnassign(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(t *testing.T, x *suite, h2 *coretest.Cluster){
		"too late": func(t *testing.T, x *suite, _ *coretest.Cluster) {
			t.Helper()
			n, err := x.Store.Unassign(t.Context(), "h2", time.Hour)
			require.NoError(t, err)
			require.Zero(t, n)
			n, err = x.Store.Unassign(t.Context(), "h2", 0)
			require.NoError(t, err)
			require.Equal(t, !x.twice, n == 2)
		},
		"drained": func(t *testing.T, x *suite, _ *coretest.Cluster) {
			t.Helper()
			require.NoError(t, x.Store.Drain(t.Context(), "h2", true, time.Minute))
			require.InDelta(t, x.now(t).Add(time.Minute).UnixMilli(), x.host(t, "h2").DrainUntil, 5000)
			require.NoError(t, x.Store.Drain(t.Context(), "h2", false, 0))
			require.Zero(t, x.host(t, "h2").DrainUntil)
		},
		"lost": func(t *testing.T, x *suite, h2 *coretest.Cluster) {
			t.Helper()
			x.other(t, "h3")
			x.other(t, "h4") // not most are late
			x.fell(t, h2.Runner, h2.Factory)
		},
		"reported failed": func(t *testing.T, x *suite, _ *coretest.Cluster) {
			t.Helper()
			require.NoError(t, coretest.ErrOf(x.Store.Report(t.Context(), core.HostReport{Host: "h2", Event: core.HostFailed, By: "dog"})))
		},
		"on probation": func(t *testing.T, x *suite, _ *coretest.Cluster) {
			t.Helper()
			require.NoError(t, x.Store.Probation(t.Context(), "h2", "it flaps", time.Minute, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, x *suite) {
				h2 := x.other(t, "h2")
				cs := x.start(t, 2)
				x.Submit(t, coretest.Spec("z", "p1", "ann"))
				_, placed, err := x.Store.Rooms(t.Context())
				require.NoError(t, err)
				_, err = x.Store.Settle(t.Context(), x.Runner, x.lose(t), []core.Settlement{
					settlement(cs[0], core.OutcomeRetry, "h2"), settlement(cs[1], core.OutcomeRetry, "h2"),
				}, placed)
				require.NoError(t, err)
				do(t, x, h2)
				queue, err := x.b.Admin.LRange(t.Context(), x.key("queue", "p1", "normal", "ann"), 0, -1).Result()
				require.NoError(t, err)
				require.Equal(t, []string{"a0-1", "a1-1", "z-1"}, queue)
				require.ElementsMatch(t, []string{"a0-1 failed h1>h2", "a1-1 failed h1>h2"}, x.moves(t))
			})
		})
	}
}

// Rule 10: what is assigned, parked or pausing can be cancelled and withdrawn like all that waits.
func TestWhereverItWaitsItCanBeWithdrawn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.other(t, "h2")
		cs := x.start(t, 3)
		x.Exchange(t, 2, 0, end(cs[0], core.OutcomeRetry))
		_, placed, err := x.Store.Rooms(ctx)
		require.NoError(t, err)
		_, err = x.Store.Settle(ctx, x.Runner, x.lose(t), []core.Settlement{
			settlement(cs[1], core.OutcomeRetry, "h2"), settlement(cs[2], core.OutcomeRetry, core.Parked),
		}, placed)
		require.NoError(t, err)
		for i, want := range []core.RequestState{core.RequestQueued, core.RequestQueued, core.RequestParked} {
			place, err := x.Store.Cancel(ctx, cs[i].Key, "bob", core.CancelWaiting)
			require.NoError(t, err)
			require.Equal(t, want, place.State)
			gone, err := x.Store.Withdraw(ctx, cs[i].Key)
			require.NoError(t, err)
			require.Equal(t, !x.twice, gone)
			require.Equal(t, core.Place{}, x.place(t, cs[i].Key))
		}
		for _, key := range []string{"specs", "later", "attempts", "deaths", "shun", "cancels", "evacuations"} {
			n, err := x.b.Admin.Exists(ctx, x.key(key)).Result()
			require.NoError(t, err)
			require.Zero(t, n, "nothing is left in %s", key)
		}
		present, err := x.Store.Present(ctx, keysOf(cs))
		require.NoError(t, err)
		require.Equal(t, []bool{false, false, false}, present)
	})
}

// A parked request that somebody cancels is told at its claim, wherever that is.
func TestCancelOfWhatIsParkedReachesItsClaim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		h2 := x.other(t, "h2")
		cs := x.start(t, 1)
		_, err := x.Store.Settle(t.Context(), x.Runner, x.lose(t), []core.Settlement{settlement(cs[0], core.OutcomeRelease, core.Parked)}, 0)
		require.NoError(t, err)
		_, err = x.Store.Cancel(t.Context(), cs[0].Key, "bob", core.CancelAny)
		require.NoError(t, err)
		h2.AddVMs(t, 1)
		got := h2.Exchange(t, 1, 1)
		require.Equal(t, "bob", got.Claims[0].Cancelled)
		require.Equal(t, map[string]string{cs[0].Key: "bob"}, got.Cancelled)
	})
}

// Parked requests ring like queued ones, for hosts with a VM.
func TestWhatIsParkedRings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		h2 := x.other(t, "h2")
		cs := x.start(t, 1)
		h2.AddVMs(t, 1)
		require.Empty(t, h2.Exchange(t, 1, 1).Claims)
		x.rung(t, "bell", "h2")
		_, err := x.Store.Settle(t.Context(), x.Runner, x.lose(t), []core.Settlement{settlement(cs[0], core.OutcomeRelease, core.Parked)}, 0)
		require.NoError(t, err)
		require.True(t, x.rung(t, "bell", "h2"))
	})
}

// The room of a host is what it has, less its VMs and what is assigned to it.
func TestRooms(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		small := core.DefaultPool("p1")
		small.Provider = "disks" // whose VMs write to the host's disk
		small.Max, small.Limits.CPU, small.Limits.Memory, small.Limits.Disk = 4, 500, 1<<30, 2<<30
		h2 := x.other(t, "h2")
		require.NoError(t, x.Store.SetPool(ctx, small))
		reg := registration(h2.Runner, "h2", "m-h2")
		r, err := x.Store.Register(ctx, reg)
		require.NoError(t, err)
		h2.Epoch = r.Epoch
		h2.AddVMs(t, 2)
		paused := core.DefaultPool("p2")
		paused.Paused = true
		require.NoError(t, x.Store.SetPool(ctx, paused))
		require.NoError(t, x.Store.Create(ctx, h2.Factory, h2.Made, "h2", "p2", []string{"vm-p2"}))
		exact := core.HostSettings{Reserve: &core.Size{}, Overcommit: core.Overcommit{CPU: 1}}
		require.NoError(t, x.Store.SetHost(ctx, "h2", exact))
		rooms, placed, err := x.Store.Rooms(ctx)
		require.NoError(t, err)
		require.Zero(t, placed)
		require.Len(t, rooms, 2)
		want := core.Room{
			Host: "h2", Size: core.Size{CPU: 4000 - 2*500, Memory: 8<<30 - 2<<30 - paused.Limits.Memory, Disk: 100<<30 - 4<<30},
			Pools: map[string]core.PoolRoom{"p1": {Idle: 2, More: 2}},
		}
		require.Equal(t, want, rooms[1])
		require.Greater(t, rooms[0].Memory, int64(1)<<60, "h1 never told")

		cs := x.start(t, 3)
		items := make([]core.Settlement, len(cs))
		for i, c := range cs {
			items[i] = settlement(c, core.OutcomeRelease, "h2")
		}
		_, err = x.Store.Settle(ctx, x.Runner, x.lose(t), items, placed)
		require.NoError(t, err)
		rooms, placed, err = x.Store.Rooms(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, placed)
		want.CPU, want.Memory, want.Disk = want.CPU-500, want.Memory-1<<30, want.Disk-2<<30
		want.Pools["p1"] = core.PoolRoom{Idle: 0, More: 1}
		require.Equal(t, want, rooms[1], "two will take the clean ones, one needs a new one")

		require.NoError(t, x.Store.Note(ctx, h2.Factory, h2.Made, "h2", core.HostNotes{Broken: map[string]string{"p1": "no image"}}))
		rooms, _, err = x.Store.Rooms(ctx)
		require.NoError(t, err)
		require.Empty(t, rooms[1].Pools)
		for _, away := range []func() error{
			func() error { return x.Store.Drain(ctx, "h2", true, 0) },
			func() error {
				return errorsOf(x.Store.Drain(ctx, "h2", false, 0), x.Store.Probation(ctx, "h2", "it flaps", 0, 1))
			},
			func() error {
				return errorsOf(x.Store.Probation(ctx, "h2", "", 0, 0), coretest.ErrOf(x.Store.Report(ctx, core.HostReport{Host: "h2", Event: core.HostFailed})))
			},
		} {
			require.NoError(t, away())
			rooms, _, err = x.Store.Rooms(ctx)
			require.NoError(t, err)
			require.Len(t, rooms, 1)
		}
	})
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		want := specs("a", 2, "ann")
		want[1].OnHostLoss = core.OnHostLossFail
		x.Submit(t, want...)
		got, err := x.Store.Specs(t.Context(), []string{"a0-1", "nobody-1", "a1-1"})
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = x.Store.Specs(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, got)
	})
}

// Only the last thousand of the moves that ended are kept.
func TestMovesThatEndedAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := context.Background()
		cs := x.start(t, 1)
		_, err := x.Store.Settle(ctx, x.Runner, x.lose(t), []core.Settlement{settlement(cs[0], core.OutcomeRelease, core.Parked)}, 0)
		require.NoError(t, err)
		for i := range 1100 {
			require.NoError(t, x.b.Admin.LPush(ctx, x.key("evacuated"), "x-"+strconv.Itoa(i)+"|finished|a|b|1|1|1|").Err())
		}
		_, err = x.Store.Withdraw(ctx, cs[0].Key)
		require.NoError(t, err)
		n, err := x.b.Admin.LLen(ctx, x.key("evacuated")).Result()
		require.NoError(t, err)
		require.EqualValues(t, 1000, n)
	})
}

// A wiped Redis knows no reader of reports; the next one begins anew.
func TestHostReports(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		ctx := t.Context()
		s := b.Open(t)
		read := func(who string) []core.HostReport {
			got, err := s.HostReports(ctx, who, time.Millisecond)
			require.NoError(t, err)
			return got
		}
		require.Empty(t, read("one"))
		refused(t, s.AddHostReport(ctx, core.HostReport{Host: "h1", Event: "sad"}), core.CodeInvalid)
		refused(t, s.AddHostReport(ctx, core.HostReport{Host: "h 1", Event: core.HostFailed}), core.CodeInvalid)
		require.NoError(t, s.AddHostReport(ctx, core.HostReport{Host: "h1", Event: core.HostFailed, By: "a dog", Reason: "no\nanswer"}))
		got := read("one")
		require.Len(t, got, 1)
		require.NotEmpty(t, got[0].ID)
		require.Positive(t, got[0].At)
		id := got[0].ID
		got[0].ID, got[0].At = "", 0
		require.Equal(t, core.HostReport{Host: "h1", Event: core.HostFailed, By: "a-dog", Reason: "no answer"}, got[0])
		require.Empty(t, read("two"), "it is one's to act on")
		if b.Mini != nil { // one died: another takes over
			b.Mini.SetTime(time.Now().Add(2 * time.Minute))
			got = read("two")
			require.Len(t, got, 1)
			require.Equal(t, id, got[0].ID)
		}
		require.NoError(t, s.HostReportDone(ctx, id))
		require.NoError(t, s.HostReportDone(ctx))
		pending, err := b.Admin.XPending(ctx, s.Namespace().Key("reports"), "overseer").Result()
		require.NoError(t, err)
		require.Zero(t, pending.Count)
		require.NoError(t, b.Admin.Del(ctx, s.Namespace().Key("reports")).Err())
		require.NoError(t, b.Admin.XAdd(ctx, &redis.XAddArgs{ // as an outside watchdog writes it
			Stream: s.Namespace().Key("reports"), Values: []any{"host", "h2", "event", "recovered"},
		}).Err())
		got = read("one")
		require.Len(t, got, 1)
		require.Equal(t, core.HostRecovered, got[0].Event)
		coretest.RequireSound(t, s)
	})
}

// A record of an evacuation that nobody can read keeps no request from its end.
func TestAnUnreadableEvacuationHoldsNothingUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.Submit(t, coretest.Spec("a", x.Pool, "ann"))
		require.NoError(t, x.b.Admin.HSet(ctx, x.key("evacuations"), "a-1", "parked|h1").Err())
		_, err := x.Store.Withdraw(ctx, "a-1")
		require.NoError(t, err)
		c := x.claim(t, 1, "b")
		require.NoError(t, x.b.Admin.HSet(ctx, x.key("evacuations"), c.Key, "scheduled|h1|h2|soon|0|").Err())
		require.Equal(t, []bool{true}, x.Exchange(t, 2, 0, end(c, core.OutcomeDone)).Finished)
		require.Zero(t, x.b.Admin.Exists(ctx, x.key("evacuations"), x.key("evacuated")).Val())
	})
}
