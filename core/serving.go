package core

import "slices"

// HostsFor parts the hosts that make VMs of a pool into those that may take its work, and those that are away: down or
// drained.
func (p Pool) HostsFor(hosts []HostInfo) (able, away []*HostInfo) {
	for i := range hosts {
		h := &hosts[i]
		switch {
		case !slices.Contains(h.Serves, p.Name):
		case h.State == HostDown || h.Drain:
			away = append(away, h)
		default:
			able = append(able, h)
		}
	}
	return able, away
}
