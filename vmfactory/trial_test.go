package vmfactory_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/vmfactory"
	"drover/vmfactory/fake"
)

// verdict is a self-test that ends as asked.
func verdict(v core.Verdict) core.SelfTest {
	return core.SelfTest{TookMs: 900, Attacks: []core.SelfCheck{{Name: "network", Verdict: core.VerdictHeld}, {Name: "fork bomb", Verdict: v, Text: "97 processes"}}}
}

// tester is a self-test that takes a second and makes and destroys a VM.
type tester struct {
	made   atomic.Int32
	result atomic.Value // core.Verdict
}

func (x *tester) trial(ctx context.Context, p vmfactory.Provider, pool core.Pool, vm string) core.SelfTest {
	x.made.Add(1)
	if err := p.Create(ctx, vm, pool); err != nil {
		return core.SelfTest{Fault: err.Error()}
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	if err := p.Destroy(context.WithoutCancel(ctx), vm); err != nil {
		return core.SelfTest{Fault: err.Error()}
	}
	v, _ := x.result.Load().(core.Verdict)
	return verdict(v)
}

func TestAHostProvesItselfBeforeItTakesWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict core.Verdict
		warns   bool
		beside  bool
		used    bool
	}{
		"all is held":          {core.VerdictHeld, false, false, true},
		"not firmly":           {core.VerdictWeak, false, false, true},
		"not held":             {core.VerdictFail, false, false, false},
		"not held, but used":   {core.VerdictFail, true, false, true},
		"held, and used early": {core.VerdictHeld, false, true, true},
		"used until it failed": {core.VerdictFail, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, pool("a", 2, 8))
				r.cfg.SelfTestWarns, r.cfg.SelfTestBeside = c.warns, c.beside
				var x tester
				x.result.Store(c.verdict)
				deps := r.deps()
				deps.Trial = x.trial
				p := r.startWith(deps)
				settle(500 * time.Millisecond)
				require.EqualValues(t, 1, x.made.Load())
				require.Equal(t, c.warns || c.beside, len(r.cluster.cleanVMs("a")) > 0, "nothing is made before it has proved itself")
				settle(5 * time.Second)
				r.cluster.look(func(h *cluster) {
					require.Len(t, h.notes, 1)
					require.NotEmpty(t, h.notes[0].Limits)
					require.Equal(t, c.verdict, h.notes[0].SelfTest.Verdict())
				})
				if c.used {
					require.Len(t, r.cluster.cleanVMs("a"), 2)
					require.Empty(t, r.cluster.brokenPools())
					require.EqualValues(t, 1, x.made.Load())
				} else {
					require.Empty(t, r.cluster.cleanVMs("a"))
					require.Contains(t, r.cluster.brokenPools()["a"], "failed its self-test on this host, which is not used: fork bomb: 97 processes")
					require.Contains(t, p.Status().Pools["a"].Reason, "97 processes")
					settle(5 * time.Minute)
					require.LessOrEqual(t, x.made.Load(), int32(6), "it does not spin")
					x.result.Store(core.VerdictHeld)
					settle(2 * time.Minute)
					require.Len(t, r.cluster.cleanVMs("a"), 2, "mended, it is used")
					require.Empty(t, r.cluster.brokenPools())
				}
				require.Zero(t, coretest.SumMetric(t, p.metrics, "drover_vm_leaks"))
				p.end()
				r.whole()
			})
		})
	}
}

// VMs that an earlier vmfactory left wait until the host has passed, those that are
// at work go on, and none is made in their place.
func TestAdoptedVMsWaitForTheSelfTest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 8))
		p := r.start()
		settle(time.Second)
		p.end()
		require.Len(t, r.cluster.cleanVMs("a"), 3)
		busy := r.cluster.claim("a")
		was := r.cluster.cleanVMs("a")
		var x tester
		x.result.Store(core.VerdictHeld)
		deps := r.deps()
		deps.Trial = x.trial
		p = r.startWith(deps)
		settle(500 * time.Millisecond)
		require.Empty(t, r.cluster.cleanVMs("a"), "the host has yet to prove itself")
		settle(5 * time.Second)
		require.Subset(t, r.cluster.cleanVMs("a"), was)
		require.Len(t, r.prov.VMs(), 4, "three to claim, and the one at work")
		require.Contains(t, r.prov.VMs(), busy)
		require.Zero(t, coretest.SumMetric(t, p.metrics, "drover_vm_leaks"))
		r.cluster.finish(busy)
		p.end()
		r.whole()
	})
}

// VMs that an earlier vmfactory left are not used any more once the host has failed.
func TestAFailedHostGivesUpWhatItAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		p := r.start()
		settle(time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 2)
		p.end()
		var x tester
		x.result.Store(core.VerdictFail)
		deps := r.deps()
		deps.Trial = x.trial
		p = r.startWith(deps)
		settle(10 * time.Second)
		require.Empty(t, r.cluster.cleanVMs("a"))
		require.Empty(t, r.prov.VMs())
		p.end()
		r.whole()
	})
}

// A look at the host while it is tested takes the test's VM for nobody's leak, and
// a vmfactory that dies in the midst of a test leaves a VM that its successor destroys.
func TestTheVMOfATestIsNobodysLeak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 1, 8))
		r.cfg.ReconcileEvery = 100 * time.Millisecond
		var x tester
		x.result.Store(core.VerdictHeld)
		deps := r.deps()
		deps.Trial = x.trial
		p := r.startWith(deps)
		settle(700 * time.Millisecond)
		found := r.prov.VMs()
		require.Len(t, found, 1)
		require.True(t, strings.HasPrefix(found[0], "selftest-"))
		require.Empty(t, r.cluster.known())
		require.Zero(t, coretest.SumMetric(t, p.metrics, "drover_vm_leaks"))
		settle(5 * time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 1)
		p.end()
		r.whole()

		r.prov.Put("selftest-left", "selftest", true, true)
		p = r.start()
		settle(5 * time.Second)
		require.NotContains(t, r.prov.VMs(), "selftest-left")
		p.end()
		r.whole()
	})
}

func TestAProviderThatIsNotReadyIsNotTested(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 1, 8))
		r.prov.Break(fake.Ready, fake.Fault{Err: core.Errorf(core.CodeUnavailable, "", "no user namespaces")})
		var x tester
		x.result.Store(core.VerdictHeld)
		deps := r.deps()
		deps.Trial = x.trial
		shared := time.Now().Add(-25 * time.Hour) // this host's clock is ahead
		deps.Now = func() time.Time { return shared }
		p := r.startWith(deps)
		settle(10 * time.Second)
		require.Zero(t, x.made.Load())
		r.cluster.look(func(h *cluster) {
			require.Contains(t, h.notes[0].Missing, "no user namespaces")
			require.Equal(t, shared.UnixMilli(), h.notes[0].Since, "other hosts judge it")
		})
		r.prov.Mend(fake.Ready)
		settle(2 * time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 1)
		p.end()
		r.whole()
	})
}

// A pool whose image is not to be had breaks no other pool, and is tested with
// another pool's.
func TestAMissingImageIsNoFailedTest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		odd := pool("a", 1, 8)
		odd.Image = fake.NoImage
		r := newRig(t, odd)
		var x tester
		x.result.Store(core.VerdictHeld)
		deps := r.deps()
		deps.Trial = x.trial
		r.cfg.Pools = []string{"a", "b"}
		p := r.startWith(deps)
		settle(20 * time.Second)
		require.Zero(t, x.made.Load(), "there is nothing to test with")
		require.Equal(t, "there is no image missing", r.cluster.brokenPools()["a"])
		r.cluster.look(func(h *cluster) { h.pools["b"] = pool("b", 1, 8) })
		settle(20 * time.Second)
		require.EqualValues(t, 1, x.made.Load())
		require.Len(t, r.cluster.cleanVMs("b"), 1)
		p.end()
		r.whole()
	})
}
