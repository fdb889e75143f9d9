package local

import (
	"cmp"

	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory"
	"drover/vmfactory/cgroup"
	"drover/vmfactory/confine"
)

// What enforces limits here, besides the names that package agent has.
const (
	heldByTmpfs     = "tmpfs"
	heldByNamespace = "namespace"
)

// Limits returns what enforces each limit here.
func (p *Provider) Limits() []vmfactory.Limit {
	held := p.heldBy()
	note := func(limit string) string {
		if held[limit] == wire.HeldByCgroup {
			return ""
		}
		return p.cgroups.why
	}
	memory := vmfactory.Limit{Name: "memory", HeldBy: held[core.LimitMemory], Note: note(core.LimitMemory)}
	if memory.HeldBy == "" {
		memory.HeldBy, memory.Weak = wire.HeldByWatchdog, true
	}
	return []vmfactory.Limit{
		memory,
		{Name: "pids", HeldBy: cmp.Or(held[core.LimitPids], wire.HeldByRlimit)},
		{Name: "cpu", HeldBy: held[wire.LimitCPU], Note: note(wire.LimitCPU)},
		p.traces.Cores.Limit(),
		{Name: "disk", HeldBy: heldByTmpfs},
		{Name: "file size", HeldBy: wire.HeldByRlimit},
		{Name: "open files", HeldBy: wire.HeldByRlimit},
		{Name: "time", HeldBy: wire.HeldByAgent},
		{Name: "output", HeldBy: wire.HeldByAgent},
		{Name: "network", HeldBy: heldByNamespace},
		{Name: "processes left behind", HeldBy: heldByNamespace},
		p.owners.reach(confine.Landlock()),
		vmfactory.CachesLimit(p.cgroups.host.FreesCaches(), cmp.Or(p.cgroups.why, "boot a kernel of Linux 5.19 or later")),
	}
}

// reach returns what keeps a submission from its harness, on a kernel with that version of Landlock.
func (o owners) reach(landlock int) vmfactory.Limit {
	const mend = "; run drover as root, or with newuidmap and two users or more lent in /etc/subuid, for a user of its own"
	l := vmfactory.Limit{Name: "reach of submissions", HeldBy: wire.HeldByUser, Note: "by drover-run, out of their harness"}
	switch {
	case o.mode != singleMode:
	case landlock == 0:
		l.HeldBy, l.Note = "", "a submission can read and change its harness: VMs have one user, and this kernel has no Landlock (boot it with landlock in lsm=)"+mend
	case landlock < confine.LandlockScopes:
		l.HeldBy, l.Note = wire.HeldByLandlock, "a submission can signal its harness on a kernel before Linux 6.12, and can change modes and times of its files"+mend
	default:
		l.HeldBy, l.Note = wire.HeldByLandlock, "a submission can change modes and times of its files"+mend
	}
	return l
}

// heldBy returns which of a VM's limits the provider enforces, for the agent's reports.
func (p *Provider) heldBy() map[string]string {
	held := map[string]string{wire.LimitDisk: heldByTmpfs, wire.LimitNetwork: heldByNamespace}
	if p.cgroups.host.Has(cgroup.Memory) {
		held[core.LimitMemory] = wire.HeldByCgroup
	}
	if p.cgroups.host.Has(cgroup.Pids) && p.cgroups.apart { // otherwise the agent's processes are counted too
		held[core.LimitPids] = wire.HeldByCgroup
	}
	if p.cgroups.host.Has(cgroup.CPU) {
		held[wire.LimitCPU] = wire.HeldByCgroup
	}
	return held
}
