package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// to is a spec's first change, to a pool and a priority.
func to(s core.Spec, pool string, priority core.Priority) core.Spec {
	return s.With(1, core.Change{Pool: pool, Priority: priority, Limits: core.Limits{Timeout: time.Minute}})
}

// change changes a request that Redis has as it was submitted.
func (x *suite) change(t *testing.T, s core.Spec) {
	t.Helper()
	had, held, err := x.Store.Change(t.Context(), s, 0)
	require.NoError(t, err)
	require.False(t, held)
	require.Equal(t, x.twice, had == s.Change)
	got, err := x.Store.Specs(t.Context(), []string{s.Key()})
	require.NoError(t, err)
	require.Equal(t, []core.Spec{s}, got)
}

func (x *suite) queue(t *testing.T, pool string, priority core.Priority, submitter string) []string {
	t.Helper()
	keys, err := x.b.Admin.LRange(t.Context(), x.key("queue", pool, string(priority), submitter), 0, -1).Result()
	require.NoError(t, err)
	return keys
}

func TestChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, x.Store.SetPool(ctx, core.DefaultPool("p2")))
		all := specs("a", 3, "ann")
		x.Submit(t, all...)
		x.Submit(t, withPriority(specs("b", 1, "ann")[0], core.PriorityLow), specs("c", 1, "bob")[0])

		x.change(t, to(all[0], "p1", core.PriorityNormal))
		require.Equal(t, []string{"a0-1", "a1-1", "a2-1"}, x.queue(t, "p1", core.PriorityNormal, "ann"), "with other limits it keeps its place")
		x.change(t, to(all[1], "p1", core.PriorityLow))
		require.Equal(t, []string{"a0-1", "a2-1"}, x.queue(t, "p1", core.PriorityNormal, "ann"))
		require.Equal(t, []string{"b0-1", "a1-1"}, x.queue(t, "p1", core.PriorityLow, "ann"), "it joins the back")

		before := x.picture(t)
		x.change(t, to(specs("c", 1, "bob")[0], "p2", core.PriorityHigh))
		x.changed(t, before,
			"- queue:p1:normal:bob: c0-1", "- turns:p1:normal: ann bob", "+ turns:p1:normal: ann", "+ queue:p2:high:bob: c0-1", "+ turns:p2:high: bob",
			"+ events: by:- moved:c0-1 op:change",
		)
	})
}

// Another change than the one that the caller knows, a claim, no room, no pool: each is answered and changes nothing.
func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		p2 := core.DefaultPool("p2")
		p2.MaxWaiting = 1
		require.NoError(t, x.Store.SetPool(ctx, p2))
		other := coretest.Spec("other", "p2", "ann")
		claim := x.claim(t, 1, "held")
		held := claim.ReadSpec()
		s := coretest.Spec("a", "p1", "ann")
		x.Submit(t, other, s)

		before := x.picture(t)
		for _, c := range []struct {
			spec core.Spec
			from int
			had  int
			held bool
			code core.Code
		}{
			{to(s, "p1", core.PriorityLow), 7, 0, false, ""},
			{to(held, "p1", core.PriorityLow), 0, 0, true, ""},
			{to(s, "p2", core.PriorityNormal), 0, 0, false, core.CodeFull},
			{to(s, "p9", core.PriorityNormal), 0, 0, false, core.CodeNotFound},
			{to(coretest.Spec("nobody", "p1", "ann"), "p1", core.PriorityLow), 0, -1, false, core.CodeNotFound},
		} {
			had, is, err := x.Store.Change(ctx, c.spec, c.from)
			require.Equal(t, c.code, core.CodeOf(err))
			require.Equal(t, c.had, had)
			require.Equal(t, c.held, is)
		}
		x.changed(t, before)
	})
}

// Wherever it waits, it can be changed: a pause goes on, and what is assigned or parked joins the queue of its new pool.
func TestWhereverItWaitsItCanBeChanged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, x.Store.SetPool(ctx, core.DefaultPool("p2")))
		x.other(t, "h2")
		cs := x.start(t, 4)
		x.Exchange(t, 2, 0, end(cs[0], core.OutcomeRetry))
		_, placed, err := x.Store.Rooms(ctx)
		require.NoError(t, err)
		_, err = x.Store.Settle(ctx, x.Runner, x.lose(t), []core.Settlement{
			settlement(cs[1], core.OutcomeRetry, "h2"), settlement(cs[2], core.OutcomeRetry, core.Parked), settlement(cs[3], core.OutcomeRetry, "h2"),
		}, placed)
		require.NoError(t, err)
		x.change(t, to(cs[3].ReadSpec(), "p1", core.PriorityHigh))
		require.Equal(t, "h2", x.place(t, cs[3].Key).Assigned, "in the same pool it stays assigned")
		for _, c := range cs[:3] {
			x.change(t, to(c.ReadSpec(), "p2", core.PriorityLow))
			coretest.RequireSound(t, x.Store)
		}
		require.Positive(t, x.place(t, cs[0].Key).Due, "its pause goes on")
		x.pausesEnd(t)
		require.NoError(t, coretest.ErrOf(x.Store.Promote(ctx)))
		require.Equal(t, []string{"a0-1", "a1-1", "a2-1"}, x.queue(t, "p2", core.PriorityLow, "ann"))
		require.ElementsMatch(t, []string{"a3-1 scheduled h1>h2", "a2-1 failed h1>", "a1-1 failed h1>h2"}, x.moves(t))
	})
}

// What runs apart does so in its new pool.
func TestChangeOfWhatRunsApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		require.NoError(t, x.Store.SetPool(t.Context(), core.DefaultPool("p2")))
		x.Submit(t, specs("a", 2, "ann")...)
		for i := range 2 {
			require.NoError(t, x.b.Admin.HSet(t.Context(), x.key("deaths"), fmt.Sprintf("a%d-1", i), "testrunner@h9#0").Err())
		}
		x.AddVMs(t, 2)
		require.Len(t, x.Exchange(t, 1, 2).Claims, 1)
		apart := func(pool string) int64 {
			n, err := x.b.Admin.LLen(t.Context(), x.key("apart", pool)).Result()
			require.NoError(t, err)
			return n
		}
		require.EqualValues(t, 1, apart("p1"))
		for _, s := range specs("a", 2, "ann") {
			if x.place(t, s.Key()).Owner == "" {
				x.change(t, to(s, "p2", core.PriorityNormal))
			}
		}
		require.EqualValues(t, 0, apart("p1"))
		require.EqualValues(t, 1, apart("p2"))
	})
}
