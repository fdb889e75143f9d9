package redisstore_test

import (
	"fmt"
	"testing"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// leasedPool is the first pool of a lease.
func leasedPool(lease, of string) core.Pool {
	p := core.DefaultPool(core.LeasedPool(lease, 0))
	p.Of, p.Lease = of, lease
	return p
}

// lease sets a pool of a lease of p1.
func (x *suite) lease(t testing.TB, id string, open bool, class string, submitters ...string) core.LeasedPoolSetting {
	t.Helper()
	l := core.LeasedPoolSetting{Pool: leasedPool(id, "p1"), Open: open, Class: class, Submitters: submitters}
	require.NoError(t, x.Store.SetLeased(t.Context(), l))
	return l
}

// addTo makes clean VMs of a pool.
func (x *suite) addTo(t testing.TB, pool string, n int) []string {
	t.Helper()
	was := x.Pool
	x.Pool = pool
	defer func() { x.Pool = was }()
	return x.AddVMs(t, n)
}

// claimIn claims of pools, in a lane of its own.
func (x *suite) claimIn(t testing.TB, seq int64, want int, pools ...string) []core.Claim {
	t.Helper()
	call := x.Call(seq, want)
	call.Lane, call.TokenBase, call.Pools = 7, 100_000+1000*seq, pools
	got, err := x.Store.Exchange(t.Context(), call)
	require.NoError(t, err)
	return got.Claims
}

func (x *suite) leased(t testing.TB) core.LeasedState {
	t.Helper()
	all, err := x.Store.Leased(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

func (x *suite) poolOf(t testing.TB, key string) string {
	t.Helper()
	place, err := x.Store.Locate(t.Context(), key)
	require.NoError(t, err)
	return place.Pool
}

func graded(s core.Spec, class string) core.Spec {
	s.Submission, s.Assignment = "sub-1", class+"/hw1"
	return s
}

// Requests of a lease's holders go to its pool while it is open, in whichever way they are submitted.
func TestRequestsOfHoldersGoToTheLease(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		all, err := x.Store.Leased(t.Context())
		require.NoError(t, err)
		require.Empty(t, all)
		l := x.lease(t, "x", true, "cs101", "ann", "bob")
		pool := l.Pool.Name
		ann := coretest.Spec("a", "p1", "ann")
		class, other, plain := graded(coretest.Spec("c", "p1", "zoe"), "cs101"), graded(coretest.Spec("d", "p1", "zoe"), "cs1"), coretest.Spec("e", "p1", "zoe")
		plain.Assignment = "cs101/hw1"
		x.Submit(t, ann, class, other, plain)
		for key, want := range map[string]string{"a-1": pool, "c-1": pool, "d-1": "p1", "e-1": "p1"} {
			require.Equal(t, want, x.poolOf(t, key), key)
		}
		state := x.leased(t)
		require.True(t, state.Equal(l), "%+v", state)
		require.Equal(t, 2, state.Waiting)

		x.addTo(t, pool, 1)
		claims := x.claimIn(t, 1, 5, pool)
		require.Len(t, claims, 1)
		spec := claims[0].ReadSpec()
		require.Equal(t, []string{"a", pool}, []string{spec.ID, spec.Pool})
		spec.Pool = "p1"
		require.Equal(t, ann, spec, "nothing else of it is changed")

		// A change is followed there.
		to := class.With(1, core.Change{Pool: "p1", Priority: core.PriorityHigh})
		_, held, err := x.Store.Change(t.Context(), to, 0)
		require.NoError(t, err)
		require.False(t, held)
		require.Equal(t, pool, x.poolOf(t, "c-1"))
		require.NoError(t, x.Store.SetPool(t.Context(), core.DefaultPool("p1")))
		x.Submit(t, coretest.Spec("f", "p1", "bob"))
		require.Equal(t, pool, x.poolOf(t, "f-1"), "settings of the pool leave the way open")
		place, err := x.Store.Cancel(t.Context(), "f-1", "root", core.CancelWaitingIn("p1"))
		require.NoError(t, err)
		require.Equal(t, core.RequestQueued, place.State, "it waits for the pool that the lease's is of")
		require.Equal(t, core.CodeConflict, core.CodeOf(x.Store.RemovePool(t.Context(), pool, false)))
	})
}

// Of two leases of one holder the first by name has its requests, and a limit is that of the lease's pool.
func TestLeasesOfOneHolder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.lease(t, "y", true, "", "ann")
		second := x.lease(t, "x", true, "cs101")
		x.Submit(t, coretest.Spec("a", "p1", "ann"), graded(coretest.Spec("b", "p1", "ann"), "cs101"))
		require.Equal(t, "lease-y-a", x.poolOf(t, "a-1"))
		require.Equal(t, "lease-x-a", x.poolOf(t, "b-1"))
		second.Pool.MaxWaiting = 1
		require.NoError(t, x.Store.SetLeased(t.Context(), second))
		refused(t, x.Store.Room(t.Context(), graded(coretest.Spec("c", "p1", "ann"), "cs101")), core.CodeFull)
		require.NoError(t, x.Store.Room(t.Context(), coretest.Spec("c", "p1", "ann")))
		second.Open = false
		require.NoError(t, x.Store.SetLeased(t.Context(), second))
		n, err := x.Store.Reroute(t.Context(), []core.Spec{graded(coretest.Spec("b", "p1", "ann"), "cs101")})
		require.NoError(t, err)
		if !x.twice {
			require.Equal(t, 1, n)
		}
		require.Equal(t, "lease-y-a", x.poolOf(t, "b-1"), "it goes on to the other one")
		require.NoError(t, x.Store.RemovePool(t.Context(), second.Pool.Name, false))
		all, err := x.Store.Leased(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
	})
}

func TestSetLeasedRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		l := core.LeasedPoolSetting{Pool: leasedPool("x", "p7"), Open: true, Submitters: []string{"ann"}}
		refused(t, x.Store.SetLeased(t.Context(), l), core.CodeNotFound)
		l.Pool.Of = "p1"
		l.Submitters = []string{"a b"}
		refused(t, x.Store.SetLeased(t.Context(), l), core.CodeInvalid)
		refused(t, x.Store.SetLeased(t.Context(), core.LeasedPoolSetting{Pool: core.DefaultPool("p2")}), core.CodeInvalid)
		refused(t, x.Store.SetPool(t.Context(), core.DefaultPool("lease-x-a")), core.CodeInvalid)
		pools, err := x.Store.ListPools(t.Context())
		require.NoError(t, err)
		require.Len(t, pools, 1)
	})
}

// Opening and closing move what waits, in any place, and leave what runs; what ends there by a fault waits there, and is
// moved then.
func TestReroute(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		all := specs("a", 8, "ann")
		x.Submit(t, append(all, specs("b", 2, "bob")...)...)
		x.AddVMs(t, 4)
		claims := x.Exchange(t, 1, 4).Claims
		require.Len(t, claims, 4)
		var mine []core.Claim
		for _, c := range claims {
			if c.ReadSpec().Submitter == "ann" {
				mine = append(mine, c)
			}
		}
		require.Len(t, mine, 2)
		x.other(t, "h2")
		// One pauses, one is assigned to a host.
		_, placed, err := x.Store.Rooms(ctx)
		require.NoError(t, err)
		_, err = x.Store.Settle(ctx, x.Runner, x.Epoch, []core.Settlement{settlement(mine[0], core.OutcomeRelease, "h2")}, placed)
		require.NoError(t, err)
		// After so many faults it pauses for a minute, which no busy machine takes for this test.
		require.NoError(t, x.b.Admin.HSet(ctx, x.key("attempts"), mine[1].Key, 4).Err())
		x.Exchange(t, 2, 0, end(mine[1], core.OutcomeRetry))

		move := func(want int, pool string) {
			t.Helper()
			n, err := x.Store.Reroute(ctx, append(all, specs("b", 2, "bob")...))
			require.NoError(t, err)
			if !x.twice {
				require.Equal(t, want, n)
			}
			for i := range all {
				require.Equal(t, pool, x.poolOf(t, all[i].Key()), all[i].Key())
			}
			coretest.RequireSound(t, x.Store)
		}
		l := x.lease(t, "x", true, "", "ann")
		move(8, l.Pool.Name)
		require.Equal(t, "p1", x.poolOf(t, "b0-1"))
		move(0, l.Pool.Name)
		x.addTo(t, l.Pool.Name, 2)
		held := x.claimIn(t, 1, 2, l.Pool.Name)
		require.Len(t, held, 2)
		require.Equal(t, []string{"a0-1", "a2-1"}, []string{held[0].Key, held[1].Key}, "in their order")

		l.Open = false
		require.NoError(t, x.Store.SetLeased(ctx, l))
		n, err := x.Store.Reroute(ctx, all)
		require.NoError(t, err)
		if !x.twice {
			require.Equal(t, 6, n)
		}
		require.Equal(t, l.Pool.Name, x.poolOf(t, held[0].Key), "what runs stays")
		require.Error(t, x.Store.RemovePool(ctx, l.Pool.Name, false))
		x.Exchange(t, 3, 0, end(held[0], core.OutcomeRelease), end(held[1], core.OutcomeDone))
		require.Equal(t, l.Pool.Name, x.poolOf(t, held[0].Key))
		n, err = x.Store.Reroute(ctx, all)
		require.NoError(t, err)
		if !x.twice {
			require.Equal(t, 1, n)
		}
		require.NoError(t, x.Store.RemovePool(ctx, l.Pool.Name, false))
		got, err := x.b.Admin.HExists(ctx, x.key("pool", "p1"), "leases").Result()
		require.NoError(t, err)
		require.False(t, got)
	})
}

// A submit asks for its own submitter and class alone: no field of a pool grows with the holders of its leases.
func TestHoldersAreFoundOneByOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		who := make([]string, 100)
		for i := range who {
			who[i] = fmt.Sprintf("student-%02d", i)
		}
		fields := func() map[string]string {
			all, err := x.b.Admin.HGetAll(t.Context(), x.key("pool", "p1")).Result()
			require.NoError(t, err)
			delete(all, "settings")
			return all
		}
		before := fields()
		x.lease(t, "x", true, "cs101", who...)
		x.lease(t, "y", true, "cs102", who[:50]...)
		all := fields()
		require.Len(t, all, len(before)+len(who)+2)
		for name, text := range all {
			require.LessOrEqual(t, len(text), len("lease-x-a lease-y-a"), name)
		}
		x.lease(t, "x", true, "cs101", who[90:]...)
		x.Submit(t, coretest.Spec("a", "p1", who[0]), coretest.Spec("b", "p1", who[60]), coretest.Spec("c", "p1", who[99]))
		for key, pool := range map[string]string{"a-1": "lease-y-a", "b-1": "p1", "c-1": "lease-x-a"} {
			require.Equal(t, pool, x.poolOf(t, key), key)
		}
		x.lease(t, "x", false, "cs101", who[90:]...)
		x.lease(t, "y", false, "cs102", who[:50]...)
		require.Equal(t, before, fields())
	})
}

// What waits in a pool of a lease that Redis has lost goes back to the pool that it was of.
func TestRerouteOutOfAPoolThatIsGone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		pool := x.lease(t, "x", true, "", "ann").Pool.Name
		its := coretest.Spec("a", "p1", "ann")
		x.Submit(t, its)
		require.Equal(t, pool, x.poolOf(t, "a-1"))
		require.NoError(t, x.b.Admin.SRem(ctx, x.key("pools"), pool).Err())
		require.NoError(t, x.b.Admin.Del(ctx, x.key("pool", pool)).Err())
		require.NoError(t, x.b.Admin.HDel(ctx, x.key("pool", "p1"), "submitter:ann").Err())
		_, err := x.Store.Reroute(ctx, []core.Spec{its})
		require.NoError(t, err)
		require.Equal(t, "p1", x.poolOf(t, "a-1"))
		x.AddVMs(t, 1)
		require.Len(t, x.Exchange(t, 1, 1).Claims, 1)
	})
}
