package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// awaitSome waits until as many requests of those run at once, and returns which.
func (h *testCluster) awaitSome(ids []string, n int) (running []string) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		running = nil
		for _, id := range ids {
			place, err := h.cluster.Redis.Locate(context.Background(), core.Key(id, 1))
			require.NoError(h.t, err)
			if place.State == core.RequestRunning {
				running = append(running, id)
			}
		}
		return len(running) >= n
	}, testTimeout, poll)
	return running
}

// recorded says whether all of the requests have their results.
func (h *testCluster) recorded(ids []string) bool {
	h.t.Helper()
	for _, id := range ids {
		row, err := h.cluster.Store.Get(context.Background(), id)
		require.NoError(h.t, err)
		if row.Result == nil {
			return false
		}
	}
	return true
}

// requireOneTry requires that no request was run twice. That Redis forgot a claim and
// heard of it again does not matter here.
func (h *testCluster) requireOneTry(ids []string) {
	h.t.Helper()
	for _, id := range ids {
		tries := h.tries(id)
		require.Len(h.t, tries, 1, id)
		require.Equal(h.t, 1, tries[0].Result.Attempt, id)
	}
}

// What Redis acknowledged is there again after it was killed, without any help: there is no
// overseer here. Testrunners finish their requests in the meantime, and record them.
func TestRedisIsKilledWhileJobsRun(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	h.pool()
	factory, runner := h.start("vmfactory"), h.start("testrunner")
	ids := h.submit(12, "sh", "-c", "[ ! -e /tmp/used ] && : > /tmp/used && sleep 2")
	running := h.awaitSome(ids, 4)
	require.NoError(t, h.redis.Kill())
	require.Eventually(t, func() bool { return h.recorded(running) }, testTimeout, poll, "without Redis")
	require.GreaterOrEqual(t, h.unfinished(), 12-5, "and nothing new is begun")
	require.NoError(t, h.redis.Restart(t.Context()))
	h.awaitLeft(0)
	runner.stop()
	factory.stop()
	h.requireOneTry(ids)
	h.requireOnce(ids)
	h.requireFresh(ids, runner)
	h.requireNothingLeft()
}

// A Redis that forgot everything gets it back from the result store, and hosts tell it anew
// which VMs are really there.
func TestRedisForgetsEverything(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	h.pool()
	c := h.crew()
	ids := h.submit(60, freshly...)
	h.awaitLeft(45)
	require.NoError(t, h.cluster.Redis.Client().FlushAll(t.Context()).Err())
	h.awaitLeft(0)
	c.stop(ids)
}

// lock keeps the result store locked, as another program can, until the returned function is
// called.
func (h *testCluster) lock() (unlock func()) {
	h.t.Helper()
	db, err := sql.Open("sqlite", strings.TrimPrefix(h.cfg.Store.Reveal(), "sqlite://"))
	require.NoError(h.t, err)
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	require.Eventually(h.t, func() bool {
		_, err := db.ExecContext(ctx, "BEGIN EXCLUSIVE")
		return err == nil
	}, testTimeout, poll)
	h.t.Cleanup(func() { require.NoError(h.t, db.Close()) })
	return func() {
		h.t.Helper()
		_, err := db.ExecContext(ctx, "ROLLBACK")
		require.NoError(h.t, err)
	}
}

// spooled counts the results that wait on disk.
func (h *testCluster) spooled() int {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.cfg.Data, "spool", "*.json"))
	require.NoError(h.t, err)
	return len(files)
}

// slots counts what testrunners hold.
func (h *testCluster) slots() int {
	h.t.Helper()
	owners, err := h.cluster.Redis.ListOwners(context.Background())
	require.NoError(h.t, err)
	n := 0
	for _, o := range owners {
		if o.Role == core.RoleTestrunner {
			n += o.Slots
		}
	}
	return n
}

// While the result store is locked jobs run on. Their results wait on disk, and their slots
// stay: nobody else may run them.
func TestTheResultStoreIsLockedForAWhile(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	for name, killed := range map[string]bool{"and returns": false, "and the runner is killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestCluster(t)
			h.pool()
			factory, runner := h.start("vmfactory"), h.start("testrunner")
			ids := h.submit(3, "sh", "-c", "[ ! -e /tmp/used ] && : > /tmp/used && sleep 1; echo $$")
			h.awaitSome(ids, 3)
			unlock := h.lock()
			require.Eventually(t, func() bool { return h.spooled() == 3 }, testTimeout, poll)
			require.Equal(t, 3, h.slots())
			require.Equal(t, 3, h.unfinished())
			if killed {
				runner.kill()
				require.Equal(t, 3, h.spooled())
				require.Equal(t, 3, h.slots())
				runner = h.start("testrunner")
			}
			unlock()
			h.awaitLeft(0)
			require.Eventually(t, func() bool { return h.spooled() == 0 && h.slots() == 0 }, testTimeout, poll)
			runner.stop()
			factory.stop()
			h.requireOneTry(ids)
			h.requireOnce(ids)
			h.requireFresh(ids, runner)
			h.requireNothingLeft()
		})
	}
}
