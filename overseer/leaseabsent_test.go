package overseer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// An overseer that comes late for a start tries it for as long as another, and no answer is no refusal: neither of a Redis
// that is slow, nor of one whose pools are not restored yet.
func TestALateStartIsTriedToo(t *testing.T) {
	t.Parallel()
	for _, code := range []core.Code{core.CodeUnavailable, core.CodeNotFound, core.CodeInvalid} {
		l := newLeasing(t, coretest.Mini(t), 2)
		made := l.reserve(5, time.Hour, 5*time.Hour)
		l.round()
		l.clock.Advance(time.Hour + 2*time.Minute)
		slow := &troubled{LeasedPools: l.cluster, code: code}
		deps := l.deps
		deps.Leased = slow
		l.over = l.overseer(deps)
		for range 3 {
			_, err := l.over.Leases(t.Context())
			require.True(t, core.Is(err, code))
			if code == core.CodeInvalid {
				break
			}
			l.clock.Advance(time.Minute)
		}
		require.Equal(t, core.LeaseStarting, l.get(made.ID).State, code)
		slow.code = ""
		l.round()
		require.Equal(t, core.LeaseActive, l.get(made.ID).State, code)
	}
}

// A pool that is broken on a host for a moment takes nothing from a lease.
func TestALeaseKeepsItsShareOfAPoolThatFlaps(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Mini(t), 2)
	l.b.Mini.SetTime(l.clock.Now())
	made := l.reserve(5, 0, 5*time.Hour)
	l.round()
	host := l.get(made.ID).Reservations[0].Allocations[0].Host
	broken := func(is bool, d time.Duration) bool {
		n := core.HostNotes{Serves: []string{"again", "once"}}
		if is {
			n.Broken = map[string]string{"again": "no image"}
		}
		factory := core.OwnerName(core.RoleVMFactory, host, 0)
		require.NoError(t, l.cluster.Note(t.Context(), factory, l.epoch[factory], host, n))
		l.clock.Advance(d)
		l.b.Mini.SetTime(l.clock.Now())
		l.round()
		return l.get(made.ID).Reservations[0].Allocations[0].State == core.AllocationHeld
	}
	require.True(t, broken(true, time.Minute))
	require.True(t, broken(false, 5*time.Minute))
	require.True(t, broken(true, time.Minute))
	require.False(t, broken(true, time.Minute), "it goes on")
}

// troubled opens no pool.
type troubled struct {
	core.LeasedPools

	code core.Code
}

func (o *troubled) SetLeased(ctx context.Context, s core.LeasedPoolSetting) error {
	if o.code != "" && s.Open {
		return core.Errorf(o.code, s.Pool.Name, "not now")
	}
	return o.LeasedPools.SetLeased(ctx, s)
}

// What is reserved on a host that somebody removed is reserved elsewhere, however far off the lease is; what a host holds
// that is down, or unknown to Redis, it keeps until then.
func TestALeaseOfNextMonthKeepsWhatIsNotRemoved(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Mini(t), 3)
	far := l.reserve(150, 21*24*time.Hour, 22*24*time.Hour)
	l.round()
	on := func() (hosts []string) {
		for _, a := range l.get(far.ID).Reservations[0].Allocations {
			if a.State == core.AllocationHeld {
				hosts = append(hosts, a.Host)
			}
		}
		return hosts
	}
	before := on()
	require.Len(t, before, 2)
	key := l.cluster.Namespace().Key
	require.NoError(t, l.b.Admin.HSet(t.Context(), key("host", before[0]), "state", string(core.HostDown)).Err())
	l.after(time.Hour)
	require.Equal(t, before, on())
	owners := []string{core.OwnerName(core.RoleTestrunner, before[0], 0), core.OwnerName(core.RoleVMFactory, before[0], 0)}
	for _, owner := range owners {
		require.NoError(t, l.cluster.Deregister(t.Context(), owner, l.epoch[owner]))
	}
	require.NoError(t, l.cluster.ForgetHost(t.Context(), before[0]))
	l.after(time.Hour)
	require.NotContains(t, on(), before[0])
	require.Equal(t, 150, l.get(far.ID).Reservations[0].Held())
	require.Equal(t, 1, events(l.get(far.ID))[core.EventLeaseUpdated], "it moved, and lacked nothing")
}
