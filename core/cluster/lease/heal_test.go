package lease_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

func down(h *lease.Host) { h.Out = "down" }

// active is a lease that has started.
func active(l core.Lease) core.Lease {
	l.State = core.LeaseActive
	for i := range l.Reservations {
		l.Reservations[i].State = core.ReservationActive
	}
	return l
}

// The four cases of a host that fails: the lease is pending or active, and there is another host or none.
func TestHealFourWays(t *testing.T) {
	t.Parallel()
	one, two := []lease.Host{host("h1", 4, down)}, []lease.Host{host("h1", 4, down), host("h2", 4)}
	l := held(lasting("l", 0, 2, units(2)), 1, "h1")
	for name, c := range map[string]struct {
		hosts            []lease.Host
		lease            core.Lease
		missing, changed bool
		want             []core.Allocation
		done             []string
	}{
		"pending and replaced": {two, l, false, false, []core.Allocation{
			{Host: "h1", Units: 2, State: core.AllocationMoved, Since: 1, Until: noon, Why: "down"},
			{Host: "h2", Units: 2, State: core.AllocationHeld, Since: noon},
		}, []string{"2 units of pool p moved from host h1 (down) to host h2"}},
		"pending and missing": {one, l, true, false, []core.Allocation{
			{Host: "h1", Units: 2, State: core.AllocationLost, Since: 1, Until: noon, Why: "down"},
		}, []string{"2 units of pool p lost on host h1 (down): no other host has room", "reservation 1 has 0 of 2 units of pool p"}},
		"active and replaced": {two, active(clone(l)), false, true, []core.Allocation{
			{Host: "h1", Units: 2, State: core.AllocationMoved, Since: 1, Until: noon, Why: "down"},
			{Host: "h2", Units: 2, State: core.AllocationHeld, Since: noon},
		}, []string{"2 units of pool p moved from host h1 (down) to host h2"}},
		"active and missing": {one, active(clone(l)), true, false, []core.Allocation{
			{Host: "h1", Units: 2, State: core.AllocationLost, Since: 1, Until: noon, Why: "down"},
		}, []string{"2 units of pool p lost on host h1 (down): no other host has room", "reservation 1 has 0 of 2 units of pool p"}},
	} {
		was := clone(c.lease)
		healed, done := ground(c.hosts, c.lease).Heal(c.lease, nil)
		r := &healed.Reservations[0]
		require.Equal(t, c.done, done, name)
		require.Equal(t, c.want, r.Allocations, name)
		require.Equal(t, c.missing, r.MissingResources, name)
		require.Equal(t, c.changed, r.ResourcesChanged, name)
		require.Equal(t, c.missing || c.changed, healed.Degraded(), name)
		require.Equal(t, was, c.lease, "the argument stays as it was")
		_, done = ground(c.hosts, healed).Heal(healed, nil)
		require.Nil(t, done, "a second time changes nothing: %s", name)
	}
}

// A host fails long before a lease, recovers, fails again until the lease comes into the window, and recovers after it.
func TestHealTimeline(t *testing.T) {
	t.Parallel()
	const hour = 60 * minute
	g := ground([]lease.Host{host("h1", 4), host("h2", 4)})
	l, err := g.Allocate(lasting("l", 10, 12, units(3)))
	require.NoError(t, err)
	look := func(now int64, out string) []string {
		g.Now, g.Hosts[0].Out, g.Leases = now, out, []core.Lease{l}
		if !lease.DueToHeal(l, now, time.Hour) {
			return nil
		}
		var done []string
		l, done = g.Heal(l, nil)
		return done
	}
	first := clone(l)
	require.Equal(t, map[string]int{"h1": 3}, onHosts(&l.Reservations[0]))

	require.Nil(t, look(noon+1*hour, "down"), "1: it fails long before")
	require.Nil(t, look(noon+2*hour, ""), "2: it recovers")
	require.Equal(t, first, l, "nothing was done")
	require.Nil(t, look(noon+3*hour, "down"), "3: it fails again")
	require.Nil(t, look(noon+9*hour-1, "down"), "not yet in the window")
	require.Equal(t, first, l)
	require.NotNil(t, look(noon+9*hour, "down"), "4: the lease comes into the window")
	require.Equal(t, map[string]int{"h2": 3}, onHosts(&l.Reservations[0]))
	require.False(t, l.Degraded())
	healed := clone(l)
	require.Nil(t, look(noon+9*hour+1, ""), "5: it recovers later")
	require.Equal(t, healed, l, "nothing moves back")

	l, err = lease.Begin(l, core.EventStart, noon+10*hour)
	require.NoError(t, err)
	l, err = lease.Done(l, core.EventStart, noon+10*hour)
	require.NoError(t, err)
	started := clone(l)
	require.Nil(t, look(noon+10*hour+1, "down"), "6: it fails while the lease is used, which is elsewhere")
	require.Equal(t, started, l)
	l, err = lease.Begin(l, core.EventEnd, noon+12*hour)
	require.NoError(t, err)
	l, err = lease.Done(l, core.EventEnd, noon+12*hour)
	require.NoError(t, err)
	require.Equal(t, core.LeaseTerminated, l.State, "7: the end")
	require.Equal(t, core.Allocation{Host: "h2", Units: 3, State: core.AllocationFreed, Since: noon + 9*hour, Until: noon + 12*hour, Why: "its lease is over"},
		l.Reservations[0].Allocations[len(l.Reservations[0].Allocations)-1])
	require.Nil(t, look(noon+12*hour, "down"))
}

func TestDueToHeal(t *testing.T) {
	t.Parallel()
	for _, state := range []core.LeaseState{core.LeaseStarting, core.LeaseActive} {
		require.True(t, lease.DueToHeal(core.Lease{State: state, Start: at(100)}, 0, time.Minute))
	}
	for _, state := range []core.LeaseState{core.LeaseTerminating, core.LeaseTerminated, core.LeaseDeleting, core.LeaseError} {
		l := held(lasting("l", 0, 2, units(2)), 1, "h1")
		l.State = state
		require.False(t, lease.DueToHeal(l, noon, 0))
		_, done := ground([]lease.Host{host("h1", 4, down)}).Heal(l, nil)
		require.Nil(t, done, "%s", state)
	}
	l := core.Lease{State: core.LeasePending, Start: at(10)}
	require.True(t, lease.DueToHeal(l, at(9), time.Minute))
	require.False(t, lease.DueToHeal(l, at(9)-1, time.Minute))
	require.True(t, lease.DueToHeal(l, at(0), 0))
}

// Why hosts cannot hold what is allocated on them.
func TestWhatHostsCannotHold(t *testing.T) {
	t.Parallel()
	other := active(held(lasting("a", 0, 2, units(1)), 0, "h1"))
	for want, change := range map[string]func(g *lease.Ground){
		"(is gone)":                                 func(g *lease.Ground) { g.Hosts, g.Gone = g.Hosts[1:], map[string]bool{g.Hosts[0].Name: true} },
		"(drained)":                                 func(g *lease.Ground) { g.Hosts[0].Out = "drained" },
		"(does not serve pool p)":                   func(g *lease.Ground) { g.Hosts[0].Serves = []string{"q"} },
		"(VMs of pool p cannot be made there)":      func(g *lease.Ground) { g.Hosts[0].Broken = []string{"p"} },
		"(is not zone=a)":                           func(g *lease.Ground) { g.Hosts[0].Labels = map[string]string{"zone": "b"} },
		"(has too little memory)":                   func(g *lease.Ground) { g.Hosts[0].Size.Memory = 99 },
		"1 unit of pool p moved from host h1 (does": func(g *lease.Ground) { g.Hosts[0].Size.Memory = 250 },
		"unit of pool p moved from host h1 (does":   func(g *lease.Ground) { g.Hosts[0].MaxVMs = 2 },
		"of pool p moved from host h1 (does":        func(g *lease.Ground) { g.Pools[0].Max = 2 },
		"units of pool p moved from host h1 (does not have room for all that is held there any more)": func(g *lease.Ground) {
			g.Leases = append(g.Leases, active(held(lasting("b", 0, 2, whole(1, 1)), -1, "h1")))
		},
	} {
		l := active(held(lasting("l", 0, 2, units(2, func(r *core.Reservation) { r.Requires = "zone=a" })), 1, "h1"))
		g := ground([]lease.Host{host("h1", 4), host("h2", 4)}, other, l)
		_, done := g.Heal(l, nil)
		require.Nil(t, done)
		change(&g)
		healed, done := g.Heal(l, nil)
		require.Len(t, done, 1)
		require.Contains(t, done[0], want)
		require.Equal(t, 2, healed.Reservations[0].Held())
		require.True(t, healed.Reservations[0].ResourcesChanged)
	}
	l := active(held(lasting("l", 0, 2, units(2)), 1, "h1"))
	g := ground([]lease.Host{host("h1", 4, down), host("h2", 4)}, l)
	g.Pools = g.Pools[1:]
	_, done := g.Heal(l, nil)
	require.Nil(t, done, "of a pool that is gone nothing can be allocated")
}

// The youngest go, and only as many as there is no room for. What an older lease, or one that is elsewhere, has, stays.
func TestTheYoungestMakeRoom(t *testing.T) {
	t.Parallel()
	old := active(held(lasting("z", 0, 2, units(2)), 1, "h1"))
	young := active(held(lasting("a", 0, 2, units(3)), 2, "h1"))
	twin := active(held(lasting("b", 0, 2, units(1)), 2, "h1"))
	later := held(lasting("c", 2, 4, units(4)), 3, "h1")
	g := ground([]lease.Host{host("h1", 4), host("h2", 1)}, young, twin, old, later)
	for _, l := range []core.Lease{old, later} {
		_, done := g.Heal(l, nil)
		require.Nil(t, done, "%s", l.ID)
	}
	healed, done := g.Heal(young, nil)
	require.Equal(t, []string{"1 unit of pool p moved from host h1 (does not have room for all that is held there any more) to host h2"}, done)
	require.Equal(t, map[string]int{"h1": 2, "h2": 1}, onHosts(&healed.Reservations[0]))
	g.Leases[0] = healed
	healed, done = g.Heal(twin, nil)
	require.Equal(t, []string{
		"1 unit of pool p lost on host h1 (does not have room for all that is held there any more): no other host has room",
		"reservation 1 has 0 of 1 unit of pool p",
	}, done, "of the same age, the one whose lease comes later by name")
	require.Equal(t, 0, healed.Reservations[0].Held())

	// What goes in any case, for its pool is broken there, does not displace what is younger.
	q := active(held(lasting("q", 0, 2, core.Reservation{Pools: []string{"q"}, Units: 1}), 1, "h1"))
	three := active(held(lasting("a", 0, 2, units(3)), 2, "h1"))
	g = ground([]lease.Host{host("h1", 4, func(h *lease.Host) { h.Broken = []string{"q"} }), host("h2", 4)}, q, three)
	_, done = g.Heal(three, nil)
	require.Nil(t, done)
	g.Hosts[0].Broken = nil
	_, done = g.Heal(three, nil)
	require.Len(t, done, 1)

	// Units that must be together go together; the single one that is younger has room then.
	g = ground([]lease.Host{host("h1", 4), host("h2", 3)},
		active(held(lasting("z", 0, 2, units(2)), 1, "h1")),
		active(held(lasting("a", 0, 2, units(3, together)), 2, "h1")), active(held(lasting("b", 0, 2, units(1)), 3, "h1")))
	_, done = g.Heal(g.Leases[2], nil)
	require.Nil(t, done)
	healed, _ = g.Heal(g.Leases[1], nil)
	require.Equal(t, map[string]int{"h2": 3}, onHosts(&healed.Reservations[0]))
	g.Hosts[1].Out = "down"
	healed, _ = g.Heal(g.Leases[1], nil)
	require.Equal(t, 0, healed.Reservations[0].Held(), "no part of them is kept")
}

// What is missing is tried again each time, and the flags clear: missing once it has all, changed once the VMs are there.
func TestFlagsClear(t *testing.T) {
	t.Parallel()
	l := active(held(lasting("l", 0, 2, units(4)), 1, "h1", "h2"))
	g := ground([]lease.Host{host("h1", 2, down), host("h2", 2), host("h3", 3, down)}, l)
	vms := map[string]int{"h2": 2}
	there := func(host, pool string) int {
		require.Equal(t, "p", pool)
		return vms[host]
	}
	heal := func() (missing, changed bool, done []string) {
		l, done = g.Heal(l, there)
		g.Leases[0], g.Now = l, g.Now+1
		return l.Reservations[0].MissingResources, l.Reservations[0].ResourcesChanged, done
	}
	missing, changed, _ := heal()
	require.True(t, missing)
	require.False(t, changed)
	_, _, done := heal()
	require.Nil(t, done)

	g.Hosts[2].Out, g.Hosts[2].Size.Memory = "", 100
	missing, changed, done = heal()
	require.True(t, missing)
	require.True(t, changed)
	require.Equal(t, []string{"1 unit of pool p that was missing is on host h3", "reservation 1 has 3 of 4 units of pool p"}, done)
	vms["h3"] = 1
	missing, changed, done = heal()
	require.True(t, missing)
	require.True(t, changed, "as long as units are missing")
	require.Nil(t, done)

	g.Hosts[2].Size.Memory = 200
	missing, changed, _ = heal()
	require.False(t, missing)
	require.True(t, changed)
	_, changed, done = heal()
	require.True(t, changed, "one VM is not there")
	require.Nil(t, done)
	l2, done := g.Heal(l, nil)
	require.True(t, l2.Reservations[0].ResourcesChanged, "not known")
	require.Nil(t, done)
	vms["h3"] = 2
	_, changed, done = heal()
	require.False(t, changed)
	require.Equal(t, []string{"reservation 1 has all of 4 units of pool p"}, done)
	require.False(t, l.Degraded())
	require.Equal(t, map[string]int{"h2": 2, "h3": 2}, onHosts(&l.Reservations[0]))

	// Of whole hosts it clears at the next look.
	l = active(held(lasting("l", 0, 2, whole(1, 2)), 1, "h1", "h2"))
	l.Reservations[0].Allocations[0].Units, l.Reservations[0].Allocations[1].Units = 1, 1
	missing, changed, _ = heal()
	require.False(t, missing)
	require.True(t, changed)
	require.Equal(t, map[string]int{"h2": 1, "h3": 1}, onHosts(&l.Reservations[0]))
	_, changed, _ = heal()
	require.False(t, changed)
	g.Hosts[1].Out = "down"
	missing, changed, _ = heal()
	require.False(t, missing, "one is enough")
	require.False(t, changed, "nothing moved")
}

// VMs of two reservations of the same pool on one host are there once all are.
func TestFlagsOfTwoReservationsOfAPool(t *testing.T) {
	t.Parallel()
	l := active(held(lasting("l", 0, 2, units(1), units(1)), 1, "h1"))
	l.Reservations[1].Allocations = []core.Allocation{{Host: "h2", Units: 1, State: core.AllocationHeld, Since: 1}}
	g := ground([]lease.Host{host("h1", 2, down), host("h2", 2)}, l)
	l, _ = g.Heal(l, nil)
	require.True(t, l.Reservations[0].ResourcesChanged)
	l, _ = g.Heal(l, func(string, string) int { return 1 })
	require.True(t, l.Reservations[0].ResourcesChanged)
	l, _ = g.Heal(l, func(string, string) int { return 2 })
	require.False(t, l.Reservations[0].ResourcesChanged)
}

// The history of allocations is bounded, and keeps the latest.
func TestPastAllocationsAreBounded(t *testing.T) {
	t.Parallel()
	l := active(held(lasting("l", 0, 2, units(1)), 1, "h1"))
	g := ground([]lease.Host{host("h1", 2), host("h2", 2)}, l)
	for i := range core.MaxPastAllocations + 50 {
		g.Now++
		for k := range g.Hosts {
			g.Hosts[k].Out = ""
		}
		g.Hosts[i%2].Out = "down"
		var done []string
		l, done = g.Heal(l, nil)
		require.Len(t, done, 1)
	}
	all := l.Reservations[0].Allocations
	require.Len(t, all, core.MaxPastAllocations+1)
	require.Equal(t, 1, l.Reservations[0].Held())
	past := slices.DeleteFunc(slices.Clone(all), func(a core.Allocation) bool { return a.State == core.AllocationHeld })
	require.Equal(t, g.Now, past[len(past)-1].Until)
	require.Equal(t, noon+51, past[0].Until)
}
