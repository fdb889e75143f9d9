package vmfactory_test

import (
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/vmfactory"
)

// meter measures what a test says.
type meter struct {
	mu    sync.Mutex
	now   core.HostMeasure
	err   error
	calls int
}

func (m *meter) Measure() (core.HostMeasure, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	return m.now, m.err
}

// is changes what it measures.
func (m *meter) is(change func(*core.HostMeasure)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.now)
}

func (m *meter) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

func (r *rig) measures(m vmfactory.Meter) *process {
	deps := r.deps()
	deps.Meter = m
	r.cfg.Registration.CPU, r.cfg.Registration.MemoryBytes = 4, 1<<34
	return r.startWith(deps)
}

func (h *cluster) loads() (n int) {
	h.look(func(h *cluster) { n = len(h.measured) })
	return n
}

func TestTheLoadIsSentOnAChangeAndAtAnAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("p1", 0, 1))
		m := &meter{now: core.HostMeasure{Free: core.Size{CPU: 4000, Memory: 900}}}
		p := r.measures(m)
		settle(time.Second)
		require.Equal(t, 1, r.cluster.loads(), "the first one at once")
		settle(8 * time.Second)
		require.Equal(t, 1, r.cluster.loads(), "nothing changes")
		require.LessOrEqual(t, m.count(), 5)
		settle(4 * time.Second)
		require.Equal(t, 2, r.cluster.loads(), "but it is old")
		m.is(func(now *core.HostMeasure) { now.Free.CPU = 1000 })
		settle(4 * time.Second)
		require.Equal(t, 3, r.cluster.loads())
		for range 60 {
			m.is(func(now *core.HostMeasure) { now.Free.CPU = 4000 - now.Free.CPU })
			settle(time.Second)
		}
		require.LessOrEqual(t, r.cluster.loads(), 3+30, "however fast it changes")
		r.cluster.look(func(h *cluster) { require.EqualValues(t, 900, h.measured[len(h.measured)-1].Free.Memory) })
		p.end()
	})
}

func TestANewRedisGetsTheLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("p1", 0, 1))
		p := r.measures(&meter{})
		settle(time.Second)
		require.Equal(t, 1, r.cluster.loads())
		r.cluster.look(func(h *cluster) { h.ready, h.measured = false, nil })
		settle(4 * time.Second)
		require.Equal(t, 1, r.cluster.loads())
		p.end()
	})
}

// A load that Redis did not take is sent again, and holds up nothing.
func TestALoadThatIsLostIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("p1", 1, 1))
		r.cluster.faults(func(op string) (before, after error) {
			if op == "measured" {
				return errDown, nil
			}
			return nil, nil
		})
		p := r.measures(&meter{})
		settle(10 * time.Second)
		require.Zero(t, r.cluster.loads())
		require.Len(t, r.prov.VMs(), 1, "VMs are made")
		r.cluster.faults(nil)
		settle(10 * time.Second)
		require.NotZero(t, r.cluster.loads())
		p.end()
	})
}

func TestAHostThatCannotBeMeasuredSaysSoOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("p1", 1, 1))
		m := &meter{err: core.Errorf(core.CodeUnavailable, "", "there is no /proc")}
		p := r.measures(m)
		settle(10 * time.Second)
		require.Zero(t, r.cluster.loads())
		require.Len(t, r.prov.VMs(), 1)
		said := 0
		for _, e := range r.logs.AllEntries() {
			if strings.Contains(e.Message, "cannot measure") {
				said++
			}
		}
		require.Equal(t, 1, said)
		require.Greater(t, m.count(), 2)
		p.end()
	})
}

func TestMetricsOfTheLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, pool("p1", 0, 1))
		r.cfg.Registration.DiskBytes = 1000
		m := &meter{now: core.HostMeasure{Free: core.Size{CPU: 2500, Memory: 900, Disk: 70}, Pressure: &core.Pressure{CPU: 50, IO: 25}}}
		p := r.measures(m)
		settle(time.Second)
		gauges := func() map[string]float64 {
			t.Helper()
			all := coretest.Metrics(t, p.metrics)
			maps.DeleteFunc(all, func(name string, _ float64) bool { return !strings.HasPrefix(name, "drover_host_") })
			return all
		}
		want := map[string]float64{
			"drover_host_free_cpus": 2.5, `drover_host_free_bytes{resource="memory"}`: 900, `drover_host_free_bytes{resource="disk"}`: 70,
			`drover_host_pressure_ratio{resource="cpu"}`: 0.5, `drover_host_pressure_ratio{resource="memory"}`: 0, `drover_host_pressure_ratio{resource="io"}`: 0.25,
		}
		require.Equal(t, want, gauges())
		m.is(func(now *core.HostMeasure) { now.Pressure = nil })
		settle(4 * time.Second)
		for _, name := range []string{"cpu", "memory", "io"} {
			delete(want, `drover_host_pressure_ratio{resource="`+name+`"}`)
		}
		require.Equal(t, want, gauges(), "what is not measured is absent")
		p.end()
	})
}
