package history_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/history"
)

// What hosts measured stays for the last hours, in few documents however many hosts there are.
func TestMeasuresOfHostsAreKept(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	const many = 100
	since := b.hands.Now().UnixMilli()
	b.count.Cluster.Hosts = func(context.Context) ([]core.HostInfo, error) {
		hosts := []core.HostInfo{{Name: "silent", State: core.HostUp}}
		for i := range many {
			at := b.hands.Now().UnixMilli()
			hosts = append(hosts, core.HostInfo{Name: fmt.Sprint("h", i), State: core.HostUp, Load: &core.HostMeasure{
				At: at, Within: 10_000, Free: core.Size{CPU: int64(i), Memory: 1 << 40, Disk: at - since}, Pressure: &core.Pressure{IO: 12.34},
			}})
		}
		return hosts, nil
	}
	read := func(host string, of time.Duration) []core.HostMeasure {
		t.Helper()
		now := b.hands.Now()
		all, err := history.ReadLoads(t.Context(), b.Store, host, now.Add(-of), now.Add(time.Second))
		require.NoError(t, err)
		return all
	}
	require.Empty(t, read("h7", time.Hour))
	const hours = 4
	for range hours*60 - 1 {
		require.NoError(t, b.count.Sample(t.Context()))
		b.hands.Advance(time.Minute)
	}
	for _, host := range []string{"h0", "h7", "h99"} {
		all := read(host, time.Hour)
		require.InDelta(t, 30, len(all), 1, "one of each two minutes")
		for i, m := range all {
			require.EqualValues(t, 1<<40, m.Free.Memory)
			require.Equal(t, m.At-since, m.Free.Disk, "in order of time")
			require.InDelta(t, 12.34, m.Pressure.IO, 0)
			if i > 0 {
				require.EqualValues(t, 2*time.Minute/time.Millisecond, m.At-all[i-1].At)
			}
		}
	}
	require.EqualValues(t, 7, read("h7", time.Hour)[0].Free.CPU, "of that host")
	require.Empty(t, read("silent", time.Hour), "nothing was measured")
	require.Empty(t, read("h100", time.Hour))
	for range 2 {
		_, err := b.count.Trim(t.Context())
		require.NoError(t, err)
		require.InDelta(t, 60, len(read("h7", hours*time.Hour)), 1, "two hours stay")
	}
}
