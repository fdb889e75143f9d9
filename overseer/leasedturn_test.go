package overseer_test

import (
	"context"
	"testing"
	"time"

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
