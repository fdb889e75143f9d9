package local

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"drover/vmfactory/process"
)

// grounds tells a host's ground.
type grounds struct {
	watched bool // memory is limited by a watchdog only

	mu     sync.Mutex
	last   ground
	table  *os.File // the host's mounts, once they were read
	mounts string   // those below the system's folders
	closed bool
}

// mountTable is the kernel's list of this process's mounts.
const mountTable = "/proc/self/mountinfo"

// tell returns the ground, with drover-run from that file unless that is "". It is put together again when the folders,
// mounts or the program that it was put together from have changed.
func (g *grounds) tell(program string) (ground, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.look(); err != nil {
		return ground{}, err
	}
	key := program + " " + g.mounts
	for _, path := range []string{"/", "/etc", "/usr", program} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return ground{}, err
		}
		key = fmt.Sprint(key, " ", info.ModTime().UnixNano())
	}
	if g.last.key == key {
		return g.last, nil
	}
	l, err := tellHost(g.watched, program != "")
	if err == nil {
		g.last = ground{key: key, program: program, parts: l.steps}
	}
	return g.last, err
}

// look reads the host's mounts if they have changed, which the kernel tells those that poll their list.
func (g *grounds) look() error {
	switch {
	case g.closed:
		return errClosed
	case g.table != nil:
		events := []unix.PollFd{{Fd: int32(g.table.Fd()), Events: unix.POLLPRI}} //nolint:gosec // a descriptor
		if n, err := unix.Poll(events, 0); err != nil && !errors.Is(err, unix.EINTR) || n == 0 {
			return err
		}
	default:
		fd, err := unix.Open(mountTable, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", mountTable, err)
		}
		g.table = os.NewFile(uintptr(fd), mountTable)
	}
	text, err := process.ReadFile(mountTable)
	g.mounts = among(string(text), system)
	return err
}

// among returns number and place of the mounts in a table that are in one of the folders.
func among(table string, folders []string) string {
	var all []string
	for line := range strings.Lines(table) {
		const place = 4
		if f := strings.Fields(line); len(f) > place && within(f[place], folders) {
			all = append(all, f[0]+":"+f[place])
		}
	}
	return strings.Join(all, " ")
}

func (g *grounds) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.table != nil {
		_ = g.table.Close() // it was only read
		g.table = nil
	}
}
