package lxc

import (
	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory"
)

// What enforces limits here, besides the names that package agent has.
const (
	heldByTmpfs     = "tmpfs"
	heldByNamespace = "namespace"
	heldByNftables  = "nftables"
)

// Limits returns what enforces each limit here. It is the same on every host: a host that cannot enforce one is not
// ready.
func (p *Provider) Limits() []vmfactory.Limit {
	return []vmfactory.Limit{
		{Name: "memory", HeldBy: wire.HeldByCgroup},
		{Name: "pids", HeldBy: wire.HeldByCgroup},
		{Name: "cpu", HeldBy: wire.HeldByCgroup},
		p.traces.Cores.Limit(),
		{Name: "disk", HeldBy: heldByTmpfs},
		{Name: "file size", HeldBy: wire.HeldByRlimit},
		{Name: "open files", HeldBy: wire.HeldByRlimit},
		{Name: "time", HeldBy: wire.HeldByAgent},
		{Name: "output", HeldBy: wire.HeldByAgent},
		{Name: "network", HeldBy: heldByNamespace, Note: "and by " + heldByNftables + " for pools with network " + core.NetworkEgress},
		{Name: "processes left behind", HeldBy: heldByNamespace},
		{Name: "reach of submissions", HeldBy: wire.HeldByUser, Note: "by drover-run, out of their harness"},
		vmfactory.CachesLimit(p.cgroups.FreesCaches(), "boot a kernel of Linux 5.19 or later"),
	}
}

// heldBy returns which of a VM's limits the provider enforces, for the agent's reports.
func heldBy(pool core.Pool) map[string]string {
	held := map[string]string{
		core.LimitMemory: wire.HeldByCgroup, core.LimitPids: wire.HeldByCgroup, wire.LimitCPU: wire.HeldByCgroup, wire.LimitDisk: heldByTmpfs, wire.LimitNetwork: heldByNamespace,
	}
	if egress(pool) {
		held[wire.LimitNetwork] = heldByNftables
	}
	return held
}
