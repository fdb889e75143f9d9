// Package hostload measures what a host has left: of its processors, memory and disk, and the pressure on them.
package hostload

import (
	"path/filepath"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"drover/core"
)

// Meter measures a host. It belongs to one goroutine.
type Meter struct {
	Root  string    // where the host's file system is: /
	Disk  string    // a folder of the file system with the VMs
	Whole core.Size // of the host, as its owners register it

	last procfs.CPUStat // time of all processors at the last measurement
}

// Measure returns what is free now. Processors are free by the time since the last call; the first call counts since
// the machine's start.
func (m *Meter) Measure() (core.HostMeasure, error) {
	proc, err := procfs.NewFS(filepath.Join(m.Root, "proc"))
	if err != nil {
		return core.HostMeasure{}, core.Wrap(err, core.CodeUnavailable, "", "this machine's /proc cannot be read")
	}
	stat, err := proc.Stat()
	if err != nil {
		return core.HostMeasure{}, core.Wrap(err, core.CodeUnavailable, "", "this machine's processors cannot be measured")
	}
	memory, err := proc.Meminfo()
	if err == nil && memory.MemAvailableBytes == nil {
		err = core.Errorf(core.CodeUnavailable, "", "MemAvailable is absent")
	}
	if err != nil {
		return core.HostMeasure{}, core.Wrap(err, core.CodeUnavailable, "", "this machine's memory cannot be measured")
	}
	free := core.Size{Memory: available(int64(*memory.MemAvailableBytes), m.Root)} //nolint:gosec // no machine has that much
	if m.Whole.Disk > 0 {
		if free.Disk, err = freeDisk(m.Disk); err != nil {
			return core.HostMeasure{}, core.Wrap(err, core.CodeUnavailable, m.Disk, "the disk of %s cannot be measured", m.Disk)
		}
	}
	free.CPU = int64(idlePart(m.last, stat.CPUTotal) * float64(m.Whole.CPU))
	m.last = stat.CPUTotal
	return core.HostMeasure{Free: free, Pressure: pressure(proc)}, nil
}

// idlePart returns the part of the time between two counts in which the processors had nothing to do.
func idlePart(before, after procfs.CPUStat) float64 {
	idle := after.Idle + after.Iowait - before.Idle - before.Iowait
	total := busy(after) - busy(before) + idle
	if total <= 0 {
		return 1 // no tick passed
	}
	return min(1, max(0, idle/total)) // the kernel's count of waiting for disks may go back
}

// busy is the time in which processors worked. The time of guests is part of User and Nice.
func busy(s procfs.CPUStat) float64 {
	return s.User + s.Nice + s.System + s.IRQ + s.SoftIRQ + s.Steal
}

// freeDisk returns what users may still write to a file system.
func freeDisk(dir string) (int64, error) {
	var facts unix.Statfs_t
	err := unix.Statfs(dir, &facts)
	return int64(facts.Bavail) * facts.Bsize, err //nolint:gosec // no disk has that much
}

// pressure returns nil where the kernel does not measure it.
func pressure(proc procfs.FS) *core.Pressure {
	var p core.Pressure
	for resource, into := range map[string]*float64{"cpu": &p.CPU, "memory": &p.Memory, "io": &p.IO} {
		its, err := proc.PSIStatsForResource(resource)
		if err != nil || its.Some == nil {
			return nil
		}
		*into = its.Some.Avg10
	}
	return &p
}
