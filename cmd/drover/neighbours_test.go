package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
)

// Nobody waits for a proof of life here: it is never late, and no overseer runs.
func TestANeighbourSettlesWhatAKilledProcessHeld(t *testing.T) {
	h := newTestHerd(t)
	h.env = append(h.env, "DROVER_BEAT=1h")
	h.pool()
	factory := h.start("vmfactory")
	runners := []*process{h.start("testrunner"), h.start("testrunner")}
	ids := h.submit(1, "sleep", "3600")
	// The runner that runs it, and its process id.
	running := func() (string, int) {
		place, err := h.herd.redis.Locate(t.Context(), core.Key(ids[0], 1))
		require.NoError(t, err)
		owners, err := h.herd.redis.ListOwners(t.Context())
		require.NoError(t, err)
		for _, o := range owners {
			if place.State == core.RequestRunning && o.Name == place.Owner {
				return o.Name, o.PID
			}
		}
		return "", 0
	}
	require.Eventually(t, func() bool {
		_, pid := running()
		return pid != 0
	}, patience, 10*time.Millisecond)
	was, pid := running()
	killed, other := runners[0], runners[1]
	if pid != killed.cmd.Process.Pid {
		killed, other = other, killed
	}
	killed.kill()
	require.Eventually(t, func() bool {
		_, pid := running()
		return pid == other.cmd.Process.Pid
	}, patience, 10*time.Millisecond)
	owners, err := h.herd.redis.ListOwners(t.Context())
	require.NoError(t, err)
	for _, o := range owners {
		require.NotEqual(t, was, o.Name, "it is forgotten")
	}

	// The last ones of a host have no neighbours: whoever starts next finds their notes.
	factory.kill()
	other.kill()
	factory, next := h.start("vmfactory"), h.start("testrunner")
	require.Eventually(t, func() bool {
		_, pid := running()
		return pid == next.cmd.Process.Pid
	}, patience, 10*time.Millisecond)
	_, errs, code := h.run("request", "cancel", ids[0])
	require.Zero(t, code, errs)
	h.awaitLeft(0)
	next.stop()
	factory.stop()
	h.requireNothingLeft()
}
