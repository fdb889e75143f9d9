package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

// A lease that was to be over, and is not, has its room: nobody else is given it, and who was promised it is found out.
func TestWhatIsNotOverKeepsItsRoom(t *testing.T) {
	t.Parallel()
	const late = 5 * minute
	last := lasting("a", -1, 0, units(4))
	for state, keeps := range map[core.LeaseState]bool{
		core.LeasePending:  false, // nothing of it was there
		core.LeaseStarting: true, core.LeaseActive: true, core.LeaseTerminating: true, core.LeaseDeleting: true,
		core.LeaseTerminated: false, core.LeaseError: false,
	} {
		old := held(clone(last), 1, "h1")
		old.State = state
		g := ground([]lease.Host{host("h1", 4)}, old)
		g.Now += late
		now, next := int(late/minute), lasting("b", 0, 2, units(1))
		_, err := g.Allocate(next)
		require.Equal(t, keeps, core.Is(err, core.CodeFull), "%s: %v", state, err)
		promised := active(held(lasting("c", 0, 2, units(1)), 0, "h1"))
		g.Leases = append(g.Leases, promised)
		found := g.Oversold()
		require.Equal(t, keeps, len(found) > 0, "%s: %v", state, found)
		require.Equal(t, keeps, trouble(&g, &g.Hosts[0], 0+now+int(noon/minute)) != "", "the oracle says so")
		if keeps {
			require.Equal(t, noon+late, found[0].At, state)
			free := g.Free(units(1), g.Now, g.Now+10*minute)
			require.Len(t, free, 2, state)
			require.Zero(t, free[0].Units, state)
			require.Equal(t, g.Now+(90*time.Second).Milliseconds(), free[0].To, "for as long as a request of the pool may last: %s", state)
		}
		if state == core.LeaseTerminating || state == core.LeaseDeleting {
			require.Equal(t, promised.ID, found[0].Lease, "what is ending cannot go, however young it is: %s", state)
			healed, _ := g.Heal(promised, nil)
			require.Zero(t, healed.Reservations[0].Held(), state)
			require.True(t, healed.Degraded(), state)
		}
	}
}

// Until it is over, a lease that ends holds what is in use of it.
func TestUnusedRoomOfAnEndingLeaseIsFreed(t *testing.T) {
	t.Parallel()
	l := held(lasting("a", -1, 0, units(4), units(2), whole(1, 2)), 1, "h1", "h2")
	l.Reservations[1].Allocations = []core.Allocation{{Host: "h1", Units: 2, State: core.AllocationHeld, Since: 1}}
	l.Reservations[2].Pools = []string{"q", "p"}
	for _, name := range []string{"h3", "h4"} {
		l.Reservations[2].Allocations = append(l.Reservations[2].Allocations, core.Allocation{Host: name, Units: 1, State: core.AllocationHeld, Since: 1})
	}
	vms := map[string]int{"h1 p": 3, "h2 p": 1, "h3 q": 7}
	used := func(host, pool string) int { return vms[host+" "+pool] }
	was := clone(l)
	next, freed := lease.FreeUnused(l, noon, used)
	require.True(t, freed)
	require.Equal(t, was, clone(l), "the argument stays as it was")
	require.Equal(t, map[string]int{"h1": 2, "h2": 1}, onHosts(&next.Reservations[0]))
	require.Equal(t, map[string]int{"h1": 1}, onHosts(&next.Reservations[1]), "a VM stands for one unit of a pool, of whichever reservation")
	require.Equal(t, map[string]int{"h3": 1}, onHosts(&next.Reservations[2]))
	_, freed = lease.FreeUnused(next, noon, used)
	require.False(t, freed)
	clear(vms)
	next, _ = lease.FreeUnused(next, noon, used)
	for i := range next.Reservations {
		require.Zero(t, next.Reservations[i].Held())
	}
}
