package probe

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// machineCalls are those that only this architecture has.
func machineCalls() error {
	const none = ^uintptr(0)
	for name, call := range map[string]uintptr{"modify_ldt": unix.SYS_MODIFY_LDT, "iopl": unix.SYS_IOPL, "ioperm": unix.SYS_IOPERM} {
		if _, _, errno := unix.RawSyscall(call, none, none, none); errno != unix.EPERM && errno != unix.ENOSYS {
			return fmt.Errorf("%s reaches the kernel: %w", name, errno)
		}
	}
	return nil
}
