package taskrunner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/service/clock"
)

var errSlow = core.Errorf(core.CodeUnavailable, "", "no answer")

func TestTheGateLeavesASlotToOthers(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(time.UnixMilli(0))
	g := newGate(c, 3)
	for range 2 {
		wait, _ := g.enter("a")
		require.Zero(t, wait)
	}
	wait, why := g.enter("a")
	require.Equal(t, leastPause, wait)
	require.Empty(t, why, "it has not failed")
	c.Advance(time.Second)
	wait, _ = g.enter("a")
	require.Equal(t, leastPause+2*time.Second, wait, "the longer they take, the later it asks again")
	wait, _ = g.enter("b")
	require.Zero(t, wait)

	g.leave("a", time.Second, nil, true)
	wait, _ = g.enter("a")
	require.Zero(t, wait)
	require.NotZero(t, g.targets)
	for range 2 {
		g.leave("a", time.Second, nil, true)
	}
	g.leave("b", time.Minute, nil, true)
	require.Empty(t, g.targets, "nothing is kept of those that are well")

	require.Equal(t, 1, newGate(c, 1).room)
}

func TestTheGateClosesAfterASlowFailure(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(time.UnixMilli(0))
	g := newGate(c, 4)
	enter := func() (time.Duration, string) { return g.enter("a") }
	enter()
	g.leave("a", time.Second, errSlow, true)
	wait, _ := enter()
	require.Zero(t, wait, "a quick failure takes no slot for long")
	g.leave("a", 15*time.Second, errSlow, false)
	wait, _ = enter()
	require.Zero(t, wait, "one that was cut short says nothing of the receiver")
	g.leave("a", 15*time.Second, errSlow, true)

	wait, why := enter()
	require.Equal(t, 150*time.Second, wait)
	require.Equal(t, "no answer", why)
	wait, _ = g.enter("b")
	require.Zero(t, wait)

	c.Advance(150 * time.Second)
	wait, _ = enter()
	require.Zero(t, wait, "one may try")
	wait, why = enter()
	require.Equal(t, leastPause, wait, "the others see how it goes")
	require.NotEmpty(t, why)
	g.leave("a", 2*time.Second, errSlow, true)
	wait, _ = enter()
	require.Equal(t, 20*time.Second, wait)

	c.Advance(20 * time.Second)
	enter()
	g.leave("a", 10*time.Second, nil, true)
	for range 3 {
		wait, _ = enter()
		require.Zero(t, wait, "it is well again")
	}
}
