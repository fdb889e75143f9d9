package core

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Size is how much of a host VMs take, or how much a host has for them.
type Size struct {
	CPU    int64 `json:"cpu"`          // thousandths of a processor
	Memory int64 `json:"memory_bytes"` // bytes
	Disk   int64 `json:"disk_bytes"`   // bytes
}

// Unlimited is a figure that a host did not report: no work can use it up.
const Unlimited = 1 << 62

// Less returns s without n VMs of the other size.
func (s Size) Less(other Size, n int) Size {
	return Size{CPU: s.CPU - int64(n)*other.CPU, Memory: s.Memory - int64(n)*other.Memory, Disk: s.Disk - int64(n)*other.Disk}
}

// Lacks returns what s has too little of to hold the other size: "memory", "disk", "processors",
// or "" if it holds it. What the other takes nothing of is never lacking, however little s has.
func (s Size) Lacks(other Size) string {
	switch {
	case other.Memory > 0 && other.Memory > s.Memory:
		return "memory"
	case other.Disk > 0 && other.Disk > s.Disk:
		return "disk"
	case other.CPU > 0 && other.CPU > s.CPU:
		return "processors"
	}
	return ""
}

// Overcommit says how much more of a host its VMs may be promised than it has. Zero is the default.
type Overcommit struct {
	CPU    float64 `json:"cpu,omitempty"`    // default 4: a VM seldom computes all the time
	Memory float64 `json:"memory,omitempty"` // default 1: memory that is sold twice kills VMs that did nothing wrong
	Disk   float64 `json:"disk,omitempty"`   // default 1
}

// Defaults of a host's settings.
const (
	DefaultCPUOvercommit = 4
	MaxOvercommit        = 100

	reservePart      = 10 // by default a host keeps one in so many bytes of memory and disk for itself,
	maxReserveMemory = 2 << 30
	maxReserveDisk   = 10 << 30
)

// HostSettings are what operators say of a host. The result store keeps them, as it keeps pools.
type HostSettings struct {
	Labels     map[string]string `json:"labels,omitempty"`    // what pools may ask of a host, see Pool.Requires
	Reserve    *Size             `json:"reserve,omitempty"`   // what the host keeps for itself; nil is a tenth of memory and disk, at most 2 GiB and 10 GiB
	Overcommit Overcommit        `json:"overcommit,omitzero"` // factors of what is left
}

// MaxHostLabels bounds the labels of a host.
const MaxHostLabels = 64

// Check returns an INVALID error that names the first setting that cannot be.
func (s HostSettings) Check(host string) error {
	if len(s.Labels) > MaxHostLabels {
		return Errorf(CodeInvalid, "label", "host %s: %d labels are more than %d", host, len(s.Labels), MaxHostLabels)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		if err := cmp.Or(CheckName("label", k), CheckName("value of label "+k, s.Labels[k])); err != nil {
			return err
		}
	}
	if r := s.Reserve; r != nil && (r.CPU < 0 || r.Memory < 0 || r.Disk < 0) {
		return Errorf(CodeInvalid, "reserve", "host %s: a reserve must not be below 0", host)
	}
	for name, f := range map[string]float64{"cpu": s.Overcommit.CPU, "memory": s.Overcommit.Memory, "disk": s.Overcommit.Disk} {
		if f != 0 && !(f >= 1 && f <= MaxOvercommit) {
			return Errorf(CodeInvalid, "overcommit", "host %s: overcommit of %s %g must be between 1 and %d, or 0 for the default", host, name, f, MaxOvercommit)
		}
	}
	return nil
}

// Equal reports whether two settings say the same.
func (s HostSettings) Equal(other HostSettings) bool {
	same := s.Reserve == nil && other.Reserve == nil || s.Reserve != nil && other.Reserve != nil && *s.Reserve == *other.Reserve
	return same && s.Overcommit == other.Overcommit && maps.Equal(s.Labels, other.Labels)
}

// Keeps is the reserve of a host of the given size.
func (s HostSettings) Keeps(whole Size) Size {
	if s.Reserve != nil {
		return *s.Reserve
	}
	return Size{Memory: min(whole.Memory/reservePart, maxReserveMemory), Disk: min(whole.Disk/reservePart, maxReserveDisk)}
}

// Explicit returns a copy with the reserve in figures, in which single settings can be changed.
func (s HostSettings) Explicit(whole Size) HostSettings {
	keeps := s.Keeps(whole)
	return HostSettings{Labels: maps.Clone(s.Labels), Reserve: &keeps, Overcommit: s.Overcommit}
}

// Implicit is the inverse of Explicit: a reserve that is the default in figures follows the default again.
func (s HostSettings) Implicit(whole Size) HostSettings {
	if s.Reserve != nil && *s.Reserve == (HostSettings{}).Keeps(whole) {
		s.Reserve = nil
	}
	return s
}

// Capacity is what a host of the given size has for VMs: what it has, less its reserve, times its
// overcommit. A figure of 0 was not reported and is Unlimited.
func (s HostSettings) Capacity(whole Size) Size {
	keep := s.Keeps(whole)
	part := func(whole, keep int64, factor float64) int64 {
		if whole <= 0 {
			return Unlimited
		}
		return int64(float64(max(0, whole-keep)) * factor)
	}
	return Size{
		CPU:    part(whole.CPU, keep.CPU, cmp.Or(s.Overcommit.CPU, DefaultCPUOvercommit)),
		Memory: part(whole.Memory, keep.Memory, cmp.Or(s.Overcommit.Memory, 1)),
		Disk:   part(whole.Disk, keep.Disk, cmp.Or(s.Overcommit.Disk, 1)),
	}
}

// ParseLabels reads labels of the form "gpu=yes,zone=a". Returns INVALID.
func ParseLabels(text string) (map[string]string, error) {
	labels := make(map[string]string)
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		k, v, ok := strings.Cut(one, "=")
		if !ok {
			return nil, Errorf(CodeInvalid, one, "%q is no label: write it as NAME=VALUE, several of them with commas between", one)
		}
		if _, twice := labels[k]; twice {
			return nil, Errorf(CodeInvalid, k, "label %s is there twice", k)
		}
		if err := cmp.Or(CheckName("label", k), CheckName("value of label "+k, v)); err != nil {
			return nil, err
		}
		labels[k] = v
	}
	if len(labels) > MaxHostLabels {
		return nil, Errorf(CodeInvalid, "label", "%d labels are more than %d", len(labels), MaxHostLabels)
	}
	return labels, nil
}

// FormatLabels writes labels as ParseLabels reads them, in order of their names.
func FormatLabels(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return strings.Join(parts, ",")
}
