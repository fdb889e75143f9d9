package confine

import "golang.org/x/sys/unix"

// LandlockScopes is the first version of Landlock, of Linux 6.12, that confines signals and abstract sockets.
const LandlockScopes = 6

// Landlock returns this kernel's version; 0 is none.
func Landlock() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}
