package vmfactory

import (
	"github.com/prometheus/client_golang/prometheus"

	"drover/core"
)

// metrics are what operators see of a vmfactory. Pools are the only label with unknown values; the config bounds
// them.
type metrics struct {
	vms         *prometheus.GaugeVec
	target      *prometheus.GaugeVec
	broken      *prometheus.GaugeVec
	creations   *prometheus.CounterVec
	failures    *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	unhealthy   prometheus.Counter
	destroyed   prometheus.Counter
	destroyErr  prometheus.Counter
	quarantined prometheus.Gauge
	leaks       prometheus.Gauge
	reconciled  *prometheus.CounterVec
	beat        prometheus.Gauge
	freeCPUs    *prometheus.GaugeVec
	freeBytes   *prometheus.GaugeVec
	pressure    *prometheus.GaugeVec
}

func newMetrics() *metrics {
	gauge := func(name, help string) prometheus.GaugeOpts { return prometheus.GaugeOpts{Name: name, Help: help} }
	count := func(name, help string) prometheus.CounterOpts { return prometheus.CounterOpts{Name: name, Help: help} }
	pool := []string{"pool"}
	return &metrics{
		vms:       prometheus.NewGaugeVec(gauge("drover_vms", "VMs of the host by pool and state."), []string{"pool", "state"}),
		target:    prometheus.NewGaugeVec(gauge("drover_vms_target", "Clean VMs that the pool should have on the host."), pool),
		broken:    prometheus.NewGaugeVec(gauge("drover_pool_broken", "1 while the pool's VMs cannot be made on the host."), pool),
		creations: prometheus.NewCounterVec(count("drover_vm_creations_total", "VMs made."), pool),
		failures:  prometheus.NewCounterVec(count("drover_vm_creation_failures_total", "VMs that could not be made."), pool),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "drover_vm_create_seconds", Help: "Time to make a VM, both phases.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2, 14),
		}, pool),
		unhealthy:   prometheus.NewCounter(count("drover_vm_unhealthy_total", "Clean VMs that failed their health check.")),
		destroyed:   prometheus.NewCounter(count("drover_vm_destroyed_total", "VMs destroyed.")),
		destroyErr:  prometheus.NewCounter(count("drover_vm_destroy_failures_total", "Tries to destroy a VM that failed.")),
		quarantined: prometheus.NewGauge(gauge("drover_vms_quarantined", "VMs that could not be destroyed and wait for a person.")),
		leaks:       prometheus.NewGauge(gauge("drover_vm_leaks", "VMs on the host that Redis did not know at the last comparison.")),
		reconciled:  prometheus.NewCounterVec(count("drover_vm_reconciled_total", "VMs that a comparison with the host changed."), []string{"change"}),
		beat:        prometheus.NewGauge(gauge("drover_vmfactory_beat_timestamp_seconds", "When the last heartbeat was accepted.")),
		freeCPUs:    prometheus.NewGaugeVec(gauge("drover_host_free_cpus", "Processors of the host that had nothing to do, over the last seconds."), nil),
		freeBytes:   prometheus.NewGaugeVec(gauge("drover_host_free_bytes", "Memory that the host can give to programs, and free space of its VMs' disk."), []string{"resource"}),
		pressure:    prometheus.NewGaugeVec(gauge("drover_host_pressure_ratio", "Part of the last ten seconds in which some program waited for the resource; absent if the kernel does not measure it."), []string{"resource"}),
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.vms, m.target, m.broken, m.creations, m.failures, m.seconds, m.unhealthy,
		m.destroyed, m.destroyErr, m.quarantined, m.leaks, m.reconciled, m.beat,
		m.freeCPUs, m.freeBytes, m.pressure,
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(ch)
	}
}

// measured sets the gauges of the host's load.
func (m *metrics) measured(of core.HostMeasure, whole core.Size) {
	m.freeCPUs.WithLabelValues().Set(float64(of.Free.CPU) / 1000)
	m.freeBytes.WithLabelValues("memory").Set(float64(of.Free.Memory))
	if whole.Disk > 0 {
		m.freeBytes.WithLabelValues("disk").Set(float64(of.Free.Disk))
	}
	m.pressure.Reset()
	if p := of.Pressure; p != nil {
		for resource, percent := range map[string]float64{"cpu": p.CPU, "memory": p.Memory, "io": p.IO} {
			m.pressure.WithLabelValues(resource).Set(percent / 100)
		}
	}
}

// observe sets the gauges from one look at the pools.
func (m *metrics) observe(loads []core.PoolLoad, moves []move) {
	quarantined := 0
	for i, l := range loads {
		quarantined += l.Quarantined
		name := l.Pool.Name
		m.target.WithLabelValues(name).Set(float64(moves[i].target))
		for state, n := range map[core.VMState]int{
			core.VMClean: l.Clean, core.VMCreating: l.Creating, core.VMClaimed: l.InUse,
			core.VMDirty: l.Dirty, core.VMQuarantined: l.Quarantined,
		} {
			m.vms.WithLabelValues(name, string(state)).Set(float64(n))
		}
	}
	m.quarantined.Set(float64(quarantined))
}
