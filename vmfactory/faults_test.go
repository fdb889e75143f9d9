package vmfactory_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/vmfactory"
	"drover/vmfactory/fake"
)

func TestAPoolThatCannotBeMadeIsAStateNotASpin(t *testing.T) {
	t.Parallel()
	bad := core.Errorf(core.CodeBadVM, "", "the agent does not answer")
	missing := core.Errorf(core.CodeNotFound, "", "there is no image jammy")
	for name, c := range map[string]struct {
		step  fake.Step
		fault fake.Fault
		soon  int // tries in half a minute: two at once, then one by one
		most  int // tries in ten minutes
	}{
		"phase one fails":        {fake.Create, fake.Fault{Err: bad}, 4, 16},
		"phase two fails":        {fake.Prepare, fake.Fault{Err: bad}, 4, 16},
		"phase two fails late":   {fake.Prepare, fake.Fault{Err: bad, After: true}, 4, 16},
		"phase one hangs":        {fake.Create, fake.Fault{Hang: true}, 2, 14},
		"phase two hangs":        {fake.Prepare, fake.Fault{Hang: true}, 2, 14},
		"the image is missing":   {fake.Create, fake.Fault{Err: missing}, 2, 13},
		"phase one does not end": {fake.Create, fake.Fault{Deaf: true}, 2, 14},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, pool("a", 2, 8)) // G45 V13
				r.prov.Break(c.step, c.fault)
				p := r.start()
				settle(29 * time.Second)
				require.Equal(t, c.soon, r.prov.Calls(c.step))
				settle(3 * time.Minute)
				s := p.Status().Pools["a"]
				require.True(t, s.Broken)
				require.NotEmpty(t, s.Reason)
				require.InDelta(t, 1, coretest.SumMetric(t, p.metrics, "drover_pool_broken"), 0)
				require.NotEmpty(t, r.cluster.brokenPools()["a"], "operators see it in Redis")
				settle(7 * time.Minute)
				require.LessOrEqual(t, r.prov.Calls(c.step), c.most, "it must not spin")
				require.Empty(t, r.cluster.cleanVMs("a"))
				require.InDelta(t, r.prov.Calls(fake.Create), coretest.SumMetric(t, p.metrics, "drover_vm_creation_failures_total"), 2)

				r.prov.Mend(c.step)
				r.prov.Free()
				settle(3 * time.Minute)
				require.Len(t, r.cluster.cleanVMs("a"), 2, "it heals by itself")
				require.False(t, p.Status().Pools["a"].Broken)
				require.Empty(t, p.Status().Pools["a"].Reason)
				require.Empty(t, r.cluster.brokenPools())
				p.end()
				r.whole()
			})
		})
	}
}

// An image that takes longer than a creation may is no fault of the pool.
func TestAPoolWaitsForItsImage(t *testing.T) {
	t.Parallel()
	for name, tested := range map[string]bool{"a host that has proved itself": false, "one that has yet to": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, pool("a", 3, 8))
				var x tester
				x.result.Store(core.VerdictHeld)
				deps := r.deps()
				if tested {
					deps.Trial = x.trial
				}
				step := map[bool]fake.Step{false: fake.Create, true: fake.Image}[tested]
				r.prov.Break(step, fake.Fault{Slow: 29 * time.Second, Err: core.Wrap(vmfactory.ErrFetching, core.CodeUnavailable, "", "downloading image big")})
				p := r.startWith(deps)
				settle(10 * time.Minute)
				require.Empty(t, r.cluster.brokenPools())
				require.False(t, p.Status().Pools["a"].Broken)
				require.True(t, p.Status().Pools["a"].Fetching)
				r.cluster.look(func(h *cluster) { require.Contains(t, h.fetching["a"], "downloading image big") })
				require.LessOrEqual(t, r.prov.Calls(step), 23, "three at first, then one at a time")
				require.Empty(t, r.cluster.cleanVMs("a"))
				r.prov.Mend(step)
				settle(time.Minute)
				require.Len(t, r.cluster.cleanVMs("a"), 3)
				require.False(t, p.Status().Pools["a"].Fetching)
				r.cluster.look(func(h *cluster) { require.Empty(t, h.fetching) })
				p.end()
				r.whole()
			})
		})
	}
}

// After new settings, a broken pool is tried at once.
func TestABrokenPoolIsTriedWithNewSettingsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		r.prov.Break(fake.Create, fake.Fault{Err: core.Errorf(core.CodeNotFound, "", "there is no image jammy")})
		p := r.start()
		defer p.end()
		settle(5 * time.Second)
		require.True(t, p.Status().Pools["a"].Broken)
		r.prov.Mend(fake.Create)
		r.cluster.look(func(h *cluster) {
			a := h.pools["a"]
			a.Image = "noble"
			h.pools["a"] = a
		})
		settle(2 * time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 2)
		require.False(t, p.Status().Pools["a"].Broken)
	})
}

func TestASingleFailureOnlyCostsATry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 4, 8))
		r.prov.Break(fake.Prepare, fake.Fault{Err: core.Errorf(core.CodeBadVM, "", "once"), Times: 4})
		p := r.start()
		defer p.end()
		settle(5 * time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 4)
		require.Equal(t, 8, r.prov.Created(), "all failed, all were replaced: one round, not four tries")
		require.False(t, p.Status().Pools["a"].Broken)
		r.whole()
	})
}

// What a predecessor said of broken pools is taken back, and nothing is said twice.
func TestBrokenPoolsAreToldOnlyWhenTheyChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		r.cluster.look(func(h *cluster) { h.broken = map[string]string{"a": "said by another"} })
		p := r.start()
		settle(time.Minute)
		require.Empty(t, r.cluster.brokenPools())
		r.cluster.look(func(h *cluster) { require.Equal(t, 2, h.calls["note"], "and once how long VMs take") })
		p.end()
		r.whole()
	})
}

func TestABrokenPoolDoesNotHurtAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := pool("bad", 2, 8)
		bad.Provider = "other"
		r := newRig(t, bad, pool("good", 2, 8))
		other := fake.New("other")
		other.Break(fake.Create, fake.Fault{Hang: true})
		deps := r.deps()
		deps.Providers = append(deps.Providers, other)
		p := r.startWith(deps)
		defer p.end()
		settle(2 * time.Second)
		require.Len(t, r.cluster.cleanVMs("good"), 2)
		for range 20 {
			r.cluster.finish(r.cluster.claim("good"))
			settle(time.Second)
			require.Len(t, r.cluster.cleanVMs("good"), 2)
		}
	})
}

func TestProvidersThatAreMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nowhere := pool("nowhere", 1, 2)
		nowhere.Provider = "lxc"
		r := newRig(t, nowhere, pool("a", 2, 8))
		r.cfg.Pools = append(r.cfg.Pools, "nobody-set-it")
		r.prov.Break(fake.Ready, fake.Fault{Err: core.Errorf(core.CodeUnavailable, "", "user namespaces are off")})
		p := r.start()
		defer p.end()
		settle(time.Minute)
		s := p.Status()
		require.Contains(t, s.Pools["nowhere"].Reason, "provider lxc is not set up")
		require.Contains(t, s.Pools["a"].Reason, "user namespaces are off")
		require.Contains(t, s.Pools["nobody-set-it"].Reason, "drover pool set")
		require.Contains(t, s.Providers["fake"], "user namespaces are off")
		require.Zero(t, r.prov.Created())
		r.prov.Mend(fake.Ready)
		settle(2 * time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 2)
		require.Empty(t, p.Status().Providers["fake"])
	})
}

func TestAVMThatWillNotDieIsQuarantined(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault fake.Fault
		calls int
	}{
		"it fails":       {fake.Fault{Err: core.Errorf(core.CodeUnavailable, "", "device busy")}, 3},
		"it hangs":       {fake.Fault{Hang: true}, 3},
		"it never stops": {fake.Fault{Deaf: true}, 1}, // the other tries wait for the first
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, pool("a", 2, 3)) // rule 18
				p := r.start()
				settle(time.Second)
				stubborn := r.cluster.claim("a")
				c.fault.VM = stubborn
				r.prov.Break(fake.Destroy, c.fault)
				r.cluster.finish(stubborn)
				settle(3 * time.Minute)
				require.Equal(t, c.calls, r.prov.Calls(fake.Destroy))
				require.Contains(t, r.cluster.quarantined, stubborn)
				require.Contains(t, r.cluster.quarantined[stubborn], "not destroyed in 3 tries")
				require.InDelta(t, 1, coretest.SumMetric(t, p.metrics, "drover_vms_quarantined"), 0)
				require.True(t, r.logged("will not die: quarantined; destroy it by hand, then run vmfactory --recover"))

				settle(time.Hour)
				require.Equal(t, c.calls, r.prov.Calls(fake.Destroy), "never retried forever")
				require.Len(t, r.cluster.cleanVMs("a"), 2, "max 3 counts the one quarantined")
				for range 3 { // the host works on
					r.cluster.finish(r.cluster.claim("a"))
					settle(time.Second)
				}
				require.Len(t, r.cluster.cleanVMs("a"), 2)

				r.prov.Free()
				r.prov.Vanish(stubborn) // a person mends it
				settle(2 * time.Minute)
				require.Empty(t, r.cluster.quarantined)
				p.end()
				r.whole()
			})
		})
	}
}

func TestDestructionsThatHangLeaveRoomForCreations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 6, 40))
		p := r.start()
		settle(time.Second)
		r.prov.Break(fake.Destroy, fake.Fault{Hang: true})
		for range 6 {
			r.cluster.finish(r.cluster.claim("a"))
		}
		settle(2 * time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 6)
		r.prov.Mend(fake.Destroy)
		settle(time.Minute)
		p.end()
		r.whole()
	})
}

func TestHealthChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 8)) // G11
		p := r.start()
		settle(time.Second)
		gone := r.cluster.cleanVMs("a")[1]
		r.prov.Vanish(gone)
		settle(time.Minute)
		require.NotContains(t, r.cluster.known(), gone)
		require.Len(t, r.cluster.cleanVMs("a"), 3)

		sick := r.cluster.cleanVMs("a")[0]
		r.prov.Break(fake.Check, fake.Fault{VM: sick, Hang: true})
		settle(time.Minute)
		require.NotContains(t, r.prov.VMs(), sick)
		require.Len(t, r.cluster.cleanVMs("a"), 3)
		require.InDelta(t, 2, coretest.SumMetric(t, p.metrics, "drover_vm_unhealthy_total"), 0)
		p.end()
		r.whole()
	})
}

// A VM that is claimed while its check runs fails the check, being used, and must
// stay with its owner (rule 13).
func TestAHealthCheckLeavesClaimedVMsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 1, 1))
		p := r.start()
		defer p.end()
		settle(time.Second)
		r.prov.Break(fake.Check, fake.Fault{Slow: 2 * time.Second})
		before := r.prov.Calls(fake.Check)
		for r.prov.Calls(fake.Check) == before {
			settle(100 * time.Millisecond)
		}
		vm := r.cluster.claim("a")
		require.NoError(t, r.prov.Use(vm))
		r.prov.Mend(fake.Check)
		settle(10 * time.Minute)
		require.Contains(t, r.prov.VMs(), vm)
		require.Zero(t, r.prov.Calls(fake.Destroy))
	})
}

// Idle VMs of one pool give way to another's waiting work when the host is full (rule 17).
func TestIdleVMsGiveWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 4, 4), pool("b", 0, 4))
		r.cfg.MaxVMs = 4
		p := r.start()
		defer p.end()
		settle(time.Second)
		before := r.cluster.cleanVMs("a")
		require.Len(t, before, 4)
		r.cluster.look(func(h *cluster) { h.waiting["b"] = 3 })
		settle(time.Second)
		require.Len(t, r.cluster.cleanVMs("b"), 3)
		require.Equal(t, before[:1], r.cluster.cleanVMs("a"), "the one that is claimed next stays")
		r.cluster.look(func(h *cluster) { h.waiting["b"] = 0 })
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 4)
		r.whole()
	})
}

// VMs of a pool that was removed, as a lease's is at its end, keep their places until they are gone.
func TestVMsOfARemovedPoolKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 4, 4), pool("b", 0, 4))
		r.cfg.MaxVMs = 4
		p := r.start()
		defer p.end()
		settle(time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 4)
		r.prov.Break(fake.Destroy, fake.Fault{Err: core.Errorf(core.CodeUnavailable, "", "not yet"), Times: 3})
		r.cluster.look(func(h *cluster) {
			delete(h.pools, "a")
			h.dirty = append(h.dirty, h.clean["a"]...)
			delete(h.clean, "a")
			h.waiting["b"] = 4
		})
		for range 600 {
			settle(100 * time.Millisecond)
			require.LessOrEqual(t, len(r.prov.VMs()), 4)
		}
		require.Len(t, r.cluster.cleanVMs("b"), 4)
	})
}

func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 6), pool("b", 1, 6))
		r.cfg.MaxVMs = 9
		n := 0
		r.cluster.faults(func(string) (error, error) {
			switch n++; {
			case n%17 == 0:
				return errDown, nil
			case n%13 == 0:
				return nil, errDown
			}
			return nil, nil
		})
		p := r.start()
		used := make(map[string]bool)
		for i := range 300 {
			r.cluster.look(func(h *cluster) { h.waiting["a"], h.waiting["b"] = i*7%9, i*5%11 })
			for _, name := range []string{"a", "b"} {
				if vm := r.cluster.claim(name); vm != "" {
					require.False(t, used[vm], "a VM serves once")
					used[vm] = true
					if i%3 == 0 {
						r.prov.Vanish(vm)
					}
					r.cluster.finish(vm)
				}
			}
			if i%29 == 0 {
				r.cluster.fence(factory)
			}
			if i%31 == 0 {
				r.prov.Break(fake.Prepare, fake.Fault{Err: core.Errorf(core.CodeBadVM, "", "now and then"), Times: 1})
			}
			settle(time.Duration(i*37%900) * time.Millisecond)
			require.LessOrEqual(t, len(r.prov.VMs()), 9)
		}
		require.Greater(t, len(used), 100)
		r.cluster.faults(nil)
		r.cluster.look(func(h *cluster) { clear(h.waiting) })
		settle(5 * time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 3)
		require.Len(t, r.cluster.cleanVMs("b"), 1)
		p.end()
		r.whole()
	})
}

func TestStatusIsACopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 1, 1))
		p := r.start()
		defer p.end()
		settle(time.Second)
		p.Status().Pools["a"] = vmfactory.PoolStatus{Target: 99}
		require.Equal(t, 1, p.Status().Pools["a"].Target)
		require.Equal(t, []string{"fake"}, slices.Collect(func(yield func(string) bool) {
			for name := range p.Status().Providers {
				yield(name)
			}
		}))
	})
}
