package wiring

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"drover/core"
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

// However many scrape, Redis is asked once in a while.
func TestScrapesShareAReading(t *testing.T) {
	t.Parallel()
	a, now := &asked{}, time.UnixMilli(1_700_000_000_000)
	registry := prometheus.NewRegistry()
	registry.MustRegister(&clusterMetrics{cluster: a, now: func() time.Time { return now }})
	scrape := func() int {
		t.Helper()
		got, err := registry.Gather()
		require.NoError(t, err)
		require.Len(t, got, 1, "what Redis does not answer is left out")
		return int(got[0].GetMetric()[0].GetGauge().GetValue())
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
