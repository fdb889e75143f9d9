package lease_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"drover/core"
	"drover/core/cluster/lease"
)

// large makes a ground of 1,000 hosts and 2,000 leases of ten units each, over a day.
func large(b *testing.B) lease.Ground {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	g := ground(nil)
	for i := range 1000 {
		g.Hosts = append(g.Hosts, host(fmt.Sprintf("h%04d", i), 10+r.IntN(20)))
	}
	for i := range 2000 {
		l := lasting(fmt.Sprint("a", i), r.IntN(20), 0, units(10))
		l.End = l.Start + int64(1+r.IntN(8))*60*minute
		for range 10 {
			name := g.Hosts[r.IntN(1000)].Name
			l.Reservations[0].Allocations = append(l.Reservations[0].Allocations, core.Allocation{Host: name, Units: 1, State: core.AllocationHeld, Since: int64(i)})
		}
		g.Leases = append(g.Leases, l)
	}
	return g
}

func BenchmarkAllocate(b *testing.B) {
	g := large(b)
	for b.Loop() {
		if _, err := g.Allocate(lasting("l", 3, 9, units(100), units(10, together), units(50, apart))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefuse(b *testing.B) {
	g := large(b)
	for b.Loop() {
		if _, err := g.Allocate(lasting("l", 3, 9, units(16_000))); core.CodeOf(err) != core.CodeFull {
			b.Fatal(err)
		}
	}
}

func BenchmarkHealNothing(b *testing.B) {
	g := large(b)
	for b.Loop() {
		if _, done := g.Heal(g.Leases[7], nil); done != nil {
			b.Fatal(done)
		}
	}
}

func BenchmarkHeal(b *testing.B) {
	g := large(b)
	for i := range g.Hosts {
		if g.Hosts[i].Name == g.Leases[7].Reservations[0].Allocations[0].Host {
			g.Hosts[i].Out = "down"
		}
	}
	for b.Loop() {
		if _, done := g.Heal(g.Leases[7], nil); done == nil {
			b.Fatal("nothing was healed")
		}
	}
}

func BenchmarkFree(b *testing.B) {
	g := large(b)
	for b.Loop() {
		g.Free(units(1), noon, noon+24*60*minute)
	}
}

func BenchmarkOversold(b *testing.B) {
	g := large(b)
	for b.Loop() {
		g.Oversold()
	}
}
