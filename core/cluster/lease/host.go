package lease

import (
	"maps"
	"slices"

	"drover/core"
)

// HostOf returns what reservations depend on of a host.
func HostOf(h *core.HostInfo) Host {
	return Host{
		Name: h.Name, Size: h.Capacity(), MaxVMs: h.MaxVMs, Serves: h.Serves, Broken: slices.Sorted(maps.Keys(h.Broken)),
		Labels: h.Settings.Labels, Out: out(h),
	}
}

// out returns why a host holds no reservations now; "" if it does. A late heartbeat is no reason yet: the host is down
// soon, or up again.
func out(h *core.HostInfo) string {
	switch {
	case h.Failed != nil:
		return "it is reported failed: " + h.Failed.Reason
	case h.State == core.HostDown:
		return "it is down"
	case h.Drain:
		return "it is drained"
	case h.Probation != nil:
		return "it is on probation"
	case !h.Ready:
		return "its VMs are being counted since Redis began anew"
	}
	return ""
}
