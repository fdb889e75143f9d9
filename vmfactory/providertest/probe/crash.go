package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noDump is the one limit of core dumps at which the kernel makes none whatever
// the host's core_pattern says.
const noDump = 1

// coreDumps tries to have the kernel write down what a crash leaves, or hand it to
// a program of the host: that it does below the limit as well as above.
func coreDumps(Target) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil {
		return err
	}
	if now.Cur != noDump || now.Max != noDump {
		return fmt.Errorf("core dumps may have %d bytes, and at most %d", now.Cur, now.Max)
	}
	for _, limit := range []unix.Rlimit{{}, {Max: noDump}, {Cur: noDump, Max: noDump}, {Cur: 1 << 20, Max: 1 << 20}} {
		if setDumps(&limit) {
			return fmt.Errorf("set its limit of core dumps to %d of %d", limit.Cur, limit.Max)
		}
	}
	return nil
}

// setDumps sets this process's limit of core dumps by each call that does, and
// reports whether one was carried out.
func setDumps(to *unix.Rlimit) bool {
	at, dressed := uintptr(unsafe.Pointer(to)), uintptr(unix.RLIMIT_CORE)|1<<32
	done := false
	for _, who := range []int{0, os.Getpid()} {
		for _, resource := range []uintptr{unix.RLIMIT_CORE, dressed} {
			_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, uintptr(who), resource, at, 0, 0, 0)
			done = done || errno == 0
			_, _, errno = unix.RawSyscall(unix.SYS_SETRLIMIT, resource, at, 0)
			done = done || errno == 0
		}
	}
	return done
}

// crash has a child die of a fault, with the limits that it has and with those that
// a child can set, and says whether the kernel dumped it.
func crash(Target) error {
	for _, lower := range []string{"", "ulimit -S -c 0; ", "ulimit -c 0; ", "ulimit -c unlimited; "} {
		cmd := exec.Command("/bin/sh", "-c", lower+"kill -SEGV $$")
		cmd.Dir = os.TempDir()
		err := cmd.Run()
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			return fmt.Errorf("no crash: %w", err)
		}
		status, ok := ended.Sys().(syscall.WaitStatus)
		switch {
		case ok && status.CoreDump():
			return fmt.Errorf("was dumped after %q", lower)
		case lower == "" && (!ok || !status.Signaled()):
			return fmt.Errorf("did not crash: %w", err)
		}
	}
	return nil
}
