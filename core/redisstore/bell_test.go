package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// idle makes the cluster's runner ask for work in vain, so that its host is listed.
func (x *suite) idle(t *testing.T, seq int64) {
	t.Helper()
	require.Empty(t, x.Exchange(t, seq, 1).Claims)
	x.hush(t)
}

// Rule 12: every script that makes a pair possible rings a host with a clean VM.
func TestWhatMakesAPairPossibleRings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.hush(t)
		x.AddVMs(t, 1)
		require.True(t, x.rung(t, "bell", "h1"), "a VM became clean")
		x.idle(t, 1)
		x.Submit(t, coretest.Spec("a", "p1", "ann"))
		require.True(t, x.rung(t, "bell", "h1"), "a request came")
		x.Submit(t, coretest.Spec("b", "p1", "ann"))
		require.False(t, x.rung(t, "bell", "h1"), "the host was told already")
		c := x.Exchange(t, 2, 1).Claims[0]
		require.False(t, x.rung(t, "bell", "h1"), "no VM is left")
		x.AddVMs(t, 3)
		d := x.Exchange(t, 3, 1).Claims[0]
		x.idle(t, 4)
		x.Exchange(t, 5, 0, end(c, core.OutcomeRelease))
		require.True(t, x.rung(t, "bell", "h1"), "a request was released")
		x.Exchange(t, 6, 1)
		x.idle(t, 7)
		x.Exchange(t, 8, 0, end(d, core.OutcomeRetry))
		require.False(t, x.rung(t, "bell", "h1"), "a request is to be retried, but not yet")
		x.pausesEnd(t)
		_, err := x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		require.NoError(t, err)
		require.True(t, x.rung(t, "bell", "h1"), "its pause is over")
		require.Len(t, x.Exchange(t, 9, 1).Claims, 1)
		x.hush(t)
		require.NoError(t, x.Store.Drain(ctx, "h1", false, 0))
		require.True(t, x.rung(t, "bell", "h1"), "a drain ended")
		require.NoError(t, x.Store.SetPool(ctx, core.DefaultPool("p1")))
		require.True(t, x.rung(t, "bell", "h1"), "a pool changed, it may have been paused")
		_, err = x.Store.Reconcile(ctx, x.Factory, x.Made, "h1", map[string]core.Found{"vm-h1-4": {Pool: "p1", Usable: true}}, nil)
		require.NoError(t, err)
		require.True(t, x.rung(t, "bell", "h1"), "the host may claim again")
	})
}

func TestSettlingRings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		c := x.claim(t, 1, "a")
		x.AddVMs(t, 1)
		x.Register(t, x.Runner) // fences the one that claimed
		other := x.Register(t, "testrunner@h1#1")
		call := x.Call(1, 1)
		call.Owner, call.Epoch = "testrunner@h1#1", other.Epoch
		got, err := x.Store.Exchange(t.Context(), call)
		require.NoError(t, err)
		require.Empty(t, got.Claims)
		x.hush(t)
		epoch := x.Register(t, x.Runner).Epoch
		n, err := x.Store.Settle(t.Context(), x.Runner, epoch, []core.Settlement{{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry}}, 0)
		require.NoError(t, err)
		require.Equal(t, !x.twice, n.Moved == 1)
		require.True(t, x.rung(t, "bell", "h1"))
		require.True(t, x.rung(t, "factory_bell", "h1"), "and its VM is to be destroyed")
	})
}

func TestBellsRingOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		for range 3 {
			x.AddVMs(t, 1)
			require.NoError(t, x.Store.SetPool(t.Context(), core.DefaultPool("p1")))
		}
		for _, key := range []string{x.key("bell", "h1"), x.key("factory_bell", "h1")} {
			n, err := x.b.Admin.LLen(t.Context(), key).Result()
			require.NoError(t, err)
			require.EqualValues(t, 1, n, key)
		}
	})
}

// clusters makes n more hosts on the suite's store, each with one runner and some clean VMs, all idle.
func (x *suite) clusters(t *testing.T, n, vms int) []*coretest.Cluster {
	t.Helper()
	out := make([]*coretest.Cluster, n)
	for i := range out {
		h := coretest.NewCluster(t, x.Store, fmt.Sprintf("x%d", i), "p1")
		h.AddVMs(t, vms)
		require.Empty(t, h.Exchange(t, 1, 1).Claims)
		out[i] = h
	}
	x.rungHosts(t, out) // each was told of the pool that the next one set
	return out
}

func (x *suite) rungHosts(t *testing.T, clusters []*coretest.Cluster) (hosts []string) {
	t.Helper()
	for _, h := range clusters {
		if x.rung(t, "bell", h.Host) {
			hosts = append(hosts, h.Host)
		}
	}
	return hosts
}

// A batch wakes as many hosts as it can occupy, and no more.
func TestABatchWakesAHostPerRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		clusters := x.clusters(t, 30, 1)
		x.Submit(t, specs("a", 20, "ann")...)
		require.Len(t, x.rungHosts(t, clusters), 20)
		x.Submit(t, specs("b", 20, "ann")...)
		require.Len(t, x.rungHosts(t, clusters), 10)
	})
}

// Who cannot run it is not woken: a late host, a drained one, one whose VMs are gone, and
// one that is busy since. The ring goes to the one that can.
func TestTheRingGoesToWhoCanUseIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		require.NoError(t, x.Store.SetPool(ctx, core.DefaultPool("p2")))
		clusters := x.clusters(t, 5, 1)
		late, drained, empty, busy, able := clusters[0], clusters[1], clusters[2], clusters[3], clusters[4]
		x.due(t, -time.Second, late.Runner)
		require.NoError(t, x.Store.Drain(ctx, drained.Host, true, 0))
		x.rung(t, "bell", drained.Host)
		_, err := x.Store.Retire(ctx, empty.Factory, empty.Made, empty.Host, []string{"vm-x2-1"})
		require.NoError(t, err)
		busy.Pool = "p2"
		busy.AddVMs(t, 1)
		both := busy.Call(2, 1)
		both.Pools = []string{"p2", "p1"}
		x.Submit(t, coretest.Spec("other", "p2", "bob"))
		got, err := x.Store.Exchange(ctx, both)
		require.NoError(t, err)
		require.Len(t, got.Claims, 1)
		x.rung(t, "bell", busy.Host)
		x.Submit(t, coretest.Spec("a", "p1", "ann"))
		require.Equal(t, []string{able.Host}, x.rungHosts(t, clusters))
	})
}

// Several owners of one host share its bell: one that is satisfied passes the ring on.
func TestAnOwnerThatHasEnoughPassesTheRingOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		x.AddVMs(t, 5)
		second := *x.Cluster
		second.Runner = "testrunner@h1#1"
		second.Epoch = x.Register(t, second.Runner).Epoch
		x.idle(t, 1)
		require.Empty(t, second.Exchange(t, 1, 1).Claims)
		x.hush(t)
		x.Submit(t, coretest.Spec("a", "p1", "ann"))
		require.True(t, x.rung(t, "bell", "h1"))
		require.Len(t, x.Exchange(t, 2, 1).Claims, 1)
		require.True(t, x.rung(t, "bell", "h1"), "the other one may be idle, and VMs are left")
		require.Empty(t, second.Exchange(t, 2, 1).Claims)
		require.False(t, x.rung(t, "bell", "h1"))
		x.Submit(t, coretest.Spec("b", "p1", "ann"))
		require.True(t, x.rung(t, "bell", "h1"), "the host is listed again, for the other one")
		require.Len(t, second.Exchange(t, 3, 1).Claims, 1)
		x.hush(t)
		x.Submit(t, coretest.Spec("c", "p1", "ann"))
		require.False(t, x.rung(t, "bell", "h1"), "nobody is idle any more")
		listed, err := x.b.Admin.SMembers(ctx, x.key("idle", "p1")).Result()
		require.NoError(t, err)
		require.Empty(t, listed)
	})
}

// Who took a ring and wants nothing passes it on to the others of the host.
func TestARingThatNobodyNeededIsPassedOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 1)
		x.Exchange(t, 1, 0) // it has a wish no more
		x.hush(t)
		x.Exchange(t, 2, 0)
		require.True(t, x.rung(t, "bell", "h1"))
	})
}

// A single request for which there is no VM wakes who makes one.
func TestARequestWithoutAVMWakesTheVMFactories(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.hush(t)
		x.Submit(t, coretest.Spec("a", "p1", "ann"))
		require.True(t, x.rung(t, "factory_bell", "h1"))
		require.True(t, x.rung(t, "placement_bell"))
	})
}

// An owner that stops takes its idleness with it.
func TestAStoppedOwnerIsNotIdle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.AddVMs(t, 1)
		clusters := x.clusters(t, 1, 1)
		x.idle(t, 1)
		require.NoError(t, x.Store.Deregister(t.Context(), x.Runner, x.Epoch))
		require.True(t, x.rung(t, "bell", "h1"), "another owner of the host may be idle")
		x.Submit(t, coretest.Spec("a", "p1", "ann"))
		require.Equal(t, []string{clusters[0].Host}, x.rungHosts(t, clusters))
	})
}

func TestWaitReturnsWhenItRings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		const forever = time.Hour
		x.AddVMs(t, 1)
		x.Submit(t, coretest.Spec("b", "p1", "ann"))
		c := x.Exchange(t, 1, 1).Claims[0]
		x.hush(t)
		for name, c := range map[string]struct {
			wait func(context.Context) error
			ring func() error
		}{
			"submit": {
				func(ctx context.Context) error { return x.Store.Wait(ctx, x.Runner, "h1", forever) },
				func() error { return x.Store.Drain(ctx, "h1", false, 0) },
			},
			"cancel": {
				func(ctx context.Context) error { return x.Store.Wait(ctx, x.Runner, "", forever) },
				func() error { _, err := x.Store.Cancel(ctx, c.Key, "bob", core.CancelAny); return err },
			},
			"vmfactory": {
				func(ctx context.Context) error { return x.Store.WaitWork(ctx, "h1", forever) },
				func() error { return x.Store.SetPool(ctx, core.DefaultPool("p1")) },
			},
			"tasks": {
				func(ctx context.Context) error { return x.Store.WaitTask(ctx, "taskrunner@h1#0", true, forever) },
				func() error { return x.Store.EnqueueTask(ctx, core.Task{ID: "t1", Generation: 1, Kind: "none"}) },
			},
		} {
			done := make(chan error, 1)
			go func() { done <- c.wait(ctx) }()
			require.NoError(t, c.ring(), name)
			require.NoError(t, <-done, name)
			x.hush(t)
		}
	})
}

// The poll is the truth: a wait ends without a ring, to the millisecond and not the second.
func TestWaitEndsWithThePoll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.hush(t)
		for _, poll := range []time.Duration{0, time.Millisecond, 30 * time.Millisecond} {
			require.NoError(t, x.Store.Wait(t.Context(), x.Runner, "h1", poll))
		}
	})
}

func TestWaitForWorkIgnoresTheBellOfOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		require.NoError(t, x.Store.Drain(t.Context(), "h1", false, 0))
		require.NoError(t, x.Store.Wait(t.Context(), x.Runner, "", time.Millisecond))
		require.True(t, x.rung(t, "bell", "h1"), "who wants no work leaves the ring to others")
	})
}
