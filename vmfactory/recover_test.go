package vmfactory_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/vmfactory"
	"drover/vmfactory/fake"
)

// What a host really holds, and what becomes of it at a start.
func TestReconcileAtStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pool           string
		prepared, used bool
		known          core.VMState // where Redis has it; "" for nowhere
		broken         bool         // fails its check
		stays          bool
	}{
		"unknown, healthy, unused: adopted":     {pool: "a", prepared: true, stays: true},
		"unknown and used":                      {pool: "a", prepared: true, used: true},
		"unknown and half made":                 {pool: "a"},
		"unknown and without a trace of a pool": {pool: ""},
		"unknown and not healthy":               {pool: "a", prepared: true, broken: true},
		"unknown, of a pool not made here":      {pool: "z", prepared: true},
		"clean and healthy":                     {pool: "a", prepared: true, known: core.VMClean, stays: true},
		"clean in Redis, used in truth":         {pool: "a", prepared: true, used: true, known: core.VMClean},
		"clean in Redis, not healthy":           {pool: "a", prepared: true, broken: true, known: core.VMClean},
		"clean, of a pool not made here":        {pool: "z", prepared: true, known: core.VMClean},
		"in a runner's slot":                    {pool: "a", prepared: true, used: true, known: core.VMClaimed, stays: true},
		"dirty":                                 {pool: "a", prepared: true, known: core.VMDirty},
		"half made by the one before":           {pool: "a", known: core.VMCreating},
		"half destroyed by the one before":      {pool: "a", prepared: true, used: true, known: core.VMDestroying},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, pool("a", 1, 8))
				r.prov.Put("x", c.pool, c.prepared, c.used)
				r.cluster.place("x", c.pool, c.known)
				if c.broken {
					r.prov.Break(fake.Check, fake.Fault{VM: "x", Err: core.Errorf(core.CodeBadVM, "x", "it is sick")})
				}
				p := r.start()
				settle(20 * time.Second) // before the first health check
				if c.stays {
					require.Contains(t, r.prov.VMs(), "x")
					require.Contains(t, r.cluster.known(), "x")
				} else {
					require.NotContains(t, r.prov.VMs(), "x")
				}
				require.Len(t, r.cluster.cleanVMs("a"), 1)
				p.end()
				r.whole()
			})
		})
	}
}

// While VMs in use that Redis forgot may yet be claimed, none is made in the room that they take.
func TestForgottenVMsTakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		r.cfg.MaxVMs = 2
		r.cluster.recalls = true
		r.prov.Put("x", "a", true, true)
		p := r.start()
		settle(10 * time.Second)
		require.Equal(t, []string{"x"}, r.prov.VMs(), "x is in use")
		r.cluster.look(func(h *cluster) { h.recalls = false })
		settle(10 * time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 2, "nobody claimed it")
		require.NotContains(t, r.prov.VMs(), "x")
		p.end()
		r.whole()
	})
}

// place puts a VM into Redis as a former life left it.
func (h *cluster) place(vm, pool string, state core.VMState) {
	h.look(func(h *cluster) {
		if state == "" {
			return
		}
		h.vms[vm] = pool
		h.slots[factory] = make(map[string]core.Held)
		switch state {
		case core.VMClean:
			h.clean[pool] = append(h.clean[pool], vm)
		case core.VMDirty:
			h.dirty = append(h.dirty, vm)
		case core.VMClaimed:
			h.slots[runner][vm] = core.Held{Key: vm, Pool: pool, Phase: "running"}
		case core.VMQuarantined:
			h.quarantined[vm] = "a note"
		default:
			h.slots[factory][vm] = core.Held{Key: vm, Pool: pool, Phase: string(state), Token: "t"}
		}
	})
}

// What appears or disappears behind the factory's back is put right while it runs.
func TestReconcileNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		r.cfg.CheckEvery = 24 * time.Hour
		p := r.start()
		defer p.end()
		settle(time.Second)
		missing := r.cluster.cleanVMs("a")[0]
		r.prov.Vanish(missing)
		r.prov.Put("stray-good", "a", true, false)
		r.prov.Put("stray-used", "a", true, true)
		settle(90 * time.Second)
		require.NotContains(t, r.cluster.known(), missing)
		require.NotContains(t, r.prov.VMs(), "stray-used")
		require.Len(t, r.cluster.cleanVMs("a"), 2)
		r.whole()
		require.InDelta(t, 2, coretest.SumMetric(t, p.metrics, "drover_vm_leaks"), 0, "as the last comparison saw it")
		settle(time.Minute)
		require.Zero(t, coretest.SumMetric(t, p.metrics, "drover_vm_leaks"))
	})
}

// A comparison that takes long must not undo what happened while it ran.
func TestASlowLookDoesNotUndoWhatHappensMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 8))
		r.cfg.ReconcileEvery, r.cfg.CheckEvery = 5*time.Second, 24*time.Hour
		p := r.start()
		settle(time.Second)
		r.prov.Put("stray", "a", true, false)
		r.prov.Break(fake.Check, fake.Fault{VM: "stray", Slow: 3 * time.Second}) // the look lists, then waits here
		for i := range 40 {
			vm := r.cluster.claim("a")
			require.NotEmpty(t, vm, "round %d", i)
			require.NoError(t, r.prov.Use(vm))
			r.cluster.finish(vm)
			settle(500 * time.Millisecond)
			for _, vm := range r.cluster.cleanVMs("a") {
				require.Contains(t, r.prov.VMs(), vm, "a VM that is gone must not be clean again")
			}
		}
		require.Zero(t, int(coretest.SumMetric(t, p.metrics, "drover_vm_reconciled_total"))-1, "only the stray was news")
		p.end()
		r.whole()
	})
}

func TestAFencedFactoryStartsANewEpoch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 4, 8))
		r.prov.Break(fake.Prepare, fake.Fault{Slow: 3 * time.Second})
		p := r.start()
		settle(time.Second)
		require.Equal(t, 4, r.cluster.held())
		r.cluster.fence(factory)
		settle(30 * time.Second)
		require.Equal(t, int64(2), p.Status().Epoch)
		require.Len(t, r.cluster.cleanVMs("a"), 4)
		p.end()
		r.whole()
	})
}

// Redis is restored from an older copy: it believes clean what has been used since,
// and nothing may be claimed until reality is known (rule 3).
func TestAnotherIncarnationOfRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 8))
		r.cfg.ReconcileEvery, r.cfg.CheckEvery = 24*time.Hour, 24*time.Hour
		p := r.start()
		settle(time.Second)
		used, dead := r.cluster.cleanVMs("a")[0], r.cluster.cleanVMs("a")[1]
		require.NoError(t, r.prov.Use(used))
		r.prov.Vanish(dead)
		r.prov.Put("back", "a", true, false)
		r.cluster.look(func(h *cluster) { h.ready = false })
		require.Empty(t, r.cluster.claim("a"), "the host claims nothing")
		settle(5 * time.Second)
		require.True(t, r.cluster.ready)
		require.NotContains(t, r.prov.VMs(), used, "a VM serves once")
		require.NotContains(t, r.cluster.known(), dead)
		require.Contains(t, r.cluster.cleanVMs("a"), "back")
		require.Len(t, r.cluster.cleanVMs("a"), 3)
		p.end()
		r.whole()
	})
}

// A Redis that was set back does not count what was made since, and nothing is made in its place, though the next
// heartbeat is far.
func TestARedisThatForgotVMs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 3))
		r.cfg.ReconcileEvery, r.cfg.CheckEvery = 24*time.Hour, 24*time.Hour
		p := r.start()
		settle(10500 * time.Millisecond) // between two heartbeats
		require.Equal(t, 3, r.prov.Created())
		r.cluster.look(func(h *cluster) {
			h.ready, h.clean["a"] = false, nil
			clear(h.vms)
			h.waiting["a"] = 3
		})
		settle(time.Minute)
		require.Equal(t, 3, r.prov.Created(), "they are adopted")
		require.Len(t, r.cluster.cleanVMs("a"), 3)
		p.end()
		r.whole()
	})
}

// The incarnation changes while a look is under way that did not check what is clean.
func TestAnotherIncarnationDuringALook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		r.cfg.ReconcileEvery, r.cfg.CheckEvery = 10*time.Second, 24*time.Hour
		p := r.start()
		settle(time.Second)
		sick := r.cluster.cleanVMs("a")[0]
		r.prov.Put("stray", "a", true, false)
		r.prov.Break(fake.Check, fake.Fault{VM: "stray", Slow: 3 * time.Second})
		settle(10 * time.Second) // the look is under way
		r.prov.Break(fake.Check, fake.Fault{VM: sick, Slow: 2 * time.Second, Err: core.Errorf(core.CodeBadVM, sick, "it is sick")})
		r.cluster.look(func(h *cluster) { h.ready = false })
		for !r.cluster.isReady() {
			settle(100 * time.Millisecond)
		}
		require.NotContains(t, r.cluster.cleanVMs("a"), sick)
		settle(time.Minute)
		p.end()
		r.whole()
	})
}

// The heartbeat's answer ends the epoch even while no other call gets through.
func TestTheHeartbeatHearsTheEndOfTheEpoch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		p := r.start()
		defer p.end()
		settle(time.Second)
		r.cluster.fence(factory)
		r.cluster.faults(func(op string) (error, error) {
			if op == "beat" || op == "register" {
				return nil, nil
			}
			return errDown, nil
		})
		settle(5 * time.Second)
		require.Equal(t, 2, r.cluster.count("register"))
		r.cluster.faults(nil)
	})
}

// A provider that cannot be asked for a while costs nobody a VM.
func TestAProviderThatCannotListForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		p := r.start()
		settle(time.Second)
		before := r.cluster.cleanVMs("a")
		r.prov.Fail(fake.List)
		settle(5 * time.Minute)
		require.Equal(t, before, r.cluster.cleanVMs("a"), "what Redis knows stays")
		require.NotEmpty(t, p.Status().Providers["fake"])

		// After a change of Redis' incarnation nobody vouches for them.
		r.cluster.look(func(h *cluster) { h.ready = false })
		settle(5 * time.Minute)
		require.Empty(t, r.cluster.cleanVMs("a"))
		r.prov.Mend(fake.List)
		settle(2 * time.Minute)
		require.ElementsMatch(t, before, r.cluster.cleanVMs("a"), "found again")
		p.end()
		r.whole()
	})
}

func TestOneFactoryAHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8)) // rule 14
		first := r.start()
		settle(time.Second)
		before := r.cluster.cleanVMs("a")

		for _, change := range []func(c *vmfactory.Config){
			func(*vmfactory.Config) {}, func(c *vmfactory.Config) { c.Recover = true },
		} {
			r.cfg.Recover = false
			change(&r.cfg)
			second := r.start()
			err := <-second.ended
			require.True(t, core.Is(err, core.CodeBusy), "%v", err)
			require.Contains(t, err.Error(), "--force-unregister")
		}
		require.Equal(t, before, r.cluster.cleanVMs("a"))

		r.cfg.Recover, r.cfg.ForceUnregister = true, true // G20
		second := r.start()
		settle(10 * time.Second)
		err := <-first.ended
		require.True(t, core.Is(err, core.CodeBusy), "%v", err)
		require.Contains(t, err.Error(), "evicted")
		require.ElementsMatch(t, before, r.cluster.cleanVMs("a"), "found again on the machine")
		require.Equal(t, 2, r.prov.Created())

		r.cfg.Recover, r.cfg.ForceUnregister = false, false
		third := r.start()
		require.True(t, core.Is(<-third.ended, core.CodeBusy), "the evictor has the lock now")
		second.end()
		fourth := r.start()
		settle(10 * time.Second)
		fourth.end()
		r.whole()
	})
}

// An evicted factory that does not notice, being frozen say, is not waited for without end.
func TestEvictingAFrozenFactory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		r.cfg.StopTimeout = 5 * time.Second
		deps, frozen := mortalDeps(r.deps(), 0, false)
		first := r.startWith(deps)
		settle(time.Second)
		frozen.kill()

		r.cfg.ForceUnregister = true
		second := r.start()
		settle(20 * time.Second)
		require.True(t, r.logged("the evicted vmfactory has not stopped; going on without waiting for it"))
		require.Len(t, r.cluster.cleanVMs("a"), 2)
		second.end()
		first.stop()
		<-first.ended
		r.whole()
	})
}

func TestRecoverForgetsAndRebuilds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8)) // G19 G20
		r.cluster.place("ghost", "a", core.VMClean)
		r.cluster.place("wedged", "a", core.VMQuarantined)
		r.prov.Put("wedged", "a", true, true)
		r.cluster.place("busy", "a", core.VMClaimed)
		r.prov.Put("busy", "a", true, true)
		r.prov.Put("found", "a", true, false)
		r.cfg.Recover = true
		p := r.start()
		settle(10 * time.Second)
		require.True(t, r.logged("forgot what Redis said of this host; rebuilding it from the machine"))
		require.NotContains(t, r.cluster.known(), "ghost")
		require.Contains(t, r.cluster.cleanVMs("a"), "found")
		require.NotContains(t, r.prov.VMs(), "wedged", "what was quarantined gets new tries")
		require.Contains(t, r.prov.VMs(), "busy", "work in hand stays")
		require.Len(t, r.cluster.cleanVMs("a"), 2)
		p.end()
		r.whole()
	})
}

func TestDestroyAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 8)) // G19
		p := r.start()
		settle(time.Second)
		r.cluster.claim("a")
		settle(time.Second)
		f, err := vmfactory.New(r.cfg, r.deps())
		require.NoError(t, err)
		_, err = f.DestroyAll(context.Background())
		require.True(t, core.Is(err, core.CodeBusy), "%v", err)
		p.end()

		r.prov.Put("stray", "zzz", false, true)
		n, err := f.DestroyAll(context.Background())
		require.NoError(t, err)
		require.Equal(t, 5, n, "three clean, one in use, one stray")
		require.Empty(t, r.prov.VMs())
		require.Empty(t, r.cluster.cleanVMs("a"))
		require.True(t, r.cluster.fenced[factory], "it deregisters")
	})
}

func TestDestroyAllNamesWhatStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 8))
		for i := range 3 {
			r.prov.Put(fmt.Sprint("x", i), "a", true, false)
		}
		r.prov.Break(fake.Destroy, fake.Fault{VM: "x1", Hang: true})
		f, err := vmfactory.New(r.cfg, r.deps())
		require.NoError(t, err)
		n, err := f.DestroyAll(context.Background())
		require.Equal(t, 2, n)
		require.True(t, core.Is(err, core.CodeUnavailable))
		require.Contains(t, err.Error(), "x1")
		require.Equal(t, 3, r.prov.Calls(fake.Destroy)-2)
		require.Equal(t, []string{"x1"}, r.cluster.known())
		require.Empty(t, r.cluster.cleanVMs("a"), "nobody may claim it")

		r.prov.Mend(fake.Destroy)
		r.cluster.faults(func(string) (error, error) { return errDown, nil })
		n, err = f.DestroyAll(context.Background())
		require.NoError(t, err, "reality is on the host, with or without Redis")
		require.Equal(t, 1, n)
		require.Empty(t, r.prov.VMs())
	})
}

func TestAnEmbeddedClusterLeavesNoVMBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 8))
		r.cfg.DestroyOnStop = true
		p := r.start()
		settle(time.Second)
		require.Len(t, r.prov.VMs(), 3)
		p.end()
		require.Empty(t, r.prov.VMs())
		r.whole()

		p = r.start()
		settle(time.Second)
		r.cluster.faults(func(string) (error, error) { return errDown, nil })
		p.end()
		require.Empty(t, r.prov.VMs(), "Redis, being embedded, may have gone first")
	})
}
