package vmfactory

import (
	"drover/core"
	"drover/core/service/metric"
)

// metrics are what operators see of a vmfactory. Pools are the only label with unknown values; the config bounds
// them.
type metrics struct {
	vms, target, broken, creations, failures, seconds, unhealthy, destroyed, destroyErr, quarantined, leaks, reconciled *metric.Family

	beat, freeCPUs, freeBytes, pressure *metric.Family
}

func newMetrics(in *metric.Set) *metrics {
	m := &metrics{
		vms:         in.Gauge("drover_vms", "VMs of the host by pool and state.", "pool", "state"),
		target:      in.Gauge("drover_vms_target", "Clean VMs that the pool should have on the host.", "pool"),
		broken:      in.Gauge("drover_pool_broken", "1 while the pool's VMs cannot be made on the host.", "pool"),
		creations:   in.Counter("drover_vm_creations_total", "VMs made.", "pool"),
		failures:    in.Counter("drover_vm_creation_failures_total", "VMs that could not be made.", "pool"),
		seconds:     in.Histogram("drover_vm_create_seconds", "Time to make a VM, both phases.", 0.004, 2, 14, "pool"),
		unhealthy:   in.Counter("drover_vm_unhealthy_total", "Clean VMs that failed their health check."),
		destroyed:   in.Counter("drover_vm_destroyed_total", "VMs destroyed."),
		destroyErr:  in.Counter("drover_vm_destroy_failures_total", "Tries to destroy a VM that failed."),
		quarantined: in.Gauge("drover_vms_quarantined", "VMs that could not be destroyed and wait for a person."),
		leaks:       in.Gauge("drover_vm_leaks", "VMs on the host that Redis did not know at the last comparison."),
		reconciled:  in.Counter("drover_vm_reconciled_total", "VMs that a comparison with the host changed.", "change"),
		beat:        in.Gauge("drover_vmfactory_beat_timestamp_seconds", "When the last heartbeat was accepted."),
		freeCPUs:    in.Gauge("drover_host_free_cpus", "Processors of the host that had nothing to do, over the last seconds."),
		freeBytes:   in.Gauge("drover_host_free_bytes", "Memory that the host can give to programs, and free space of its VMs' disk.", "resource"),
		pressure:    in.Gauge("drover_host_pressure_ratio", "Part of the last ten seconds in which some program waited for the resource; absent if the kernel does not measure it.", "resource"),
	}
	m.freeCPUs.Reset() // until it is measured
	return m
}

// measured sets the gauges of the host's load.
func (m *metrics) measured(of core.HostMeasure, whole core.Size) {
	m.freeCPUs.Set(float64(of.Free.CPU) / 1000)
	m.freeBytes.Set(float64(of.Free.Memory), "memory")
	if whole.Disk > 0 {
		m.freeBytes.Set(float64(of.Free.Disk), "disk")
	}
	m.pressure.Reset()
	if p := of.Pressure; p != nil {
		for resource, percent := range map[string]float64{"cpu": p.CPU, "memory": p.Memory, "io": p.IO} {
			m.pressure.Set(percent/100, resource)
		}
	}
}

// observe sets the gauges from one look at the pools.
func (m *metrics) observe(loads []core.PoolLoad, moves []move) {
	quarantined := 0
	for i, l := range loads {
		quarantined += l.Quarantined
		name := l.Pool.Name
		m.target.Set(float64(moves[i].target), name)
		for state, n := range map[core.VMState]int{
			core.VMClean: l.Clean, core.VMCreating: l.Creating, core.VMClaimed: l.InUse,
			core.VMDirty: l.Dirty, core.VMQuarantined: l.Quarantined,
		} {
			m.vms.Set(float64(n), name, string(state))
		}
	}
	m.quarantined.Set(float64(quarantined))
}
