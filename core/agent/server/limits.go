package server

import (
	"maps"
	"syscall"

	"drover/core"
	"drover/core/agent/wire"
)

// pidSlack is the distance between the limit on processes, at which the watchdog ends a run with a reason, and the
// kernel's limit, which holds between two looks. The agent's own threads count there if user code has its uid.
const pidSlack = 32

// Resource numbers that package syscall does not have.
const (
	rlimitNproc    = 6
	rlimitMemlock  = 8
	rlimitMsgqueue = 12
	rlimitNice     = 13
	rlimitRtprio   = 14
)

// Fixed sizes.
const (
	stackLeast  = 8 << 20
	stackMost   = 1 << 30
	memlockSize = 64 << 10
)

// effective returns the limits of a run: what it asks for, at most the VM's, and a default if neither sets one.
func effective(run, vm core.Limits) core.Limits {
	least := func(a, b int64) int64 {
		if a > 0 && b > 0 {
			return min(a, b)
		}
		return max(a, b)
	}
	l := core.Limits{
		Timeout:   min(run.Or(vm).Timeout, vm.Or(run).Timeout),
		Memory:    least(run.Memory, vm.Memory),
		Disk:      least(run.Disk, vm.Disk),
		FileSize:  least(run.FileSize, vm.FileSize),
		Pids:      int(least(int64(run.Pids), int64(vm.Pids))),
		OpenFiles: int(least(int64(run.OpenFiles), int64(vm.OpenFiles))),
		Output:    least(run.Output, vm.Output),
	}.Or(core.Limits{
		Timeout:   wire.DefaultTimeout,
		Disk:      wire.DefaultDisk,
		OpenFiles: wire.DefaultOpenFiles,
		Output:    wire.DefaultOutput,
	})
	l.FileSize = least(l.FileSize, l.Disk)
	l.OpenFiles = max(l.OpenFiles, wire.MinOpenFiles)
	return l
}

// bind lowers the limits of the agent's own process to the run's. Commands inherit them, so that no user code ever
// runs without. Limits are never raised: a VM serves one assignment, whose runs share its limits.
func (a *Agent) bind(l core.Limits) error {
	walls := []struct {
		resource   int
		soft, hard uint64
	}{
		// Deep recursion ends at the limit of memory, as judges of programs expect, not at a limit that nobody named.
		{syscall.RLIMIT_STACK, uint64(min(max(l.Memory, stackLeast), stackMost)), stackMost},
		{rlimitMemlock, memlockSize, memlockSize},
		{rlimitMsgqueue, 0, 0},
		{rlimitNice, 0, 0},
		{rlimitRtprio, 0, 0},
		{syscall.RLIMIT_FSIZE, uint64(l.FileSize), uint64(l.FileSize)},    //nolint:gosec // positive
		{syscall.RLIMIT_NOFILE, uint64(l.OpenFiles), uint64(l.OpenFiles)}, //nolint:gosec // positive
	}
	if a.cfg.Alone && l.Pids > 0 {
		wall := uint64(l.Pids) + pidSlack
		walls = append(walls, struct {
			resource   int
			soft, hard uint64
		}{rlimitNproc, wall, wall})
	}
	for _, w := range walls {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(w.resource, &now); err != nil {
			return core.Wrap(err, core.CodeBadVM, a.cfg.VM, "read resource limit %d", w.resource)
		}
		hard := min(w.hard, now.Max)
		want := syscall.Rlimit{Cur: min(w.soft, hard), Max: hard}
		if err := syscall.Setrlimit(w.resource, &want); err != nil {
			return core.Wrap(err, core.CodeBadVM, a.cfg.VM, "set resource limit %d to %d", w.resource, want.Max)
		}
	}
	return nil
}

// heldBy returns what enforces each limit of a run; "" is nothing.
func (a *Agent) heldBy(l core.Limits) map[string]string {
	held := map[string]string{
		core.LimitTime:      wire.HeldByAgent,
		core.LimitOutput:    wire.HeldByAgent,
		core.LimitMemory:    "",
		core.LimitPids:      "",
		wire.LimitFileSize:  wire.HeldByRlimit,
		wire.LimitOpenFiles: wire.HeldByRlimit,
		wire.LimitProcesses: wire.HeldByAgent,
		wire.LimitCPU:       "",
		wire.LimitDisk:      "",
		wire.LimitNetwork:   "",
	}
	if l.Memory > 0 {
		held[core.LimitMemory] = wire.HeldByWatchdog
	}
	if l.Pids > 0 {
		held[core.LimitPids] = wire.HeldByWatchdog
		if a.cfg.Alone {
			held[core.LimitPids] = wire.HeldByRlimit
		}
	}
	pids := held[core.LimitPids]
	maps.Copy(held, a.cfg.HeldBy)
	// The provider enforces the VM's limits, not the run's.
	if a.controls.holds() { // and the agent sets the run's
		return held
	}
	if l.Memory > 0 && l.Memory < a.cfg.Limits.Memory {
		held[core.LimitMemory] = wire.HeldByWatchdog
	}
	if l.Pids > 0 && l.Pids < a.cfg.Limits.Pids {
		held[core.LimitPids] = pids
	}
	return held
}
