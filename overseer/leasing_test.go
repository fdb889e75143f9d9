package overseer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/coretest"
	"drover/core/service/clock"
	"drover/overseer"
)

// leasing is a scene with leases, at a time of its own.
type leasing struct {
	*scene

	clock *clock.Manual
	deps  overseer.Deps
	keeps leaseStore
	svc   *lease.Service
	over  *overseer.Overseer
}

// leaseStore is what an overseer and a service need of a store of leases.
type leaseStore interface {
	overseer.Store
	lease.Store
}

func newLeasing(t *testing.T, b *coretest.Backend, hosts int) *leasing {
	t.Helper()
	l := &leasing{scene: newScene(t, b), clock: clock.NewManual(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))}
	for i := range hosts {
		l.host(fmt.Sprintf("h%d", i+1), 10_000*time.Hour)
	}
	store, ok := l.store.(leaseStore)
	require.True(t, ok)
	l.keeps = store
	ids := 0
	l.svc = &lease.Service{
		Store: store, Cluster: l.cluster, Now: l.clock.Now,
		NewID: func() string { ids++; return fmt.Sprintf("l%04d", ids) },
	}
	l.deps = l.scene.deps()
	l.over = l.overseer(l.deps)
	return l
}

func (l *leasing) overseer(deps overseer.Deps) *overseer.Overseer {
	l.t.Helper()
	deps.Clock, deps.Queue = l.clock, coretest.Clocked{Queue: deps.Queue, Now: l.clock.Now}
	o, err := overseer.New(overseer.Config{
		Beat: beat, Suspect: suspect, Down: down, Leases: lease.Rules{Lead: 15 * time.Minute, Healing: time.Hour},
	}, deps)
	require.NoError(l.t, err)
	return o
}

func (l *leasing) round() overseer.Counts {
	l.t.Helper()
	counts, err := l.over.Leases(l.t.Context())
	require.NoError(l.t, err)
	return counts
}

// after lets time pass and has an overseer look at leases.
func (l *leasing) after(d time.Duration) {
	l.t.Helper()
	l.clock.Advance(d)
	l.round()
}

var boss = core.Actor{Handle: "boss", Roles: []core.UserRole{core.RoleAdmin}}

// reserve makes a lease of units of pool again for alice, from one time from now to another one.
func (l *leasing) reserve(units int, from, to time.Duration, change ...func(*lease.Draft)) core.Lease {
	l.t.Helper()
	d := lease.Draft{
		Name: "exam", Submitters: []string{"alice"}, Start: l.clock.Now().Add(from).UnixMilli(), End: l.clock.Now().Add(to).UnixMilli(),
		Reservations: []lease.Want{{Pools: []string{"again"}, Units: units}},
	}
	for _, c := range change {
		c(&d)
	}
	made, err := l.svc.Create(l.t.Context(), boss, d)
	require.NoError(l.t, err)
	return made
}

func (l *leasing) get(id string) core.Lease {
	l.t.Helper()
	got, err := l.svc.Get(l.t.Context(), boss, id)
	require.NoError(l.t, err)
	return got
}

// leased is a lease's pool in Redis; nil if there is none.
func (l *leasing) leased(id string) *core.LeasedState {
	l.t.Helper()
	all, err := l.cluster.Leased(l.t.Context())
	require.NoError(l.t, err)
	for i := range all {
		if all[i].Pool.Lease == id {
			return &all[i]
		}
	}
	return nil
}

// make gives a host VMs of a pool.
func (l *leasing) make(host, pool string, n int) {
	l.t.Helper()
	factory := core.OwnerName(core.RoleVMFactory, host, 0)
	made := make(map[string]bool)
	var vms []string
	for range n {
		l.seq[factory]++
		vm := fmt.Sprintf("%s-made-%d", host, l.seq[factory])
		vms, made[vm] = append(vms, vm), true
	}
	require.NoError(l.t, l.cluster.Create(l.t.Context(), factory, l.epoch[factory], host, pool, vms))
	require.NoError(l.t, l.cluster.Ready(l.t.Context(), factory, l.epoch[factory], host, made))
}

// claimed opens a lease and lets h1 claim n requests of its pool.
func (l *leasing) claimed(n int) (made core.Lease, own string, ids []string, claims []core.Claim) {
	l.t.Helper()
	made = l.reserve(2, 0, time.Hour)
	l.round()
	own, ids = core.LeasedPool(made.ID, 0), l.submit("again", n)
	l.make("h1", own, n)
	return made, own, ids, l.claim("h1", own, n, 10_000*time.Hour)
}

func (l *leasing) poolOf(id string) string {
	l.t.Helper()
	return l.place(id).Pool
}

func (l *leasing) as(who string) func(*core.Spec) {
	return func(s *core.Spec) { s.Submitter = who }
}

func (l *leasing) degraded(id string) bool {
	its := l.get(id)
	return its.Degraded()
}

func idOf(c core.Claim) string {
	spec := c.ReadSpec()
	return spec.ID
}

// events counts what was noted of a lease.
func events(l core.Lease) map[string]int {
	n := make(map[string]int)
	for _, note := range l.Log {
		n[note.Event]++
	}
	return n
}
