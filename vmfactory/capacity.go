package vmfactory

import (
	"fmt"

	"drover/core"
)

// capacity is what the host has for VMs.
func (e *epoch) capacity() core.Size { return e.settings.Capacity(e.cfg.Registration.Whole()) }

// room is what the VMs of the loads may take of the host.
func (e *epoch) room(loads []core.PoolLoad) room {
	all := room{vms: e.cfg.MaxVMs, Size: e.capacity()}
	if all.vms == 0 {
		all.vms = unbounded
	}
	current := make(map[string]core.Size, len(loads))
	for i := range loads {
		current[loads[i].Pool.Name] = loads[i].Pool.Size()
	}
	vms, size := e.homes.beyond(current)
	return room{vms: all.vms - vms, Size: all.Less(size, 1)}
}

// unfit says why the host is not one for the pool's VMs; "" if it is.
func (e *epoch) unfit(p core.Pool) string {
	if label := p.Wants(e.settings.Labels); label != "" {
		return fmt.Sprintf("the pool requires hosts with label %s: give it to this one with drover host set %s --label %s", label, e.host(), label)
	}
	if what := e.capacity().Lacks(p.Size()); what != "" {
		return fmt.Sprintf("a VM of the pool takes more %s than this host has for all VMs: see drover host show %s", what, e.host())
	}
	return ""
}
