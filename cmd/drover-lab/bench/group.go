package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/service/clock"
	"drover/vmfactory/cgroup"
)

// group is a cgroup of version 2 that counts the processor time of all processes in it. It limits nothing, so that it
// needs no controller. A nil group counts nothing.
type group struct {
	path string
	fd   int
}

// newGroup makes one beside the cgroups of version 1, where VMs stay in the cgroup of version 2 of the process that
// starts them. Where version 2 has the controllers VMs leave it, and there is none, nor for who may not make one.
func newGroup() *group {
	if cgroup.FSType(cgroup.Root) == unix.CGROUP2_SUPER_MAGIC {
		return nil
	}
	top := groupTop()
	if top == "" {
		return nil
	}
	g := &group{path: filepath.Join(top, ownPrefix+strconv.Itoa(os.Getpid())), fd: -1}
	err := os.Mkdir(g.path, 0o755)
	if err == nil || errors.Is(err, os.ErrExist) {
		g.fd, err = unix.Open(g.path, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil
	}
	return g
}

// groupTop is this process's own cgroup of version 2; "" if there is none.
func groupTop() string {
	root := cgroup.Find(cgroup.Root, cgroup.FSType).V2()
	own, err := os.ReadFile("/proc/self/cgroup")
	_, at, ok := strings.Cut("\n"+string(own), "\n0::")
	if root == "" || err != nil || !ok {
		return ""
	}
	at, _, _ = strings.Cut(at, "\n")
	return filepath.Join(root, at)
}

// begin has a process begin in the group.
func (g *group) begin(attr *syscall.SysProcAttr) {
	if g != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, g.fd
	}
}

// time is what all processes used that are, or were, in the group.
func (g *group) time() cpu {
	if g == nil {
		return cpu{}
	}
	text, _ := os.ReadFile(filepath.Join(g.path, "cpu.stat")) // without it nothing is counted
	var c cpu
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil:
		case name == "user_usec":
			c.user = time.Duration(n) * time.Microsecond
		case name == "system_usec":
			c.system = time.Duration(n) * time.Microsecond
		}
	}
	return c
}

// remove removes the group, once its last process is gone.
func (g *group) remove(ctx context.Context) error {
	if g == nil {
		return nil
	}
	_ = unix.Close(g.fd) // a folder
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for {
		err := os.Remove(g.path)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if clock.Sleep(ctx, clock.Real{}, 10*time.Millisecond) != nil {
			return core.Wrap(err, core.CodeUnavailable, g.path, "the cgroup %s cannot be removed", g.path)
		}
	}
}

// sweepGroups removes the groups that killed commands left. One with processes stays.
func sweepGroups() {
	if top := groupTop(); top != "" {
		left, _ := filepath.Glob(filepath.Join(top, ownPrefix+"*")) // the pattern is good
		for _, path := range left {
			_ = os.Remove(path) // it is in use, or another's
		}
	}
}
