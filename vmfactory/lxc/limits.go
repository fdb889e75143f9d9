package lxc

import (
	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory"
)

// What holds limits here, beside the words that package agent has.
const (
	heldByTmpfs     = "tmpfs"
	heldByNamespace = "namespace"
	heldByNftables  = "nftables"
)

// Limits says what holds which limit here. It is the same everywhere: a host that
// cannot hold one is not ready.
func (p *Provider) Limits() []vmfactory.Limit {
	return []vmfactory.Limit{
		{Name: "memory", HeldBy: wire.HeldByCgroup},
		{Name: "pids", HeldBy: wire.HeldByCgroup},
		{Name: "cpu", HeldBy: wire.HeldByCgroup},
		{Name: "disk", HeldBy: heldByTmpfs},
		{Name: "file size", HeldBy: wire.HeldByRlimit},
		{Name: "open files", HeldBy: wire.HeldByRlimit},
		{Name: "time", HeldBy: wire.HeldByAgent},
		{Name: "output", HeldBy: wire.HeldByAgent},
		{Name: "network", HeldBy: heldByNamespace, Note: "and by " + heldByNftables + " for pools with network " + core.NetworkEgress},
		{Name: "processes left behind", HeldBy: heldByNamespace},
		{Name: "reach of submissions", HeldBy: wire.HeldByUser, Note: "by drover-run, out of their harness"},
	}
}

// heldBy is what the provider holds of a VM's limits, for the agent's reports.
func heldBy(pool core.Pool) map[string]string {
	held := map[string]string{
		core.LimitMemory: wire.HeldByCgroup, core.LimitPids: wire.HeldByCgroup, wire.LimitCPU: wire.HeldByCgroup, wire.LimitDisk: heldByTmpfs, wire.LimitNetwork: heldByNamespace,
	}
	if egress(pool) {
		held[wire.LimitNetwork] = heldByNftables
	}
	return held
}
