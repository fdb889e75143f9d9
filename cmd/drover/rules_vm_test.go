package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
)

// Rules 3 and 13. VMs are checked all the time while runners take them. The checks take
// none from a claim and make none clean again; one that died while it was clean is never
// claimed; a vmfactory that is killed over and over gives no VM out twice.
func TestChecksAndClaimsShareNoVM(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, "DROVER_CHECK_EVERY=1s", neverLate)
	h.pool()
	factory := h.start("vmfactory")
	h.awaitHost("h1", func(host core.HostInfo) bool { return host.VMs[string(core.VMClean)] == 4 })
	clean := func() []string {
		vms, err := h.cluster.Redis.CleanVMs(t.Context(), "h1", "default")
		require.NoError(t, err)
		return vms
	}
	sick := clean()[0]
	h.killVM(sick)
	await(t, "the check finds it", func() bool { return !slices.Contains(clean(), sick) })
	runners := h.startAll("testrunner", "testrunner")
	ids := h.submit(80, "sh", "-c", "echo hello; sleep 0.1")
	for _, left := range []int{60, 40, 20} {
		h.awaitLeft(left)
		factory.kill()
		factory = h.start("vmfactory")
	}
	h.awaitLeft(0)
	h.requireOnce(ids)
	h.requireOneClaim(ids)
	h.requireVMsOnce(ids)
	for _, id := range ids {
		require.NotEqual(t, sick, h.tries(id)[0].Result.VM)
	}
	h.end(append(runners, factory)...)
}

// Rule 14. A second vmfactory of a host is refused by the lock, one with another run
// folder by Redis. One that hangs can be evicted; when it wakes it finds that out, harms
// no VM of its successor's, and ends.
func TestOneVMFactoryWorksOnAHost(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, neverLate)
	h.pool()
	first := h.start("vmfactory")
	h.awaitHost("h1", warm)
	refused := func(h *testCluster, why string) {
		t.Helper()
		other := h.start("vmfactory")
		other.await()
		require.NotZero(t, other.cmd.ProcessState.ExitCode())
		require.Contains(t, other.said(), why)
	}
	refused(h, "another vmfactory works on this host")
	dir, err := os.MkdirTemp(h.cfg.Data, "run-")
	require.NoError(t, err)
	refused(h.with("DROVER_RUN="+dir), "the host name h1 is in use by another machine")

	freeze(first)
	second := h.start("vmfactory", "--force-unregister")
	h.awaitOwner(second, 0)
	thaw(first)
	first.await()
	require.NotZero(t, first.cmd.ProcessState.ExitCode(), first.said())
	runner := h.start("testrunner")
	ids := h.submit(10, "true")
	h.awaitLeft(0)
	h.requireOnce(ids)
	h.requireOneClaim(ids)
	h.end(runner, second)
}

// Rule 17. A host has room for two VMs, both idle in a pool that nobody asks for: they
// give way to the work of a pool that keeps none warm. A runner with one slot rotates, so
// that much work of one pool does not keep that of the other from its turn.
func TestRoomFollowsTheWork(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, neverLate, "DROVER_MAX_VMS=2", "DROVER_SLOTS=1")
	h.pool()
	rare := core.DefaultPool("rare")
	rare.Warm, rare.Max = 0, 2
	require.NoError(t, h.cluster.Intake.SetPool(t.Context(), rare))
	factory, runner := h.start("vmfactory"), h.start("testrunner")
	h.awaitHost("h1", func(host core.HostInfo) bool { return host.VMs[string(core.VMClean)] == 2 })
	submit := func() string {
		row, _, err := h.cluster.Intake.Submit(t.Context(), core.Spec{Pool: "rare", Submitter: "ann", Command: []string{"true"}})
		require.NoError(t, err)
		return row.Spec.ID
	}
	ids := []string{submit()}
	h.awaitLeft(0)
	many := h.submit(40, "true")
	last := submit()
	h.awaitEnd(last)
	require.Positive(t, h.unfinished(), "it had its turn before the forty ended")
	h.awaitLeft(0)
	ids = append(append(ids, many...), last)
	h.requireOnce(ids)
	h.requireOneClaim(ids)
	h.end(runner, factory)
}

// Rule 18. A VM that cannot be destroyed is quarantined for a person, and said so, and the
// host goes on without it.
func TestAVMThatCannotBeDestroyedIsQuarantined(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	if os.Geteuid() != 0 {
		coretest.Missing(t, "root", os.ErrPermission) // to mount
	}
	h := newTestCluster(t, neverLate)
	h.pool()
	factory, runner := h.start("vmfactory"), h.start("testrunner")
	id := h.submit(1, "sleep", "1")[0]
	vm := h.awaitRun(id).VM
	// A folder that something is mounted on can neither be renamed nor removed.
	folder := filepath.Dir(h.initOf(vm))
	require.NoError(t, unix.Mount(folder, folder, "", unix.MS_BIND, ""))
	mend := sync.OnceValue(func() error { return unix.Unmount(folder, unix.MNT_DETACH) })
	t.Cleanup(func() { _ = mend() })
	quarantined := func() *core.VMInfo {
		out, errs, code := h.run("vm", "list", "--json")
		require.Zero(t, code, errs)
		var vms []core.VMInfo
		require.NoError(t, json.Unmarshal([]byte(out), &vms))
		for i := range vms {
			if vms[i].ID == vm && vms[i].Note != "" {
				return &vms[i]
			}
		}
		return nil
	}
	await(t, "it is quarantined", func() bool { return quarantined() != nil })
	require.Contains(t, factory.said(), vm)
	ids := h.submit(12, "true")
	h.awaitLeft(0)
	h.requireOnce(append(ids, id))
	require.NotNil(t, quarantined(), "it stays until a person mends it")
	require.NoError(t, mend())
	h.end(runner, factory)
}
