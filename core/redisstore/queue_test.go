package redisstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestEnqueueMovesNothingElse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		before := x.picture(t)
		x.Submit(t, append(specs("a", 2, "ann"), withPriority(coretest.Spec("b0", "p1", "bob"), core.PriorityHigh))...)
		x.changed(t, before,
			"+ queue:p1:normal:ann: a0-1 a1-1", "+ queue:p1:high:bob: b0-1",
			"+ turns:p1:normal: ann", "+ turns:p1:high: bob",
			"+ specs a0-1: SPEC", "+ specs a1-1: SPEC", "+ specs b0-1: SPEC",
			"+ placement:bell: 1", "+ events: by:- moved:a0-1 a1-1 b0-1 op:enqueue",
		)
	})
}

func TestEnqueueAgainIsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.Submit(t, specs("a", 2, "ann")...)
		before := x.picture(t)
		x.Submit(t, specs("a", 2, "ann")...)
		x.changed(t, before)
		other := coretest.Spec("a0", "p1", "eve") // the same id in another place
		x.Submit(t, other)
		x.changed(t, before)
	})
}

func TestEnqueueVerdictPerItem(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ended := x.claim(t, 1, "ended")
		x.Exchange(t, 2, 0, end(ended, core.OutcomeDone))
		bad, twin := coretest.Spec("Bad_Id", "p1", "ann"), coretest.Spec("twin", "p1", "ann")
		never := coretest.Spec("never", "p1", "ann")
		never.Generation = 0
		verdicts, err := x.Store.Enqueue(t.Context(), []core.Spec{
			coretest.Spec("good", "p1", "ann"), bad, coretest.Spec("ended", "p1", "ann"), coretest.Spec("lost", "p9", "ann"),
			twin, twin, never, withPriority(coretest.Spec("odd", "p1", "ann"), "odd"), coretest.Spec("last", "p1", "ann"),
		})
		require.NoError(t, err)
		var codes []core.Code
		for _, v := range verdicts {
			codes = append(codes, core.CodeOf(v))
		}
		require.Equal(t, []core.Code{
			"", core.CodeInvalid, core.CodeEnded, core.CodeNotFound, "", "", core.CodeInvalid, core.CodeInvalid, "",
		}, codes)
		queue, err := x.b.Admin.LRange(t.Context(), x.key("queue", "p1", "normal", "ann"), 0, -1).Result()
		require.NoError(t, err)
		require.Equal(t, []string{"good-1", "twin-1", "last-1"}, queue)
	})
}

func TestEnqueueOfEveryKindOfBadName(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	h := coretest.NewCluster(t, b.Open(t), "h1", "p1")
	before := b.Picture(t)
	for _, name := range []string{"", "A", "a:b", "a b", "-a", "a-", "ä", "a\n", "a*", strings.Repeat("a", 64)} {
		id, pool, submitter := coretest.Spec(name, "p1", "ann"), coretest.Spec("a", name, "ann"), coretest.Spec("a", "p1", name)
		verdicts, err := h.Store.Enqueue(t.Context(), []core.Spec{id, pool, submitter})
		require.NoError(t, err)
		for _, v := range verdicts {
			refused(t, v, core.CodeInvalid)
		}
	}
	require.Empty(t, before.To(b.Picture(t)))
}

func TestEnqueueMoreThanOneCallTakes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		many := specs("r", 1234, "ann")
		many[700].Submitter = "Not A Name"
		verdicts, err := x.Store.Enqueue(t.Context(), many)
		require.NoError(t, err)
		require.Len(t, verdicts, 1234)
		for i, v := range verdicts {
			if i == 700 {
				refused(t, v, core.CodeInvalid)
			} else {
				require.NoError(t, v, i)
			}
		}
		queue, err := x.b.Admin.LRange(t.Context(), x.key("queue", "p1", "normal", "ann"), 0, -1).Result()
		require.NoError(t, err)
		require.Len(t, queue, 1233)
		require.Equal(t, []string{"r0-1", "r1-1"}, queue[:2])
		require.Equal(t, "r1233-1", queue[1232])
	})
}

// Rule 9: limits on the whole, on bytes, and per submitter and priority.
func TestEnqueueRefusesWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	opts := coretest.Real(t).Options()
	opts.MaxWaiting = 1005
	s, err := redisstore.Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	h := coretest.NewCluster(t, s, "h1", "p1")
	small := core.DefaultPool("small")
	small.MaxWaiting = 2
	require.NoError(t, s.SetPool(t.Context(), small))
	codes := func(specs ...core.Spec) (codes []core.Code) {
		verdicts, err := s.Enqueue(t.Context(), specs)
		require.NoError(t, err)
		for _, v := range verdicts {
			codes = append(codes, core.CodeOf(v))
		}
		return codes
	}
	room := func(want core.Code, spec core.Spec) {
		t.Helper()
		require.Equal(t, want, core.CodeOf(s.Room(t.Context(), spec)))
		there, err := s.Present(t.Context(), []string{spec.Key()})
		require.NoError(t, err)
		require.Equal(t, []bool{false}, there, "it only asks")
	}
	of := func(id, submitter string, priority core.Priority) core.Spec {
		return withPriority(coretest.Spec(id, "small", submitter), priority)
	}
	room("", of("a1", "ann", "normal"))
	room(core.CodeNotFound, coretest.Spec("n1", "nowhere", "ann"))
	require.Equal(t, []core.Code{"", "", core.CodeFull, "", "", core.CodeFull}, codes(
		of("a1", "ann", "normal"), of("a2", "ann", "normal"), of("a3", "ann", "normal"), of("a4", "ann", "low"),
		of("b1", "bob", "normal"), of("a5", "ann", "normal")))
	require.Equal(t, []core.Code{core.CodeFull, ""}, codes(of("a3", "ann", "normal"), of("a1", "ann", "normal")),
		"what Redis has is not refused")
	room(core.CodeFull, of("a3", "ann", "normal"))
	h.Submit(t, specs("r", 1000, "ann")...)
	require.Equal(t, []core.Code{"", core.CodeFull}, codes(coretest.Spec("x1", "p1", "ann"), coretest.Spec("x2", "p1", "ann")))
	opts.MaxWaiting, opts.MaxSpecBytes = 0, 1000
	tight, err := redisstore.Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tight.Close()) })
	verdicts, err := tight.Enqueue(t.Context(), []core.Spec{coretest.Spec("x2", "p1", "ann")})
	require.NoError(t, err)
	refused(t, verdicts[0], core.CodeFull)
	coretest.RequireSound(t, s)
}

// What users write must not keep the scripts from reading what drover wrote.
func TestSpecsThatRedisCannotRead(t *testing.T) {
	t.Parallel()
	inputs := map[string]string{
		"deep":      strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"surrogate": `{"x":"\ud800"}`,
		"numbers":   `{"n":123456789012345678901234567890,"e":1e400,"f":-0.1}`,
		"mimicry":   `{"id":"x","gen":1,"pool":"other","priority":"high","submitter":"eve"}`,
		"nul":       `"\u0000"`,
	}
	each(t, func(t *testing.T, x *suite) {
		seq := int64(0)
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for n := range inputs {
				if !yield(n) {
					return
				}
			}
		}) {
			spec := coretest.Spec(name, "p1", "ann")
			spec.Input = json.RawMessage(inputs[name])
			x.Submit(t, spec)
			place, err := x.Store.Locate(t.Context(), name+"-1")
			require.NoError(t, err)
			require.Equal(t, core.Place{State: core.RequestQueued, Pool: "p1", Priority: core.PriorityNormal}, place)
			x.AddVMs(t, 2)
			seq++
			claim := x.Exchange(t, seq, 1).Claims[0]
			require.JSONEq(t, `"`+name+`"`, `"`+claim.ReadSpec().ID+`"`)
			require.Equal(t, inputs[name], string(claim.ReadSpec().Input))
			held, err := x.Store.Held(t.Context(), x.Runner, 0)
			require.NoError(t, err)
			require.Len(t, held, 1)
			require.Equal(t, "p1", held[0].Pool)
			seq++
			require.Equal(t, []bool{true}, x.Exchange(t, seq, 0, end(claim, core.OutcomeRetry)).Finished)
			place, err = x.Store.Cancel(t.Context(), name+"-1", "bob", core.CancelAny)
			require.NoError(t, err)
			require.Equal(t, core.RequestQueued, place.State)
			gone, err := x.Store.Withdraw(t.Context(), name+"-1")
			require.NoError(t, err)
			require.Equal(t, !x.twice, gone)
		}
	})
}

func TestLocate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.Submit(t, specs("a", 3, "ann")...)
		locate := func(key string) core.Place {
			p, err := x.Store.Locate(ctx, key)
			require.NoError(t, err)
			return p
		}
		require.Equal(t, core.Place{}, locate("nobody-1"))
		require.Equal(t, core.Place{State: core.RequestQueued, Pool: "p1", Priority: core.PriorityNormal, Ahead: 2}, locate("a2-1"))
		vm := x.AddVMs(t, 1)[0]
		c := x.Exchange(t, 1, 1).Claims[0]
		want := core.Place{State: core.RequestClaimed, Pool: "p1", Priority: core.PriorityNormal, Owner: x.Runner, VM: vm, Token: c.Token, Since: c.Since}
		require.Equal(t, want, locate("a0-1"))
		require.NoError(t, x.Store.Progress(ctx, x.Runner, x.Epoch, c.Key, c.Token, "running", 0))
		got := locate("a0-1")
		require.Equal(t, core.RequestRunning, got.State)
		require.GreaterOrEqual(t, got.Since, c.Since)
		_, err := x.Store.Cancel(ctx, c.Key, "bob", core.CancelAny)
		require.NoError(t, err)
		require.Equal(t, core.RequestCancelling, locate("a0-1").State)
		x.Exchange(t, 2, 0, end(c, core.OutcomeRetry))
		got = locate("a0-1")
		require.InDelta(t, x.now(t).Add(250*time.Millisecond).UnixMilli(), got.Due, 5000)
		got.Due = 0
		require.Equal(t, core.Place{State: core.RequestQueued, Pool: "p1", Priority: core.PriorityNormal, Attempts: 1}, got)
	})
}

// Rule 10: a cancel has a place that claim, beat and exchange read.
func TestCancelIsSeenByAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "busy")
		x.Submit(t, coretest.Spec("waits", "p1", "ann"))
		for _, key := range []string{"busy-1", "waits-1"} {
			_, err := x.Store.Cancel(ctx, key, "bob", core.CancelAny)
			require.NoError(t, err)
			place, err := x.Store.Cancel(ctx, key, "eve", core.CancelAny)
			require.NoError(t, err)
			require.NotEmpty(t, place.State)
		}
		require.True(t, x.rung(t, "notice", x.Runner))
		beat, err := x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"busy-1": "bob"}, beat.Cancelled)
		x.AddVMs(t, 1)
		got := x.Exchange(t, 2, 1)
		require.Equal(t, "waits-1", got.Claims[0].Key)
		require.Equal(t, "bob", got.Claims[0].Cancelled, "the first to ask stays noted")
		require.Equal(t, map[string]string{"busy-1": "bob", "waits-1": "bob"}, got.Cancelled)
		held, err := x.Store.Held(ctx, x.Runner, 0)
		require.NoError(t, err)
		for _, h := range held {
			require.Equal(t, "bob", h.Cancelled)
		}
		x.AddVMs(t, 1)
		x.Exchange(t, 3, 0, end(c, core.OutcomeRelease))
		again := x.Exchange(t, 4, 1).Claims[0]
		require.Equal(t, "bob", again.Cancelled, "a release does not forget the cancel")
		x.Exchange(t, 5, 0, end(again, core.OutcomeDone), end(got.Claims[0], core.OutcomeDone))
		n, err := x.b.Admin.Exists(ctx, x.key("cancels")).Result()
		require.NoError(t, err)
		require.Zero(t, n, "the end forgets it")
	})
}

func TestCancelScopes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.claim(t, 1, "busy")
		x.Submit(t, coretest.Spec("waits", "p1", "ann"))
		before := x.picture(t)
		for _, key := range []string{"busy-1", "nobody-1"} {
			place, err := x.Store.Cancel(ctx, key, "bob", core.CancelWaiting)
			require.NoError(t, err)
			require.Equal(t, core.Place{}, place)
		}
		for key, pool := range map[string]string{"busy-1": "p1", "waits-1": "p2"} {
			place, err := x.Store.Cancel(ctx, key, "bob", core.CancelWaitingIn(pool))
			require.NoError(t, err)
			require.Equal(t, core.Place{}, place)
		}
		x.changed(t, before)
		place, err := x.Store.Cancel(ctx, "waits-1", "bob", core.CancelWaitingIn("p1"))
		require.NoError(t, err)
		require.Equal(t, core.RequestQueued, place.State)
		place, err = x.Store.Cancel(ctx, "waits-1", "eve", core.CancelWaiting)
		require.NoError(t, err)
		require.Equal(t, core.RequestQueued, place.State)
		x.changed(t, before, "+ cancels waits-1: bob", "+ events: by:bob moved:waits-1 op:cancel")
	})
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		busy := x.claim(t, 1, "busy")
		retried := x.claim(t, 2, "retried")
		x.Exchange(t, 3, 0, end(retried, core.OutcomeRetry))
		x.Submit(t, specs("a", 2, "bob")...)
		for _, key := range []string{"retried-1", "a0-1"} {
			_, err := x.Store.Cancel(ctx, key, "bob", core.CancelAny)
			require.NoError(t, err)
		}
		before := x.picture(t)
		for _, key := range []string{"retried-1", "a0-1"} {
			gone, err := x.Store.Withdraw(ctx, key)
			require.NoError(t, err)
			require.Equal(t, !x.twice, gone)
		}
		x.changed(t, before,
			"- specs retried-1: SPEC", "- attempts retried-1: 1", "- cancels retried-1: bob", "- later retried-1: TIME",
			"- shun retried-1: h1", "- waits retried-1: TIME", "+ tombstones: a0-1 retried-1",
			"- specs a0-1: SPEC", "- cancels a0-1: bob", "- queue:p1:normal:bob: a0-1 a1-1", "+ queue:p1:normal:bob: a1-1",
			"+ events: by:- moved:retried-1 op:withdraw", "+ events: by:- moved:a0-1 op:withdraw",
		)
		for _, key := range []string{busy.Key, "a0-1", "nobody-1"} {
			gone, err := x.Store.Withdraw(ctx, key)
			require.NoError(t, err)
			require.False(t, gone, "it does not wait")
		}
		verdicts, err := x.Store.Enqueue(ctx, specs("a", 1, "bob"))
		require.NoError(t, err)
		refused(t, verdicts[0], core.CodeEnded)
	})
}

func TestPresentAndWaiting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "busy")
		x.Submit(t, specs("a", 3, "ann")...)
		x.Submit(t, withPriority(coretest.Spec("b0", "p1", "bob"), core.PriorityHigh))
		done := x.Exchange(t, 2, 0)
		require.Equal(t, 1, done.Slots)
		have, err := x.Store.Present(ctx, []string{"busy-1", "nobody-1", "a2-1", "a2-2"})
		require.NoError(t, err)
		require.Equal(t, []bool{true, false, true, false}, have)
		none, err := x.Store.Present(ctx, nil)
		require.NoError(t, err)
		require.Empty(t, none)
		got, err := x.Store.Waiting(ctx)
		require.NoError(t, err)
		require.Equal(t, []core.QueueInfo{
			{Pool: "p1", Priority: core.PriorityHigh, Waiting: 1, Submitters: 1},
			{Pool: "p1", Priority: core.PriorityNormal, Waiting: 3, Submitters: 1},
			{Pool: "p1", Priority: core.PriorityLow},
		}, got)
		x.Exchange(t, 3, 0, end(c, core.OutcomeDone))
		have, err = x.Store.Present(ctx, []string{"busy-1"})
		require.NoError(t, err)
		require.Equal(t, []bool{false}, have)
	})
}

// Rule 19: what ended is remembered, and forgotten again.
func TestTombstonesAndTrim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		declareDead := func(i int, ago time.Duration) {
			c := x.claim(t, int64(2*i+1), fmt.Sprintf("r%d", i))
			x.Exchange(t, int64(2*i+2), 0, end(c, core.OutcomeDead))
			at := float64(x.now(t).Add(-ago).UnixMilli())
			require.NoError(t, x.b.Admin.ZAdd(ctx, x.key("dead"), redis.Z{Member: c.Key, Score: at}).Err())
		}
		trim := func(keep time.Duration) int {
			n, err := x.Store.Trim(ctx, keep)
			require.NoError(t, err)
			return n
		}
		codes := func() []core.Code {
			out := make([]core.Code, 3)
			verdicts, err := x.Store.Enqueue(ctx, specs("r", 3, "ann"))
			require.NoError(t, err)
			for i, v := range verdicts {
				out[i] = core.CodeOf(v)
			}
			return out
		}
		declareDead(0, 3*time.Hour)
		trim(90 * time.Minute) // the first begins to count the age of tombstones
		declareDead(1, 2*time.Hour)
		declareDead(2, time.Hour)
		require.Zero(t, trim(4*time.Hour))
		require.Equal(t, []core.Code{core.CodeEnded, core.CodeEnded, core.CodeEnded}, codes())
		dead, err := x.Store.ListDead(ctx, 2)
		require.NoError(t, err)
		require.Equal(t, []string{"r2-1", "r1-1"}, dead, "newest first")

		require.NoError(t, x.b.Admin.HSet(ctx, x.key("meta"), "tombstones_since", x.now(t).Add(-2*time.Hour).UnixMilli()).Err())
		forgotten := trim(90 * time.Minute)
		if !x.twice {
			require.Equal(t, 2, forgotten, "the tombstone of r0 and the dead entry of r1")
		}
		dead, err = x.Store.ListDead(ctx, 10)
		require.NoError(t, err)
		require.Equal(t, []string{"r2-1"}, dead)
		require.Equal(t, []core.Code{"", core.CodeEnded, core.CodeEnded}, codes())
	})
}

// A flood of ends does not fill Redis: the older ones go before their time.
func TestTrimKeepsTheNewestWhateverTheirAge(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	h := coretest.NewCluster(t, b.Open(t), "h1", "p1")
	ctx := context.Background()
	space := h.Store.Namespace()
	trim := func() int {
		n, err := redis.NewScript(redisstore.Assemble("trim")).
			Run(ctx, b.Admin, []string{space.Key("meta")}, time.Hour.Milliseconds(), 4).Int()
		require.NoError(t, err)
		return n
	}
	require.Zero(t, trim())
	for _, round := range []struct {
		ended     []string
		forgotten int
		left      []string
	}{
		{[]string{"a", "b"}, 0, []string{"a", "b"}}, // half of the most: they stay
		{[]string{"c"}, 0, []string{"a", "b", "c"}},
		{[]string{"d", "e", "f"}, 3, []string{"d", "e", "f"}},
	} {
		require.NoError(t, b.Admin.SAdd(ctx, space.Key("tombstones"), round.ended).Err())
		require.Equal(t, round.forgotten, trim())
		left, err := b.Admin.SUnion(ctx, space.Key("tombstones"), space.Key("tombstones_old")).Result()
		require.NoError(t, err)
		require.ElementsMatch(t, round.left, left)
	}
}

func TestTurnsAndLastEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.Submit(t, coretest.Spec("a1", x.Pool, "ann"), coretest.Spec("a2", x.Pool, "ann"), coretest.Spec("b1", x.Pool, "bob"), coretest.Spec("c1", x.Pool, "cleo"))
		none := core.QueueInfo{Pool: "nowhere", Priority: core.PriorityHigh}
		got, err := x.Store.Turns(ctx, []core.QueueInfo{none, {Pool: x.Pool, Priority: core.PriorityNormal}}, 2)
		require.NoError(t, err)
		require.Empty(t, got[0])
		require.Equal(t, []core.Turn{{Submitter: "ann", Waiting: 2, Next: "a1-1", Since: 1}, {Submitter: "bob", Waiting: 1, Next: "b1-1", Since: 1}}, got[1])
		last, err := x.Store.LastEvents(ctx, 1)
		require.NoError(t, err)
		require.Len(t, last, 1)
		require.Equal(t, "enqueue", last[0].Op)
		require.NoError(t, x.b.Admin.ZAdd(ctx, x.key("dead"), redis.Z{Member: "z-1", Score: 1}).Err())
		for _, want := range []bool{true, false} {
			had, err := x.Store.ForgetDead(ctx, "z-1")
			require.NoError(t, err)
			require.Equal(t, want, had)
		}
	})
}
