package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/cluster/placement"
)

func TestTargetsOfLeases(t *testing.T) {
	t.Parallel()
	leased := func(n int, h placement.Host) placement.Host {
		h.Serves, h.Reserved = append(h.Serves, "lease"), map[string]int{"lease": n}
		return h
	}
	both := func(a, b map[string]placement.VMs) map[string]placement.VMs {
		for pool, vms := range b {
			a[pool] = vms
		}
		return a
	}
	for name, c := range map[string]struct {
		hosts []placement.Host
		pools []placement.Pool
		want  map[string]core.Targets
	}{
		"made and kept whether work waits or not": {
			[]placement.Host{leased(2, host("a", 4, nil))},
			[]placement.Pool{pool("lease", nil)},
			map[string]core.Targets{"a": {"lease": {Warm: 2, Most: 2}}},
		},
		"busy ones count": {
			[]placement.Host{leased(2, host("a", 4, busy("lease", 1)))},
			[]placement.Pool{pool("lease", nil)},
			map[string]core.Targets{"a": {"lease": {Warm: 1, Most: 2}}},
		},
		"they serve what waits, and others have the rest": {
			[]placement.Host{leased(2, host("a", 4, nil))},
			[]placement.Pool{pool("lease", waits(2)), pool("p", waits(9))},
			map[string]core.Targets{"a": {"lease": {Warm: 2, Most: 2}, "p": {Most: 2}}},
		},
		"beyond them a lease competes": {
			[]placement.Host{leased(1, host("a", 4, nil))},
			[]placement.Pool{pool("lease", waits(9)), pool("p", waits(9))},
			map[string]core.Targets{"a": {"lease": {Warm: 1, Most: 2}, "p": {Most: 2}}},
		},
		"what others have there is not replaced, nor made": {
			[]placement.Host{leased(3, host("a", 4, both(busy("p", 2), clean("q", 2))))},
			[]placement.Pool{pool("lease", nil), pool("p", waits(9)), pool("q", nil)},
			map[string]core.Targets{"a": {"lease": {Warm: 2, Most: 2}}},
		},
		"room that is free is kept until it is enough": {
			[]placement.Host{leased(2, host("a", 4, busy("p", 1)))},
			[]placement.Pool{pool("lease", func(p *placement.Pool) { p.Limits.Memory = 200 }), pool("p", waits(9)), pool("q", waits(9))},
			map[string]core.Targets{"a": {"lease": {Warm: 1, Most: 1}}},
		},
		"busy ones that are reserved leave room to nobody": {
			[]placement.Host{leased(3, host("a", 3, busy("lease", 3)))},
			[]placement.Pool{pool("lease", waits(9)), pool("p", waits(1))},
			map[string]core.Targets{"a": {"lease": {Most: 3}}},
		},
		"those beyond may": {
			[]placement.Host{leased(1, host("a", 3, busy("lease", 3)))},
			[]placement.Pool{pool("lease", waits(9)), pool("p", waits(1))},
			map[string]core.Targets{"a": {"lease": {Most: 2}}},
		},
		"what a host does not serve any more is not replaced": {
			[]placement.Host{{Name: "a", Size: core.Size{Memory: 400, CPU: core.Unlimited, Disk: core.Unlimited}, Serves: []string{"lease"}, VMs: busy("p", 2)}},
			[]placement.Pool{pool("p", waits(9))},
			map[string]core.Targets{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, placement.Targets(c.hosts, c.pools))
		})
	}
}

// What is reserved is there as soon as others' busy VMs leave the room; until then nobody else gets any there. What is
// reserved nowhere gets what it would have without leases.
func TestTargetsHonourWhatIsReserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts, pools := drawHosts(t), drawPools(t)
		size := int64(rapid.IntRange(1, 3).Draw(t, "size"))
		leased := placement.Pool{Pool: core.Pool{Name: "lease", Max: 3, Provider: "local", Limits: core.Limits{Memory: size, CPU: int(size)}}, Waiting: rapid.IntRange(0, 3).Draw(t, "waits")}
		pools = append(pools, leased)
		for i := range hosts {
			h := &hosts[i]
			h.Serves = append([]string{"lease"}, h.Serves...)
			busy := rapid.IntRange(0, 1).Draw(t, "busy")
			h.VMs["lease"] = placement.VMs{Clean: rapid.IntRange(0, 2).Draw(t, "clean"), Busy: busy}
			n := min(int(h.Size.CPU/size), int(h.Size.Memory/size), leased.Max) // as leases are admitted
			if h.MaxVMs > 0 {
				n = min(n, h.MaxVMs)
			}
			h.Reserved = map[string]int{"lease": rapid.IntRange(0, n).Draw(t, "reserved")}
		}
		all := placement.Targets(hosts, pools)
		got := cleanOf(hosts, all)
		for _, h := range hosts {
			its, want := got[h.Name], h.Reserved["lease"]-h.VMs["lease"].Busy
			_, _, ok := left(h, pools, its)
			require.True(t, ok, "%s is oversold: %v", h.Name, its)
			if h.Opening != placement.Open {
				continue
			}
			there := all[h.Name]["lease"].Warm
			if there >= want {
				continue
			}
			_, _, fits := left(h, pools, map[string]int{"lease": there + 1})
			require.False(t, fits, "%s has %d of %d reserved ones, and room for one more", h.Name, there, want)
			for _, p := range pools {
				if p.Name != "lease" && p.Size() != (core.Size{}) && p.Limits.Memory > 0 && p.Limits.CPU > 0 {
					require.Zero(t, all[h.Name][p.Name], "%s has VMs of %s while what is reserved is missing", h.Name, p.Name)
				}
			}
		}
	})
}
