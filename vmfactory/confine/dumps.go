package confine

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// noDump is a limit of core dumps, in bytes, at which the kernel makes none: no file, since every dump is longer, and
// no program of the host is started.
const noDump = 1

// LacksDumpLimit returns why VMs cannot have that limit here and how to mend it, "" if they can. It raises a hard
// limit of 0 if this process may.
func LacksDumpLimit() string {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err == nil && strings.HasPrefix(string(pattern), "@") {
		return lacksDumpLimit(string(pattern))
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil {
		return "the kernel does not say how large core dumps may be (" + err.Error() + ")"
	}
	if now.Max >= noDump || unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: now.Cur, Max: noDump}) == nil {
		return ""
	}
	if err == nil {
		return lacksDumpLimit(string(pattern))
	}
	return ""
}

// lacksDumpLimit judges a host's core pattern if limits are fixed at 0. To a socket (Linux 6.16) the kernel dumps
// whatever the limit is.
func lacksDumpLimit(pattern string) string {
	if server, ok := strings.CutPrefix(pattern, "@"); ok {
		return "the kernel would hand all that a job has in memory when it crashes to the server at " + strings.TrimSpace(strings.TrimPrefix(server, "@")) +
			", and no limit keeps it from that: set another pattern with sysctl -w kernel.core_pattern=core"
	}
	if !strings.HasPrefix(pattern, "|") {
		return ""
	}
	return "a job that crashes would have the kernel start " + strings.TrimSpace(pattern[1:]) + " as the host's root: start drover with a hard limit of core dumps " +
		"above 0 (ulimit -Hc 1; systemd: LimitCORE=1), or set another pattern with sysctl -w kernel.core_pattern=core"
}
