package probe

import (
	"errors"
	"os"
	"strings"
)

// hostFacts are files that tell of the host.
var hostFacts = []string{
	"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems", "/proc/cgroups",
	"/proc/cmdline", "/proc/diskstats", "/proc/partitions", "/proc/modules", "/proc/kallsyms", "/proc/keys", "/proc/interrupts", "/proc/iomem",
	"/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/osrelease", "/proc/vmstat", "/proc/swaps", "/proc/locks", "/proc/pressure/cpu",
	"/sys/class/dmi/id/product_uuid", "/sys/devices/system/cpu/online", "/etc/machine-id", "/proc/version_signature", "/proc/devices",
}

// facts tells which of hostFacts can be read, and whether the mounts name folders
// of the host: Marker is in their names.
func facts(t Target) error {
	var told []string
	for _, path := range hostFacts {
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			told = append(told, path)
		}
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		if t.Marker != "" && strings.Contains(string(text), t.Marker) {
			told = append(told, "run folder in mountinfo")
		}
		if strings.Contains(string(text), " /dev/") {
			told = append(told, "disks in mountinfo")
		}
	}
	if len(told) == 0 {
		return nil
	}
	return errors.New(strings.Join(told, "; "))
}
