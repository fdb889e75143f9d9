package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/redisstore/redisserver"
)

// freshly is a job that exits with 0 only in a VM that no job has been in.
var freshly = []string{"sh", "-c", "[ ! -e /tmp/used ] && : > /tmp/used && sleep 0.05"}

// requireFresh requires that every result was made in a VM of its own, that nobody had used,
// and that none was given out twice: its agent would have refused it, or it would have been gone.
func (h *testCluster) requireFresh(ids []string, runners ...*process) {
	h.t.Helper()
	users := make(map[string]string)
	for _, id := range ids {
		row, err := h.cluster.Store.Get(context.Background(), id)
		require.NoError(h.t, err)
		require.Zero(h.t, row.Result.ExitCode, "%s ran in a used VM: %+v", id, row.Result)
		tries, err := h.cluster.Store.Attempts(context.Background(), id)
		require.NoError(h.t, err)
		for _, a := range tries {
			claim := id + " " + a.Result.Token
			require.Contains(h.t, []string{"", claim}, users[a.Result.VM], "two claims had VM %s", a.Result.VM)
			users[a.Result.VM] = claim
		}
	}
	for _, r := range runners {
		require.NotContains(h.t, r.said(), "a VM serves once")
		require.NotContains(h.t, r.said(), "read the secret of VM")
	}
}

func newFailover(t *testing.T) *redisserver.Failover {
	t.Helper()
	f, err := redisserver.StartFailover(context.Background(), 1, "--appendonly", "yes", "--appendfsync", "no")
	if err != nil {
		coretest.Missing(t, "redis-server", err)
	}
	t.Cleanup(func() { _ = f.Stop() })
	return f
}

// adminOf is a client of one server, past all Sentinels.
func adminOf(t *testing.T, s *redisserver.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// crew is what works on one host, with an overseer.
type crew struct {
	factory, first, second, watch *process
}

func (h *testCluster) crew() crew {
	return crew{h.start("vmfactory"), h.start("testrunner"), h.start("testrunner"), h.start("overseer")}
}

// stop ends the crew and requires that it did all its work, each piece once and in a fresh VM.
func (c crew) stop(ids []string) {
	h := c.factory.h
	h.t.Helper()
	for _, p := range []*process{c.first, c.second, c.factory, c.watch} {
		p.stop()
	}
	h.requireOnce(ids)
	h.requireFresh(ids, c.first, c.second)
	h.requireNothingLeft()
}

func TestAClusterGoesOnWithTheNextPrimary(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	f := newFailover(t)
	h := newTestClusterOn(t, f.URL())
	h.pool()
	c := h.crew()
	ids := h.submit(80, freshly...)
	h.awaitLeft(65)
	require.NoError(t, f.Servers[0].Kill())
	h.awaitLeft(40)
	var out string
	await(t, "doctor finds the next primary", func() bool { // what runs ends without one
		out, _, _ = h.run("doctor")
		return strings.Contains(out, "its primary is "+f.Servers[1].Addr+", with 0 replicas")
	})
	require.Contains(t, out, "nobody can take its place")
	require.NoError(t, f.Servers[0].Restart(t.Context()), "the old primary returns as a replica")
	h.awaitLeft(0)
	c.stop(ids)
	primary := adminOf(t, f.Servers[1])
	require.Eventually(t, func() bool {
		text, err := primary.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(text, "connected_slaves:1")
	}, testTimeout, poll, "the Sentinels make the old primary follow")
	require.NoError(t, f.Sentinels[0].Kill())
	require.NoError(t, f.Sentinels[1].Kill())
	out, errs, code := h.run("doctor")
	require.Equal(t, terminal.ExitFault, code, errs)
	require.Contains(t, out, "3 Sentinels watch cluster; its primary is "+f.Servers[1].Addr+", with 1 replicas")
	require.Contains(t, out, f.Sentinels[0].Addr+" does not answer")
	require.Contains(t, out, "NOQUORUM")
}

// The replica that is promoted lacks what the primary acknowledged last: VMs are clean there
// that were used, requests wait that have their results.
func TestAFailoverThatForgetsTheLastMoments(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	f := newFailover(t)
	h := newTestClusterOn(t, f.URL(), "DROVER_SLOTS=2")
	p := core.DefaultPool("default")
	p.Warm, p.Max = 10, 12 // more than there are slots: some are always clean
	require.NoError(t, h.cluster.Intake.SetPool(t.Context(), p))
	c := h.crew()
	primary, replica := adminOf(t, f.Servers[0]), adminOf(t, f.Servers[1])
	ids := h.submit(10, freshly...)
	h.awaitLeft(0)
	p.Paused = true // what is forgotten must not end before the replica stops to listen
	require.NoError(t, h.cluster.Intake.SetPool(t.Context(), p))
	ids = append(ids, h.submit(100, freshly...)...)
	specs := h.cluster.Redis.Namespace().Key("specs")
	require.Eventually(t, func() bool { return replica.HLen(t.Context(), specs).Val() == 100 }, testTimeout, 10*time.Millisecond)
	require.NoError(t, f.Servers[1].Pause())
	require.NoError(t, primary.ClientKillByFilter(t.Context(), "type", "replica").Err(), "else it would read on when it goes on")
	p.Paused = false
	require.NoError(t, h.cluster.Intake.SetPool(t.Context(), p))
	h.awaitLeft(75)
	require.NoError(t, f.Servers[0].Kill())
	require.NoError(t, f.Servers[1].Resume())
	known, err := replica.HLen(t.Context(), specs).Result()
	require.NoError(t, err)
	require.Greater(t, int(known), h.unfinished()+15, "the replica believes that more is to be done")
	require.Eventually(t, func() bool { return h.cluster.Intake.SetPool(t.Context(), p) == nil }, testTimeout, 100*time.Millisecond)
	h.awaitLeft(0)
	c.stop(ids)
}
