package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
)

// Rule 9. Redis is full and refuses whatever takes memory. Claimed requests end, nobody
// is fenced for a heartbeat that did not fit, and nothing is accepted that could not
// wait. Limits on waiting work refuse before it comes to that.
func TestAFullRedisKillsNothing(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, lateSoon...)
	h.pool()
	all := h.startAll("vmfactory", "testrunner", "overseer")
	ids := h.submit(4, "sleep", "4")
	for _, id := range ids {
		h.awaitRun(id)
	}
	var epochs []int64
	for _, p := range all[:2] {
		epochs = append(epochs, h.owner(p).Epoch)
	}
	waiting := h.submit(3, "true")
	_, errs, code := h.with("DROVER_MAX_WAITING=7").run("run", "--", "true")
	require.Equal(t, terminal.ExitRefused, code, errs)
	require.Contains(t, errs, "as many as this cluster allows")

	db := h.cluster.Redis.Client()
	require.NoError(t, db.ConfigSet(t.Context(), "maxmemory", "1").Err())
	require.ErrorContains(t, db.Set(t.Context(), "x", "y", 0).Err(), "OOM")
	_, errs, code = h.run("run", "--submitter", "ann", "--", "true")
	require.Equal(t, terminal.ExitRefused, code, errs)
	require.Contains(t, errs, "Redis is full")
	rows, err := h.cluster.Store.List(t.Context(), core.Filter{Submitter: "ann"})
	require.NoError(t, err)
	for _, row := range rows {
		require.True(t, row.State.Terminal(), "who is refused has nothing that waits: %v", row)
	}
	for _, id := range ids {
		h.awaitEnd(id)
	}
	h.requireOneClaim(ids)
	for i, p := range all[:2] {
		require.Equal(t, epochs[i], h.owner(p).Epoch)
	}
	require.NoError(t, db.ConfigSet(t.Context(), "maxmemory", "0").Err())
	h.awaitLeft(0)
	h.requireOnce(append(ids, waiting...))
	h.end(all...)
}

// Rule 20. Programs of another schema than the one that is there neither join nor ask
// for anything, and say why.
func TestAnotherSchemaMayNotJoin(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h.fake("h1", 0)
	meta := h.cluster.Redis.Namespace().Key("meta")
	db := h.cluster.Redis.Client()
	its, err := db.HGet(t.Context(), meta, "schema").Result()
	require.NoError(t, err)
	require.NoError(t, db.HSet(t.Context(), meta, "schema", "99").Err())
	for _, args := range [][]string{
		{"vmfactory"}, {"testrunner"}, {"taskrunner"}, {"overseer"}, {"overseer", "--once"}, {"run", "--", "true"}, {"host", "list"},
	} {
		out, errs, code := h.run(args...)
		require.NotZero(t, code, "%v: %s", args, out)
		require.Contains(t, errs, "schema 99", args)
	}
	require.NoError(t, db.HSet(t.Context(), meta, "schema", its).Err())
	require.Contains(t, h.said("host", "list"), "h1")
}
