package lease_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

// stretchOf returns the stretch that a minute is in, and checks that stretches have no gaps and differ from their neighbours.
func stretchOf(t *testing.T, all []lease.Stretch, m int) lease.Stretch {
	t.Helper()
	for i := range all {
		require.Less(t, all[i].From, all[i].To)
		if i > 0 {
			require.Equal(t, all[i-1].To, all[i].From)
			require.False(t, all[i-1].Units == all[i].Units && all[i-1].Room == all[i].Room)
		}
	}
	for _, s := range all {
		if s.From <= at(m) && at(m) < s.To {
			return s
		}
	}
	require.Fail(t, "no stretch", "of minute %d: %v", m, all)
	return lease.Stretch{}
}

// What is free in each minute is as many units as the oracle finds by adding them one by one.
func TestFree(t *testing.T) {
	t.Parallel()
	for seed := range uint64(250) {
		g, l := crowd(seed)
		r := l.Reservations[0]
		free := g.Free(r, at(0), at(30))
		for m := range 30 {
			want := 0
			for _, h := range g.Hosts {
				n := 0
				for n < 10 && fitsIn(&g, r, h.Name, n+1, m) {
					n++
				}
				switch {
				case r.Units == 0 || r.Affinity == core.AffinityFalse:
					want += min(n, 1)
				case r.Affinity == core.AffinityTrue:
					want = max(want, n)
				default:
					want += n
				}
			}
			require.Equal(t, want, stretchOf(t, free, m).Units, "seed %d, minute %d, %+v", seed, m, r)
		}
		h := g.Hosts[0]
		on := g.FreeOn(h.Name, at(0), at(30))
		for m := range 30 {
			room := h.Size
			for i := range g.Leases {
				if !covers(&g, &g.Leases[i], m) {
					continue
				}
				for k := range g.Leases[i].Reservations {
					x := &g.Leases[i].Reservations[k]
					n := onHosts(x)[h.Name]
					if n > 0 && x.Units == 0 {
						room = core.Size{}
					} else if n > 0 && room != (core.Size{}) {
						room = room.Less(poolOf(&g, x.Pools[0]).Size(), n)
					}
				}
			}
			room = core.Size{CPU: max(room.CPU, 0), Memory: max(room.Memory, 0), Disk: max(room.Disk, 0)}
			require.Equal(t, room, stretchOf(t, on, m).Room, "seed %d, minute %d", seed, m)
		}
	}
	g, l := crowd(1)
	require.Nil(t, g.Free(l.Reservations[0], 5, 5))
	require.Nil(t, g.FreeOn("nowhere", 0, 5))
}

// fitsIn reports whether a host holds so many units of a reservation in a minute beside what it holds.
func fitsIn(g *lease.Ground, r core.Reservation, host string, n, m int) bool {
	if !holds(g, host, &r) {
		return false
	}
	r.Allocations = []core.Allocation{{Host: host, Units: n, State: core.AllocationHeld}}
	all := *g
	probe := core.Lease{ID: "probe", State: core.LeasePending, Start: at(m), End: at(m + 1), Reservations: []core.Reservation{r}}
	all.Leases = append(all.Leases[:len(all.Leases):len(all.Leases)], probe)
	for i := range all.Hosts {
		if all.Hosts[i].Name == host && trouble(&all, &all.Hosts[i], m) != "" {
			return false
		}
	}
	return r.Units > 0 || n == 1
}

// Findings are at the minutes in which the oracle sees that too much is held, and name a lease of them.
func TestOversold(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := lease.Ground{Now: at(3), Hosts: drawHosts(r, 3), Pools: pools()}
		for i := range 1 + r.IntN(5) {
			l := drawLease(r, fmt.Sprint("a", i), 0, 10, 2)
			for k := range l.Reservations {
				x := &l.Reservations[k]
				x.Allocations = []core.Allocation{{Host: g.Hosts[r.IntN(len(g.Hosts))].Name, Units: max(1, x.Units), State: core.AllocationHeld, Since: int64(r.IntN(3))}}
			}
			g.Leases = append(g.Leases, l)
		}
		if r.IntN(3) == 0 {
			g.Hosts[0].Out = "down"
		}
		want, got := troubles(&g, 3, 40), map[string]bool{}
		for _, f := range g.Oversold() {
			got[fmt.Sprint(f.Host, " ", f.At/minute)] = true
			require.Contains(t, f.Text, f.Host)
			for i := range g.Leases {
				l := &g.Leases[i]
				for k := range l.Reservations {
					if n := onHosts(&l.Reservations[k])[f.Host]; n == 0 || !covers(&g, l, int(f.At/minute)) {
						continue
					}
					youngest := g.Leases[f.Lease[1]-'0']
					require.LessOrEqual(t, l.Reservations[k].Allocations[0].Since, sinceOn(&youngest, f.Host), "seed %d", seed)
				}
			}
		}
		for where := range got {
			require.True(t, want[where], "seed %d: %s is no trouble", seed, where)
		}
		for _, h := range g.Hosts {
			for m := 3; m < 40; m++ {
				if want[fmt.Sprint(h.Name, " ", m)] && !want[fmt.Sprint(h.Name, " ", m-1)] {
					found++
					require.True(t, got[fmt.Sprint(h.Name, " ", m)], "seed %d: %s %d is not found", seed, h.Name, m)
				}
			}
		}
	}
	require.Greater(t, found, 300)
}

// sinceOn is when the youngest units of a lease came to a host.
func sinceOn(l *core.Lease, host string) int64 {
	since := int64(-1)
	for _, r := range l.Reservations {
		for _, a := range r.Allocations {
			if a.Host == host {
				since = max(since, a.Since)
			}
		}
	}
	return since
}
