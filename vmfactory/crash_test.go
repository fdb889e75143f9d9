package vmfactory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/vmfactory"
)

// mortal stands between a vmfactory and the fixture and dies at its nth call:
// nothing that the process does afterwards has any effect, as after kill -9.
type mortal struct {
	at    int
	after bool // the last call takes effect, its answer is not heard

	mu   sync.Mutex
	n    int
	dead bool
}

// mortalDeps puts a mortal between a process and its deps; at 0 it dies only when killed.
func mortalDeps(deps vmfactory.Deps, at int, after bool) (vmfactory.Deps, *mortal) {
	m := &mortal{at: at, after: after}
	deps.VMs, deps.Owners = mortalVMs{deps.VMs, m}, mortalOwners{deps.Owners, m}
	deps.Providers = []vmfactory.Provider{mortalProvider{deps.Providers[0], m}}
	return deps, m
}

func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// call makes one call of the process, unless it is dead.
func (m *mortal) call(effect func() error) error {
	m.mu.Lock()
	if m.dead {
		m.mu.Unlock()
		return errDown
	}
	m.n++
	last := m.n == m.at
	m.dead = last
	m.mu.Unlock()
	if last && !m.after {
		return errDown
	}
	err := effect()
	if last {
		return errDown
	}
	return err
}

type mortalVMs struct {
	core.VMs
	m *mortal
}

func (v mortalVMs) Load(ctx context.Context, host string, pools []string) (l core.HostLoad, err error) {
	err = v.m.call(func() (err error) { l, err = v.VMs.Load(ctx, host, pools); return err })
	return l, err
}

func (v mortalVMs) Create(ctx context.Context, owner string, epoch int64, host, pool string, vms []string) error {
	return v.m.call(func() error { return v.VMs.Create(ctx, owner, epoch, host, pool, vms) })
}

func (v mortalVMs) Ready(ctx context.Context, owner string, epoch int64, host string, made map[string]bool) error {
	return v.m.call(func() error { return v.VMs.Ready(ctx, owner, epoch, host, made) })
}

func (v mortalVMs) Destroy(ctx context.Context, owner string, epoch int64, host string, n int) (vms []string, err error) {
	err = v.m.call(func() (err error) { vms, err = v.VMs.Destroy(ctx, owner, epoch, host, n); return err })
	if err != nil {
		return nil, err
	}
	return vms, nil
}

func (v mortalVMs) Gone(ctx context.Context, owner string, epoch int64, host string, vms map[string]string) error {
	return v.m.call(func() error { return v.VMs.Gone(ctx, owner, epoch, host, vms) })
}

func (v mortalVMs) Retire(ctx context.Context, owner string, epoch int64, host string, vms []string) (taken []string, err error) {
	err = v.m.call(func() (err error) { taken, err = v.VMs.Retire(ctx, owner, epoch, host, vms); return err })
	return taken, err
}

func (v mortalVMs) Reconcile(ctx context.Context, owner string, epoch int64, host string, found map[string]core.Found, wishes []core.HostWish) (r core.Reconciled, err error) {
	err = v.m.call(func() (err error) { r, err = v.VMs.Reconcile(ctx, owner, epoch, host, found, wishes); return err })
	return r, err
}

func (v mortalVMs) Note(ctx context.Context, owner string, epoch int64, host string, notes core.HostNotes) error {
	return v.m.call(func() error { return v.VMs.Note(ctx, owner, epoch, host, notes) })
}

func (v mortalVMs) Measured(ctx context.Context, owner string, epoch int64, host string, m core.HostMeasure) (within time.Duration, err error) {
	err = v.m.call(func() (err error) { within, err = v.VMs.Measured(ctx, owner, epoch, host, m); return err })
	return within, err
}

type mortalOwners struct {
	core.Owners
	m *mortal
}

func (o mortalOwners) Register(ctx context.Context, reg core.Registration) (r core.Registered, err error) {
	err = o.m.call(func() (err error) { r, err = o.Owners.Register(ctx, reg); return err })
	return r, err
}

func (o mortalOwners) Beat(ctx context.Context, owner string, epoch int64, next time.Duration) (b core.Beat, err error) {
	if o.m.isDead() {
		return b, errDown
	}
	return o.Owners.Beat(ctx, owner, epoch, next)
}

func (o mortalOwners) Held(ctx context.Context, owner string, epoch int64) (held []core.Held, err error) {
	err = o.m.call(func() (err error) { held, err = o.Owners.Held(ctx, owner, epoch); return err })
	return held, err
}

func (o mortalOwners) Settle(ctx context.Context, owner string, epoch int64, items []core.Settlement, placed int64) (out core.Settled, err error) {
	err = o.m.call(func() (err error) { out, err = o.Owners.Settle(ctx, owner, epoch, items, placed); return err })
	return out, err
}

func (o mortalOwners) Deregister(ctx context.Context, owner string, epoch int64) error {
	return o.m.call(func() error { return o.Owners.Deregister(ctx, owner, epoch) })
}

type mortalProvider struct {
	vmfactory.Provider
	m *mortal
}

func (p mortalProvider) Create(ctx context.Context, id string, pool core.Pool) error {
	return p.m.call(func() error { return p.Provider.Create(ctx, id, pool) })
}

func (p mortalProvider) Prepare(ctx context.Context, id string) error {
	return p.m.call(func() error { return p.Provider.Prepare(ctx, id) })
}

func (p mortalProvider) Destroy(ctx context.Context, id string) error {
	return p.m.call(func() error { return p.Provider.Destroy(ctx, id) })
}

// A vmfactory is killed at every step of a life in which it does everything, and
// the next one makes the host whole: nothing leaks, nothing is reused (G16-G18).
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for _, peers := range []bool{false, true} {
			for at := 1; ; at++ {
				lived := false
				ok := t.Run(fmt.Sprintf("call %d, in effect %v, peers %v", at, after, peers), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { lived = killedAt(t, at, after, peers) })
				})
				if !ok || lived {
					require.Greater(t, at, 40, "the life has more steps than that")
					break
				}
			}
		}
	}
}

// killedAt lets a vmfactory die at its nth call. Returns true if it lived through.
func killedAt(t *testing.T, at int, after, peers bool) bool {
	its := pool("a", 2, 4)
	its.Peer = peers
	r := newRig(t, its)
	r.prov.Put("stray", "a", true, false)
	deps, m := mortalDeps(r.deps(), at, after)
	p := r.startWith(deps)
	used := make(map[string]bool)
	use := func() {
		vm := r.cluster.claim("a")
		if vm == "" {
			return
		}
		require.False(t, used[vm], "VM %s is clean for the second time", vm)
		used[vm] = true
		// A VM that is gone already is the runner's to notice; here there is none.
		require.NoError(t, r.prov.Use(vm))
		r.cluster.finish(vm)
	}
	for range 3 {
		settle(time.Second)
		use()
	}
	r.cluster.look(func(h *cluster) { h.waiting["a"] = 4 })
	settle(time.Second)
	use()
	r.cluster.look(func(h *cluster) { h.waiting["a"] = 0 })
	settle(20 * time.Second)
	p.stop()
	require.NoError(t, <-p.ended)
	lived := !m.isDead()

	p = r.start()
	settle(5 * time.Second)
	use()
	settle(30 * time.Second)
	require.Len(t, r.cluster.cleanVMs("a"), 2)
	r.whole()
	p.end()
	r.whole()
	return lived
}
