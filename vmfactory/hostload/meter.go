// Package hostload measures what a host has left: of its processors, memory and disk, and the pressure on them.
package hostload

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"drover/core"
)

// Meter measures a host. It belongs to one goroutine.
type Meter struct {
	Root  string    // where the host's file system is: /
	Disk  string    // a folder of the file system with the VMs
	Whole core.Size // of the host, as its owners register it

	last ticks // of all processors at the last measurement
}

// ticks are the time of processors, in clock ticks.
type ticks struct{ idle, busy float64 }

// Measure returns what is free now. Processors are free by the time since the last call; the first call counts since
// the machine's start.
func (m *Meter) Measure() (core.HostMeasure, error) {
	now, err := m.processors()
	if err != nil {
		return core.HostMeasure{}, core.Wrap(err, core.CodeUnavailable, "", "this machine's processors cannot be measured")
	}
	kilobytes, err := m.fields("meminfo", "MemAvailable:", 1)
	if err != nil {
		return core.HostMeasure{}, core.Wrap(err, core.CodeUnavailable, "", "this machine's memory cannot be measured")
	}
	free := core.Size{Memory: available(int64(kilobytes[0])<<10, m.Root)}
	if m.Whole.Disk > 0 {
		if free.Disk, err = freeDisk(m.Disk); err != nil {
			return core.HostMeasure{}, core.Wrap(err, core.CodeUnavailable, m.Disk, "the disk of %s cannot be measured", m.Disk)
		}
	}
	free.CPU = int64(now.idlePart(m.last) * float64(m.Whole.CPU))
	m.last = now
	return core.HostMeasure{Free: free, Pressure: m.pressure()}, nil
}

// fields reads the first n fields of the line in a file of /proc that begins with a name. Of NAME=VALUE it takes the value.
func (m *Meter) fields(file, name string, n int) ([]float64, error) {
	at := filepath.Join(m.Root, "proc", file)
	text, err := os.ReadFile(at)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) <= n || words[0] != name {
			continue
		}
		var values []float64
		for _, word := range words[1 : n+1] {
			value, err := strconv.ParseFloat(word[strings.IndexByte(word, '=')+1:], 64)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		return values, nil
	}
	return nil, core.Errorf(core.CodeUnavailable, at, "%s has no line %q with %d fields", at, name, n)
}

// processors returns the time of all processors since the machine's start. That of guests is part of user and nice.
func (m *Meter) processors() (ticks, error) {
	f, err := m.fields("stat", "cpu", 8) // user, nice, system, idle, iowait, irq, softirq, steal
	if err != nil {
		return ticks{}, err
	}
	return ticks{idle: f[3] + f[4], busy: f[0] + f[1] + f[2] + f[5] + f[6] + f[7]}, nil
}

// idlePart returns the part of the time since a count in which the processors had nothing to do.
func (t ticks) idlePart(before ticks) float64 {
	idle := t.idle - before.idle
	total := t.busy - before.busy + idle
	if total <= 0 {
		return 1 // no tick passed
	}
	return min(1, max(0, idle/total)) // the kernel's count of waiting for disks may go back
}

// freeDisk returns what users may still write to a file system.
func freeDisk(dir string) (int64, error) {
	var facts unix.Statfs_t
	err := unix.Statfs(dir, &facts)
	return int64(facts.Bavail) * facts.Bsize, err //nolint:gosec // no disk has that much
}

// pressure returns nil where the kernel does not measure it.
func (m *Meter) pressure() *core.Pressure {
	var p core.Pressure
	for resource, into := range map[string]*float64{"cpu": &p.CPU, "memory": &p.Memory, "io": &p.IO} {
		its, err := m.fields("pressure/"+resource, "some", 1) // avg10=
		if err != nil {
			return nil
		}
		*into = its[0]
	}
	return &p
}
