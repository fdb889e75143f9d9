package overseer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/coretest"
	"drover/overseer"
)

func TestALeaseFromItsStartToItsEnd(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Real(t), 2)
	early := l.submit("again", 1)[0]
	made := l.reserve(5, time.Hour, 2*time.Hour, func(d *lease.Draft) { d.BeforeEnd, d.Grace = 10*time.Minute, 5*time.Minute })
	own := core.LeasedPool(made.ID, 0)
	l.round()
	require.Nil(t, l.leased(made.ID), "it is far off")
	require.Equal(t, "again", l.poolOf(early))

	l.after(50 * time.Minute)
	require.False(t, l.leased(made.ID).Open, "prepared")
	require.Equal(t, core.LeasePending, l.get(made.ID).State)
	require.Equal(t, "again", l.poolOf(l.submit("again", 1)[0]))
	for _, host := range []string{"h1", "h2"} {
		l.note(host, nil, own)
	}
	_, err := l.over.Place(t.Context())
	require.NoError(t, err)
	targets := 0
	for _, h := range l.hosts() {
		targets += h.Targets[own].Warm
	}
	require.Equal(t, 5, targets, "its VMs are made before it starts")

	l.after(10 * time.Minute)
	started := l.get(made.ID)
	require.Equal(t, core.LeaseActive, started.State)
	require.True(t, l.leased(made.ID).Open)
	require.Equal(t, own, l.poolOf(early), "what waits goes there")
	require.Equal(t, own, l.poolOf(l.submit("again", 1)[0]))
	stranger := l.submitAs("again", 1, l.as("bob"))[0]
	require.Equal(t, "again", l.poolOf(stranger))

	l.make("h1", own, 5)
	running := l.claim("h1", own, 3, 10_000*time.Hour)
	late := l.submit("again", 1)[0]
	l.after(50 * time.Minute)
	require.Equal(t, 1, events(l.get(made.ID))[core.EventLeaseEnding])
	l.after(10 * time.Minute)
	require.Equal(t, core.LeaseTerminating, l.get(made.ID).State)
	require.Equal(t, "again", l.poolOf(late), "what waits goes back")
	require.Equal(t, "again", l.poolOf(l.submit("again", 1)[0]))
	for _, c := range running {
		require.Equal(t, core.RequestClaimed, l.place(idOf(c)).State, "what runs has its grace")
	}
	l.end("h1", running[:1], core.OutcomeDone)
	l.after(5 * time.Minute)
	ended := l.get(made.ID)
	require.Equal(t, core.LeaseTerminated, ended.State)
	require.Nil(t, l.leased(made.ID))
	for _, c := range running[1:] {
		at := l.place(idOf(c))
		require.Equal(t, core.RequestQueued, at.State)
		require.Equal(t, "again", at.Pool)
		require.Zero(t, l.attempts(c.Key), "it cost no attempt")
	}
	require.Equal(t, map[string]int{
		core.EventLeaseCreated: 1, core.EventLeaseStarted: 1, core.EventLeaseEnding: 1, core.EventLeaseEnded: 1,
	}, events(ended))
	for _, r := range ended.Reservations {
		require.Equal(t, core.ReservationDeleted, r.State)
		require.Zero(t, r.Held())
	}
	require.Empty(t, l.round())
	coretest.RequireSound(t, l.cluster)
}

func (l *leasing) attempts(key string) int {
	l.t.Helper()
	n, err := l.b.Admin.HExists(l.t.Context(), l.b.Namespace+":attempts", key).Result()
	require.NoError(l.t, err)
	if n {
		return 1
	}
	return 0
}

type mortalLeases struct {
	leaseStore
	m *mortal
}

func (m mortalLeases) PutLease(ctx context.Context, revision int64, l core.Lease) (next int64, err error) {
	err = m.m.call(func() (err error) { next, err = m.leaseStore.PutLease(ctx, revision, l); return err })
	return next, err
}

func (m mortalLeases) DeleteLease(ctx context.Context, revision int64, id string, note core.LeaseNote) (next int64, err error) {
	err = m.m.call(func() (err error) { next, err = m.leaseStore.DeleteLease(ctx, revision, id, note); return err })
	return next, err
}

type mortalLeased struct {
	core.LeasedPools
	m *mortal
}

func (m mortalLeased) SetLeased(ctx context.Context, s core.LeasedPoolSetting) error {
	return m.m.call(func() error { return m.LeasedPools.SetLeased(ctx, s) })
}

func (m mortalLeased) Reroute(ctx context.Context, specs []core.Spec) (n int, err error) {
	err = m.m.call(func() (err error) { n, err = m.LeasedPools.Reroute(ctx, specs); return err })
	return n, err
}

type mortalPools struct {
	overseer.Pools
	m *mortal
}

func (m mortalPools) RemovePool(ctx context.Context, name string, asks bool) error {
	return m.m.call(func() error { return m.Pools.RemovePool(ctx, name, asks) })
}

// An overseer dies before or after each of its writes, while a lease starts, gives notice, ends and is deleted and
// another one starts where it ends; the next overseer goes on, and each event is executed once.
func TestCrashInEachStepOfALease(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for n := 0; ; n++ {
			l := newLeasing(t, coretest.Real(t), 2)
			first := l.reserve(20, time.Hour, 2*time.Hour, func(d *lease.Draft) { d.BeforeEnd = time.Minute })
			second := l.reserve(20, 2*time.Hour, 3*time.Hour)
			waiting := l.submit("again", 3)
			m := &mortal{at: n + 1, after: after}
			deps := l.deps
			deps.Store, deps.Leased, deps.Pools = mortalLeases{l.keeps, m}, mortalLeased{l.cluster, m}, mortalPools{l.cluster, m}
			doomed := l.overseer(deps)
			step := func(d time.Duration) {
				l.clock.Advance(d)
				if _, err := doomed.Leases(t.Context()); err != nil {
					require.ErrorIs(t, err, errDead)
				}
				for range 3 {
					l.round()
				}
			}
			step(50 * time.Minute)
			step(10 * time.Minute)
			require.Equal(t, core.LeaseActive, l.get(first.ID).State)
			for _, id := range waiting {
				require.Equal(t, core.LeasedPool(first.ID, 0), l.poolOf(id))
			}
			step(59 * time.Minute)
			step(time.Minute)
			require.Equal(t, core.LeaseTerminated, l.get(first.ID).State)
			require.Equal(t, core.LeaseActive, l.get(second.ID).State)
			require.Nil(t, l.leased(first.ID))
			for _, id := range waiting {
				require.Equal(t, core.LeasedPool(second.ID, 0), l.poolOf(id))
			}
			require.Equal(t, map[string]int{
				core.EventLeaseCreated: 1, core.EventLeaseStarted: 1, core.EventLeaseEnding: 1, core.EventLeaseEnded: 1,
			}, events(l.get(first.ID)), "crash at write %d", n)
			require.NoError(t, l.svc.Delete(t.Context(), boss, second.ID))
			step(0)
			_, err := l.svc.Get(t.Context(), boss, second.ID)
			require.Equal(t, core.CodeNotFound, core.CodeOf(err))
			require.Nil(t, l.leased(second.ID))
			for _, id := range waiting {
				require.Equal(t, "again", l.poolOf(id))
			}
			coretest.RequireSound(t, l.cluster)
			if !m.dead {
				require.Greater(t, n, 10, "it has many writes")
				break
			}
		}
	}
}

// A Redis that was set back may have a request waiting for a lease that has ended: it does not hold the lease.
func TestWhatEndedDoesNotHoldALease(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Real(t), 2)
	made, own, ids, _ := l.claimed(1)
	l.note("h2", nil, own)
	owner := core.OwnerName(core.RoleTestrunner, "h1", 0)
	held, err := l.cluster.Held(t.Context(), owner, 0)
	require.NoError(t, err)
	item := core.Settlement{Key: held[0].Key, Token: held[0].Token, Outcome: core.OutcomeRelease, To: "h2"}
	require.NoError(t, l.cluster.Revoke(t.Context(), owner, held[0], item, "its host is drained"))
	require.Equal(t, "h2", l.place(ids[0]).Assigned)
	for _, id := range append(ids, l.submit("again", 1)...) {
		require.Equal(t, own, l.poolOf(id))
		first, err := l.store.Record(t.Context(), core.Result{ID: id, Generation: 1, State: core.RequestCompleted})
		require.NoError(t, err)
		require.True(t, first)
	}
	require.NoError(t, l.svc.Delete(t.Context(), boss, made.ID))
	l.round()
	l.round()
	require.Nil(t, l.leased(made.ID))
	_, err = l.svc.Get(t.Context(), boss, made.ID)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
	coretest.RequireSound(t, l.cluster)
}

// It met a death and runs apart, in no queue, and ended in the store that a Redis set back does not know of.
func TestWhatEndedApartDoesNotHoldALease(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Real(t), 2)
	made, own, ids, claims := l.claimed(2)
	owner := core.OwnerName(core.RoleTestrunner, "h1", 0)
	epoch, err := l.cluster.DeclareDead(t.Context(), owner, l.epoch[owner])
	require.NoError(t, err)
	var items []core.Settlement
	for _, c := range claims {
		items = append(items, core.Settlement{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry})
	}
	_, err = l.cluster.Settle(t.Context(), owner, epoch, items, 0)
	require.NoError(t, err)
	apart, err := l.cluster.Apart(t.Context(), own, 10)
	require.NoError(t, err)
	require.Len(t, apart, 2)
	for _, id := range ids {
		_, err := l.store.Record(t.Context(), core.Result{ID: id, Generation: 1, State: core.RequestCompleted})
		require.NoError(t, err)
	}
	require.NoError(t, l.svc.Delete(t.Context(), boss, made.ID))
	l.round()
	l.round()
	require.Nil(t, l.leased(made.ID))
	coretest.RequireSound(t, l.cluster)
}

// What must not run twice goes on after the end of a lease.
func TestWhatMustNotRunTwiceHoldsALease(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Mini(t), 2)
	made := l.reserve(2, 0, time.Hour)
	l.round()
	own := core.LeasedPool(made.ID, 0)
	l.submitAs("again", 1, func(s *core.Spec) { s.OnHostLoss = core.OnHostLossFail })
	l.make("h1", own, 1)
	claims := l.claim("h1", own, 1, 10_000*time.Hour)
	l.after(2 * time.Hour)
	require.Equal(t, core.RequestClaimed, l.place(idOf(claims[0])).State)
	require.Equal(t, core.LeaseTerminating, l.get(made.ID).State)
	l.end("h1", claims, core.OutcomeDone)
	l.round()
	require.Equal(t, core.LeaseTerminated, l.get(made.ID).State)
	coretest.RequireSound(t, l.cluster)
}

// Two overseers at once do nothing twice.
func TestTwoOverseersKeepLeases(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Real(t), 2)
	var made []core.Lease
	for i := range 6 {
		made = append(made, l.reserve(3, time.Duration(i%3)*time.Hour, time.Duration(i%3+1)*time.Hour, func(d *lease.Draft) { d.BeforeEnd = time.Minute }))
	}
	overs := []*overseer.Overseer{l.overseer(l.deps), l.overseer(l.deps), l.overseer(l.deps)}
	for range 20 {
		var all sync.WaitGroup
		for _, o := range overs {
			all.Go(func() {
				if _, err := o.Leases(t.Context()); err != nil && !core.Is(err, core.CodeConflict) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		l.clock.Advance(10 * time.Minute)
	}
	l.round()
	for _, m := range made {
		its := l.get(m.ID)
		require.Equal(t, core.LeaseTerminated, its.State)
		require.Equal(t, map[string]int{
			core.EventLeaseCreated: 1, core.EventLeaseStarted: 1, core.EventLeaseEnding: 1, core.EventLeaseEnded: 1,
		}, events(its))
	}
	coretest.RequireSound(t, l.cluster)
}

// A start that cannot be done is given up after a minute, and nothing of it is left (B24).
func TestAStartThatFailsIsUndone(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Real(t), 2)
	made := l.reserve(2, time.Hour, 2*time.Hour, func(d *lease.Draft) {
		d.Reservations = append(d.Reservations, lease.Want{Pools: []string{"once"}, Units: 2})
	})
	waiting := l.submit("again", 1)[0]
	l.after(50 * time.Minute)
	m := &failing{LeasedPools: l.cluster, pool: core.LeasedPool(made.ID, 1)}
	deps := l.deps
	deps.Leased = m
	l.over = l.overseer(deps)
	for range 2 {
		l.clock.Advance(10 * time.Minute)
		_, err := l.over.Leases(t.Context())
		require.ErrorContains(t, err, "it is refused")
	}
	failed := l.get(made.ID)
	require.Equal(t, core.LeaseError, failed.State)
	require.Equal(t, core.EventError, failed.Event(core.EventStart).State)
	require.Contains(t, failed.Event(core.EventStart).Why, "it is refused")
	require.Equal(t, 1, events(failed)[core.EventLeaseFailed])
	l.round()
	require.Nil(t, l.leased(made.ID))
	require.Equal(t, "again", l.poolOf(waiting))
	for _, r := range failed.Reservations {
		require.Zero(t, r.Held())
	}
	require.NoError(t, l.svc.Delete(t.Context(), boss, made.ID))
	coretest.RequireSound(t, l.cluster)
}

// failing refuses to open one pool.
type failing struct {
	core.LeasedPools

	pool string
}

func (f *failing) SetLeased(ctx context.Context, s core.LeasedPoolSetting) error {
	if s.Pool.Name == f.pool && s.Open {
		return core.Errorf(core.CodeInvalid, s.Pool.Name, "it is refused")
	}
	return f.LeasedPools.SetLeased(ctx, s)
}

// Redis is derived: what it loses of leases is made again, and holders' requests are there again.
func TestLeasesOutliveRedis(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Mini(t), 2)
	made := l.reserve(5, 0, 2*time.Hour)
	l.round()
	waiting := l.submit("again", 2)
	require.Equal(t, core.LeasedPool(made.ID, 0), l.poolOf(waiting[0]))
	l.b.Mini.FlushAll()
	l.cluster = l.b.Open(t)
	l.restart()
	_, err := l.in.RestorePools(t.Context())
	require.NoError(t, err)
	_, err = l.in.SweepAll(t.Context())
	require.NoError(t, err)
	l.round()
	for _, id := range waiting {
		require.Equal(t, core.LeasedPool(made.ID, 0), l.poolOf(id))
	}
	_, err = l.in.RestorePools(t.Context())
	require.NoError(t, err)
	require.NotNil(t, l.leased(made.ID), "the store does not have it, and it stays")
	coretest.RequireSound(t, l.cluster)
}

// restart makes all that uses the cluster anew.
func (l *leasing) restart() {
	l.in.Queue, l.in.Pools, l.in.Tasks = l.cluster, l.cluster, l.cluster
	l.svc.Cluster = l.cluster
	l.deps = l.scene.deps()
	l.over = l.overseer(l.deps)
	for i := range 2 {
		l.host(fmt.Sprintf("h%d", i+1), 10_000*time.Hour)
	}
}

// Holders and units of an active lease change, and Redis follows.
func TestAnActiveLeaseChanges(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Real(t), 2)
	made := l.reserve(2, 0, 2*time.Hour)
	l.round()
	own := core.LeasedPool(made.ID, 0)
	id := l.submitAs("again", 1, l.as("bob"))[0]
	require.Equal(t, "again", l.poolOf(id))
	who := []string{"alice", "bob"}
	_, err := l.svc.Update(t.Context(), boss, made.ID, lease.Change{Submitters: &who})
	require.NoError(t, err)
	l.round()
	require.Equal(t, own, l.poolOf(id))
	p, err := l.cluster.GetPool(t.Context(), "again")
	require.NoError(t, err)
	p.Limits.Timeout = 77 * time.Second
	require.NoError(t, l.in.SetPool(t.Context(), p))
	l.round()
	require.Equal(t, 77*time.Second, l.leased(made.ID).Pool.Limits.Timeout, "it follows the pool that it is of")
	start := l.clock.Now().Add(time.Hour).UnixMilli()
	_, err = l.svc.Update(t.Context(), boss, made.ID, lease.Change{Start: &start})
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	end := l.clock.Now().UnixMilli()
	_, err = l.svc.Update(t.Context(), boss, made.ID, lease.Change{End: &end})
	require.NoError(t, err)
	l.after(time.Minute)
	require.Equal(t, core.LeaseTerminated, l.get(made.ID).State)
	require.Equal(t, "again", l.poolOf(id))
}

// What happens to hosts heals leases at once, those that start soon included.
func TestHostsThatCannotHoldWhatIsReserved(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ out, back func(l *leasing) }{
		"drained": {
			func(l *leasing) { require.NoError(l.t, l.cluster.Drain(l.t.Context(), "h1", true, 0)) },
			func(l *leasing) { require.NoError(l.t, l.cluster.Drain(l.t.Context(), "h1", false, 0)) },
		},
		"on probation": {
			func(l *leasing) {
				require.NoError(l.t, l.cluster.Probation(l.t.Context(), "h1", "flaps", time.Hour, 3))
			},
			func(l *leasing) { require.NoError(l.t, l.cluster.Probation(l.t.Context(), "h1", "", 0, 0)) },
		},
		"its pool is broken": {
			func(l *leasing) { l.note("h1", map[string]string{"again": "no image"}) },
			func(l *leasing) { l.note("h1", nil) },
		},
	} {
		l := newLeasing(t, coretest.Real(t), 2)
		active := l.reserve(60, 0, 5*time.Hour)
		l.round()
		soon := l.reserve(60, 30*time.Minute, 5*time.Hour)
		far := l.reserve(160, 6*time.Hour, 7*time.Hour)
		held := func(m core.Lease, host string) int {
			n := 0
			for _, a := range l.get(m.ID).Reservations[0].Allocations {
				if a.State == core.AllocationHeld && a.Host == host {
					n += a.Units
				}
			}
			return n
		}
		before := held(far, "h1")
		require.Positive(t, held(active, "h1")+held(soon, "h1"), name)
		one.out(l)
		l.round()
		for _, m := range []core.Lease{active, soon} {
			its := l.get(m.ID)
			require.Zero(t, held(m, "h1"), "%s %s", name, m.ID)
			require.Equal(t, its.Degraded(), its.Reservations[0].Held() < 60 || its.Reservations[0].ResourcesChanged, name)
		}
		require.Equal(t, 100, held(active, "h2")+held(soon, "h2"), "all that h2 has: %s", name)
		require.Equal(t, before, held(far, "h1"), "it is too far off: %s", name)
		require.Empty(t, l.round(), "nothing is done twice: %s", name)
		one.back(l)
		l.round()
		for _, m := range []core.Lease{active, soon} {
			require.Equal(t, 60, l.get(m.ID).Reservations[0].Held(), "%s: what was missing is found", name)
		}
		own := core.LeasedPool(active.ID, 0)
		for _, host := range []string{"h1", "h2"} {
			if n := held(active, host); n > 0 {
				l.make(host, own, n)
			}
		}
		l.round()
		require.False(t, l.degraded(active.ID), "its VMs are there: %s", name)
		require.False(t, l.degraded(soon.ID), name)
	}
}

func (l *leasing) note(host string, broken map[string]string, serves ...string) {
	factory := core.OwnerName(core.RoleVMFactory, host, 0)
	require.NoError(l.t, l.cluster.Note(l.t.Context(), factory, l.epoch[factory], host, core.HostNotes{Serves: append([]string{"again", "once"}, serves...), Broken: broken}))
}
