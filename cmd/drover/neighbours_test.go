package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// Nobody waits for a heartbeat here: it is never late, and no overseer runs.
func TestANeighbourSettlesWhatAKilledProcessHeld(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	h.env = append(h.env, "DROVER_BEAT=30s", "DROVER_SUSPECT=1h", "DROVER_DOWN=1h")
	h.pool()
	factory := h.start("vmfactory")
	runners := []*process{h.start("testrunner"), h.start("testrunner")}
	id := h.submit(1, "sleep", "3600")[0]
	// The runner that runs it, and its process id.
	running := func() (string, int) {
		place, err := h.cluster.Redis.Locate(t.Context(), core.Key(id, 1))
		require.NoError(t, err)
		owners, err := h.cluster.Redis.ListOwners(t.Context())
		require.NoError(t, err)
		for _, o := range owners {
			if place.State == core.RequestRunning && o.Name == place.Owner {
				return o.Name, o.PID
			}
		}
		return "", 0
	}
	runsIn := func(good func(pid int) bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			_, pid := running()
			return good(pid)
		}, testTimeout, 10*time.Millisecond)
	}
	somewhere := func(pid int) bool { return pid != 0 }
	in := func(p *process) func(int) bool { return func(pid int) bool { return pid == p.cmd.Process.Pid } }
	runsIn(somewhere)
	was, pid := running()
	killed, other := runners[0], runners[1]
	if pid != killed.cmd.Process.Pid {
		killed, other = other, killed
	}
	killed.kill()
	runsIn(in(other))
	await(t, "it is forgotten", func() bool {
		owners, err := h.cluster.Redis.ListOwners(t.Context())
		require.NoError(t, err)
		return !slices.ContainsFunc(owners, func(o core.OwnerInfo) bool { return o.Name == was })
	})

	cancel := func() {
		_, errs, code := h.run("request", "cancel", id)
		require.Zero(t, code, errs)
		h.awaitLeft(0)
	}
	cancel()

	// The last processes of a host have no neighbours: the next one to start finds their notes.
	id = h.submit(1, "sleep", "3600")[0]
	runsIn(somewhere)
	factory.kill()
	other.kill()
	factory, next := h.start("vmfactory"), h.start("testrunner")
	runsIn(in(next))
	cancel()
	h.end(next, factory)
	h.requireNothingLeft()
}
