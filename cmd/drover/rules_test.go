package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/vmfactory/trace"
)

// The files rules_*_test.go attack the rules that interleavings force (docs of
// core/redisstore/rules_test.go name them) on real processes: each test tries to lose,
// double or leak what a naive cluster would.

// Settings of clusters under attack. Who is slow is not dead: this machine may be busy.
const (
	noQuarantine = "DROVER_MAX_DEATHS=0"
	manyTries    = "DROVER_MAX_ATTEMPTS=100"
	neverLate    = "DROVER_DOWN=1h"
	lateAfter    = 2 * time.Second // what lateSoon says
)

// calm takes nobody for late, nor shows them as such, whatever else this machine does.
var calm = []string{"DROVER_SUSPECT=1h", neverLate}

// lateSoon notices silence soon, but not at once.
var lateSoon = []string{"DROVER_SUSPECT=1s", "DROVER_DOWN=" + lateAfter.String(), noQuarantine, manyTries}

// with is the cluster whose next components have more settings.
func (h *testCluster) with(settings ...string) *testCluster {
	more := *h
	more.env = append(slices.Clone(h.env), settings...)
	return &more
}

// on is the cluster whose next components are on another host, whose VMs go with the test.
func (h *testCluster) on(host string) *testCluster {
	other := h.with("DROVER_HOST=" + host)
	h.t.Cleanup(func() {
		_, errs, code := other.run("vmfactory", "--destroy-vms")
		require.Zero(h.t, code, errs)
	})
	return other
}

// startAll starts several components.
func (h *testCluster) startAll(roles ...string) []*process {
	h.t.Helper()
	all := make([]*process, len(roles))
	for i, role := range roles {
		all[i] = h.start(role)
	}
	return all
}

func stopAll(all ...*process) {
	for _, p := range all {
		p.stop()
	}
}

// end stops components and requires that all of h1's VMs can be destroyed.
func (h *testCluster) end(all ...*process) {
	h.t.Helper()
	stopAll(all...)
	h.requireNothingLeft()
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, testTimeout, poll, what)
}

func (h *testCluster) place(id string) core.Place {
	h.t.Helper()
	place, err := h.cluster.Redis.Locate(h.t.Context(), core.Key(id, 1))
	if !core.Is(err, core.CodeNotFound) {
		require.NoError(h.t, err)
	}
	return place
}

// awaitPlace waits until a request is where it should be, and returns that.
func (h *testCluster) awaitPlace(id, what string, is func(core.Place) bool) core.Place {
	h.t.Helper()
	var place core.Place
	await(h.t, what, func() bool {
		place = h.place(id)
		return is(place)
	})
	return place
}

func isRunning(p core.Place) bool { return p.State == core.RequestRunning }

func (h *testCluster) awaitRun(id string) core.Place {
	h.t.Helper()
	return h.awaitPlace(id, id+" runs", isRunning)
}

// owner is what Redis knows of a process; a zero one if it knows nothing.
func (h *testCluster) owner(p *process) core.OwnerInfo {
	h.t.Helper()
	owners, err := h.cluster.Redis.ListOwners(h.t.Context())
	require.NoError(h.t, err)
	for _, o := range owners {
		if o.PID == p.cmd.Process.Pid {
			return o
		}
	}
	return core.OwnerInfo{}
}

// awaitOwner waits until a process is registered under a newer epoch than after.
func (h *testCluster) awaitOwner(p *process, after int64) core.OwnerInfo {
	h.t.Helper()
	var o core.OwnerInfo
	await(h.t, "it registers", func() bool {
		o = h.owner(p)
		return o.Epoch > after
	})
	return o
}

// awaitReaped waits until a process was fenced and what it held is settled.
func (h *testCluster) awaitReaped(p *process) {
	h.t.Helper()
	await(h.t, "it is reaped", func() bool { return h.owner(p).Name == "" })
}

// host is what Redis knows of a host; a zero one if it knows nothing.
func (h *testCluster) host(name string) core.HostInfo {
	h.t.Helper()
	hosts, err := h.cluster.Redis.ListHosts(h.t.Context())
	require.NoError(h.t, err)
	for _, host := range hosts {
		if host.Name == name {
			return host
		}
	}
	return core.HostInfo{}
}

func (h *testCluster) awaitHost(name string, is func(core.HostInfo) bool) {
	h.t.Helper()
	await(h.t, "host "+name+" is as it should be", func() bool { return is(h.host(name)) })
}

// warm says that a host has VMs to claim.
func warm(host core.HostInfo) bool { return host.Ready && host.VMs[string(core.VMClean)] > 0 }

func (h *testCluster) tries(id string) []core.Attempt {
	h.t.Helper()
	tries, err := h.cluster.Store.Attempts(h.t.Context(), id)
	require.NoError(h.t, err)
	return tries
}

// claims counts how often the first generation of a request was claimed.
func (h *testCluster) claims(id string) int {
	h.t.Helper()
	entries, err := h.cluster.Redis.Client().XRange(h.t.Context(), h.cluster.Redis.Namespace().Key("events"), "-", "+").Result()
	require.NoError(h.t, err)
	n := 0
	for _, e := range entries {
		claimed, _ := e.Values["claimed"].(string)
		if slices.Contains(strings.Fields(claimed), core.Key(id, 1)) {
			n++
		}
	}
	return n
}

// requireOneClaim requires that no request ran, or was claimed, a second time.
func (h *testCluster) requireOneClaim(ids []string) {
	h.t.Helper()
	for _, id := range ids {
		require.Len(h.t, h.tries(id), 1, id)
		require.Equal(h.t, 1, h.claims(id), "claims of %s", id)
	}
}

// requireVMsOnce requires that no VM served two claims.
func (h *testCluster) requireVMsOnce(ids []string) {
	h.t.Helper()
	served := make(map[string]string)
	for _, id := range ids {
		for _, try := range h.tries(id) {
			require.NotContains(h.t, served, try.Result.VM, "VM %s served %s and %s", try.Result.VM, served[try.Result.VM], id)
			served[try.Result.VM] = id
		}
	}
}

// requireSound requires that the consistency check finds nothing.
func (h *testCluster) requireSound() {
	h.t.Helper()
	broken, err := h.cluster.Redis.CheckConsistency(h.t.Context())
	require.NoError(h.t, err)
	require.Empty(h.t, broken)
}

// requireState requires that a request ended so.
func (h *testCluster) requireState(id string, state core.RequestState) core.Row {
	h.t.Helper()
	row, err := h.cluster.Store.Get(h.t.Context(), id)
	require.NoError(h.t, err)
	require.Equal(h.t, state, row.State, "%s: %+v", id, row.Result)
	return row
}

// initOf is the file that says which process is a VM's first.
func (h *testCluster) initOf(vm string) string { return filepath.Join(h.cfg.Run, vm, trace.FirstFile) }

// killVM ends a VM of h1 from within, as a fault of the platform does.
func (h *testCluster) killVM(vm string) {
	h.t.Helper()
	text, err := os.ReadFile(h.initOf(vm))
	require.NoError(h.t, err)
	var who struct{ PID int }
	require.NoError(h.t, json.Unmarshal(text, &who))
	require.NoError(h.t, syscall.Kill(who.PID, syscall.SIGKILL))
}

func freeze(p *process) { p.signal(syscall.SIGSTOP) }
func thaw(p *process)   { p.signal(syscall.SIGCONT) }
