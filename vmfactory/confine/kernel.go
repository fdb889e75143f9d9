package confine

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The oldest supported kernel: mount_setattr came with 5.12, and since 5.14 RLIMIT_NPROC counts a user's processes
// separately for each user namespace.
const oldestMajor, oldestMinor = 5, 14

// LacksKernel returns that the kernel is too old for VMs, "" if it is not. A version that is not in numbers passes: a
// provider's other checks show what the kernel can do.
func LacksKernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return fmt.Sprintf("the kernel's version cannot be read (%v)", err)
	}
	if release := unix.ByteSliceToString(u.Release[:]); tooOld(release) {
		return fmt.Sprintf("Linux %s is too old; %d.%d or newer is needed", release, oldestMajor, oldestMinor)
	}
	return ""
}

func tooOld(release string) bool {
	var major, minor int
	if n, err := fmt.Sscanf(release, "%d.%d", &major, &minor); n < 2 || err != nil {
		return false
	}
	return major < oldestMajor || major == oldestMajor && minor < oldestMinor
}

// Sysctl reads a setting of the kernel, "" if it does not exist.
func Sysctl(name string) string {
	value, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(value))
}
