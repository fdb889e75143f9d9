package redisstore_test

import (
	"fmt"
	"strings"
	"testing"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/stretchr/testify/require"
)

// The budget of bytes is counted, whatever few specs a sample would have met: one in ten is
// large. What is counted is what Redis says they take, within a quarter.
func TestTheBudgetOfBytesIsCounted(t *testing.T) {
	t.Parallel()
	b := coretest.Alone(t)
	ctx := t.Context()
	x := newSuite(t, b, false)
	var all []core.Spec
	for i := range 2000 {
		s := coretest.Spec(fmt.Sprintf("r%d", i), "p1", "ann")
		if i%10 == 0 {
			s.Command = []string{"x", strings.Repeat("a", 20_000)}
		}
		all = append(all, s)
	}
	x.Submit(t, all...)
	counted, err := b.Admin.HGet(ctx, x.key("counts"), "bytes").Int64()
	require.NoError(t, err)
	exact, err := b.Admin.Do(ctx, "MEMORY", "USAGE", x.key("specs"), "SAMPLES", "0").Int64()
	require.NoError(t, err)
	t.Logf("counted %d, Redis says %d", counted, exact)
	require.InEpsilon(t, exact, counted, 0.25)
	opts := b.Options()
	for most, fits := range map[int64]bool{counted + 1000: true, counted + 10: false, counted / 4: false} {
		opts.MaxSpecBytes = most
		s, err := redisstore.Open(ctx, opts)
		require.NoError(t, err)
		verdicts, err := s.Enqueue(ctx, specs(fmt.Sprintf("n%d-", most), 1, "zoe"))
		require.NoError(t, err)
		if fits {
			require.NoError(t, verdicts[0])
			gone, err := s.Withdraw(ctx, fmt.Sprintf("n%d-0-1", most))
			require.NoError(t, err)
			require.True(t, gone)
		} else {
			refused(t, verdicts[0], core.CodeFull)
		}
		require.NoError(t, s.Close())
	}
	coretest.RequireSound(t, x.Store)
}

// Counting what goes before a request costs the same whatever waits, and gives a lower bound
// where there are too many submitters to look at.
func TestPrecedingOfManySubmitters(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Alone(t), false)
	const submitters = 2000
	var all []core.Spec
	for u := range submitters {
		all = append(all, specs(fmt.Sprintf("u%d-", u), 3, fmt.Sprintf("u%d", u))...)
	}
	x.Submit(t, all...)
	for _, c := range []struct {
		key     string
		turns   int
		atLeast bool
	}{
		{"u0-0-1", 0, false},
		{"u1999-0-1", 1999, false}, // the first of each
		{"u0-1-1", 1 + 299*1 + 1700, true},
		{"u1999-2-1", 2 + 300*3 + 1699, true},
	} {
		var got core.Preceding
		cost := commands(t, x.b, func() {
			var err error
			got, _, err = x.Store.Preceding(t.Context(), c.key)
			require.NoError(t, err)
		})
		require.Equal(t, c.turns, got.Turns, c.key)
		require.Equal(t, c.atLeast, got.AtLeast, c.key)
		require.Equal(t, 3*submitters, got.Waiting[core.PriorityNormal])
		total := 0
		for _, n := range cost {
			total += n
		}
		require.Less(t, total, 350, "%v", cost)
	}
}

// Of many hosts that could take what failed twice elsewhere, a promotion looks at some.
func TestPromoteLooksAtFewHosts(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Alone(t), false)
	for i := range 300 {
		x.other(t, fmt.Sprintf("other%d", i)).AddVMs(t, 1)
	}
	x.Submit(t, coretest.Spec("a", "p1", "ann"))
	for seq := range int64(2) {
		x.pausesEnd(t)
		x.AddVMs(t, 1)
		claims := x.Exchange(t, 2*seq+1, 1).Claims
		require.Len(t, claims, 1)
		x.Exchange(t, 2*seq+2, 0, end(claims[0], core.OutcomeRetry))
	}
	x.pausesEnd(t)
	cost := commands(t, x.b, func() {
		n, err := x.Store.Promote(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
	require.NotEmpty(t, x.place(t, "a-1").Assigned, "another host takes it")
	require.LessOrEqual(t, cost["llen"], 2*(32+16), "two of each that it looks at: %v", cost)
	coretest.RequireSound(t, x.Store)
}
