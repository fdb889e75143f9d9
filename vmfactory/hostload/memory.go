package hostload

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroupFiles are the memory files of one version of cgroups, below sys/fs/cgroup.
type cgroupFiles struct {
	limit, used, stat string
	cache             string // line of stat: file pages that the kernel gives away first
}

// A container sees its own cgroup at the top; on the host itself these are absent or have no limit.
var cgroups = []cgroupFiles{
	{"memory.max", "memory.current", "memory.stat", "inactive_file"},
	{"memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"},
}

// Memory returns how much memory this machine has, which reports so many bytes: less in a container, whose cgroup
// has a limit. Root is where the host's file system is.
func Memory(reported int64, root string) int64 {
	for _, c := range cgroups {
		if limit, ok := c.number(root, c.limit); ok {
			reported = min(reported, limit)
		}
	}
	return reported
}

// available returns how much of its memory this machine can give to programs, by the same limits. The kernel reports
// so many bytes of the whole machine.
func available(reported int64, root string) int64 {
	for _, c := range cgroups {
		limit, limited := c.number(root, c.limit)
		used, counted := c.number(root, c.used)
		if limited && counted {
			reported = min(reported, max(0, limit-used+c.given(root)))
		}
	}
	return reported
}

// number reads a file that has one number above 0; "max" is none.
func (c cgroupFiles) number(root, file string) (int64, bool) {
	text, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", file))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n > 0
}

// given returns how much of the used memory the kernel gives away when programs want it.
func (c cgroupFiles) given(root string) int64 {
	text, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", c.stat))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " "); name == c.cache {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}
