package wiring

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryBytes returns how much memory this machine has, which reports so many bytes: less in a container, whose cgroup
// has a limit. Root is where the host's file system is.
func memoryBytes(reported int64, root string) int64 {
	// A container sees its own cgroup at the top; on the host itself these are absent or have no limit.
	for _, file := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", file))
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 { // "max" is none
			reported = min(reported, limit)
		}
	}
	return reported
}
