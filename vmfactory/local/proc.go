package local

import (
	"strconv"

	"golang.org/x/sys/unix"

	"drover/core/guest"
	"drover/vmfactory/local/enter"
)

// shown is all that the top of a VM's /proc keeps beside its processes: what
// language runtimes and build tools ask for. Of the host it tells the processors,
// the memory and the load. What else the kernel shows to all is hidden.
var shown = []string{
	"cgroups", "cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "sys", "sysvipc", "thread-self", "uptime", "version",
}

// hidden is below what is shown.
var hidden = []string{"sys/kernel/random/boot_id"}

// proc mounts the VM's own /proc and hides of it what the kernel shows to all.
func (l *layout) proc() {
	l.folder("/proc")
	l.add(enter.Step{
		Do: enter.Mount, From: "proc", Path: "proc", Type: "proc", Bits: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC,
	})
	for _, name := range []string{"tcp_rmem", "tcp_wmem"} {
		l.add(enter.Step{Do: enter.Write, Path: "proc/sys/net/ipv4/" + name, Text: "4096 65536 262144", Maybe: true})
	}
	for name, most := range map[string]int{"instances": inotifyInstances, "watches": inotifyWatches} {
		l.add(enter.Step{Do: enter.Write, Path: "proc/sys/user/max_inotify_" + name, Text: strconv.Itoa(most), Maybe: true})
	}
	// What there is to write serves jobs only against limits and each other:
	// oom_score_adj, mem. The agent's own way to it goes by the mount below.
	l.add(enter.Step{Do: enter.Keep, Path: "proc/self/oom_score_adj", Num: []uint64{guest.BadgeFD}})
	l.add(enter.Step{Do: enter.Mount, From: "proc", Path: "proc", Bits: unix.MS_BIND})
	l.add(enter.Step{Do: enter.Restrict, Path: "proc", Bits: readOnly | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC})
	for _, name := range hidden {
		l.add(enter.Step{Do: enter.Mount, From: "dev/null", Path: "proc/" + name, Bits: unix.MS_BIND, Maybe: true})
	}
	l.add(enter.Step{Do: enter.Hide, Path: "proc", From: "dev/null", Args: shown})
}
