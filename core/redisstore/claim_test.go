package redisstore_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClaimAndFinishMoveNothingElse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 2)
		x.Submit(t, specs("a", 2, "ann")...)
		x.hush(t)
		before := x.picture(t)
		c := x.Exchange(t, 1, 1).Claims[0]
		x.changed(t, before,
			"- vms:h1:p1:clean: vm-h1-1 vm-h1-2", "+ vms:h1:p1:clean: vm-h1-2",
			"- queue:p1:normal:ann: a0-1 a1-1", "+ queue:p1:normal:ann: a1-1",
			"+ slots:testrunner@h1#0 a0-1: vm-h1-1|E.1000|TIME|claimed|0|",
			"+ pool:p1 tickets: 1",
			"- owner:testrunner@h1#0 idle: 1", "+ owner:testrunner@h1#0 idle: 0",
			"+ owner:testrunner@h1#0 lane0: 1|TIME||a0-1",
			"+ bell:h1: 1", "+ bell:h1:vmfactory: 1",
			"+ events: by:testrunner@h1#0 claimed:a0-1 moved: op:exchange token:E.1000 vms:=claimed vm-h1-1")
		x.hush(t)
		before = x.picture(t)
		x.Exchange(t, 2, 0, end(c, core.OutcomeDone))
		x.changed(t, before,
			"- slots:testrunner@h1#0 a0-1: vm-h1-1|E.1000|TIME|claimed|0|", "- specs a0-1: SPEC",
			"+ vms:h1:dirty: vm-h1-1", "+ tombstones: a0-1",
			"- owner:testrunner@h1#0 lane0: 1|TIME||a0-1", "+ owner:testrunner@h1#0 lane0: 2|TIME|1|",
			"+ bell:h1:vmfactory: 1",
			"+ events: by:testrunner@h1#0 moved:a0-1 op:exchange vms:=dirty vm-h1-1",
		)
	})
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 8)
		x.Submit(t, specs("a", 8, "ann")...)
		claims := x.Exchange(t, 1, 4).Claims
		before := x.picture(t)
		got := x.Exchange(t, 2, 0, end(claims[0], core.OutcomeDone), end(claims[1], core.OutcomeRelease),
			end(claims[2], core.OutcomeRetry), end(claims[3], core.OutcomeDead))
		require.Equal(t, []bool{true, true, true, true}, got.Finished)
		require.Zero(t, got.Slots)
		var diff []string
		for _, line := range before.To(x.picture(t)) {
			if !strings.Contains(line, " slots:") && !strings.Contains(line, " owner:") {
				diff = append(diff, line)
			}
		}
		require.ElementsMatch(t, []string{
			"- specs a0-1: SPEC", "- specs a3-1: SPEC", "+ attempts a2-1: 1",
			"+ tombstones: a0-1 a3-1", "+ dead a3-1: TIME",
			"- queue:p1:normal:ann: a4-1 a5-1 a6-1 a7-1", "+ queue:p1:normal:ann: a1-1 a4-1 a5-1 a6-1 a7-1",
			"+ later a2-1: TIME", "+ shun a2-1: h1", "+ waits a1-1: TIME", "+ waits a2-1: TIME",
			"+ vms:h1:dirty: vm-h1-1 vm-h1-2 vm-h1-3 vm-h1-4",
			"+ events: by:testrunner@h1#0 moved:a0-1 a3-1 a1-1=release a2-1=retry op:exchange vms:=dirty vm-h1-1 vm-h1-2 vm-h1-3 vm-h1-4",
		}, diff)
		x.pausesEnd(t)
		again := x.Exchange(t, 3, 3).Claims
		require.Equal(t, []int{1, 0, 0}, []int{again[0].Attempts, again[1].Attempts, again[2].Attempts})
		require.Equal(t, []string{"a2-1", "a1-1", "a4-1"}, []string{again[0].Key, again[1].Key, again[2].Key})
	})
}

// Rule 5: a verdict per item.
func TestFinishVerdictPerItem(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 4)
		x.Submit(t, specs("a", 4, "ann")...)
		claims := x.Exchange(t, 1, 3).Claims
		wrong := end(claims[1], core.OutcomeDone)
		wrong.Token += "0"
		part := end(claims[1], core.OutcomeDone)
		part.Token = strings.SplitN(part.Token, ".", 2)[1]
		none := end(claims[1], core.OutcomeDone)
		none.Token = ""
		got := x.Exchange(t, 2, 1, end(claims[0], core.OutcomeDone), wrong, part, none, end(claims[0], core.OutcomeDone),
			core.Finish{Key: "nobody-1", Token: claims[0].Token, Outcome: core.OutcomeDone}, end(claims[2], core.OutcomeRelease))
		require.Equal(t, []bool{true, false, false, false, false, false, true}, got.Finished)
		require.Equal(t, 2, got.Slots, "the one not finished, and the new one")
		require.Equal(t, "a2-1", got.Claims[0].Key, "released to the front and claimed in the same call")
		require.NotEqual(t, claims[2].Token, got.Claims[0].Token)
		late := x.Exchange(t, 3, 0, end(claims[2], core.OutcomeDone))
		require.Equal(t, []bool{false}, late.Finished, "the token of the first try is over")
	})
}

// Rule 5: only a fenced owner fails the whole call.
func TestFencedOwnerWritesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "a")
		x.AddVMs(t, 1)
		x.Submit(t, coretest.Spec("b", "p1", "ann"))
		old := x.Call(2, 1, end(c, core.OutcomeDone))
		require.Greater(t, x.Register(t, x.Runner).Epoch, x.Epoch)
		before := x.picture(t)
		for range 2 {
			_, err := x.Store.Exchange(ctx, old)
			refused(t, err, core.CodeFenced)
			_, err = x.Store.Beat(ctx, x.Runner, x.Epoch, time.Hour)
			refused(t, err, core.CodeFenced)
			refused(t, x.Store.Progress(ctx, x.Runner, x.Epoch, c.Key, c.Token, "running", 0), core.CodeFenced)
			refused(t, x.Store.Deregister(ctx, x.Runner, x.Epoch), core.CodeFenced)
			_, err = x.Store.Settle(ctx, x.Runner, x.Epoch, []core.Settlement{{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone}}, 0)
			refused(t, err, core.CodeFenced)
		}
		x.changed(t, before)
	})
}

// Rule 4: equal answers the same, lower is refused, and lanes do not disturb one another.
func TestLanes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.AddVMs(t, 6)
		x.Submit(t, specs("a", 6, "ann")...)
		lane := func(n int, seq int64, want int, finish ...core.Finish) core.Exchange {
			call := x.Call(seq, want, finish...)
			call.Lane, call.TokenBase = n, seq*1000+int64(n)
			return call
		}
		run := func(call core.Exchange) core.Exchanged {
			got, err := x.Store.Exchange(ctx, call)
			require.NoError(t, err)
			return got
		}
		first := run(lane(0, 1, 2))
		other := run(lane(1, 1, 2))
		require.NotEqual(t, first.Claims[0].Key, other.Claims[0].Key)
		second := run(lane(0, 2, 1, end(first.Claims[0], core.OutcomeDone), end(other.Claims[0], core.OutcomeDone)))
		require.Equal(t, []bool{true, true}, second.Finished, "a lane may end what another one claimed")
		before := x.picture(t)
		require.Equal(t, second, run(lane(0, 2, 1, end(first.Claims[0], core.OutcomeDone), end(other.Claims[0], core.OutcomeDone))))
		again := run(lane(1, 1, 2))
		require.Equal(t, other.Claims[1:], again.Claims, "what ended meanwhile is not given again")
		_, err := x.Store.Exchange(ctx, lane(0, 1, 2))
		refused(t, err, core.CodeStale)
		x.changed(t, before)
	})
}

// A call that found nothing is remembered as well: a copy of it that arrives late
// would take a pair that nobody knows of.
func TestLateCopyOfAnEmptyCallTakesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		require.Empty(t, x.Exchange(t, 1, 1).Claims)
		require.Empty(t, x.Exchange(t, 2, 1).Claims)
		x.AddVMs(t, 1)
		x.Submit(t, coretest.Spec("a", "p1", "ann"))
		_, err := x.Store.Exchange(t.Context(), x.Call(1, 1))
		refused(t, err, core.CodeStale)
		require.Empty(t, x.Exchange(t, 2, 1).Claims, "the same call has the same answer")
		require.Len(t, x.Exchange(t, 3, 1).Claims, 1)
	})
}

func TestRepeatDoesNotGiveWhatWasClaimedAnew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		c := x.claim(t, 1, "a")
		x.AddVMs(t, 1)
		other := x.Call(1, 1, end(c, core.OutcomeRelease))
		other.Lane, other.TokenBase = 1, 7777
		got, err := x.Store.Exchange(t.Context(), other)
		require.NoError(t, err)
		require.Equal(t, c.Key, got.Claims[0].Key)
		require.Empty(t, x.Exchange(t, 1, 1).Claims, "it is another claim's now")
	})
}

func TestTokensOfLargeNumbers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 4)
		x.Submit(t, specs("a", 4, "ann")...)
		call := x.Call(1, 2)
		call.TokenBase = math.MaxInt64 - 1
		got, err := x.Store.Exchange(t.Context(), call)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%d.9223372036854775806", x.Epoch), got.Claims[0].Token)
		held, err := x.Store.Held(t.Context(), x.Runner, 0)
		require.NoError(t, err)
		require.Equal(t, got.Claims[0].Token, held[0].Token)
		require.Equal(t, []bool{true, true}, x.Exchange(t, 2, 0, end(got.Claims[0], core.OutcomeDone), end(got.Claims[1], core.OutcomeDone)).Finished)
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "a")
		before := x.picture(t)
		require.NoError(t, x.Store.Progress(ctx, x.Runner, x.Epoch, c.Key, c.Token, "running", 0))
		diff := slices.DeleteFunc(before.To(x.picture(t)), func(line string) bool { return strings.HasPrefix(line, "+ events:") })
		require.Equal(t, []string{
			"- slots:testrunner@h1#0 a-1: vm-h1-1|E.1000|TIME|claimed|0|", "+ slots:testrunner@h1#0 a-1: vm-h1-1|E.1000|TIME|running|0|",
		}, diff)
		refused(t, x.Store.Progress(ctx, x.Runner, x.Epoch, c.Key, "1.1", "running", 0), core.CodeStale)
		refused(t, x.Store.Progress(ctx, x.Runner, x.Epoch, "nobody-1", c.Token, "running", 0), core.CodeStale)
		refused(t, x.Store.Progress(ctx, "testrunner@h1#9", 1, c.Key, c.Token, "running", 0), core.CodeFenced)
	})
}

func TestExchangeBounds(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	h := coretest.NewCluster(t, b.Open(t), "h1", "p1")
	for _, call := range []core.Exchange{h.Call(1, 501), h.Call(1, -1), h.Call(1, 0, make([]core.Finish, 501)...)} {
		_, err := h.Store.Exchange(t.Context(), call)
		refused(t, err, core.CodeLimit)
	}
}

func TestFullBatches(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		const n = 500
		x.AddVMs(t, 3*n)
		for i := range 3 { // many submitters, few, one
			all := specs(fmt.Sprintf("r%d-", i), n, "ann")
			for at := range all {
				all[at].Submitter = fmt.Sprintf("s%d", at%[]int{n, 7, 1}[i])
			}
			x.Submit(t, all...)
		}
		var finish []core.Finish
		for seq := int64(1); seq <= 4; seq++ {
			got := x.Exchange(t, seq, n, finish...)
			require.NotContains(t, got.Finished, false)
			finish = finish[:0]
			for _, c := range got.Claims {
				finish = append(finish, end(c, core.OutcomeDone))
			}
			require.Len(t, finish, map[bool]int{true: n, false: 0}[seq < 4])
		}
	})
}

// Rule 15: every claim reads drain and pause, also the claim inside a finish.
func TestDrainAndPauseStopClaims(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "a")
		x.AddVMs(t, 3)
		x.Submit(t, specs("b", 3, "ann")...)
		require.NoError(t, x.Store.Drain(ctx, "h1", true, 0))
		got := x.Exchange(t, 2, 1, end(c, core.OutcomeDone))
		require.True(t, got.Draining)
		require.Equal(t, []bool{true}, got.Finished)
		require.Empty(t, got.Claims)
		beat, err := x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		require.NoError(t, err)
		require.True(t, beat.Draining)
		require.NoError(t, x.Store.Drain(ctx, "h1", false, 0))
		pool, err := x.Store.GetPool(ctx, "p1")
		require.NoError(t, err)
		pool.Paused = true
		require.NoError(t, x.Store.SetPool(ctx, pool))
		got = x.Exchange(t, 3, 1)
		require.False(t, got.Draining)
		require.Empty(t, got.Claims)
		pool.Paused = false
		require.NoError(t, x.Store.SetPool(ctx, pool))
		require.Len(t, x.Exchange(t, 4, 1).Claims, 1)
	})
}

// Rule 3: after a change of Redis' incarnation a host claims nothing until its
// vmfactory has reconciled.
func TestNothingIsClaimedBeforeReconciling(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		c := x.claim(t, 1, "a")
		x.AddVMs(t, 1)
		x.Submit(t, coretest.Spec("b", "p1", "ann"))
		after := open(t, x.b, "second-incarnation", time.UnixMilli(0))
		got, err := after.Exchange(ctx, x.Call(2, 1, end(c, core.OutcomeDone)))
		require.NoError(t, err)
		require.False(t, got.Ready)
		require.Empty(t, got.Claims)
		require.Equal(t, []bool{true}, got.Finished, "what was in hand ends all the same")
		beat, err := after.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		require.NoError(t, err)
		require.False(t, beat.Ready)
		hosts, err := after.ListHosts(ctx)
		require.NoError(t, err)
		require.False(t, hosts[0].Ready)
		_, err = after.Reconcile(ctx, x.Factory, x.Made, "h1", map[string]core.Found{"vm-h1-2": {Pool: "p1", Usable: true}}, nil)
		require.NoError(t, err)
		got, err = after.Exchange(ctx, x.Call(3, 1))
		require.NoError(t, err)
		require.True(t, got.Ready)
		require.Equal(t, "vm-h1-2", got.Claims[0].VM)
	})
}

func TestPoolsInTheCallersOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, x.Store.SetPool(ctx, core.DefaultPool("p2")))
		x.Submit(t, coretest.Spec("one", "p1", "ann"), coretest.Spec("two", "p2", "ann"), coretest.Spec("three", "p1", "ann"))
		x.AddVMs(t, 2)
		x.Pool = "p2"
		x.AddVMs(t, 2)
		call := x.Call(1, 2)
		call.Pools = []string{"p2", "nosuch", "p1"}
		got, err := x.Store.Exchange(ctx, call)
		require.NoError(t, err)
		require.Equal(t, []string{"two-1", "one-1"}, []string{got.Claims[0].Key, got.Claims[1].Key})
		require.Equal(t, []string{"vm-h1-3", "vm-h1-1"}, []string{got.Claims[0].VM, got.Claims[1].VM}, "each from its own pool")
	})
}

// Rule 11: a stale entry in turns is skipped, and heals.
func TestStaleTurnsAreSkipped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 2)
		x.Submit(t, coretest.Spec("a", "p1", "ann"))
		for i := range 40 {
			require.NoError(t, x.b.Admin.LPush(t.Context(), x.key("turns", "p1", "normal"), fmt.Sprintf("ghost%d", i)).Err())
		}
		got := x.Exchange(t, 1, 1)
		require.Len(t, got.Claims, 1)
		require.Equal(t, "a-1", got.Claims[0].Key)
	})
}

// Turns hold for batches: nobody gets two while another waits for one.
func TestTurnsInBatches(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{1, 2, 3, 7, 16, 64} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, x *suite) {
				x.AddVMs(t, 200)
				waiting := map[string]int{"ann": 100, "bob": 10, "cid": 30, "dan": 1, "eve": 13}
				for _, who := range []string{"ann", "bob", "cid", "dan", "eve"} {
					x.Submit(t, specs(who+"-", waiting[who], who)...)
				}
				got := make(map[string]int)
				for seq := int64(1); got["ann"] < 100; seq++ {
					for _, c := range x.Exchange(t, seq, batch).Claims {
						who := c.ReadSpec().Submitter
						require.Equal(t, fmt.Sprintf("%s-%d-1", who, got[who]), c.Key, "each submitter's in its order")
						got[who]++
					}
					for a := range waiting {
						for b := range waiting {
							if got[a] < waiting[a] && got[b] < waiting[b] {
								require.LessOrEqual(t, got[a]-got[b], 1, "%s had %d, %s had %d", a, got[a], b, got[b])
							}
						}
					}
				}
				require.Equal(t, waiting, got)
			})
		})
	}
}

// Priorities share by weight whatever the size of calls, VMs at hand, or callers.
func TestPrioritiesShareByWeight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ want, clean int }{{1, 1}, {10, 1}, {64, 1}, {64, 64}, {3, 2}, {20, 10}} {
		t.Run(fmt.Sprintf("want=%d/clean=%d", c.want, c.clean), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, x *suite) {
				for _, priority := range core.Priorities() {
					all := specs(string(priority)+"-", 200, "ann")
					for i := range all {
						all[i].Priority = priority
					}
					x.Submit(t, all...)
				}
				got := make(map[core.Priority]int)
				total := 0
				for seq := int64(1); total < 150; seq++ {
					x.AddVMs(t, c.clean)
					call := x.Call(seq, c.want)
					call.TokenBase = seq * int64(c.want)
					exchanged, err := x.Store.Exchange(t.Context(), call)
					require.NoError(t, err)
					for _, claim := range exchanged.Claims {
						got[claim.ReadSpec().Priority]++
						total++
					}
				}
				assert.InDelta(t, 0.6, float64(got[core.PriorityHigh])/float64(total), 0.04, "%v", got)
				assert.InDelta(t, 0.3, float64(got[core.PriorityNormal])/float64(total), 0.04, "%v", got)
				assert.InDelta(t, 0.1, float64(got[core.PriorityLow])/float64(total), 0.04, "%v", got)
			})
		})
	}
}

// A submitter of a lower priority is never served before one of many of a higher one, whatever the priorities.
func TestALowerPriorityGetsLessThanOneOfAHigher(t *testing.T) {
	t.Parallel()
	for higher, lower := range map[core.Priority]core.Priority{core.PriorityHigh: core.PriorityNormal, core.PriorityNormal: core.PriorityLow} {
		for _, batch := range []int{1, 10} {
			t.Run(fmt.Sprint(higher, batch), func(t *testing.T) {
				t.Parallel()
				each(t, func(t *testing.T, x *suite) {
					const many, claims = 30, 300
					x.AddVMs(t, claims)
					for i := range many {
						for n := range 20 {
							x.Submit(t, withPriority(coretest.Spec(fmt.Sprintf("h%d-%d", i, n), "p1", fmt.Sprintf("u%d", i)), higher))
						}
					}
					for n := range 100 {
						x.Submit(t, withPriority(coretest.Spec(fmt.Sprintf("l%d", n), "p1", "sly"), lower))
					}
					got := map[string]int{}
					for seq := range int64(claims / batch) {
						for _, c := range x.Exchange(t, seq+1, batch).Claims {
							got[c.ReadSpec().Submitter]++
						}
					}
					for i := range many {
						require.LessOrEqual(t, got["sly"], got[fmt.Sprintf("u%d", i)])
					}
				})
			})
		}
	}
}

func TestUnusedSharesGoToTheOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 30)
		for i := range 10 {
			x.Submit(t, withPriority(coretest.Spec(fmt.Sprintf("n%d", i), "p1", "ann"), core.PriorityNormal),
				withPriority(coretest.Spec(fmt.Sprintf("l%d", i), "p1", "ann"), core.PriorityLow))
		}
		require.Len(t, x.Exchange(t, 1, 10).Claims, 10)
		require.Len(t, x.Exchange(t, 2, 20).Claims, 10, "all that waits, though high has nothing")
	})
}
