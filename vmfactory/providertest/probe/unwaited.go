package probe

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unwaited computes in Most children one after the other, for the end of none of which
// it waits: it ignores their end, so that the kernel has nobody to add their time to.
func unwaited(t Target) error {
	signal.Ignore(syscall.SIGCHLD)
	return slices100(t)
}

// unwaitedFlag does the same by the flag that a handler of the signal may have, which
// nobody else can see.
func unwaitedFlag(t Target) error {
	var action struct {
		handler, flags, restorer, mask uint64
	}
	const size, noWait = 8, 2
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), 0, uintptr(unsafe.Pointer(&action)), size, 0, 0); errno != 0 {
		return errno
	}
	action.flags |= noWait
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(&action)), 0, size, 0, 0); errno != 0 {
		return errno
	}
	return slices100(t)
}

func slices100(t Target) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for range t.Most {
		_, err := syscall.ForkExec(self, append([]string{self}, Args("slice", Target{})...), &syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Env: os.Environ()})
		if err != nil {
			return err
		}
		for !errors.Is(err, unix.ECHILD) { // it waits for nobody, but until nobody is left
			_, err = syscall.Wait4(-1, nil, 0, nil)
		}
		fmt.Println("slice")
	}
	return fmt.Errorf("computed for %d tenths of a second", t.Most)
}

// slice computes for a tenth of a second by its own clock.
func slice(Target) error {
	const tenth = 100e6
	for {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil || ts.Nano() > tenth {
			return err
		}
	}
}
