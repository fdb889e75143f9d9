package redisstore_test

import (
	"testing"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// What Preceding says goes before a request is what does, when nobody comes later.
func TestPrecedingForetellsTheOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		waiting := map[string]int{"ann": 9, "bob": 1, "cid": 4, "dan": 2}
		all := 0
		for _, who := range []string{"ann", "bob", "cid", "dan"} {
			x.Submit(t, specs(who+"-", waiting[who], who)...)
			all += waiting[who]
		}
		x.AddVMs(t, all)
		seq := int64(1)
		order := func() (before map[string]int) {
			before = map[string]int{}
			for who, n := range waiting {
				for _, s := range specs(who+"-", n, who) {
					turn, waits, err := x.Store.Preceding(t.Context(), s.Key())
					require.NoError(t, err)
					if waits {
						before[s.Key()] = turn.Turns
						require.Equal(t, all-int(seq)+1, turn.Waiting[core.PriorityNormal])
					}
				}
			}
			return before
		}
		expected := order()
		for ; int(seq) <= all; seq++ {
			if seq == 6 { // in the middle of a round it is as true
				for key, n := range order() {
					require.Equal(t, expected[key], n+5, key)
				}
			}
			got := x.Exchange(t, seq, 1).Claims
			require.Len(t, got, 1)
			require.Equal(t, int(seq)-1, expected[got[0].Key], got[0].Key)
		}
	})
}

func TestPrecedingCountsAllThatWaits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.Submit(t, append(specs("a", 2, "ann"), withPriority(coretest.Spec("h", "p1", "bob"), core.PriorityHigh), withPriority(coretest.Spec("l", "p1", "bob"), core.PriorityLow))...)
		turn, waits, err := x.Store.Preceding(t.Context(), "a1-1")
		require.NoError(t, err)
		require.True(t, waits)
		require.Equal(t, core.Preceding{Turns: 1, Waiting: map[core.Priority]int{core.PriorityHigh: 1, core.PriorityNormal: 2, core.PriorityLow: 1}}, turn)
		_, waits, err = x.Store.Preceding(t.Context(), "nobody-1")
		require.NoError(t, err)
		require.False(t, waits)
	})
}
