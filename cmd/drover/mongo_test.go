package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/store/mongo/mongotest"
)

// A cluster on MongoDB grades the example. What runs while the server is dead is recorded once it
// is back, and nothing is run twice for that.
func TestClusterOnMongoDB(t *testing.T) {
	tier.OnlyInAll(t, tier.Mongo)
	t.Parallel()
	server := mongotest.Alone(t)
	h := newTestCluster(t, "DROVER_STORE="+server.URL("cluster"))
	h.pool()
	c := h.crew()
	out, errs, code := h.run("submit", "--json", "--harness", "../../examples/ledger/harness", "--submission", "../../examples/ledger/submissions/partly-right")
	require.Zero(t, code, errs)
	var graded core.Result
	require.NoError(t, json.Unmarshal([]byte(out), &graded))
	require.InDelta(t, 8.0, *graded.Score, 0, "%+v", graded)
	require.Equal(t, graded, *h.requireState(graded.ID, core.RequestCompleted).Result)

	ids := h.submit(8, "sh", "-c", "[ ! -e /tmp/used ] && : > /tmp/used && sleep 1; echo $$")
	h.awaitSome(ids, 3)
	require.NoError(t, server.Kill())
	require.Eventually(t, func() bool { return h.spooled() > 0 }, testTimeout, poll)
	out, _, code = h.run("doctor", "--json")
	require.Equal(t, terminal.ExitFault, code, out)
	require.NoError(t, server.Restart(t.Context()))
	h.awaitLeft(0)
	require.Eventually(t, func() bool { return h.spooled() == 0 && h.slots() == 0 }, testTimeout, poll)
	out, _, _ = h.run("doctor", "--json")
	require.Contains(t, out, "mongodb://")
	h.requireOneTry(ids)
	c.stop(append(ids, graded.ID))
}
