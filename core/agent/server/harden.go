package server

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"drover/core/agent/wire"
)

// Numbers that package syscall does not have on every architecture.
const (
	prSetNoNewPrivs     = 38
	prSetChildSubreaper = 36
	prCapAmbient        = 47
	capAmbientClearAll  = 4
	sysCloseRange       = 436
	closeRangeCloexec   = 4
)

// harden protects the agent's process from user code, even of its own uid: user code can neither trace or read it nor
// stop it by a signal, and commands inherit no descriptor and can gain no privilege.
func (a *Agent) harden() error {
	if err := prctl(syscall.PR_SET_DUMPABLE, 0); err != nil {
		return fmt.Errorf("make it undumpable: %w", err)
	}
	if err := prctl(prSetChildSubreaper, 1); err != nil {
		return fmt.Errorf("make it the parent of orphans: %w", err)
	}
	syscall.Umask(0o022)
	// A file above the size limit must be an error, not the agent's end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ)
	if a.cred.sys == nil {
		deafen()
	}
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("keep descriptors from commands: %w", err)
	}
	return nil
}

// deafen catches every catchable signal and drops it. A signal without a handler is harmless to a PID namespace's
// init; the Go runtime has handlers for most, and user code could end an agent of its own uid by one. Unlike ignored
// signals, handlers are not passed on to commands.
func deafen() {
	var all []os.Signal
	for s := syscall.Signal(1); s <= 64; s++ {
		switch s {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPROF:
		default:
			all = append(all, s)
		}
	}
	signal.Notify(make(chan os.Signal, 1), all...)
}

// closeOnExec marks every descriptor except the standard three.
func closeOnExec() error {
	_, _, errno := syscall.RawSyscall(sysCloseRange, 3, ^uintptr(0)>>32, closeRangeCloexec)
	if errno != 0 {
		return errno
	}
	return nil
}

// commandNice gives commands a lower priority than the agent, which must be able to reap and to check them however
// many there are, and than the host's own work.
const commandNice = 10

// giveUp restricts the calling thread and its children permanently: a program executed as another user than root has
// no capabilities, whatever the agent and the file have, and no more than its share.
func giveUp() error {
	// A lower priority of the host's must not be raised.
	kernel, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return err
	}
	if nice := 20 - kernel; nice < commandNice {
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, commandNice); err != nil {
			return err
		}
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return err
	}
	if err := prctl(prCapAmbient, capAmbientClearAll); err != nil {
		return err
	}
	return bequeathNothing()
}

// bequeathNothing keeps the calling thread's capabilities from what it executes.
func bequeathNothing() error {
	const version3 = 0x20080522
	header := struct{ version, pid uint32 }{version: version3}
	var data [2]struct{ effective, permitted, inheritable uint32 }
	for _, call := range []uintptr{syscall.SYS_CAPGET, syscall.SYS_CAPSET} {
		data[0].inheritable, data[1].inheritable = 0, 0
		if _, _, errno := syscall.RawSyscall(call, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data)), 0); errno != 0 {
			return fmt.Errorf("give capabilities to no command: %w", errno)
		}
	}
	return nil
}

func prctl(option, arg uintptr) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// credential is how commands change to the job user.
type credential struct {
	uid, gid int
	sys      *syscall.Credential // nil if the agent is that user already
}

func newCredential(uid, gid int) credential {
	c := credential{uid: uid, gid: gid}
	if os.Getuid() == uid && os.Getgid() == gid {
		return c
	}
	c.sys = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} //nolint:gosec // checked to be positive
	c.sys.NoSetGroups = !leaveGroups()
	return c
}

// leaveGroups leaves all supplementary groups, and reports whether that is allowed: a user namespace with one mapped
// group refuses it permanently. To ask all threads takes a quarter of a millisecond; if there are none to leave, one is
// enough.
func leaveGroups() bool {
	if groups, err := syscall.Getgroups(); err != nil || len(groups) > 0 {
		return !errors.Is(syscall.Setgroups(nil), syscall.EPERM)
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, 0, 0, 0)
	return errno != syscall.EPERM
}

// own gives a file or folder to the job user.
func (c credential) own(chown func(uid, gid int) error) error {
	if c.sys == nil {
		return nil
	}
	return chown(c.uid, c.gid)
}

// oomBadge makes commands the kernel's first choice when memory runs out. It is opened before the agent becomes
// undumpable, which would forbid it.
type oomBadge struct{ file *os.File }

func openBadge(cfg wire.Config) oomBadge {
	if cfg.Badge {
		return oomBadge{os.NewFile(wire.BadgeFD, "badge")}
	}
	f, err := os.OpenFile("/proc/self/oom_score_adj", os.O_WRONLY, 0)
	if err != nil {
		return oomBadge{} // without it the agent runs unprotected
	}
	return oomBadge{f}
}

// around calls start while the process has the badge, which children inherit. The value may be lowered again down to
// the one at the process's start.
func (b oomBadge) around(start func() error) error {
	if b.file == nil {
		return start()
	}
	if _, err := b.file.WriteAt([]byte("1000"), 0); err == nil {
		defer b.file.WriteAt([]byte("0"), 0) //nolint:errcheck // nothing better is left to try
	}
	return start()
}

func (b oomBadge) close() {
	if b.file != nil {
		_ = b.file.Close()
	}
}
