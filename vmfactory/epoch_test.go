package vmfactory

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/service/clock"
)

// Redis is asked for work after each thing that ends the loop's rest, and heartbeats come every second.
func TestWhatAHeartbeatSaysThatIsNew(t *testing.T) {
	t.Parallel()
	e := newEpoch(&Factory{clock: clock.NewManual(time.UnixMilli(0))})
	quiet, drains := core.Beat{Ready: true}, core.Beat{Ready: true, Draining: true}
	require.False(t, e.heard(quiet))
	require.True(t, e.heard(drains))
	require.False(t, e.heard(drains))
	require.True(t, e.heard(quiet))

	e.surveyed = true
	require.True(t, e.heard(core.Beat{}), "Redis has lost its memory")
	require.False(t, e.surveyed)
	other := core.Beat{Ready: true, Slots: 1}
	require.False(t, e.heard(other))
	require.True(t, e.heard(other), "Redis has a slot that the loop does not know of")
	require.True(t, e.lost)
}

func TestAHeartbeatWithoutNewsDoesNotEndTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEpoch(&Factory{clock: clock.NewManual(time.UnixMilli(0))})
		rested := false
		go func() {
			e.await(t.Context(), t.Context(), time.Hour)
			rested = true
		}()
		for range 3 {
			e.beats <- core.Beat{Ready: true}
			synctest.Wait()
			require.False(t, rested)
		}
		e.beats <- core.Beat{Ready: true, Draining: true}
		synctest.Wait()
		require.True(t, rested)
	})
}
