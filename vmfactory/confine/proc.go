package confine

import (
	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/enter"
)

// Shown is everything at the top of a VM's /proc besides its processes: what language runtimes and build tools read.
// It reveals the host's processors, memory and load. Everything else that the kernel shows is hidden.
var Shown = []string{
	"cgroups", "cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "sys", "sysvipc", "thread-self", "uptime", "version",
}

// Hidden are files below those in Shown. Counters of the whole host would let VMs signal to each other.
var Hidden = []string{
	"sys/kernel/random/boot_id", "sys/kernel/pty/nr", "sys/fs/aio-nr", "sys/fs/dentry-state", "sys/fs/file-nr", "sys/fs/inode-nr", "sys/fs/inode-state",
}

// HidePIDs is the mount option of user code's /proc: only the agent sees processes of other users, whose arguments
// would otherwise be readable.
const HidePIDs = "hidepid=2"

// Net returns the steps that set up the network namespace of the VM's first process, by the /proc mounted in the
// folder proc.
func Net() []enter.Step {
	all := []enter.Step{{Do: enter.Loopback}}
	for name, text := range wire.NetSettings() {
		all = append(all, enter.Step{Do: enter.Write, Path: "proc/sys/net/" + name, Text: text, Maybe: true})
	}
	return all
}

// Proc returns the steps that hide files in the /proc mounted in the folder proc. The folder dev has null.
func Proc() []enter.Step {
	all := []enter.Step{
		// The writable files, oom_score_adj and mem, would only serve jobs to evade limits or attack each other. The
		// agent uses the mount below.
		{Do: enter.Keep, Path: "proc/self/oom_score_adj", Num: []uint64{agent.BadgeFD}},
		{Do: enter.Keep, Path: "proc", Num: []uint64{agent.ProcFD}, Bits: unix.O_DIRECTORY},
		// User code sees a /proc without the agent, whose statistics would reveal former runs.
		{Do: enter.Mount, From: "proc", Path: "proc", Type: "proc", Text: HidePIDs, Bits: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{Do: enter.Restrict, Path: "proc", Bits: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC},
	}
	for _, name := range Hidden {
		all = append(all, enter.Step{Do: enter.Mount, From: "dev/null", Path: "proc/" + name, Bits: unix.MS_BIND, Maybe: true})
	}
	return append(all, enter.Step{Do: enter.Hide, Path: "proc", From: "dev/null", Args: Shown})
}
