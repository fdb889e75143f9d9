package lease

import (
	"maps"
	"slices"

	"drover/core"
)

// NewGround returns what leases are decided by. Pools of leases are left out.
func NewGround(now int64, hosts []core.HostInfo, pools []core.Pool, leases []core.Lease, rules Rules) Ground {
	g := Ground{Now: now, Leases: leases, Cleaning: rules.Cleaning}
	for i := range hosts {
		g.Hosts = append(g.Hosts, HostOf(&hosts[i]))
	}
	for i := range pools {
		if pools[i].Lease == "" {
			g.Pools = append(g.Pools, pools[i])
		}
	}
	return g
}

// HostOf returns what reservations depend on of a host.
func HostOf(h *core.HostInfo) Host {
	return Host{
		Name: h.Name, Size: h.Capacity(), MaxVMs: h.MaxVMs, Serves: h.Serves, Broken: slices.Sorted(maps.Keys(h.Broken)),
		Labels: h.Settings.Labels, Out: out(h), Keeps: out(h) == counting,
	}
}

// counting is why a host gets no reservations that Redis has just come to know.
const counting = "its VMs are being counted since Redis began anew"

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
		return counting
	}
	return ""
}
