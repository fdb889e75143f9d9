package vmfactory_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/service/metric"
	"drover/vmfactory"
	"drover/vmfactory/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const factory = "vmfactory@h1#0"

// rig is one host: a cluster, its provider, and the vmfactory under test.
type rig struct {
	t       *testing.T
	cluster *cluster
	prov    *fake.Provider
	cfg     vmfactory.Config
	logs    *test.Hook
	log     *logrus.Logger
}

func newRig(t *testing.T, pools ...core.Pool) *rig {
	log, logs := test.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	r := &rig{t: t, cluster: newCluster(pools...), prov: fake.New("fake"), log: log, logs: logs}
	r.cfg = vmfactory.Config{
		Registration: core.Registration{Owner: factory, Host: host, Machine: "m1", Beat: time.Second},
		RunDir:       t.TempDir(), Parallel: 4,
	}
	for _, p := range pools {
		r.cfg.Pools = append(r.cfg.Pools, p.Name)
	}
	return r
}

func (r *rig) deps() vmfactory.Deps {
	return vmfactory.Deps{VMs: r.cluster, Owners: r.cluster, Providers: []vmfactory.Provider{r.prov}, Log: r.log}
}

// process is a vmfactory that runs.
type process struct {
	*vmfactory.Factory
	rig     *rig
	metrics *metric.Set
	stop    context.CancelFunc
	ended   chan error
}

func (r *rig) start() *process { return r.startWith(r.deps()) }

func (r *rig) startWith(deps vmfactory.Deps) *process {
	r.t.Helper()
	deps.Metrics = &metric.Set{}
	f, err := vmfactory.New(r.cfg, deps)
	require.NoError(r.t, err)
	ctx, stop := context.WithCancel(context.Background())
	p := &process{Factory: f, rig: r, metrics: deps.Metrics, stop: stop, ended: make(chan error, 1)}
	go func() { p.ended <- f.Run(ctx) }()
	return p
}

// end stops the process and requires that it ends well.
func (p *process) end() {
	p.rig.t.Helper()
	p.stop()
	require.NoError(p.rig.t, <-p.ended)
}

// settle lets virtual time pass until everybody has done what there is to do.
func settle(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// whole requires that the host and Redis agree, that no VM is being worked on, and that
// the caller asked nothing of the provider that it need not bear.
func (r *rig) whole() {
	r.t.Helper()
	known := r.cluster.known()
	for _, vm := range known {
		if peer := core.PeerOf(vm); peer != "" {
			known = append(known, peer)
		}
	}
	slices.Sort(known)
	require.Equal(r.t, known, r.prov.VMs(), "Redis and the host must agree")
	require.Zero(r.t, r.cluster.held(), "nothing may stay in the vmfactory's slots")
	require.Empty(r.t, r.prov.Wrong())
}

func (r *rig) logged(part string) bool {
	return slices.ContainsFunc(r.logs.AllEntries(), func(e *logrus.Entry) bool {
		return e.Message == part
	})
}

func TestAHostGetsItsWarmVMsAndARestartAdoptsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 8), pool("b", 2, 8))
		p := r.start()
		settle(time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 3)
		require.Len(t, r.cluster.cleanVMs("b"), 2)
		r.whole()
		p.end()
		require.True(t, r.cluster.fenced[factory], "it deregisters")

		before := r.prov.VMs()
		p = r.start()
		settle(time.Minute)
		require.Equal(t, before, r.prov.VMs(), "VMs outlive the vmfactory")
		require.Equal(t, 5, r.prov.Created())
		require.Zero(t, p.Status().Pools["a"].Dirty)
		require.Equal(t, 3, p.Status().Pools["a"].Clean)
		p.end()
		r.whole()
	})
}

func TestAUsedVMIsReplacedAndWaitingWorkRaisesTheTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 1, 4))
		p := r.start()
		defer p.end()
		settle(time.Second)
		vm := r.cluster.claim("a")
		require.NoError(t, r.prov.Use(vm))
		r.cluster.look(func(h *cluster) { h.waiting["a"] = 10 })
		settle(time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 3, "max 4 counts the one in use")
		r.cluster.finish(vm)
		settle(time.Second)
		require.NotContains(t, r.prov.VMs(), vm, "a VM serves once")
		require.Len(t, r.cluster.cleanVMs("a"), 4)

		r.cluster.look(func(h *cluster) { h.waiting["a"] = 0 })
		settle(5 * time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 4, "surplus is kept for a while")
		settle(10 * time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 1)
		r.whole()
	})
}

// What other hosts make VMs for raises nothing here, nor does another pool give way to it.
func TestWaitingWorkThatOthersMakeVMsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 1, 4), pool("b", 2, 4))
		r.cfg.MaxVMs = 3
		r.cluster.look(func(h *cluster) { h.waiting["a"], h.othersMake = 10, true })
		p := r.start()
		defer p.end()
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 1, "what it keeps warm")
		require.Len(t, r.cluster.cleanVMs("b"), 2)
		require.Equal(t, 3, r.prov.Created(), "and nothing gave way")
		r.cluster.look(func(h *cluster) { h.othersMake = false })
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 3, "they did not: it is this host's turn")
		r.whole()
	})
}

// What overseers decided is what the host has: for waiting work VMs in all, so that it goes on as they end. Without an
// overseer it keeps warm what was decided, and makes VMs for waiting work by itself.
func TestTargetsAreFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 4), pool("b", 0, 4))
		r.cluster.look(func(h *cluster) {
			h.targets, h.placed = core.Targets{"b": {Warm: 1}}, true
			h.waiting["a"], h.waiting["b"] = 10, 10
		})
		p := r.start()
		defer p.end()
		settle(time.Minute)
		require.Empty(t, r.cluster.cleanVMs("a"), "its work waits for other hosts")
		require.Len(t, r.cluster.cleanVMs("b"), 1)

		r.cluster.look(func(h *cluster) { h.targets = core.Targets{"a": {Most: 2}, "b": {Warm: 1}} })
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 2)
		vm := r.cluster.claim("a")
		require.NoError(t, r.prov.Use(vm))
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 1, "two in all")
		r.cluster.finish(vm)
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 2, "the next takes its place")

		r.cluster.look(func(h *cluster) { h.waiting["a"] = 0 })
		settle(time.Minute)
		require.Empty(t, r.cluster.cleanVMs("a"), "what is too many is retired")

		r.cluster.look(func(h *cluster) { h.placed, h.waiting["a"], h.waiting["b"] = false, 3, 0 })
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 3, "no overseer decides any more")
		require.Len(t, r.cluster.cleanVMs("b"), 1)
		r.cluster.look(func(h *cluster) { h.targets, h.waiting["a"] = nil, 0 })
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 2)
		require.Empty(t, r.cluster.cleanVMs("b"))
		r.whole()
	})
}

// A target that was decided while no vmfactory was there may be out of date. The next vmfactory keeps what it finds for as
// long as any other surplus.
func TestARestartKeepsSurplusForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 4))
		p := r.start()
		settle(time.Minute)
		p.end()
		before := r.cluster.cleanVMs("a")
		require.Len(t, before, 2)

		r.cluster.look(func(h *cluster) { h.targets, h.placed = core.Targets{}, true })
		p = r.start()
		defer p.end()
		settle(5 * time.Second)
		require.Equal(t, before, r.cluster.cleanVMs("a"))
		r.cluster.look(func(h *cluster) { h.targets = core.Targets{"a": {Warm: 2}} })
		settle(time.Minute)
		require.Equal(t, before, r.cluster.cleanVMs("a"))
		r.cluster.look(func(h *cluster) { h.targets = core.Targets{} })
		settle(time.Minute)
		require.Empty(t, r.cluster.cleanVMs("a"), "it is surplus indeed")
		r.whole()
	})
}

// Work that is judged by a pool's settings does not run in VMs of earlier ones.
func TestVMsOfEarlierSettingsAreReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 3, 8), pool("b", 2, 8))
		p := r.start()
		settle(time.Second)
		used, others, before := r.cluster.claim("a"), r.cluster.cleanVMs("b"), r.cluster.cleanVMs("a")
		set := func(change func(p *core.Pool)) {
			r.cluster.look(func(h *cluster) {
				a := h.pools["a"]
				change(&a)
				h.pools["a"] = a
			})
			settle(100 * time.Millisecond)
		}
		set(func(p *core.Pool) { p.Limits.Timeout, p.Warm = time.Minute, 2 })
		require.Subset(t, r.cluster.cleanVMs("a"), before, "a run's own limits are no matter of its VM")

		for _, change := range []func(p *core.Pool){
			func(p *core.Pool) { p.Limits.Memory *= 2 },
			func(p *core.Pool) { p.Network = core.NetworkEgress },
			func(p *core.Pool) { p.Image = "other" },
		} {
			before := r.cluster.cleanVMs("a")
			set(change)
			now := r.cluster.cleanVMs("a")
			require.Len(t, now, 2)
			require.Empty(t, intersection(now, before))
		}
		require.Equal(t, others, r.cluster.cleanVMs("b"))
		require.Contains(t, r.prov.VMs(), used, "what runs goes on")
		p.end()

		before = r.cluster.cleanVMs("a")
		set(func(p *core.Pool) { p.Limits.Pids++ })
		p = r.start()
		settle(time.Second)
		require.Empty(t, intersection(r.cluster.cleanVMs("a"), before), "what changed while no vmfactory ran counts as well")
		r.cluster.finish(used)
		settle(time.Second)
		p.end()
		r.whole()
	})
}

func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(vm string) bool { return !slices.Contains(b, vm) })
}

func TestDirtyGoesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8)) // G12
		r.cfg.Parallel = 1
		for _, id := range []string{"x1", "x2", "x3"} {
			r.prov.Put(id, "a", true, true)
		}
		r.prov.Break(fake.Destroy, fake.Fault{Slow: time.Second})
		p := r.start()
		defer p.end()
		settle(2500 * time.Millisecond)
		require.Zero(t, r.prov.Created(), "nothing is made while VMs are dirty")
		settle(2 * time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 2)
		r.whole()
	})
}

func TestProviderCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 40, 40))
		r.prov.Break(fake.Prepare, fake.Fault{Slow: time.Second})
		p := r.start()
		settle(5500 * time.Millisecond)
		require.Len(t, r.cluster.cleanVMs("a"), 20, "four at a time, a second each")
		require.Equal(t, 4, r.prov.Most())
		p.end()
		r.whole()
	})
}

func TestADrainingHostMakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 2, 8))
		p := r.start()
		defer p.end()
		settle(2 * time.Second)
		r.cluster.look(func(h *cluster) { h.draining = true; h.waiting["a"] = 8 })
		settle(time.Second)
		made := r.prov.Created()
		r.cluster.finish(r.cluster.claim("a"))
		settle(time.Minute)
		require.Equal(t, made, r.prov.Created())
		require.Len(t, r.cluster.cleanVMs("a"), made-1)
		require.True(t, p.Status().Draining)
	})
}

// No host gets more VMs than it has memory for, and a pool that is larger than it gets none.
func TestVMsFitIntoTheirHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		big := pool("big", 2, 8)
		big.Limits.Memory = 4 << 30
		r := newRig(t, pool("a", 8, 8), big)
		r.cfg.Registration.MemoryBytes = 2 << 30
		r.cluster.look(func(h *cluster) { h.settings.Reserve = &core.Size{Memory: 1 << 30} })
		p := r.start()
		defer p.end()
		settle(time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 4, "256 MiB each, in the gigabyte that is not kept")
		require.Empty(t, r.cluster.cleanVMs("big"))
		status := p.Status().Pools["big"]
		require.Contains(t, status.Reason, "takes more memory than this host has")
		require.False(t, status.Broken, "it is no fault of the host")

		vm := r.cluster.claim("a")
		require.NoError(t, r.prov.Use(vm))
		r.cluster.look(func(h *cluster) { h.settings.Reserve = &core.Size{Memory: 2<<30 - 512<<20} })
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 1, "a host that became smaller sheds what is idle")
		r.cluster.look(func(h *cluster) { h.settings.Overcommit.Memory = 2 })
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 3)
		r.cluster.finish(vm)
		settle(time.Second)
		r.whole()
	})
}

// VMs of earlier settings count with the size that they were made with.
func TestLargerVMsOfEarlierSettingsCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		large := pool("a", 2, 8)
		large.Limits.Memory = 1 << 30
		r := newRig(t, large)
		r.cfg.Registration.MemoryBytes = 2 << 30
		r.cluster.look(func(h *cluster) { h.settings.Reserve = &core.Size{} })
		p := r.start()
		defer p.end()
		settle(time.Second)
		vm := r.cluster.claim("a")
		require.NoError(t, r.prov.Use(vm))
		r.cluster.look(func(h *cluster) { h.pools["a"] = pool("a", 8, 8) })
		settle(time.Minute)
		require.Len(t, r.cluster.cleanVMs("a"), 4, "the one in use still has half of the host")
		r.cluster.finish(vm)
		settle(time.Second)
		require.Len(t, r.cluster.cleanVMs("a"), 8)
		r.whole()
	})
}

// A pool that requires a label is made where it is, and nowhere else.
func TestAPoolRequiresALabel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		picky := pool("picky", 2, 8)
		picky.Requires = "gpu=yes"
		r := newRig(t, pool("a", 1, 8), picky)
		p := r.start()
		defer p.end()
		settle(time.Second)
		require.Empty(t, r.cluster.cleanVMs("picky"))
		require.Equal(t, []string{"a"}, r.cluster.served())
		require.Contains(t, p.Status().Pools["picky"].Reason, "requires hosts with label gpu=yes")
		r.cluster.look(func(h *cluster) { h.settings.Labels = map[string]string{"gpu": "yes"} })
		settle(2 * time.Second)
		require.Len(t, r.cluster.cleanVMs("picky"), 2)
		require.Equal(t, []string{"a", "picky"}, r.cluster.served())
		r.cluster.look(func(h *cluster) { h.settings.Labels = nil })
		settle(2 * time.Second)
		require.Empty(t, r.cluster.cleanVMs("picky"), "the label is gone, and what was idle too")
		r.whole()
	})
}

func TestPoolsThatAreServedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("a", 1, 8), pool("b", 2, 8))
		r.cfg.Pools = []string{"a"}
		p := r.start()
		settle(2 * time.Second)
		require.Empty(t, r.cluster.cleanVMs("b"))
		p.Serve([]string{"b"})
		settle(2 * time.Second)
		require.Len(t, r.cluster.cleanVMs("b"), 2)
		require.Len(t, r.cluster.cleanVMs("a"), 1, "they stay")
		require.Contains(t, p.Status().Pools, "b")
		require.NotContains(t, p.Status().Pools, "a")
		p.end()
		r.whole()
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := vmfactory.Config{
		Registration: core.Registration{Owner: factory, Host: host}, Pools: []string{"a"}, RunDir: "/run/x",
	}
	log, _ := test.NewNullLogger()
	deps := vmfactory.Deps{Providers: []vmfactory.Provider{fake.New("fake")}, Log: log}
	_, err := vmfactory.New(good, deps)
	require.NoError(t, err)
	for name, spoil := range map[string]func(*vmfactory.Config, *vmfactory.Deps){
		"another role":      func(c *vmfactory.Config, _ *vmfactory.Deps) { c.Registration.Owner = runner },
		"another host":      func(c *vmfactory.Config, _ *vmfactory.Deps) { c.Registration.Host = "h2" },
		"a second one":      func(c *vmfactory.Config, _ *vmfactory.Deps) { c.Registration.Owner = "vmfactory@h1#1" },
		"no pools":          func(c *vmfactory.Config, _ *vmfactory.Deps) { c.Pools = nil },
		"a bad pool":        func(c *vmfactory.Config, _ *vmfactory.Deps) { c.Pools = []string{"A/.."} },
		"no run folder":     func(c *vmfactory.Config, _ *vmfactory.Deps) { c.RunDir = "" },
		"a negative time":   func(c *vmfactory.Config, _ *vmfactory.Deps) { c.Poll = -1 },
		"a negative number": func(c *vmfactory.Config, _ *vmfactory.Deps) { c.MaxVMs = -1 },
		"no provider":       func(_ *vmfactory.Config, p *vmfactory.Deps) { p.Providers = nil },
		"a provider twice":  func(_ *vmfactory.Config, p *vmfactory.Deps) { p.Providers = append(p.Providers, fake.New("fake")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, deps := good, deps
			spoil(&cfg, &deps)
			_, err := vmfactory.New(cfg, deps)
			require.True(t, core.Is(err, core.CodeInvalid), "%v", err)
		})
	}
}
