package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// A worker of a runner hangs in a read that never returns, regardless of its own limits,
// while the process beats: nobody is late. The slot is caught at the pool's limit for
// staging and less than 5 s more, the request runs elsewhere, and what the worker makes
// of it when it wakes is dropped.
func TestAHungWorkerIsCaughtAtItsLimit(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, noQuarantine, manyTries, "DROVER_SLOTS=2")
	limit := 2 * time.Second
	pool := core.DefaultPool("default")
	pool.StageTimeout = limit
	require.NoError(t, h.cluster.Intake.SetPool(t.Context(), pool))
	digest, size, err := h.cluster.Blobs.Put(t.Context(), bytes.NewReader([]byte("hello\n")), 1<<10)
	require.NoError(t, err)
	_, digits, _ := strings.Cut(digest, ":")
	blob := filepath.Join(h.cfg.Data, "blobs", "sha256", digits[:2], digits[2:4], digits)
	row, _, err := h.cluster.Intake.Submit(t.Context(), core.Spec{
		Pool: "default", Submitter: "ann", Command: []string{"cat", "f"},
		Files: []core.File{{Path: "f", Digest: digest, Size: size}},
	})
	require.NoError(t, err)
	id := row.Spec.ID
	require.NoError(t, os.Rename(blob, blob+".away"))
	require.NoError(t, syscall.Mkfifo(blob, 0o600)) // who opens it to read waits for a writer

	all := h.startAll("vmfactory", "testrunner", "overseer", "overseer")
	first := h.awaitPlace(id, "it is claimed", func(p core.Place) bool { return p.State == core.RequestClaimed })
	epoch := h.owner(all[1]).Epoch
	h.awaitPlace(id, "the worker hangs", func(core.Place) bool { return isOpening(all[1]) })
	require.NoError(t, os.Rename(blob, blob+".fifo"))
	require.NoError(t, os.Rename(blob+".away", blob))
	h.awaitLeft(0)
	taken := h.revoked(id)
	took := time.Duration(taken-first.Since) * time.Millisecond
	t.Logf("caught after %s, the limit being %s", took, limit)
	require.GreaterOrEqual(t, took, limit)
	require.Less(t, took, limit+time.Minute, "far above what is promised: this machine may be busy")
	require.Equal(t, epoch, h.owner(all[1]).Epoch, "its process lives and works")

	wake, err := os.OpenFile(blob+".fifo", os.O_WRONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err, "the worker still hangs")
	require.NoError(t, wake.Close())
	h.end(all...)
	h.requireOnce([]string{id})
	require.Equal(t, "hello\n", h.requireState(id, core.RequestCompleted).Result.Stdout)
}

// revoked is when the slot of a request was taken from its owner, ms, the server's clock.
func (h *testCluster) revoked(id string) int64 {
	h.t.Helper()
	for after := ""; ; {
		events, err := h.cluster.Redis.Events(h.t.Context(), after)
		require.NoError(h.t, err)
		require.NotEmpty(h.t, events, "nobody took it")
		for _, e := range events {
			if e.Op == "revoke" && strings.Contains(e.Moved, core.Key(id, 1)) {
				return e.At
			}
			after = e.ID
		}
	}
}

// isOpening says whether a thread of the process waits in open(2), which has the number
// of the call in its first word.
func isOpening(p *process) bool {
	dirs, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", p.cmd.Process.Pid))
	if err != nil {
		return false
	}
	for _, path := range dirs {
		text, err := os.ReadFile(path)
		if err == nil && strings.HasPrefix(string(text), fmt.Sprint(syscall.SYS_OPENAT)+" ") {
			return true
		}
	}
	return false
}

// A request in whose hand two runners die is what may kill them: it is quarantined as dead
// with that reason, where it can be seen, and a rerun gives it another chance.
func TestARequestThatKillsRunnersIsQuarantined(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, neverLate)
	h.pool()
	factory, watch := h.start("vmfactory"), h.start("overseer")
	id := h.submit(1, "sh", "-c", "sleep 2; echo done")[0]
	for deaths := range 2 {
		runner := h.start("testrunner")
		h.awaitPlace(id, "it runs", func(p core.Place) bool { return isRunning(p) && p.Attempts == deaths })
		runner.kill()
	}
	h.awaitEnd(id)
	out, errs, code := h.run("request", "list", "--state", "dead", "--json")
	require.Zero(t, code, errs)
	var dead []struct{ ID, Reason string }
	require.NoError(t, json.Unmarshal([]byte(out), &dead))
	require.Len(t, dead, 1)
	require.Equal(t, id, dead[0].ID)
	require.Contains(t, dead[0].Reason, "in quarantine")

	_, errs, code = h.run("request", "rerun", id)
	require.Zero(t, code, errs)
	runner := h.start("testrunner")
	h.awaitLeft(0)
	row := h.requireState(id, core.RequestCompleted)
	require.Equal(t, 2, row.Result.Generation)
	h.end(runner, factory, watch)
	h.requireSound()
}
