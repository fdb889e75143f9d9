package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// Rule 10. A request is cancelled in each place where it can be: in its queue, in the
// slot of a runner that lives and of one that does not, in its pause after a fault,
// parked, and assigned to a host. Each time it ends cancelled and never runs again.
func TestACancelIsHeardInEveryPlace(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, append(lateSoon, "DROVER_SLOTS=1")...)
	h.pool()
	long := func() string { return h.submit(1, "sleep", "3600")[0] }
	cancelled := func(id string, want core.RequestState) {
		t.Helper()
		state, err := h.cluster.Intake.Cancel(t.Context(), id, "somebody")
		require.NoError(t, err)
		require.Equal(t, want, state)
		h.awaitEnd(id)
		h.requireState(id, core.RequestCancelled)
		require.Empty(t, h.place(id).State)
	}

	queued := long()
	cancelled(queued, core.RequestCancelled)

	first := h.startAll("vmfactory", "testrunner")
	factory, runner := first[0], first[1]
	watch := h.startAll("overseer", "overseer")
	running := long()
	h.awaitRun(running)
	cancelled(running, core.RequestCancelling)

	orphan := long()
	h.awaitRun(orphan)
	freeze(runner)
	epoch := h.owner(runner).Epoch
	cancelled(orphan, core.RequestCancelling)
	require.Equal(t, 1, h.claims(orphan))
	thaw(runner)
	h.awaitOwner(runner, epoch)

	pausing := long()
	for faults := range 3 { // the pause after the third is long
		was := h.awaitPlace(pausing, "it runs after some faults", func(p core.Place) bool { return isRunning(p) && p.Attempts == faults })
		h.killVM(was.VM)
	}
	h.awaitPlace(pausing, "it pauses", func(p core.Place) bool { return p.Due > 0 && p.Attempts == 3 })
	cancelled(pausing, core.RequestCancelled)

	lost := func(id string, is func(core.Place) bool) {
		t.Helper()
		h.awaitRun(id)
		epoch := h.owner(runner).Epoch
		freeze(factory)
		freeze(runner)
		h.awaitPlace(id, "it leaves the lost host", is)
		cancelled(id, core.RequestCancelled)
		thaw(factory)
		thaw(runner)
		h.awaitOwner(runner, epoch)
	}
	lost(long(), func(p core.Place) bool { return p.State == core.RequestParked })

	assigned := long()
	h.awaitRun(assigned)
	second := h.on("h2").startAll("vmfactory", "testrunner")
	h.awaitHost("h2", warm)
	busy := long()
	h.awaitRun(busy)
	lost(assigned, func(p core.Place) bool { return p.Assigned == "h2" })
	cancelled(busy, core.RequestCancelling)

	stopAll(second...)
	h.end(append(first, watch...)...)
	h.requireSound()
}

// awaitEnd waits until a request is terminal and Redis knows it no more.
func (h *testCluster) awaitEnd(id string) {
	h.t.Helper()
	await(h.t, id+" ends", func() bool {
		row, err := h.cluster.Store.Get(h.t.Context(), id)
		require.NoError(h.t, err)
		return row.State.Terminal() && h.place(id).State == ""
	})
}
