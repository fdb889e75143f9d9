package vmfactory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/vmfactory"
	"drover/vmfactory/fake"
)

func pairs(warm, most int) core.Pool {
	p := pool("a", warm, most)
	p.Peer = true
	return p
}

// A VM and its peer come and go as one, and count as one.
func TestPairs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pairs(2, 4))
		p := r.start()
		defer p.end()
		settle(time.Second)
		clean := r.cluster.cleanVMs("a")
		require.Len(t, clean, 2)
		require.Len(t, r.prov.VMs(), 4)
		r.whole()

		vm := r.cluster.claim("a")
		require.NoError(t, r.prov.Use(vm))
		require.NoError(t, r.prov.Use(core.PeerOf(vm)), "both are fresh")
		r.cluster.finish(vm)
		settle(time.Second)
		require.NotContains(t, r.prov.VMs(), vm)
		require.NotContains(t, r.prov.VMs(), core.PeerOf(vm))
		r.whole()
	})
}

// What a host has of a pair is unused if both are there and unused: nothing else may become clean again.
func TestAPairIsUnusedIfBothAre(t *testing.T) {
	t.Parallel()
	vm := core.PairVM("v")
	for what, c := range map[string]struct {
		put  func(p *fake.Provider)
		used bool
	}{
		"both":           {func(p *fake.Provider) { p.Put(core.PeerOf(vm), "a", true, false) }, false},
		"a used peer":    {func(p *fake.Provider) { p.Put(core.PeerOf(vm), "a", true, true) }, true},
		"a peer at work": {func(p *fake.Provider) { p.Put(core.PeerOf(vm), "a", false, false) }, true},
		"no peer":        {func(*fake.Provider) {}, true},
	} {
		p := fake.New("fake")
		p.Put(vm, "a", true, false)
		c.put(p)
		all, err := vmfactory.Pairs(p).List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1, what)
		require.Equal(t, vm, all[0].ID, what)
		require.Equal(t, c.used, all[0].Used, what)
	}
}

// A VM whose peer cannot be made, was used, or is gone is not clean.
func TestHalfAPairIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pairs(1, 2))
		deps := r.deps()
		n := 0
		deps.NewID = func() string { n++; return "v" + string(rune('0'+n)) }
		first := core.PeerOf(core.PairVM("v1"))
		r.prov.Break(fake.Prepare, fake.Fault{Err: core.Errorf(core.CodeBadVM, first, "dead at birth"), VM: first})
		p := r.startWith(deps)
		settle(time.Minute)
		require.NotContains(t, r.cluster.cleanVMs("a"), core.PairVM("v1"))
		require.NotContains(t, r.prov.VMs(), core.PairVM("v1"))
		r.whole()
		vanishes := func(peer string) { r.prov.Vanish(peer) }
		isUsed := func(peer string) { require.NoError(t, r.prov.Use(peer)) }
		for i, harm := range []func(peer string){vanishes, isUsed, vanishes, isUsed} {
			its := r.cluster.cleanVMs("a")
			require.Len(t, its, 1)
			p.end()
			harm(core.PeerOf(its[0]))
			if i > 1 { // and Redis forgot it, so that what the host has is taken over
				r.cluster.look(func(h *cluster) { h.drop(its[0]) })
			}
			p = r.startWith(deps)
			settle(time.Minute)
			require.NotContains(t, r.prov.VMs(), its[0])
			require.Len(t, r.cluster.cleanVMs("a"), 1)
			r.whole()
		}
		p.end()

		// What a crash left of a pair without its first half.
		r.prov.Put(first, "a", true, true)
		p = r.startWith(deps)
		settle(time.Minute)
		require.NotContains(t, r.prov.VMs(), first)
		p.end()
		r.whole()
	})
}
