package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
)

// process names one process of this host for as long as the host runs: a pid
// alone may be another's by tomorrow.
type process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks from the host's start to its own
	Boot  string `json:"boot"`  // which start of the host
}

var bootID = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
})

// identify names the process that has pid now.
func identify(pid int) (process, error) {
	boot, err := bootID()
	if err != nil {
		return process{}, err
	}
	start, err := startOf(pid)
	return process{PID: pid, Start: start, Boot: boot}, err
}

// startOf reads when a process started, in clock ticks.
func startOf(pid int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	const afterName, field = 3, 22 // fields are counted from 1; the name may hold spaces and brackets
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= field-afterName {
		return 0, fmt.Errorf("/proc/%d/stat has only %d fields", pid, len(fields)+afterName-1)
	}
	return strconv.ParseUint(string(fields[field-afterName]), 10, 64)
}

// open returns a descriptor of the process, or -1 if it is gone. The descriptor
// comes first: a pid that has the same start afterwards had it all the while.
func (p process) open() (int, error) {
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
	closeFD(fd)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return -1, nil
	}
	return -1, err
}

// alive reports whether the process still runs; one that is dead and not reaped
// does not.
func (p process) alive() (bool, error) {
	fd, err := p.open()
	if err != nil || fd < 0 {
		return false, err
	}
	defer closeFD(fd)
	ended, err := waitEnd(fd, 0)
	return !ended, err
}

// kill ends the process and returns once it is dead. The first process of a pid
// namespace dies last: with it all others in there are dead.
func (p process) kill(ctx context.Context) error {
	fd, err := p.open()
	if err != nil || fd < 0 {
		return err
	}
	defer closeFD(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	for {
		const look = 100 * time.Millisecond // between looks at ctx
		ended, err := waitEnd(fd, look)
		if err != nil || ended {
			return err
		}
		if ctx.Err() != nil {
			return core.Wrap(ctx.Err(), core.CodeUnavailable, "", "process %d was killed and does not die", p.PID)
		}
	}
}

// waitEnd waits for the end of a process, at most so long.
func waitEnd(fd int, most time.Duration) (bool, error) {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(most.Milliseconds())) //nolint:gosec // a descriptor
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return n > 0, err
	}
}

// closeFD closes a descriptor through which nothing was written.
func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}
