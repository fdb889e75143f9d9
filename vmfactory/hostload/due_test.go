package hostload

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
)

var whole = core.Size{CPU: 4000, Memory: 1000, Disk: 10_000}

func TestDue(t *testing.T) {
	t.Parallel()
	free := func(cpu, memory, disk int64) core.HostMeasure {
		return core.HostMeasure{Free: core.Size{CPU: cpu, Memory: memory, Disk: disk}}
	}
	press := func(cpu, memory, io float64) core.HostMeasure {
		return core.HostMeasure{Pressure: &core.Pressure{CPU: cpu, Memory: memory, IO: io}}
	}
	for name, c := range map[string]struct {
		before, now core.HostMeasure
		since       time.Duration
		want        bool
	}{
		"nothing changed":                {free(4000, 1000, 5), free(4000, 1000, 5), 9 * time.Second, false},
		"nothing changed for long":       {free(4000, 1000, 5), free(4000, 1000, 5), 10 * time.Second, true},
		"a little":                       {free(4000, 1000, 0), free(3601, 901, 999), 9 * time.Second, false},
		"processors":                     {free(4000, 0, 0), free(3600, 0, 0), 2 * time.Second, true},
		"memory":                         {free(0, 100, 0), free(0, 0, 0), 2 * time.Second, true},
		"disk, more than before":         {free(0, 0, 5000), free(0, 0, 6000), 2 * time.Second, true},
		"too early":                      {free(4000, 1000, 0), free(0, 0, 0), 2*time.Second - 1, false},
		"pressure within a step":         {press(6, 0, 0), press(19, 0, 0), 9 * time.Second, false},
		"pressure over a step":           {press(18, 0, 0), press(21, 0, 0), 2 * time.Second, true},
		"pressure back":                  {press(0, 51, 0), press(0, 30, 0), 2 * time.Second, true},
		"pressure of disks":              {press(0, 0, 0), press(0, 0, 5), 2 * time.Second, true},
		"pressure to and fro on a step":  {press(19.5, 0, 0), press(20.5, 0, 0), 9 * time.Second, false},
		"pressure is measured from now":  {free(0, 0, 0), press(0, 0, 0), 2 * time.Second, true},
		"pressure is not measured again": {press(0, 0, 0), free(0, 0, 0), 2 * time.Second, true},
	} {
		require.Equal(t, c.want, Due(c.before, c.now, whole, c.since, core.MeasureWithin), name)
	}
	require.False(t, Due(free(0, 0, 1<<40), free(0, 0, 0), core.Size{CPU: 1000}, 5*time.Second, core.MeasureWithin), "of a disk that is not known")
	require.False(t, Due(free(4000, 0, 0), free(0, 0, 0), whole, 3*time.Second, 100*time.Second), "in a large cluster it is less often")
}

// Whatever they measure, all hosts together send at most 250 measures in a second, and 50 if little changes.
func TestAllHostsTogetherSendABoundedNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.IntRange(1, 3000).Draw(t, "hosts")
		wild := rapid.Bool().Draw(t, "wild")
		within := max(core.MeasureWithin, time.Duration(hosts)*core.MeasurePerHost) // as host_measured.lua has it
		const every = 2 * time.Second
		length := 3 * within
		draw := rapid.Custom(func(t *rapid.T) core.HostMeasure {
			if !wild {
				return core.HostMeasure{Free: whole, Pressure: &core.Pressure{CPU: rapid.Float64Range(4, 6).Draw(t, "pressure")}}
			}
			m := core.HostMeasure{Free: core.Size{CPU: rapid.Int64Range(0, whole.CPU).Draw(t, "cpu"), Memory: rapid.Int64Range(0, whole.Memory).Draw(t, "memory")}}
			if rapid.Bool().Draw(t, "measured") {
				m.Pressure = &core.Pressure{IO: rapid.Float64Range(0, 100).Draw(t, "pressure")}
			}
			return m
		})
		pool := rapid.SliceOfN(draw, 4, 4).Draw(t, "measures")
		sent := 0
		for h := range min(hosts, 20) { // the others do the same
			last, at := pool[0], time.Duration(0)
			for now, i := every, h; now <= length; now, i = now+every, i+1 {
				m := pool[i%len(pool)]
				if Due(last, m, whole, now-at, within) {
					sent++
					last, at = m, now
				}
			}
		}
		perSecond := float64(sent) / float64(min(hosts, 20)) * float64(hosts) / length.Seconds()
		most := 50.0
		if wild {
			most *= core.MeasureSoonest
		}
		require.LessOrEqual(t, perSecond, most+0.001, fmt.Sprint(hosts, " hosts"))
		require.GreaterOrEqual(t, sent, 2*min(hosts, 20), "a host that is alive stays current")
	})
}
