package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/store"
)

// registered starts a component and waits until it works.
func (h *testCluster) registered(args ...string) *process {
	h.t.Helper()
	p := h.start(args...)
	require.Eventually(h.t, func() bool { return strings.Contains(p.said(), "registered") }, testTimeout, 10*time.Millisecond)
	return p
}

// A client that names the cluster's Redis and forgets its store is told, and does nothing.
func TestAnotherResultStoreIsRefused(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	other := "sqlite://" + filepath.Join(h.cfg.Data, "other.db")
	_, errs, code := h.run("request", "list", "--store", other)
	require.Zero(t, code, "nobody has joined yet: %s", errs)

	require.NoError(t, h.cluster.Join(t.Context()))
	for _, args := range [][]string{
		{"run", "--", "true"}, {"request", "list"}, {"taskrunner"}, {"overseer"}, {"overseer", "--once"}, {"vmfactory"}, {"up"},
	} {
		_, errs, code := h.run(append([]string{"--store", other}, args...)...)
		require.Equal(t, terminal.ExitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, "is not the result store of the cluster", args)
		require.Contains(t, errs, "--store", args)
		require.NotContains(t, errs, "registered", args)
	}
	s, err := store.Open(context.Background(), other)
	require.NoError(t, err)
	rows, err := s.List(context.Background(), core.Filter{})
	require.NoError(t, err)
	require.Empty(t, rows)
	require.NoError(t, s.Close())

	out, _, code := h.run("doctor", "--json", "--store", other)
	require.Equal(t, terminal.ExitFault, code)
	require.Contains(t, out, "is not the result store of the cluster")
	require.Contains(t, out, "drover migrate --adopt")
	out, _, _ = h.run("doctor", "--json")
	require.Contains(t, out, "its id is "+h.cluster.StoreID)
}

func TestTheClusterMovesToAnotherResultStore(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	other := "sqlite://" + filepath.Join(h.cfg.Data, "other.db")
	p := h.registered("taskrunner")
	_, errs, code := h.run("migrate", "--adopt", "--store", other)
	require.Equal(t, terminal.ExitRefused, code)
	require.Contains(t, errs, "taskrunner@h1#0 works in namespace drover")
	p.stop()
	// An overseer is no owner: it is not waited for, and ends by itself.
	watch := h.start("overseer")
	require.Eventually(t, func() bool { return strings.Contains(watch.said(), "starting") }, testTimeout, 10*time.Millisecond)
	out, errs, _ := h.run("migrate", "--adopt", "--store", other)
	require.Empty(t, errs)
	require.Contains(t, out, "are one cluster")
	watch.await()
	require.Equal(t, terminal.ExitUsage, watch.cmd.ProcessState.ExitCode(), watch.said())
	require.Contains(t, watch.said(), "is not the result store of the cluster")
	_, _, code = h.run("request", "list")
	require.Equal(t, terminal.ExitUsage, code)
	h.registered("taskrunner", "--store", other).stop()
}

// A client that puts its files where no runner looks is told, and puts nothing.
func TestAnotherBlobStoreIsRefused(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	require.NoError(t, h.cluster.Join(t.Context()))
	h.fake("h1", 0)
	other := "file://" + filepath.Join(h.cfg.Data, "other")
	for _, args := range [][]string{{"run", "--", "true"}, {"request", "list"}, {"taskrunner"}, {"overseer", "--once"}} {
		_, errs, code := h.run(append([]string{"--blobs", other}, args...)...)
		require.Equal(t, terminal.ExitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, "is not the blob store of the cluster", args)
		require.Contains(t, errs, "--blobs URL or DROVER_BLOBS", args)
	}
	_, errs, code := h.run("request", "list")
	require.Zero(t, code, errs)
	_, errs, code = h.run("migrate", "--adopt", "--blobs", other)
	require.Equal(t, terminal.ExitRefused, code)
	require.Contains(t, errs, "works in namespace drover")
	require.NoError(t, h.cluster.Redis.Client().FlushAll(t.Context()).Err(), "nobody is at work any more")
	require.NoError(t, h.cluster.Join(t.Context()))
	out, errs, _ := h.run("migrate", "--adopt", "--blobs", other)
	require.Empty(t, errs)
	require.Contains(t, out, "are one cluster")
	_, errs, code = h.run("request", "list")
	require.Equal(t, terminal.ExitUsage, code, errs)
}

// A cluster works on while its blob store does not say who it is, and asks again.
func TestABlobStoreThatIsAwayIsAskedAgain(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	h.pool()
	blobs := filepath.Join(h.cfg.Data, "blobs")
	id := filepath.Join(blobs, "id")
	known, err := os.ReadFile(id)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(id, []byte("damaged"), 0o600))
	p := h.registered("taskrunner")
	out, _, code := h.run("doctor", "--json")
	require.Equal(t, terminal.ExitFault, code)
	require.Contains(t, out, "the id of the blob store, under its key id, is damaged")
	its, err := h.cluster.Redis.Ledger(context.Background())
	require.NoError(t, err)
	require.Empty(t, its.Blobs)
	require.NoError(t, os.WriteFile(id, known, 0o600))
	require.Eventually(t, func() bool {
		its, err := h.cluster.Redis.Ledger(context.Background())
		return err == nil && its.Blobs == string(known)
	}, testTimeout, 10*time.Millisecond)
	p.stop()
}

// A Redis that lost its memory is told anew by those who work.
func TestAWipedRedisLearnsTheResultStoreAgain(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	ctx := context.Background()
	p := h.registered("taskrunner")
	require.NoError(t, h.cluster.Redis.Client().FlushAll(ctx).Err())
	require.Eventually(t, func() bool {
		its, err := h.cluster.Redis.Ledger(ctx)
		return err == nil && its.Results == h.cluster.StoreID && its.Blobs == h.cluster.BlobsID
	}, testTimeout, 10*time.Millisecond)
	p.stop()
}

// The result store is put back to a copy from before all results, and Redis is kept: doctor says so, and all that was
// accepted has its result once more.
func TestTheResultStoreIsRestoredFromABackup(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	h.pool()
	ids := h.submit(5, "echo", "hello")
	file := filepath.Join(h.cfg.Data, "drover.db")
	backup := filepath.Join(t.TempDir(), "backup.db")
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "VACUUM INTO ?", backup)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	h.end(h.untilAllEnded()...)
	require.NoError(t, h.cluster.Close())
	require.NoFileExists(t, file+"-wal", "a closed store is one file")

	content, err := os.ReadFile(backup)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, content, 0o600))
	h.cluster, err = access.OpenCluster(t.Context(), h.cfg)
	require.NoError(t, err)
	require.Equal(t, len(ids), h.unfinished())
	out, _, _ := h.run("doctor", "--json")
	require.Contains(t, out, "it was set back to an older copy")
	require.Contains(t, out, "drover overseer --once")
	h.end(h.untilAllEnded()...)
	h.requireOnce(ids)
	out, _, _ = h.run("doctor", "--json")
	require.NotContains(t, out, "consistency ledger")
}

// untilAllEnded starts all components, and returns them once nothing is left to do.
func (h *testCluster) untilAllEnded() []*process {
	h.t.Helper()
	all := h.startAll("vmfactory", "testrunner", "taskrunner", "overseer")
	h.awaitLeft(0)
	return all
}
