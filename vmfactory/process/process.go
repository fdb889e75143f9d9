// Package process identifies processes of this host, uniquely until its next restart, and ends them.
package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/service"
)

// Process identifies one process of this host until its next restart: a pid alone may be reused.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks from the host's start to its own
	Boot  string `json:"boot"`  // boot of the host
}

var bootID = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
})

// Identify returns the process that has pid now.
func Identify(pid int) (Process, error) {
	boot, err := bootID()
	if err != nil {
		return Process{}, err
	}
	start, err := startOf(pid)
	return Process{PID: pid, Start: start, Boot: boot}, err
}

// startOf reads when a process started, in clock ticks.
func startOf(pid int) (uint64, error) {
	text, err := ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	return service.StartTime(text)
}

// Open returns a descriptor of the process, or -1 if it is gone. It opens the pid first: if its start is the same
// afterwards, the pid belonged to the process all the time.
func (p Process) Open() (int, error) {
	boot, err := bootID()
	if err != nil {
		return -1, err
	}
	if p.PID <= 1 || p.Boot != boot {
		return -1, nil
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	start, err := startOf(p.PID)
	if err == nil && start == p.Start {
		return fd, nil
	}
	CloseFD(fd)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return -1, nil
	}
	return -1, err
}

// Alive reports whether the process is still running; a zombie is not.
func (p Process) Alive() (bool, error) {
	fd, err := p.Open()
	if err != nil || fd < 0 {
		return false, err
	}
	defer CloseFD(fd)
	ended, err := WaitEnd(fd, 0)
	return !ended, err
}

// Kill ends the process and returns once it is dead. The first process of a pid namespace dies last: then all others
// in the namespace are dead.
func (p Process) Kill(ctx context.Context) error {
	fd, err := p.Open()
	if err != nil || fd < 0 {
		return err
	}
	defer CloseFD(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	for {
		const look = 100 * time.Millisecond // between checks of ctx
		ended, err := WaitEnd(fd, look)
		if err != nil || ended {
			return err
		}
		if ctx.Err() != nil {
			return core.Wrap(ctx.Err(), core.CodeUnavailable, "", "process %d was killed and does not die", p.PID)
		}
	}
}

// WaitEnd waits for the end of a process, for at most the given time.
func WaitEnd(fd int, most time.Duration) (bool, error) {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(most.Milliseconds())) //nolint:gosec // a descriptor
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return n > 0, err
	}
}

// CloseFD closes a descriptor through which nothing was written.
func CloseFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}
