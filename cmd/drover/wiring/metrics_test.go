package wiring

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/service/metric"
)

// asked counts how often a cluster is read.
type asked struct{ waiting, owners int }

func (a *asked) Waiting(context.Context) ([]core.QueueInfo, error) {
	a.waiting++
	return []core.QueueInfo{{Pool: "p1", Priority: core.PriorityHigh, Waiting: a.waiting}}, nil
}

func (a *asked) ListOwners(context.Context) ([]core.OwnerInfo, error) {
	a.owners++
	return nil, core.Errorf(core.CodeUnavailable, "", "away")
}

// In a cluster of many owners only those that are late have series of their own, and not more than some hundreds.
func TestFewOwnersHaveSeries(t *testing.T) {
	t.Parallel()
	all := make([]core.OwnerInfo, 15_000)
	for i := range all {
		all[i] = core.OwnerInfo{Name: "testrunner@h" + strconv.Itoa(i) + "#0", Deadline: int64(2_000_000 - i)}
	}
	require.Len(t, shownOwners(all[:200]), 200, "of a few each has")
	require.Empty(t, shownOwners(all))
	all[7].Late, all[9].Late = true, true
	shown := shownOwners(all)
	require.Len(t, shown, 2)
	require.Equal(t, all[9].Name, shown[0].Name, "the latest first")
	for i := range all {
		all[i].Late = true
	}
	require.Len(t, shownOwners(all), 200)
}

// However many scrape, Redis is asked once in a while.
func TestScrapesShareAReading(t *testing.T) {
	t.Parallel()
	a, now := &asked{}, time.UnixMilli(1_700_000_000_000)
	metrics := &metric.Set{}
	(&clusterMetrics{cluster: a, now: func() time.Time { return now }}).declare(metrics)
	scrape := func() int {
		t.Helper()
		got := coretest.Metrics(t, metrics)
		require.Len(t, got, 1, "what Redis does not answer is left out")
		return int(got[`drover_cluster_waiting_requests{pool="p1",priority="high"}`])
	}
	for range 100 {
		require.Equal(t, 1, scrape())
	}
	require.Equal(t, asked{1, 1}, *a)
	now = now.Add(clusterFresh)
	require.Equal(t, 2, scrape())
	now = now.Add(-time.Hour)
	require.Equal(t, 3, scrape(), "a clock that was set back keeps no old reading")
}

func TestHostsAreCountedByTheirHeartbeats(t *testing.T) {
	t.Parallel()
	inTime, late := countHosts([]core.OwnerInfo{
		{Host: "h1", Role: core.RoleVMFactory, Late: true}, // one of its processes died
		{Host: "h1", Role: core.RoleTestrunner},
		{Host: "h2", Role: core.RoleTestrunner, Late: true},
		{Host: "h2", Role: core.RoleTaskrunner},
		{Host: "control", Role: core.RoleTaskrunner},
	})
	require.Equal(t, []int{1, 1}, []int{inTime, late})
}
