package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// slowRun prints its own mark over and over, for seconds.
const slowRun = `u=$(cat /proc/sys/kernel/random/uuid); for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $u; sleep 0.25; done`

// Rules 6 and 16. A runner freezes in the midst of a run and is fenced; the request runs
// elsewhere. The zombie wakes while it does, still with its VM's output in its hands: it
// cannot beat itself back to life, none of what it writes is mixed into the output of the
// other, and it works again only as a new epoch.
func TestAZombieThatWakes(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, append(lateSoon, "DROVER_SLOTS=1")...)
	h.pool()
	factory, zombie := h.start("vmfactory"), h.start("testrunner")
	id := h.submit(1, "sh", "-c", slowRun)[0]
	key := core.Key(id, 1)
	first := h.awaitRun(id)
	output := func(token string) (text string) {
		for after := ""; ; {
			chunks, err := h.cluster.Redis.Read(t.Context(), key, token, after, 0)
			require.NoError(t, err)
			if len(chunks) == 0 {
				return text
			}
			for _, c := range chunks {
				if after = c.ID; c.Stream == "stdout" {
					text += string(c.Data)
				}
			}
		}
	}
	await(t, "it says something", func() bool { return output(first.Token) != "" })
	freeze(zombie)
	epoch := h.owner(zombie).Epoch
	others := h.startAll("testrunner", "overseer", "overseer")
	second := h.awaitPlace(id, "it runs elsewhere", func(p core.Place) bool {
		return isRunning(p) && p.Token != first.Token
	})
	require.NotEqual(t, first.VM, second.VM)
	await(t, "that says something", func() bool { return output(second.Token) != "" })
	thaw(zombie)
	h.awaitOwner(zombie, epoch)
	h.awaitLeft(0)
	row := h.requireState(id, core.RequestCompleted)
	// The first record counts. Mostly that is the second run's; where the machine is slow the zombie
	// wakes before that has ended, and its own run, which nobody stopped, is as good.
	counts, other := second.Token, first.Token
	if row.Result.Token == first.Token {
		counts, other = other, counts
	}
	require.Equal(t, counts, row.Result.Token)
	require.Equal(t, row.Result.Stdout, output(counts), "nothing is mixed in")
	require.NotContains(t, row.Result.Stdout, output(other)[:36], "each run has a mark of its own")
	for _, try := range h.tries(id) {
		require.Equal(t, try.Result.Token == counts, try.Accepted)
	}
	h.end(append(others, zombie, factory)...)
	h.requireSound()
}

// Rule 7. Redis itself is silent for longer than anybody may be, first frozen, then
// killed and started again. All owners are late at once, which is Redis and not they: nobody
// is fenced by either of two overseers, and what runs goes on and ends in its first try.
func TestARedisThatIsSilentFencesNobody(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, append(lateSoon, "DROVER_SUSPECT=2s", "DROVER_DOWN=4s")...)
	h.pool()
	all := h.startAll("vmfactory", "testrunner", "testrunner", "overseer", "overseer")
	silent := func() { <-time.After(6 * time.Second) } // that is the fault
	for _, fault := range []struct {
		name       string
		begin, end func() error
	}{
		{"frozen", h.redis.Pause, h.redis.Resume},
		{"killed", h.redis.Kill, func() error { return h.redis.Restart(t.Context()) }},
	} {
		ids := h.submit(4, "sleep", "8")
		for _, id := range ids {
			h.awaitRun(id)
		}
		var epochs []int64
		for _, p := range all[:3] {
			epochs = append(epochs, h.owner(p).Epoch)
		}
		require.NoError(t, fault.begin())
		silent()
		require.NoError(t, fault.end())
		h.awaitLeft(0)
		h.requireOnce(ids)
		h.requireOneClaim(ids)
		for i, p := range all[:3] {
			require.Equal(t, epochs[i], h.owner(p).Epoch, "%s: %v was fenced", fault.name, p.cmd.Args)
		}
		require.Equal(t, core.HostUp, h.host("h1").State)
	}
	h.end(all...)
}

// Rule 8. A host whose vmfactory died is not down while another of its owners lives: what
// runs there ends there in its first try, and the next vmfactory finds its VMs unharmed. A host of which
// nobody moves any more is down, though all of its processes exist.
func TestAHostIsDownWhenAllItsOwnersAreLate(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, lateSoon...)
	h.pool()
	factory, runner, watch := h.start("vmfactory"), h.start("testrunner"), h.start("overseer")
	all := func(host core.HostInfo) bool { return host.Ready && host.VMs[string(core.VMClean)] >= 4 }
	h.awaitHost("h1", all)
	clean, err := h.cluster.Redis.CleanVMs(t.Context(), "h1", "default")
	require.NoError(t, err)
	factory.kill()
	h.awaitReaped(factory)
	ids := h.submit(2, "sh", "-c", "sleep 1; echo done")
	h.awaitLeft(0)
	h.requireOnce(ids)
	h.requireOneClaim(ids)
	require.Equal(t, core.HostUp, h.host("h1").State)

	factory = h.start("vmfactory")
	h.awaitHost("h1", all)
	found, err := h.cluster.Redis.CleanVMs(t.Context(), "h1", "default")
	require.NoError(t, err)
	require.Subset(t, found, clean[2:], "the first two served")

	long := h.submit(1, "sh", "-c", "sleep 1; echo done")
	h.awaitRun(long[0])
	freeze(factory)
	freeze(runner)
	down := func(host core.HostInfo) bool { return host.State == core.HostDown }
	h.awaitHost("h1", down)
	require.Equal(t, core.RequestParked, h.awaitPlace(long[0], "it leaves the host", func(p core.Place) bool { return p.Owner == "" }).State)
	thaw(factory)
	thaw(runner)
	h.awaitLeft(0)
	h.requireOnce(long)
	h.end(factory, runner, watch)
}
