package lease_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

// noon is 2026-12-01 12:00 UTC.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixMilli()

// lasting makes a lease of hours after noon.
func lasting(id string, from, to int, all ...core.Reservation) core.Lease {
	l := core.Lease{ID: id, State: core.LeasePending, Start: noon + int64(from)*60*minute, End: noon + int64(to)*60*minute}
	for _, r := range all {
		r.State = core.ReservationPending
		l.Reservations = append(l.Reservations, r)
	}
	l.Events = lease.NewEvents(l)
	return l
}

func units(n int, change ...func(*core.Reservation)) core.Reservation {
	r := core.Reservation{Pools: []string{"p"}, Units: n}
	for _, c := range change {
		c(&r)
	}
	return r
}

func whole(least, most int) core.Reservation {
	return core.Reservation{Pools: []string{"p"}, MinHosts: least, MaxHosts: most}
}

func together(r *core.Reservation) { r.Affinity = core.AffinityTrue }
func apart(r *core.Reservation)    { r.Affinity = core.AffinityFalse }

// held is a lease that has units on hosts already.
func held(l core.Lease, since int64, on ...string) core.Lease {
	for _, name := range on {
		n := max(1, l.Reservations[0].Units/len(on))
		l.Reservations[0].Allocations = append(l.Reservations[0].Allocations, core.Allocation{Host: name, Units: n, State: core.AllocationHeld, Since: since})
	}
	return l
}

func ground(hosts []lease.Host, leases ...core.Lease) lease.Ground {
	return lease.Ground{Now: noon, Hosts: hosts, Pools: pools(), Leases: leases}
}

func TestWhereUnitsGo(t *testing.T) {
	t.Parallel()
	four := []lease.Host{host("h4", 4), host("h3", 6), host("h2", 4), host("h1", 4)}
	for name, c := range map[string]struct {
		ground lease.Ground
		lease  core.Lease
		want   map[string]int
	}{
		"to the smallest empty host that holds all": {ground(four), lasting("l", 0, 1, units(3)), map[string]int{"h1": 3}},
		"to as few empty hosts as can be":           {ground(four), lasting("l", 0, 1, units(8)), map[string]int{"h3": 6, "h1": 2}},
		"to a host that is used before empty ones": {
			ground(four, held(lasting("a", 0, 2, units(1)), 0, "h3")), lasting("l", 0, 1, units(2)), map[string]int{"h3": 2},
		},
		"to the fullest of those that are used": {
			ground(four, held(lasting("a", 0, 2, units(1)), 0, "h3"), held(lasting("b", 0, 1, units(3)), 0, "h2")),
			lasting("l", 0, 1, units(2)),
			map[string]int{"h2": 1, "h3": 1},
		},
		"a host that is used at another time is empty": {
			ground(four, held(lasting("a", 1, 2, units(1)), 0, "h3")), lasting("l", 0, 1, units(2)), map[string]int{"h1": 2},
		},
		"what follows each other shares room": {
			ground([]lease.Host{host("h1", 4)}, held(lasting("a", 0, 1, units(3)), 0, "h1"), held(lasting("b", 1, 2, units(3)), 0, "h1")),
			lasting("l", 0, 2, units(1)),
			map[string]int{"h1": 1},
		},
		"together on the fullest host that holds all": {
			ground(four, held(lasting("a", 0, 2, units(2)), 0, "h2"), held(lasting("b", 0, 2, units(1)), 0, "h4")),
			lasting("l", 0, 1, units(3, together)),
			map[string]int{"h4": 3},
		},
		"each on another host, those that are used first": {
			ground(four, held(lasting("a", 0, 2, units(2)), 0, "h4")), lasting("l", 0, 1, units(3, apart)), map[string]int{"h4": 1, "h1": 1, "h2": 1},
		},
		"whole hosts that no lease ever touches first, as many as there are": {
			ground(four, held(lasting("a", 8, 9, units(1)), 0, "h1"), held(lasting("b", 0, 9, units(1)), 0, "h2")),
			lasting("l", 0, 1, whole(1, 5)),
			map[string]int{"h3": 1, "h4": 1, "h1": 1},
		},
		"whole hosts that no lease ever touches first, and no more than at most": {
			ground(four, held(lasting("a", 8, 9, units(1)), 0, "h1"), held(lasting("b", 8, 9, units(1)), 0, "h2")),
			lasting("l", 0, 1, whole(1, 2)),
			map[string]int{"h3": 1, "h4": 1},
		},
		"not to a host that is reserved whole": {
			ground(four, held(lasting("a", 0, 2, whole(1, 1)), 0, "h1")), lasting("l", 0, 1, units(3)), map[string]int{"h2": 3},
		},
		"not where it is out, broken, not served or lacks a label": {
			ground([]lease.Host{
				host("h1", 4, func(h *lease.Host) { h.Out = "down" }), host("h2", 4, func(h *lease.Host) { h.Broken = []string{"p"} }),
				host("h3", 4, func(h *lease.Host) { h.Serves = []string{"q"} }), host("h4", 4, func(h *lease.Host) { h.Labels = nil }), host("h5", 4),
			}), lasting("l", 0, 1, units(1, func(r *core.Reservation) { r.Requires = "zone=a" })), map[string]int{"h5": 1},
		},
	} {
		out, err := c.ground.Allocate(c.lease)
		require.NoError(t, err, name)
		require.Equal(t, c.want, onHosts(&out.Reservations[0]), name)
		require.Equal(t, noon, out.Reservations[0].Allocations[0].Since)
		require.Empty(t, c.lease.Reservations[0].Allocations, "the argument stays as it was")
	}
}

func TestBackToBackLeasesShareRoomUnlessCleaningIsBetween(t *testing.T) {
	t.Parallel()
	g := ground([]lease.Host{host("h1", 2)}, held(lasting("a", 0, 2, units(2)), 0, "h1"), held(lasting("b", 3, 4, units(2)), 0, "h1"))
	between := lasting("l", 2, 3, units(2))
	_, err := g.Allocate(between)
	require.NoError(t, err)

	g.Cleaning = time.Minute
	_, err = g.Allocate(between)
	require.Equal(t, core.CodeFull, core.CodeOf(err), "neither is there time after a")
	between.Start += minute
	_, err = g.Allocate(between)
	require.Equal(t, core.CodeFull, core.CodeOf(err), "nor before b")
	between.End -= minute
	_, err = g.Allocate(between)
	require.NoError(t, err)
	between.Grace = time.Minute
	_, err = g.Allocate(between)
	require.Equal(t, core.CodeFull, core.CodeOf(err), "its grace takes room, too")
}

func TestARefusalSaysWhatIsFreeWhen(t *testing.T) {
	t.Parallel()
	g := ground([]lease.Host{host("h1", 4), host("h2", 6)}, held(lasting("a", 0, 6, units(4)), 0, "h1"), held(lasting("b", 0, 4, units(3)), 0, "h2"))
	out, err := g.Allocate(lasting("l", 2, 4, units(10)))
	require.EqualError(t, err, "reservation 1: 3 of 10 units of pool p are free from 2026-12-01 14:00 to 16:00 UTC (there may be 10 from 18:00)")
	require.Equal(t, lasting("l", 2, 4, units(10)), out)
	_, err = g.Allocate(lasting("l", 2, 4, units(2), units(6, together)))
	require.EqualError(t, err, "reservation 2: 3 of 6 units of pool p on one host are free from 2026-12-01 14:00 to 16:00 UTC (the whole lease may fit from 18:00)")
	_, err = g.Allocate(lasting("l", 2, 30, whole(1, 1)))
	require.EqualError(t, err, "reservation 1: 0 of 1 host is free from 2026-12-01 14:00 to 2026-12-02 18:00 UTC (there may be 1 from 16:00)")

	for want, l := range map[string]core.Lease{
		`there is no pool "x"`: lasting("l", 0, 1, core.Reservation{Pools: []string{"x"}, Units: 1}),
		"reservation 1 asks for 11 units of pool p, and the hosts could hold 10 at most if no other lease was there: limited by memory (2 hosts)": lasting("l", 0, 1, units(11)),
		"7 units of pool p on one host, and the hosts could hold 6 at most":                                                                       lasting("l", 0, 1, units(7, together)),
		"3 units of pool p each on another host, and the hosts could hold 2":                                                                      lasting("l", 0, 1, units(3, apart)),
		"3 hosts, and the hosts could hold 2 at most":                                                                                             lasting("l", 0, 1, whole(3, 3)),
		"could hold 0 at most if no other lease was there: is not zone=b (2 hosts)":                                                               lasting("l", 0, 1, units(1, func(r *core.Reservation) { r.Requires = "zone=b" })),
		"is no requirement": lasting("l", 0, 1, units(1, func(r *core.Reservation) { r.Requires = "zone" })),
		"and it is 2026-12-01 12:00 UTC: choose a later end":        lasting("l", -2, -1, units(1)),
		"reservation 3 asks for 1 host, and the hosts could hold 0": lasting("l", 0, 1, whole(1, 1), whole(1, 1), whole(1, 1)),
	} {
		_, err := g.Allocate(l)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, want)
	}
	g.Hosts[0].Out, g.Hosts[1].Broken, g.Leases = "down", []string{"p"}, nil
	_, err = g.Allocate(lasting("l", 0, 1, units(1)))
	require.EqualError(t, err, "reservation 1: 0 of 1 unit of pool p is free from 2026-12-01 12:00 to 13:00 UTC", "hosts may recover")
	g.Hosts = nil
	_, err = g.Allocate(lasting("l", 0, 1, units(1)))
	require.ErrorContains(t, err, "there is no host")
}

// What is changed of a lease is placed again only where it must be.
func TestChangedLeasesKeepWhatTheyCan(t *testing.T) {
	t.Parallel()
	hosts := []lease.Host{host("h1", 4), host("h2", 4)}
	l := held(lasting("l", 0, 2, units(3)), 1, "h1")
	g := ground(hosts, l, held(lasting("a", 2, 4, units(2)), 2, "h1"))
	out, err := g.Allocate(l)
	require.NoError(t, err)
	require.Equal(t, l, out, "it lacks nothing")

	grown := l
	grown.Reservations = []core.Reservation{l.Reservations[0]}
	grown.Reservations[0].Units = 6
	out, err = g.Allocate(grown)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"h1": 4, "h2": 2}, onHosts(&out.Reservations[0]))
	require.Equal(t, []core.Allocation{
		{Host: "h1", Units: 3, State: core.AllocationHeld, Since: 1},
		{Host: "h1", Units: 1, State: core.AllocationHeld, Since: noon},
		{Host: "h2", Units: 2, State: core.AllocationHeld, Since: noon},
	}, out.Reservations[0].Allocations)

	longer := l
	longer.End += 60 * minute
	out, err = g.Allocate(longer)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"h1": 2, "h2": 1}, onHosts(&out.Reservations[0]), "a has the room")
	require.Equal(t, core.AllocationMoved, out.Reservations[0].Allocations[1].State)

	longer.Reservations = []core.Reservation{l.Reservations[0]}
	longer.Reservations[0].State = core.ReservationActive
	_, err = g.Allocate(longer)
	require.EqualError(t, err, "reservation 1 cannot keep 3 units of pool p from 2026-12-01 12:00 to 15:00 UTC: host h1 has no room for it beside other leases then",
		"what is in use is not moved for a change")

	fewer := grown
	fewer.Reservations = []core.Reservation{l.Reservations[0]}
	fewer.Reservations[0].Units = 1
	out, err = g.Allocate(fewer)
	require.NoError(t, err)
	require.Equal(t, []core.Allocation{
		{Host: "h1", Units: 1, State: core.AllocationHeld, Since: 1},
		{Host: "h1", Units: 2, State: core.AllocationFreed, Since: 1, Until: noon, Why: "fewer are needed"},
	}, out.Reservations[0].Allocations)

	all := held(lasting("l", 0, 3, units(2, together)), 1, "h1")
	all.Reservations[0].Units = 4
	out, err = g.Allocate(all)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"h2": 4}, onHosts(&out.Reservations[0]), "they move together")
	all.Reservations[0].State = core.ReservationActive
	_, err = g.Allocate(all)
	require.EqualError(t, err, "reservation 1: 2 of 4 units of pool p on one host are free from 2026-12-01 12:00 to 15:00 UTC",
		"those that are in use stay, and the others must be with them")
}

// crowd makes a small ground with leases that have room, and a lease of one reservation.
func crowd(seed uint64) (lease.Ground, core.Lease) {
	r := rand.New(rand.NewPCG(seed, 7))
	g := lease.Ground{Now: at(r.IntN(6)), Hosts: drawHosts(r, 4), Pools: pools(), Cleaning: time.Duration(r.IntN(2)) * time.Minute}
	for i := range r.IntN(6) {
		if out, err := g.Allocate(drawLease(r, fmt.Sprint("a", i), int(g.Now/minute), 10, 2)); err == nil {
			g.Leases = append(g.Leases, out)
		}
	}
	for i := range g.Hosts {
		if r.IntN(8) == 0 {
			g.Hosts[i].Out = "down"
		}
		if r.IntN(8) == 0 {
			g.Hosts[i].Size.Memory /= 2
		}
	}
	return g, drawLease(r, "l", int(g.Now/minute), 10, 1)
}

// Of a lease with one reservation, a refusal is right: no way to place it whatsoever is left. When names the first minute
// at which there is one.
func TestRefusalsAreRight(t *testing.T) {
	t.Parallel()
	full := 0
	for seed := range uint64(1500) {
		g, l := crowd(seed)
		with := g
		with.Leases = append(with.Leases[:len(with.Leases):len(with.Leases)], l)
		could := func(m int) bool {
			l := &with.Leases[len(g.Leases)]
			*l = clone(*l)
			l.Start, l.End = at(m), at(m)+l.End-l.Start
			return place(&with, len(g.Leases), 0, l.Reservations[0].Needs(), with.Hosts)
		}
		first := int(l.Start / minute)
		_, err := g.Allocate(l)
		require.Equal(t, could(first), err == nil, "seed %d: %v", seed, err)
		if err == nil {
			continue
		}
		full++
		until := first + 30
		start, ok := g.When(l, at(until))
		for m := first; m <= until && (!ok || m < int(start/minute)); m++ {
			require.False(t, could(m), "seed %d: minute %d fits, before %d (%v)", seed, m, start/minute, ok)
		}
		if ok {
			require.True(t, could(int(start/minute)), "seed %d", seed)
			l.Start, l.End = start, start+l.End-l.Start
			_, err = g.Allocate(l)
			require.NoError(t, err, "seed %d", seed)
		}
		if core.CodeOf(err) == core.CodeInvalid {
			require.False(t, ok, "seed %d: %v", seed, err)
		}
	}
	require.Greater(t, full, 200)
}

// What When says of several reservations fits then.
func TestWhatWhenSaysFits(t *testing.T) {
	t.Parallel()
	later := 0
	for seed := range uint64(1000) {
		g, _ := crowd(seed)
		l := drawLease(rand.New(rand.NewPCG(seed, 8)), "l", int(g.Now/minute), 10, 3)
		start, ok := g.When(l, at(60))
		if !ok {
			continue
		}
		if start > l.Start {
			later++
		}
		l.Start, l.End = start, start+l.End-l.Start
		_, err := g.Allocate(l)
		require.NoError(t, err, "seed %d", seed)
	}
	require.Greater(t, later, 30)
}
