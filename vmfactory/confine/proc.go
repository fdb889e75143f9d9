package confine

import (
	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/enter"
)

// Shown is all that the top of a VM's /proc keeps beside its processes: what
// language runtimes and build tools ask for. Of the host it tells the processors,
// the memory and the load. What else the kernel shows to all is hidden.
var Shown = []string{
	"cgroups", "cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "sys", "sysvipc", "thread-self", "uptime", "version",
}

// Hidden is below what is shown. Numbers that count something for the whole host are
// what one VM could tell another by.
var Hidden = []string{
	"sys/kernel/random/boot_id", "sys/kernel/pty/nr", "sys/fs/aio-nr", "sys/fs/dentry-state", "sys/fs/file-nr", "sys/fs/inode-nr", "sys/fs/inode-state",
}

// HidePIDs is the option of the /proc that user code sees: in it nobody but the agent
// sees processes of other users, whose arguments are for all to read.
const HidePIDs = "hidepid=2"

// Proc tells how to hide of the /proc that is mounted in the folder proc what the
// kernel shows to all. The folder dev has null.
func Proc() []enter.Step {
	var all []enter.Step
	for name, text := range wire.NetSettings() {
		all = append(all, enter.Step{Do: enter.Write, Path: "proc/sys/net/" + name, Text: text, Maybe: true})
	}
	all = append(all,
		// What there is to write serves jobs only against limits and each other:
		// oom_score_adj, mem. The agent's own way goes by the mount below.
		enter.Step{Do: enter.Keep, Path: "proc/self/oom_score_adj", Num: []uint64{agent.BadgeFD}},
		enter.Step{Do: enter.Keep, Path: "proc", Num: []uint64{agent.ProcFD}, Bits: unix.O_DIRECTORY},
		// User code sees one in which the agent is not: what that one has computed, read
		// and written tells of the runs before.
		enter.Step{Do: enter.Mount, From: "proc", Path: "proc", Type: "proc", Text: HidePIDs, Bits: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		enter.Step{Do: enter.Restrict, Path: "proc", Bits: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC},
	)
	for _, name := range Hidden {
		all = append(all, enter.Step{Do: enter.Mount, From: "dev/null", Path: "proc/" + name, Bits: unix.MS_BIND, Maybe: true})
	}
	return append(all, enter.Step{Do: enter.Hide, Path: "proc", From: "dev/null", Args: Shown})
}
