package probe

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hostWords are parts of /proc that tell of the host, or of other VMs, and are
// of no use to a job.
var hostWords = []string{
	"acpi", "buddyinfo", "bus", "cmdline", "config.gz", "consoles", "crypto", "devices", "diskstats", "dma", "driver", "execdomains", "fb",
	"fs", "interrupts", "iomem", "ioports", "irq", "kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags",
	"latency_stats", "locks", "mdstat", "misc", "modules", "mtrr", "pagetypeinfo", "partitions", "pressure", "sched_debug", "schedstat", "scsi",
	"slabinfo", "softirqs", "swaps", "sysrq-trigger", "timer_list", "tty", "vmallocinfo", "vmstat", "zoneinfo", "sys/kernel/random/boot_id",
}

// procFiles tries to read what tells of the host, and to put something there.
func procFiles(Target) error {
	for _, name := range hostWords {
		path := filepath.Join("/proc", name)
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		n, _ := f.Read(make([]byte, 1))
		names, _ := f.Readdirnames(1)
		_ = f.Close()
		if n > 0 || len(names) > 0 {
			return fmt.Errorf("read %s", path)
		}
		if err := os.Mkdir(filepath.Join(path, "probe"), 0o700); err == nil {
			_ = os.Remove(filepath.Join(path, "probe"))
			return fmt.Errorf("made a folder in %s", path)
		}
	}
	return nil
}

// ownFiles tries to write those parts of its own /proc that work against limits.
// The kernel kills first who has the highest score; nobody may lower his.
func ownFiles(Target) error {
	for name, text := range map[string]string{
		"oom_score_adj": "-1000", "oom_adj": "-17", "coredump_filter": "0", "timerslack_ns": "1", "clear_refs": "1", "comm": "agent", "mem": "",
	} {
		for _, of := range []string{"self", "thread-self", "1"} {
			f, err := os.OpenFile(filepath.Join("/proc", of, name), os.O_WRONLY, 0)
			if err != nil {
				continue
			}
			_, err = f.WriteString(text)
			_ = f.Close()
			if err == nil {
				return fmt.Errorf("wrote /proc/%s/%s", of, name)
			}
		}
	}
	return nil
}

// ownCgroups are the names that a VM may see: seen from the agent's cgroup, where its
// own and those of user code are, which every VM has.
var ownCgroups = []string{"/", "/job", "/job/own", "/../job", "/../job/own", "/../job/all"}

// cgroupNames looks for names of cgroups, which are the host's.
func cgroupNames(Target) error {
	f, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil // it tells nothing
	}
	defer f.Close() //nolint:errcheck // nothing was written
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if part := strings.SplitN(lines.Text(), ":", 3); len(part) == 3 && !slices.Contains(ownCgroups, part[2]) {
			return fmt.Errorf("its cgroup has a name: %s", lines.Text())
		}
	}
	return lines.Err()
}
