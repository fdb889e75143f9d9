package redisstore_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// dueIn gives requests a due time so long after the server's.
func (x *suite) dueIn(t *testing.T, d time.Duration, all ...core.Spec) []core.Spec {
	t.Helper()
	for i := range all {
		all[i].Due = x.now(t).Add(d).UnixMilli()
	}
	return all
}

// claims claims one after the other, and returns their ids.
func (x *suite) claims(t *testing.T, seq *int64, n int) (ids []string) {
	t.Helper()
	for range n {
		*seq++
		for _, c := range x.Exchange(t, *seq, 1).Claims {
			id, _, _ := core.ParseKey(c.Key)
			ids = append(ids, id)
		}
	}
	return ids
}

// What is due in ten minutes goes before what is due next week, also of the same submitter; three of four turns are
// those of the former, so the latter never starves.
func TestWhatIsDueSoonGoesFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 40)
		seq := int64(0)
		x.Submit(t, x.dueIn(t, 7*24*time.Hour, coretest.Spec("week", "p1", "ann"))...)
		x.Submit(t, x.dueIn(t, 10*time.Minute, coretest.Spec("minutes", "p1", "ann"))...)
		x.Submit(t, coretest.Spec("never", "p1", "bob"))
		x.Submit(t, x.dueIn(t, -time.Minute, coretest.Spec("late", "p1", "cid"))...)
		require.Equal(t, []string{"minutes", "week", "never", "late"}, x.claims(t, &seq, 4))

		// Many that are due soon, of many submitters, do not starve others.
		for i := range 20 {
			x.Submit(t, x.dueIn(t, time.Hour-time.Second, coretest.Spec(fmt.Sprintf("soon%d", i), "p1", fmt.Sprintf("s%d", i)))...)
		}
		x.Submit(t, specs("other", 5, "ann")...)
		others := func(ids []string) (n int) {
			for _, id := range ids {
				if len(id) > 5 && id[:5] == "other" {
					n++
				}
			}
			return n
		}
		for range 2 {
			require.InDelta(t, 2, others(x.claims(t, &seq, 8)), 1)
		}
		got := x.Exchange(t, seq+1, 8)
		require.Len(t, got.Claims, 8, "and so in one call of many: five of those that are left, and all others")
	})
}

// With all priorities in use, each of them shares its turns.
func TestEachPrioritySharesWithWhatIsDueSoon(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 80)
		for _, p := range core.Priorities() {
			for _, due := range []time.Duration{0, time.Minute} {
				all := specs(fmt.Sprintf("%s-%d-", p, int(due.Seconds())), 60, "ann")
				for i := range all {
					all[i].Priority = p
				}
				if due > 0 {
					all = x.dueIn(t, due, all...)
				}
				x.Submit(t, all...)
			}
		}
		seq, of := int64(0), map[string]int{}
		for _, id := range x.claims(t, &seq, 80) {
			var n int
			var p string
			for _, prio := range core.Priorities() {
				if len(id) > len(prio) && id[:len(prio)] == string(prio) {
					p = string(prio)
				}
			}
			_, err := fmt.Sscanf(id[len(p)+1:], "%d-", &n)
			require.NoError(t, err)
			of[fmt.Sprintf("%s %t", p, n > 0)]++
		}
		for _, p := range core.Priorities() {
			soon, others := of[string(p)+" true"], of[string(p)+" false"]
			require.Positive(t, others, of)
			require.InDelta(t, 3*others, soon, 4, of)
		}
	})
}

// What waits until it is due soon changes its line, wherever it waits; what ended meanwhile is forgotten.
func TestWhatWaitsBecomesDueSoon(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.Submit(t, x.dueIn(t, 2*time.Hour, specs("a", 3, "ann")...)...)
		x.Submit(t, x.dueIn(t, 2*time.Hour, coretest.Spec("gone", "p1", "bob"))...)
		x.Submit(t, x.dueIn(t, 48*time.Hour, coretest.Spec("far", "p1", "cid"))...)
		noted, err := x.b.Admin.ZRange(ctx, x.key("due"), 0, -1).Result()
		require.NoError(t, err)
		require.Len(t, noted, 5, "also what is due in more than a day")
		_, err = x.Store.Withdraw(ctx, "gone-1")
		require.NoError(t, err)
		pass := func(d time.Duration) { // for what is noted
			all, err := x.Store.Specs(ctx, noted)
			require.NoError(t, err)
			for i := range all {
				all[i].Due -= d.Milliseconds()
				text, err := json.Marshal(all[i])
				require.NoError(t, err)
				require.NoError(t, x.b.Admin.HSet(ctx, x.key("specs"), all[i].Key(), text).Err())
			}
			for _, key := range noted {
				require.NoError(t, x.b.Admin.ZIncrBy(ctx, x.key("due"), -float64(d.Milliseconds()), key).Err())
			}
		}
		_, err = x.Store.Promote(ctx)
		require.NoError(t, err)
		require.Equal(t, core.Preceding{Turns: 0, Waiting: map[core.Priority]int{core.PriorityHigh: 0, core.PriorityNormal: 4, core.PriorityLow: 0}}, x.preceding(t, "a0-1"))
		pass(time.Hour + time.Second)
		_, err = x.Store.Promote(ctx)
		require.NoError(t, err)
		first := x.preceding(t, "a0-1")
		require.True(t, first.Soon)
		require.Zero(t, first.Turns)
		far := x.preceding(t, "far-1")
		require.False(t, far.Soon)
		require.Equal(t, 3, far.Turns, "three of four turns")
		left, err := x.b.Admin.ZRange(ctx, x.key("due"), 0, -1).Result()
		require.NoError(t, err)
		require.Equal(t, []string{"far-1"}, left)
		p, err := x.Store.Locate(ctx, "a2-1")
		require.NoError(t, err)
		require.Equal(t, 2, p.Ahead)

		// All that is done with what waits finds it there.
		x.AddVMs(t, 9)
		_, err = x.Store.Withdraw(ctx, "a1-1")
		require.NoError(t, err)
		seq := int64(0)
		require.Equal(t, []string{"a0"}, x.claims(t, &seq, 1))
		back := x.Exchange(t, 2, 0, core.Finish{Key: "a0-1", Token: x.token(t, "a0-1"), Outcome: core.OutcomeRelease})
		require.Equal(t, []bool{true}, back.Finished)
		seq = 2
		require.Equal(t, []string{"a0", "a2"}, x.claims(t, &seq, 2), "a released one goes back to its line")

		noted = []string{"far-1"}
		pass(46 * time.Hour)
		_, err = x.Store.Promote(ctx)
		require.NoError(t, err)
		require.True(t, x.preceding(t, "far-1").Soon)
	})
}

func (x *suite) preceding(t *testing.T, key string) core.Preceding {
	t.Helper()
	p, waits, err := x.Store.Preceding(t.Context(), key)
	require.NoError(t, err)
	require.True(t, waits)
	return p
}

func (x *suite) token(t *testing.T, key string) string {
	t.Helper()
	p, err := x.Store.Locate(t.Context(), key)
	require.NoError(t, err)
	return p.Token
}
