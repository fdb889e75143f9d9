package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
)

// brokenFor sets how long the pool that the tests use may be broken, and what breaks or mends it.
func (h *testCluster) brokenFor(d time.Duration, change func(*core.Pool)) {
	h.t.Helper()
	p := core.DefaultPool("default")
	p.Warm, p.Max, p.BrokenFor = 2, 2, d
	if change != nil {
		change(&p)
	}
	require.NoError(h.t, h.cluster.Intake.SetPool(h.t.Context(), p))
}

// A pool whose VMs can never be made, by a provider that never works or because their agent never starts: its requests
// end as failed by the platform, once the pool allows it no longer, and run once it is mended.
func TestRequestsOfAPoolThatNeverWorksFail(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	for name, c := range map[string]struct {
		breaks   func(*core.Pool)
		settings func(t *testing.T) []string
		why      string
	}{
		"the provider never works": {func(p *core.Pool) { p.Image = "nosuch" }, nil, "has no image"},
		"the agent never starts": {nil, func(t *testing.T) []string {
			dir, err := builds()
			require.NoError(t, err)
			agent := filepath.Join(dir, "dead-agent")
			require.NoError(t, build(agent, "CGO_ENABLED=0", "-ldflags", "-X main.version="+access.Version, "./testdata/dead-agent"))
			return []string{"DROVER_AGENT=" + agent, "DROVER_CREATE_TIMEOUT=1s"}
		}, "VM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestCluster(t, neverLate)
			h.brokenFor(time.Hour, c.breaks)
			sick := h
			if c.settings != nil {
				sick = h.with(c.settings(t)...)
			}
			factory, runner, watch := sick.start("vmfactory"), h.start("testrunner"), h.start("overseer")
			id := h.submit(1, "true")[0]
			await(t, "it is said that requests will fail", func() bool {
				out, _, _ := h.run("pool", "show", "default")
				return strings.Contains(out, "broken on all hosts") && strings.Contains(out, "if that lasts")
			})
			// A process whose heartbeat is late is shown as none that runs, until the next one.
			await(t, "doctor says it", func() bool {
				out, _, code := h.run("doctor")
				return code == terminal.ExitFault && strings.Contains(out, "no host could make its VMs; its requests fail in ")
			})
			await(t, "the request says it", func() bool {
				return strings.Contains(strings.Join(strings.Fields(h.said("request", "show", id)), " "), "if that lasts, it fails in ") // it is wrapped
			})
			require.Equal(t, core.RequestQueued, h.place(id).State, "it waits as long as the pool allows")

			h.said("pool", "set", "default", "--broken-for", core.MinBrokenFor.String())
			h.awaitEnd(id)
			row := h.requireState(id, core.RequestFailed)
			require.Equal(t, core.BlamePlatform, row.Result.Blame)
			require.Contains(t, row.Result.Reason, "no VM of pool default could be made on any of its hosts since")
			require.Contains(t, row.Result.Reason, "of host h1: ")
			require.Contains(t, row.Result.Reason, c.why)
			require.Zero(t, h.claims(id), "nothing ran")

			h.brokenFor(0, nil)
			if c.settings != nil {
				factory.stop()
				factory = h.start("vmfactory")
			}
			_, errs, code := h.run("request", "rerun", id)
			require.Zero(t, code, errs)
			h.awaitLeft(0)
			h.requireState(id, core.RequestCompleted)
			out, _, _ := h.run("pool", "show", "default")
			require.NotContains(t, out, "broken on")
			h.end(runner, factory, watch)
			h.requireSound()
		})
	}
}

// A VM that Redis does not know and that was used is destroyed: its runner died, and Redis forgot both.
func TestAVMThatNobodyKnowsIsDestroyed(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	h = h.with(neverLate)
	h.brokenFor(0, nil)
	factory, runner, watch := h.start("vmfactory"), h.start("testrunner"), h.start("overseer")
	id := h.submit(1, "sleep", "600")[0]
	vm := h.awaitRun(id).VM
	text, err := os.ReadFile(h.initOf(vm))
	require.NoError(t, err)
	var first struct{ PID int }
	require.NoError(t, json.Unmarshal(text, &first))
	freeze(runner) // it can neither say that it still has the VM, nor be known to be dead
	require.NoError(t, adminOf(t, h.redis).FlushAll(t.Context()).Err())
	runner.kill()
	await(t, "its folder is gone", func() bool {
		_, err := os.Lstat(filepath.Dir(h.initOf(vm)))
		return os.IsNotExist(err)
	})
	_, err = os.Stat(filepath.Join("/proc", strconv.Itoa(first.PID)))
	require.ErrorIs(t, err, os.ErrNotExist, "and so are its processes")
	_, errs, code := h.run("request", "cancel", id)
	require.Zero(t, code, errs)
	h.awaitLeft(0)
	again := h.start("testrunner")
	ids := h.submit(3, "true")
	h.awaitLeft(0)
	for _, id := range ids {
		h.requireState(id, core.RequestCompleted)
	}
	h.end(again, factory, watch)
	h.requireSound()
}

// Jobs beyond their time limit are stopped, and the host has all its VMs and slots again.
func TestTimedOutJobsGiveTheirRoomBack(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t, neverLate)
	h.brokenFor(0, func(p *core.Pool) { p.Limits.Timeout = time.Second })
	factory, runner := h.start("vmfactory"), h.start("testrunner")
	full := func(host core.HostInfo) bool {
		return len(host.VMs) == 1 && host.VMs[string(core.VMClean)] == 2
	}
	h.awaitHost("h1", full)
	ids := h.submit(4, "sleep", "600")
	h.awaitLeft(0)
	for _, id := range ids {
		row := h.requireState(id, core.RequestTimedOut)
		require.Equal(t, core.BlameSubmission, row.Result.Blame)
	}
	h.requireOneClaim(ids)
	h.requireVMsOnce(ids)
	h.awaitHost("h1", full)
	require.Zero(t, h.slots())
	ended := h.submit(2, "true")
	h.awaitLeft(0)
	h.requireOnce(ended)
	h.end(runner, factory)
	h.requireSound()
}
