package overseer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/coretest"
)

// Work that must not run twice goes on beyond the end of its lease. Until it ends the lease holds its VMs, and no more:
// nobody is given them, who was promised them lacks just these, and gets them once they are free.
func TestALeaseHoldsWhatRunsAfterItsEnd(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		l := newLeasing(t, coretest.Mini(t), 1)
		of := func(units int) func(*lease.Draft) {
			return func(d *lease.Draft) {
				d.Reservations = []lease.Want{{Pools: []string{"once"}, Units: units}}
				d.Submitters = []string{"bob"}
			}
		}
		first := l.reserve(0, 0, time.Hour, of(100))
		l.round()
		own := core.LeasedPool(first.ID, 0)
		l.submitAs("once", 5, l.as("bob"))
		l.make("h1", own, 5)
		claims := l.claim("h1", own, 5, 10_000*time.Hour)
		promised := l.reserve(0, time.Hour, 2*time.Hour, of(98))
		late := func(units int) error {
			_, err := l.svc.Create(t.Context(), boss, lease.Draft{
				Name: "late", Submitters: []string{"eve"}, End: l.clock.Now().Add(time.Minute).UnixMilli(), Reservations: []lease.Want{{Pools: []string{"once"}, Units: units}},
			})
			return err
		}
		if deleted {
			require.NoError(t, l.svc.Delete(t.Context(), boss, first.ID))
			l.round()
		}
		l.clock.Advance(time.Hour + time.Second)
		if !deleted {
			require.Equal(t, core.CodeFull, core.CodeOf(late(3)), "no overseer has ended it yet")
		}
		l.end("h1", claims[:1], core.OutcomeDone)
		l.round()
		l.round() // what is deleted is seen to last
		require.Equal(t, 4, held(l.get(first.ID)))
		require.Equal(t, 96, held(l.get(promised.ID)))
		require.True(t, l.degraded(promised.ID))
		require.Empty(t, l.round(), "nothing is done twice")
		require.Equal(t, core.CodeFull, core.CodeOf(late(1)))
		l.end("h1", claims[1:3], core.OutcomeDone)
		l.round()
		l.round()
		require.Equal(t, 98, held(l.get(promised.ID)))
		require.Equal(t, 2, held(l.get(first.ID)))
		l.end("h1", claims[3:], core.OutcomeDone)
		l.round()
		if got, err := l.svc.Get(t.Context(), boss, first.ID); deleted {
			require.Equal(t, core.CodeNotFound, core.CodeOf(err))
		} else {
			require.Equal(t, core.LeaseTerminated, got.State)
		}
	}
}

// What runs on a host that Redis does not know again yet, nobody can say: its room is not free.
func TestAnEndingLeaseHoldsWhatRedisDoesNotKnow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newLeasing(t, coretest.Mini(t), 1)
	first := l.reserve(0, 0, time.Hour, func(d *lease.Draft) {
		d.Reservations = []lease.Want{{Pools: []string{"once"}, Units: 10}}
		d.Submitters = []string{"bob"}
	})
	l.round()
	own := core.LeasedPool(first.ID, 0)
	l.submitAs("once", 2, l.as("bob"))
	l.make("h1", own, 2)
	claims := l.claim("h1", own, 2, 10_000*time.Hour)
	l.clock.Advance(time.Hour + time.Second)
	l.end("h1", claims[:1], core.OutcomeDone)
	host := l.cluster.Namespace().Key("host", "h1")
	knows := l.b.Admin.HGet(ctx, host, "incarnation").Val()
	require.NotEmpty(t, knows)
	require.NoError(t, l.b.Admin.HDel(ctx, host, "incarnation").Err())
	l.round()
	require.Equal(t, 10, held(l.get(first.ID)))
	require.NoError(t, l.b.Admin.HSet(ctx, host, "incarnation", knows).Err())
	l.round()
	require.Equal(t, 1, held(l.get(first.ID)))
}

func held(l core.Lease) int { return l.Reservations[0].Held() }
