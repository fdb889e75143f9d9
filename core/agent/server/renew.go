package server

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"drover/core/agent/wire"
)

// ready makes a starter's thread, once, in the namespaces of user code, which is never in the VM's own: those stay as
// they were made.
func (a *Agent) ready(s *starter) {
	s.ready(func() error {
		return errors.Join(a.controls.stay(shared), a.renew(&s.network), a.muted())
	}, a.spare())
}

// turn makes the fresh starter the one that starts commands. Its namespaces are fresh: nothing but its thread was ever
// in them. The other one then makes new ones for itself, while the next run goes on, because a network takes as long
// as the start of a small program.
func (a *Agent) turn() error {
	used, next := a.starter, a.fresh
	if next == nil {
		next = newStarter()
	}
	a.ready(next)
	var err error
	next.do(func() { err = next.failed })
	a.starter, a.fresh = next, used
	a.tree.network.Store(&next.network)
	used.later(func() { used.failed = errors.Join(used.failed, a.renew(&used.network)) })
	return err
}

// renew gives the calling thread, and what it starts from now on, a fresh network and System V namespace. Everything
// that outlives a process in the old ones, such as waiting connections, counters and routes, ends with their last
// process. The thread is recorded as one in that network.
func (a *Agent) renew(note *atomic.Int64) error {
	if a.cfg.Renews == 0 {
		return nil
	}
	if err := syscall.Unshare(int(a.cfg.Renews)); err != nil {
		return fmt.Errorf("renew namespaces: %w", err)
	}
	if a.cfg.Renews&syscall.CLONE_NEWNET == 0 {
		return nil
	}
	for name, text := range wire.NetSettings() {
		if err := a.tree.set("sys/net/"+name, text); err != nil && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	note.Store(int64(syscall.Gettid()))
	return loopback()
}

// firstNumber is the pid of a run's first process: above those of the agent's threads. A running count would reveal
// how many processes earlier runs started.
const firstNumber = 300

// renumber sets the pid of the next process, if the kernel can.
func (a *Agent) renumber() {
	if a.cfg.Renews != 0 {
		_ = a.tree.set("sys/kernel/ns_last_pid", strconv.Itoa(firstNumber-1))
	}
}

// set writes to a file of the writable /proc.
func (t *tree) set(name, text string) error {
	fd, err := syscall.Openat(t.proc, name, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = syscall.Write(fd, []byte(text))
	_ = syscall.Close(fd) // the write itself tells whether the setting is in force
	return err
}

// loopback sets the loopback interface up.
func loopback() error {
	const (
		getFlags, setFlags = 0x8913, 0x8914
		up                 = 1
	)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("set loopback up: %w", err)
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was sent
	req := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}}
	for _, call := range []uintptr{getFlags, setFlags} {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), call, uintptr(unsafe.Pointer(&req))); errno != 0 {
			return fmt.Errorf("set loopback up: %w", errno)
		}
		req.flags |= up
	}
	return nil
}
