package main

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisserver"
)

// Rule 9. Redis is full and refuses whatever takes memory. What is in hand ends, nobody
// is fenced for a proof of life that did not fit, and what is accepted meanwhile waits in
// the store. Limits on waiting work refuse before it comes to that.
func TestAFullRedisKillsNothing(t *testing.T) {
	t.Parallel()
	h := newRulesHerd(t, lateSoon...)
	h.pool()
	all := h.startAll("vmfactory", "testrunner", "overseer")
	ids := h.submit(4, "sleep", "4")
	for _, id := range ids {
		h.awaitRunning(id)
	}
	var epochs []int64
	for _, p := range all[:2] {
		epochs = append(epochs, h.owner(p).Epoch)
	}
	waiting := h.submit(3, "true")
	_, errs, code := h.with("DROVER_MAX_WAITING=7").run("run", "--", "true")
	require.Equal(t, exitRefused, code, errs)
	require.Contains(t, errs, "as many as this herd allows")

	db := h.herd.redis.Client()
	require.NoError(t, db.ConfigSet(t.Context(), "maxmemory", "1").Err())
	require.ErrorContains(t, db.Set(t.Context(), "x", "y", 0).Err(), "OOM")
	accepted := h.start("run", "--submitter", "ann", "--", "true")
	await(t, "the store has it", func() bool {
		rows, err := h.herd.store.List(t.Context(), core.Filter{Submitter: "ann"})
		require.NoError(t, err)
		return len(rows) == 1
	})
	for _, id := range ids {
		h.awaitEnd(id)
	}
	h.requireFirstTry(ids)
	for i, p := range all[:2] {
		require.Equal(t, epochs[i], h.owner(p).Epoch)
	}
	require.NoError(t, db.ConfigSet(t.Context(), "maxmemory", "0").Err())
	h.awaitLeft(0)
	h.requireOnce(append(ids, waiting...))
	accepted.await()
	require.Zero(t, accepted.cmd.ProcessState.ExitCode(), accepted.said())
	h.end(all...)
}

// Rule 20. Programs of another schema than the one that is there neither join nor ask
// for anything, and say why.
func TestAnotherSchemaMayNotJoin(t *testing.T) {
	t.Parallel()
	h := newRulesHerd(t)
	h.pool()
	runner := h.start("testrunner")
	h.awaitOwner(runner, 0)
	runner.stop()
	meta := h.herd.redis.Namespace().Key("meta")
	db := h.herd.redis.Client()
	its, err := db.HGet(t.Context(), meta, "schema").Result()
	require.NoError(t, err)
	require.NoError(t, db.HSet(t.Context(), meta, "schema", "99").Err())
	for _, args := range [][]string{
		{"vmfactory"}, {"testrunner"}, {"taskrunner"}, {"overseer"}, {"overseer", "--once"}, {"run", "--", "true"}, {"host", "list"},
	} {
		out, errs, code := h.run(args...)
		require.NotZero(t, code, "%v: %s", args, out)
		require.Contains(t, errs, "has schema 99", args)
	}
	require.NoError(t, db.HSet(t.Context(), meta, "schema", its).Err())
	runner = h.start("testrunner")
	h.awaitOwner(runner, 0)
	runner.stop()
}

// Rule 21. On a real Cluster a herd in braces works and heals, and all its keys are on one
// shard.
func TestAHerdOnACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts real processes")
	}
	cluster, err := redisserver.StartCluster(t.Context(), 3, 0, "--appendonly", "yes")
	if err != nil {
		coretest.Missing(t, "redis-server with Cluster", err)
	}
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	h := newTestHerdOn(t, cluster.URL(), "DROVER_NAMESPACE={herd}", "DROVER_SELF_TEST=off", noQuarantine, manyTries)
	h.pool()
	all := h.startAll("vmfactory", "testrunner", "testrunner", "overseer")
	ids := h.submit(30, "sh", "-c", "echo hello; sleep 0.05")
	h.awaitLeft(20)
	all[1].kill()
	all[1] = h.start("testrunner")
	h.awaitLeft(0)
	h.requireOnce(ids)
	h.requireVMsOnce(ids)
	with := 0
	for _, node := range cluster.Nodes {
		db := redis.NewClient(&redis.Options{Network: "unix", Addr: node.Socket})
		n, err := db.DBSize(t.Context()).Result()
		require.NoError(t, err)
		require.NoError(t, db.Close())
		if n > 0 {
			with++
		}
	}
	require.Equal(t, 1, with, "shards with keys")
	h.end(all...)
}
