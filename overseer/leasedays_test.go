package overseer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/coretest"
	"drover/core/coretest/tier"
)

// Ten days, in steps of half an hour: leases are made, changed and deleted at random, and hosts go and come back. Nothing
// is ever oversold once an overseer has looked, no event happens twice, and each degraded flag clears or says why.
func TestTenDaysOfLeases(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Long)
	const seed, hosts = 16, 5
	const step = 30 * time.Minute
	random := rand.New(rand.NewPCG(seed, seed))
	l := newLeasing(t, coretest.Real(t), hosts)
	var made []string // and not over
	all := 0
	out := make(map[string]bool)
	degraded, cleared, moved, lost := 0, 0, 0, 0
	was := make(map[string]bool)
	for range int(10 * 24 * time.Hour / step) {
		switch random.IntN(6) {
		case 0, 1, 2:
			if id := l.someLease(random); id != "" {
				made, all = append(made, id), all+1
			}
		case 3:
			if len(made) > 0 {
				l.touch(random, made[random.IntN(len(made))])
			}
		default:
			host := fmt.Sprintf("h%d", 1+random.IntN(hosts))
			out[host] = !out[host] && random.IntN(3) > 0
			require.NoError(t, l.cluster.Drain(t.Context(), host, out[host], 0))
		}
		l.after(step)
		l.makeVMs(out)
		l.round()
		l.requireNoneOversold()
		made = slices.DeleteFunc(made, func(id string) bool {
			its, err := l.svc.Get(t.Context(), boss, id)
			if core.Is(err, core.CodeNotFound) {
				return true
			}
			require.NoError(t, err)
			requireOnce(t, its)
			requireExplained(t, its)
			is := its.Degraded()
			if is && !was[id] {
				degraded++
			}
			if was[id] && !is {
				cleared++
			}
			was[id] = is
			for _, r := range its.Reservations {
				for _, a := range r.Allocations {
					switch a.State {
					case core.AllocationMoved:
						moved++
					case core.AllocationLost:
						lost++
					case core.AllocationHeld, core.AllocationFreed:
					}
				}
			}
			return its.State == core.LeaseTerminated
		})
	}
	require.Greater(t, all, 100)
	require.Greater(t, degraded, 10, "hosts were lost under active leases: %d of %d", degraded, all)
	require.Positive(t, moved)
	require.Positive(t, lost)
	for i := range hosts {
		require.NoError(t, l.cluster.Drain(t.Context(), fmt.Sprintf("h%d", i+1), false, 0))
	}
	l.round()
	l.makeVMs(nil)
	l.round()
	for _, id := range made {
		its, err := l.svc.Get(t.Context(), boss, id)
		if err == nil {
			require.False(t, its.Degraded(), "all hosts are back: %+v", its)
		}
	}
	require.GreaterOrEqual(t, cleared, degraded/2)
	coretest.RequireSound(t, l.cluster)
}

// someLease makes a lease that starts within a day, if it fits.
func (l *leasing) someLease(random *rand.Rand) string {
	start := l.clock.Now().Add(time.Duration(random.IntN(24*2)) * 30 * time.Minute)
	d := lease.Draft{
		Name: "random", Submitters: []string{"alice"}, Start: start.UnixMilli(), End: start.Add(time.Duration(1+random.IntN(16)) * 30 * time.Minute).UnixMilli(),
		BeforeEnd: time.Duration(random.IntN(2)) * 10 * time.Minute, Grace: time.Duration(random.IntN(2)) * 10 * time.Minute,
		Reservations: []lease.Want{{Pools: []string{"again"}, Units: 1 + random.IntN(60), Affinity: []core.Affinity{"", "", "true"}[random.IntN(3)]}},
	}
	if random.IntN(5) == 0 {
		d.Reservations[0] = lease.Want{Pools: []string{"again", "once"}, MinHosts: 1, MaxHosts: 1 + random.IntN(2)}
	}
	made, err := l.svc.Create(l.t.Context(), boss, d)
	if core.Is(err, core.CodeFull) {
		return ""
	}
	require.NoError(l.t, err)
	return made.ID
}

// touch changes or deletes a lease, if its state allows it.
func (l *leasing) touch(random *rand.Rand, id string) {
	end := l.clock.Now().Add(time.Duration(1+random.IntN(12)) * 30 * time.Minute).UnixMilli()
	var err error
	if random.IntN(3) == 0 {
		err = l.svc.Delete(l.t.Context(), boss, id)
	} else {
		_, err = l.svc.Update(l.t.Context(), boss, id, lease.Change{End: &end})
	}
	if err != nil {
		require.Contains(l.t, []core.Code{core.CodeFull, core.CodeConflict, core.CodeNotFound, core.CodeInvalid}, core.CodeOf(err), "%v", err)
	}
}

// makeVMs gives living hosts the VMs that leases have there.
func (l *leasing) makeVMs(out map[string]bool) {
	l.t.Helper()
	hosts := l.hosts()
	states, err := l.cluster.Leased(l.t.Context())
	require.NoError(l.t, err)
	for _, s := range states {
		its, err := l.svc.Get(l.t.Context(), boss, s.Pool.Lease)
		if err != nil {
			continue
		}
		wants := make(map[string]int)
		for _, r := range its.Reservations {
			for _, a := range r.Allocations {
				if a.State == core.AllocationHeld && !r.WholeHosts() {
					wants[a.Host] += a.Units
				}
			}
		}
		for host, n := range wants {
			if missing := n - hosts[host].VMsOf[s.Pool.Name][core.VMClean]; missing > 0 && !out[host] && !s.Pool.Paused {
				l.make(host, s.Pool.Name, missing)
			}
		}
	}
}

// requireNoneOversold counts what leases hold on each host at each of their moments from now on, by itself.
func (l *leasing) requireNoneOversold() {
	l.t.Helper()
	cal, err := l.svc.Store.Calendar(l.t.Context(), 0)
	require.NoError(l.t, err)
	now := l.clock.Now().UnixMilli()
	for i := range cal.Leases {
		at := max(now, cal.Leases[i].Start)
		units, whole := make(map[string]int), make(map[string]int)
		for j := range cal.Leases {
			other := &cal.Leases[j]
			if other.Start > at || at >= other.End+other.Grace.Milliseconds() {
				continue
			}
			for _, r := range other.Reservations {
				for _, a := range r.Allocations {
					switch {
					case a.State != core.AllocationHeld:
					case r.WholeHosts():
						whole[a.Host]++
					default:
						units[a.Host] += a.Units
					}
				}
			}
		}
		for host, n := range units {
			require.LessOrEqual(l.t, n, 100, "units of %s at %d", host, at)
			require.Zero(l.t, whole[host], "%s is held whole, and units of it", host)
		}
		for host, n := range whole {
			require.LessOrEqual(l.t, n, 1, "%s is held whole", host)
		}
	}
}

// requireOnce requires that each event of a lease happened at most once.
func requireOnce(t *testing.T, its core.Lease) {
	t.Helper()
	n := events(its)
	for _, event := range []string{core.EventLeaseCreated, core.EventLeaseStarted, core.EventLeaseEnding, core.EventLeaseEnded, core.EventLeaseFailed} {
		require.LessOrEqual(t, n[event], 1, "%s of %s", event, its.ID)
	}
	require.Equal(t, its.State == core.LeaseTerminated, n[core.EventLeaseEnded] == 1, its.ID)
}

// requireExplained requires that a flag stands only with its reason, and that what is missing is flagged.
func requireExplained(t *testing.T, its core.Lease) {
	t.Helper()
	for i := range its.Reservations {
		r := &its.Reservations[i]
		if r.State != core.ReservationActive && r.State != core.ReservationPending {
			require.False(t, r.MissingResources || r.ResourcesChanged)
			continue
		}
		if its.State == core.LeaseActive {
			require.Equal(t, r.Held() < r.Needs(), r.MissingResources, "%s has %d of %d", its.ID, r.Held(), r.Needs())
		}
		if !r.MissingResources && !r.ResourcesChanged {
			continue
		}
		why := false
		for _, a := range r.Allocations {
			why = why || (a.State == core.AllocationMoved || a.State == core.AllocationLost) && a.Why != ""
		}
		require.True(t, why, "%s is degraded without a reason: %+v", its.ID, r)
	}
}
