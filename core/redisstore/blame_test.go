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

// deaths are what is noted of each request, by its key.
func (x *suite) deaths(t *testing.T) map[string]string {
	t.Helper()
	all, err := x.b.Admin.HGetAll(t.Context(), x.key("deaths")).Result()
	require.NoError(t, err)
	for key, names := range all {
		all[key] = strings.ReplaceAll(names, "testrunner@h1#0", "died")
	}
	return all
}

// hold lets the runner claim anew what waits, n at most.
func (x *suite) hold(t *testing.T, n int) []string {
	t.Helper()
	x.AddVMs(t, n)
	return keysOf(x.Exchange(t, 1, n).Claims)
}

// again settles what the runner held, as a retry, and registers it anew as another process.
func (x *suite) again(t *testing.T, process string) {
	t.Helper()
	reg := registration(x.Runner, "h1", "m-h1")
	reg.Process = process
	r, err := x.Store.Register(t.Context(), reg)
	require.NoError(t, err)
	x.Epoch = r.Epoch
	items := make([]core.Settlement, len(r.Left))
	for i, h := range r.Left {
		items[i] = core.Settlement{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRetry}
	}
	_, err = x.Store.Settle(t.Context(), x.Runner, x.Epoch, items, 0)
	require.NoError(t, err)
	x.pausesEnd(t)
}

// A death marks all work that was held, and counts against work that was alone there, or the only one
// that was marked before; marked ones run apart.
func TestBlame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.again(t, "p1")
		x.start(t, 3)
		x.again(t, "p2")
		require.Equal(t, map[string]string{"a0-1": "died", "a1-1": "died", "a2-1": "died"}, x.deaths(t), "whose fault it is nobody knows")

		x.Submit(t, specs("b", 2, "bob")...)
		require.Equal(t, []string{"a0-1", "b0-1", "b1-1"}, x.hold(t, 4), "one of them, and what met no death")
		place := x.place(t, "a1-1")
		require.Equal(t, core.RequestQueued, place.State)
		h2 := x.other(t, "h2")
		h2.AddVMs(t, 2)
		two := h2.Exchange(t, 1, 2).Claims
		require.Equal(t, []string{"a1-1"}, keysOf(two), "another owner takes another")
		require.Equal(t, []string{"a2-1"}, keysOf(h2.Exchange(t, 2, 2, end(two[0], core.OutcomeDone)).Claims), "and the next, once that left its hand")
		coretest.RequireSound(t, x.Store)

		x.again(t, "p3")
		require.Equal(t, map[string]string{"a0-1": "died died!", "a2-1": "died", "b0-1": "died", "b1-1": "died"}, x.deaths(t))
		held := x.hold(t, 4)
		require.Len(t, held, 1)
		x.again(t, "p3")
		require.Len(t, x.deaths(t), 4)
		require.NotContains(t, x.deaths(t)[held[0]], "died died died", "the same process lives")
		_, err := x.Store.Withdraw(ctx, "b1-1")
		require.NoError(t, err)
		require.NotContains(t, x.deaths(t), "b1-1")
		coretest.RequireSound(t, x.Store)
	})
}

// What runs apart is found and claimed, even if the marks of all deaths are lost.
func TestWhatRunsApartOutlivesItsMarks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.again(t, "p1")
		x.start(t, 2)
		x.again(t, "p2")
		require.NoError(t, x.b.Admin.Del(ctx, x.key("deaths")).Err())
		coretest.RequireSound(t, x.Store)
		require.Equal(t, core.RequestQueued, x.place(t, "a1-1").State)
		x.AddVMs(t, 2)
		require.Equal(t, []string{"a0-1"}, keysOf(x.Exchange(t, 1, 2).Claims))
		require.Equal(t, []string{"a1-1"}, keysOf(x.Exchange(t, 2, 2).Claims))
	})
}

// A process that was late and lost its work may still be found to have died, or to live.
func TestBlameComesLater(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		retry := func(epoch int64, cs ...core.Claim) {
			items := make([]core.Settlement, len(cs))
			for i, c := range cs {
				items[i] = settlement(c, core.OutcomeRetry, "")
			}
			_, err := x.Store.Settle(ctx, x.Runner, epoch, items, 0)
			require.NoError(t, err)
			require.NoError(t, x.Store.Forget(ctx, x.Runner, epoch))
		}
		x.again(t, "p1")
		c, was := x.start(t, 1)[0], x.Epoch
		retry(x.lose(t), c)
		require.Empty(t, x.deaths(t), "late is not dead")
		epoch, err := x.Store.DeclareDead(ctx, x.Runner, was)
		if x.twice {
			require.True(t, core.Is(err, core.CodeNotFound), "%v", err)
		} else {
			require.NoError(t, err)
		}
		require.Zero(t, epoch, "it was settled and forgotten")
		require.Equal(t, map[string]string{c.Key: "died!"}, x.deaths(t))
		_, err = x.Store.DeclareDead(ctx, x.Runner, was)
		refused(t, err, core.CodeNotFound)
		require.Equal(t, map[string]string{c.Key: "died!"}, x.deaths(t), "it dies once")

		for _, next := range []struct{ machine, process, want string }{
			{"m-h1", "p2", "died!"}, {"m-h1", "p3", "died! died!"}, {"m-h1", "", "died! died!"}, {"another", "p4", "died! died!"},
		} {
			if next.process == "p2" {
				x.again(t, "p2") // the earlier ones died
				continue
			}
			x.AddVMs(t, 1)
			c = x.Exchange(t, 1, 1).Claims[0]
			retry(x.lose(t), c)
			x.pausesEnd(t)
			if next.machine == "another" {
				for _, o := range []string{"hosts"} {
					require.NoError(t, x.b.Admin.ZAdd(ctx, x.key(o), redis.Z{Score: 1, Member: "h1"}).Err())
				}
			}
			reg := registration(x.Runner, "h1", next.machine)
			reg.Process = next.process
			r, err := x.Store.Register(ctx, reg)
			require.NoError(t, err)
			x.Epoch = r.Epoch
			require.Equal(t, map[string]string{c.Key: next.want}, x.deaths(t), "%+v", next)
		}
		left, err := x.b.Admin.HLen(ctx, x.key("hands")).Result()
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

// What a lost host held was one hand: of two of its runners with one request each none is alone.
func TestBlameOfAHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.again(t, "p1")
		c := x.start(t, 1)[0]
		other, was := registration("testrunner@h1#1", "h1", "m-h1"), x.Epoch
		other.Process = "p2"
		r, err := x.Store.Register(ctx, other)
		require.NoError(t, err)
		x.Submit(t, coretest.Spec("b", "p1", "bob"))
		x.AddVMs(t, 1)
		call := x.Call(1, 1)
		call.Owner, call.Epoch = other.Owner, r.Epoch
		got, err := x.Store.Exchange(ctx, call)
		require.NoError(t, err)
		require.Len(t, got.Claims, 1)
		require.NoError(t, coretest.ErrOf(x.Store.Report(ctx, core.HostReport{Host: "h1", Event: core.HostFailed, By: "dog"})))
		require.Empty(t, x.deaths(t))
		for owner, epoch := range map[string]int64{x.Runner: was, other.Owner: r.Epoch} {
			_, err := x.Store.DeclareDead(ctx, owner, epoch)
			require.NoError(t, err)
		}
		require.Equal(t, map[string]string{c.Key: "died", "b-1": "testrunner@h1#1"}, x.deaths(t))
	})
}

// A VM has one request in its life: its death counts, and takes nobody along.
func TestBlameOfAVM(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		cs := x.start(t, 2)
		x.Exchange(t, 2, 0, end(cs[0], core.OutcomeBroken), end(cs[1], core.OutcomeUnclean))
		require.Equal(t, map[string]string{"a0-1": cs[0].VM + "!", "a1-1": cs[1].VM + "~!"}, x.deaths(t))
		x.pausesEnd(t)
		x.AddVMs(t, 2)
		got := x.Exchange(t, 3, 2).Claims
		require.Len(t, got, 2, "they do not run apart")
		require.Equal(t, []core.Death{{Of: cs[0].VM, Counts: true}}, got[0].Deaths)
		require.Equal(t, []core.Death{{Of: cs[1].VM, Counts: true, Unclean: true}}, got[1].Deaths)
		require.True(t, got[0].Deaths[0].VM())
		require.Equal(t, 1, got[0].Attempts)
	})
}

// A report that was left undone and comes again after a later one changes nothing.
func TestReportsOutOfOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		say := func(id string, event core.HostEvent) core.HostState {
			t.Helper()
			require.NoError(t, coretest.ErrOf(x.Store.Report(t.Context(), core.HostReport{ID: id, Host: "h1", Event: event, By: "dog"})))
			return x.host(t, "h1").State
		}
		require.Equal(t, core.HostDown, say("9-1", core.HostFailed))
		require.Equal(t, core.HostUp, say("10-2", core.HostRecovered))
		require.Equal(t, core.HostUp, say("9-1", core.HostFailed))
		require.Equal(t, core.HostUp, say("10-1", core.HostFailed))
		require.Equal(t, core.HostDown, say("10-10", core.HostFailed))
		require.Equal(t, core.HostUp, say("", core.HostRecovered), "who says so himself is not in the stream")
	})
}

// A pause, a probation and an assignment that a clock began which was set back since do not last until
// it is as late again.
func TestAClockThatWasSetBackHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	x := newSuite(t, b, false) // which sets the clock
	b.Mini.SetTime(start.Add(2 * time.Hour))
	ctx := t.Context()
	h2 := x.other(t, "h2")
	h2.AddVMs(t, 1)
	cs := x.start(t, 2)
	x.Exchange(t, 2, 0, end(cs[0], core.OutcomeRetry))
	held := x.heldOf(t, x.Runner)[0]
	require.NoError(t, x.Store.Revoke(ctx, x.Runner, held, core.Settlement{Key: held.Key, Token: held.Token, Outcome: core.OutcomeRelease, To: "h2"}, "it drains"))
	require.NoError(t, x.Store.Probation(ctx, "h1", "it flaps", time.Minute, 1))

	b.Mini.SetTime(start)
	n, err := x.Store.Promote(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, n, "the longest pause is some four minutes")
	n, err = x.Store.Unassign(ctx, "h2", 5*time.Second)
	require.NoError(t, err)
	require.Equal(t, 1, n, "nothing was assigned in time to come")
	x.AddVMs(t, 2)
	require.Len(t, x.Exchange(t, 3, 2).Claims, 1, "its canary: a minute cannot have two hours to go")
}
