package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
)

// Rules 2, 11 and 18. A host is lost while it holds four requests, three overseers evacuate
// it at once, and its frozen processes wake while the work runs elsewhere. Each request
// moves once, none is recorded twice, and no host gets more than fits: what does not is
// parked. The host is forgotten only once it is fenced and nobody is left there.
func TestThreeOverseersEvacuateAHostOnce(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, lateSoon...)
	h.pool()
	first := h.startAll("vmfactory", "testrunner", "overseer", "overseer", "overseer")
	h.awaitHost("h1", warm)
	stay := h.submit(4, "sleep", "20") // until all of the others run
	for _, id := range stay {
		h.awaitRun(id)
	}
	second := h.on("h2").startAll("vmfactory", "testrunner")
	move := h.submit(4, "sh", "-c", "sleep 10; echo done") // until all of them do
	for _, id := range move {
		h.awaitPlace(id, "it runs on h2", isRunning)
	}
	for _, p := range second {
		freeze(p)
	}
	for _, id := range move {
		h.awaitPlace(id, "it left h2", func(p core.Place) bool { return p.Attempts == 1 })
	}
	for _, p := range second {
		thaw(p)
	}
	h.awaitLeft(0)
	h.requireOnce(append(stay, move...))
	h.requireOneClaim(stay)
	moves, err := h.cluster.Redis.Evacuations(t.Context())
	require.NoError(t, err)
	moved := make(map[string]int)
	for _, m := range moves {
		require.Equal(t, "h2", m.From)
		moved[m.Key]++
	}
	for _, id := range move {
		require.Equal(t, 1, moved[core.Key(id, 1)], "%+v", moves)
		require.Equal(t, 2, h.claims(id))
	}
	require.Len(t, moved, len(move))

	forget := func() int {
		_, _, code := h.run("host", "forget", "h2")
		return code
	}
	h.awaitHost("h2", func(host core.HostInfo) bool { return host.State == core.HostUp })
	require.Equal(t, terminal.ExitRefused, forget())
	for _, p := range second {
		p.kill()
	}
	await(t, "it is fenced and forgotten", func() bool { return forget() == 0 })
	h.end(first...)
	h.requireSound()
}
