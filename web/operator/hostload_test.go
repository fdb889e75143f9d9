package operator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/coretest"
)

// A host's page shows what is free, what was measured as pictures and as tables, and what is not measured as such.
func TestTheLoadOfAHost(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	text := mainOf(t, w.shows(t, "otto", "/cluster/hosts/h1"))
	require.Contains(t, text, "Nothing was measured in the last hour.")
	require.NotContains(t, text, "Free now")
	require.NotContains(t, text, "Pressure")

	w.measured(t, "h1", false)
	text = mainOf(t, w.anew(t).shows(t, "otto", "/cluster/hosts/h1"))
	require.Contains(t, text, "not measured")
	require.Equal(t, 2, strings.Count(text, `class="plot"`))
	require.NotContains(t, text, "load-pressure")

	w.measured(t, "h1", true)
	text = mainOf(t, w.anew(t).shows(t, "otto", "/cluster/hosts/h1"))
	for _, part := range []string{
		"Free now", "for processors 12.34 %, for memory 0 %, for disks 56 %", `id="load-pressure-text">At most 90.`,
		`role="img" aria-labelledby="load-cpu-title load-cpu-text"`, "1 of 4", "<td>–</td>",
	} {
		require.Contains(t, text, part)
	}
	require.Equal(t, 3, strings.Count(text, `class="plot"`))
	require.Len(t, strings.Split(text, `<polyline class="line good"`), 1+2+2, "lines are broken where nobody measured")
}

// measured is a host that measured in the last hour, but for a quarter of it; its pressure at first was not measured.
func (w *fixture) measured(t *testing.T, host string, pressed bool) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	require.NoError(t, w.b.Admin.HSet(ctx, w.Store.Namespace().Key("host", host), "cpu", 4, "memory", 8<<30, "disk", 100<<30).Err())
	h := w.hostNamed(t, host)
	whole := h.Whole()
	for ago := 58 * time.Minute; ago >= 0; ago -= 2 * time.Minute {
		if ago > 20*time.Minute && ago < 35*time.Minute {
			continue
		}
		n := int64(ago / (2 * time.Minute))
		m := &core.HostMeasure{At: now.Add(-ago).UnixMilli(), Within: 10_000, Free: core.Size{CPU: 1000 + n*97%2500, Memory: whole.Memory / (1 + n%5), Disk: whole.Disk / 3}}
		if pressed && ago < 40*time.Minute {
			m.Pressure = &core.Pressure{CPU: float64(n * 9 % 91), Memory: float64(n % 3), IO: 5}
		}
		c := history.Counter{Store: w.store, Now: func() time.Time { return now.Add(-ago) }, Cluster: history.Cluster{
			Hosts:   func(context.Context) ([]core.HostInfo, error) { return []core.HostInfo{{Name: host, Load: m}}, nil },
			Waiting: func(context.Context) ([]core.QueueInfo, error) { return nil, nil },
		}}
		require.NoError(t, c.Sample(ctx))
	}
	last := core.HostMeasure{Free: core.Size{CPU: 1000, Memory: whole.Memory / 3, Disk: whole.Disk / 3}}
	if pressed {
		last.Pressure = &core.Pressure{CPU: 12.34, IO: 56}
	}
	owner := core.OwnerName(core.RoleVMFactory, host, 0)
	epoch := int64(0)
	owners, err := w.Store.ListOwners(ctx)
	require.NoError(t, err)
	for _, o := range owners {
		if o.Name == owner {
			epoch = o.Epoch
		}
	}
	_, err = w.Store.Measured(ctx, owner, epoch, host, last)
	require.NoError(t, err, fmt.Sprint(owners))
}
