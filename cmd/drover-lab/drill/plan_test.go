package drill

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
)

// testCluster is a cluster of three hosts that nobody starts.
func testCluster(root bool) *cluster {
	h := &cluster{cfg: Config{Hosts: 3, Slots: 4, Load: 12, AtOnce: 4}, root: root, redis: &server{clock: "clock"}}
	for _, name := range []string{"h1", "h2", "h3"} {
		h.hosts = append(h.hosts, &host{name: name, parts: map[core.Role]*component{
			core.RoleTestrunner: {}, core.RoleVMFactory: {}, core.RoleTaskrunner: {}, overseerRole: {},
		}})
	}
	return h
}

func drawn(h *cluster, faults int, seed uint64) []fault {
	h.cfg.Faults, h.cfg.Seed = faults, seed
	return newPlan(h.cfg, kinds, h)
}

func TestTheSameSeedMakesTheSamePlan(t *testing.T) {
	t.Parallel()
	h := testCluster(true)
	first := drawn(h, 1000, 7)
	require.Equal(t, first, drawn(h, 1000, 7))
	require.NotEqual(t, first, drawn(h, 1000, 8))
	require.Equal(t, first[:10], drawn(h, 10, 7), "more faults begin as fewer do")
}

func TestALongPlanHasEveryFaultShortAndLong(t *testing.T) {
	t.Parallel()
	h := testCluster(true)
	down := h.cfg.down()
	short, long := map[string]bool{}, map[string]bool{}
	for _, f := range drawn(h, 2000, 1) {
		if f.hold > down {
			long[f.kind.name] = true
		} else {
			short[f.kind.name] = true
		}
	}
	for _, name := range Kinds() {
		require.True(t, short[name], "a short %s", name)
		require.True(t, long[name], "a long %s", name)
	}
}

func TestWhatCannotBeInjectedIsNotPlanned(t *testing.T) {
	t.Parallel()
	h := testCluster(false)
	h.redis.clock, h.redis.why = "", "no libfaketime"
	seen := map[string]bool{}
	for _, f := range drawn(h, 1000, 1) {
		seen[f.kind.name] = true
	}
	for _, k := range kinds {
		require.Equal(t, h.skipped(k) == "", seen[k.name], k.name)
	}
	require.False(t, seen["jump-clock"])
	require.False(t, seen["cut-host"])
}

func TestPick(t *testing.T) {
	t.Parallel()
	picked, err := pick([]string{"kill-redis", "cut-host"})
	require.NoError(t, err)
	require.Equal(t, "cut-host", picked[1].name)
	_, err = pick([]string{"kill-cat"})
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	require.ErrorContains(t, err, "kill-redis")
}

func TestNoPartSuffersTwoFaultsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := newGround(2)
	require.True(t, g.take(ctx, []string{"h1/testrunner", "h1/vmfactory"}))
	require.True(t, g.take(ctx, []string{"h2/testrunner"}))
	taken := make(chan string)
	go func() {
		if g.take(ctx, []string{"h1/vmfactory"}) {
			taken <- "vmfactory"
		}
	}()
	g.give([]string{"h2/testrunner"}) // there is room now, but not for that part
	select {
	case <-taken:
		t.Fatal("a part that suffers was taken")
	case <-time.After(time.Millisecond):
	}
	g.give([]string{"h1/testrunner", "h1/vmfactory"})
	require.Equal(t, "vmfactory", <-taken)
	g.give([]string{"h1/vmfactory"})
	g.drain()
	cancel()
	require.True(t, g.take(context.Background(), []string{"a"}))
	require.False(t, g.take(ctx, []string{"a"}), "it does not wait longer than its context")
}
