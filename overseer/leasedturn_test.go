package overseer_test

import (
	"context"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/overseer"
)

// written are the writes to Redis that a turn makes for leases.
type written struct{ did []string }

type writtenLeased struct {
	core.LeasedPools
	to *written
}

func (w writtenLeased) SetLeased(ctx context.Context, s core.LeasedPoolSetting) error {
	w.to.did = append(w.to.did, "set "+s.Pool.Name)
	return w.LeasedPools.SetLeased(ctx, s)
}

func (w writtenLeased) Reroute(ctx context.Context, specs []core.Spec) (int, error) {
	w.to.did = append(w.to.did, "reroute "+specs[0].Pool)
	return w.LeasedPools.Reroute(ctx, specs)
}

type writtenPools struct {
	overseer.Pools
	to *written
}

func (w writtenPools) RemovePool(ctx context.Context, name string, asks bool) error {
	w.to.did = append(w.to.did, "remove "+name)
	return w.Pools.RemovePool(ctx, name, asks)
}

// A turn decides by what it has written itself, too: what starts or ends in it is not set, moved or removed once more.
func TestATurnTreatsALeaseOnce(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Real(t), 2)
	first := l.reserve(20, time.Hour, 2*time.Hour)
	second := l.reserve(20, 2*time.Hour, 3*time.Hour)
	one, other := core.LeasedPool(first.ID, 0), core.LeasedPool(second.ID, 0)
	l.submit("again", 3)
	w := &written{}
	l.deps.Leased, l.deps.Pools = writtenLeased{l.cluster, w}, writtenPools{l.cluster, w}
	l.over = l.overseer(l.deps)
	turn := func(d time.Duration) []string {
		w.did = nil
		l.after(d)
		return w.did
	}
	require.Empty(t, turn(0))
	require.Equal(t, []string{"set " + one}, turn(50*time.Minute), "it is prepared")
	require.Equal(t, []string{"set " + one, "reroute again"}, turn(10*time.Minute), "it starts")
	require.Empty(t, turn(time.Minute))
	require.Equal(t, []string{"set " + one, "reroute again", "remove " + one, "set " + other, "reroute again"}, turn(59*time.Minute),
		"it ends, and the other one, which nobody prepared, starts")
	require.Empty(t, turn(time.Minute))
	require.NoError(t, l.svc.Delete(t.Context(), boss, second.ID))
	require.Equal(t, []string{"set " + other, "reroute again", "remove " + other}, turn(0), "it is deleted")
	require.Empty(t, turn(time.Minute))
}

// Units that come back, if on the host that lost them, degrade nothing anew; what is lost is a warning.
func TestUnitsThatComeBackAreNoLoss(t *testing.T) {
	t.Parallel()
	l := newLeasing(t, coretest.Real(t), 1)
	made := l.reserve(3, 0, time.Hour)
	log, logs := test.NewNullLogger()
	l.deps.Log = log
	l.over = l.overseer(l.deps)
	turn := func() (event string, levels []logrus.Level) {
		before := len(l.get(made.ID).Log)
		logs.Reset()
		l.after(time.Minute)
		notes := l.get(made.ID).Log[before:]
		require.Len(t, notes, 1)
		for _, e := range logs.AllEntries() {
			levels = append(levels, e.Level)
		}
		return notes[0].Event, levels
	}
	event, _ := turn()
	require.Equal(t, core.EventLeaseStarted, event)
	require.NoError(t, l.cluster.Drain(t.Context(), "h1", true, 0))
	event, levels := turn()
	require.Equal(t, core.EventLeaseDegraded, event)
	require.Equal(t, []logrus.Level{logrus.WarnLevel, logrus.WarnLevel}, levels)
	require.NoError(t, l.cluster.Drain(t.Context(), "h1", false, 0))
	event, levels = turn()
	require.Equal(t, core.EventLeaseUpdated, event, "its VMs are still to be made")
	require.Equal(t, []logrus.Level{logrus.InfoLevel}, levels)
	require.True(t, l.degraded(made.ID))
	l.make("h1", core.LeasedPool(made.ID, 0), 3)
	event, _ = turn()
	require.Equal(t, core.EventLeaseWhole, event)
}
