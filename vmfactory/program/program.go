// Package program opens drover-agent, the small static program that is every provider's first process in a VM, and
// its agent.
package program

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drover/vmfactory/process"
)

// Name is the file name of the program, beside drover's executable unless a setting names another.
const Name = "drover-agent"

// Beside returns its path beside our own executable.
func Beside() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program (is /proc mounted?): %w", err)
	}
	return filepath.Join(filepath.Dir(self), Name), nil
}

// Agent is the program as an open file. VMs get it as a descriptor, not by a path: nothing is mounted for it, and no
// process in a VM can name it. All methods are safe for concurrent use.
type Agent struct {
	Path    string
	Version string // the version that it must have; "" is any

	mu   sync.Mutex
	fd   int
	info os.FileInfo
}

// Open returns a descriptor of the program, a new one if the file was replaced. It must not be closed by the caller.
func (g *Agent) Open() (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	info, err := os.Stat(g.Path)
	if err != nil {
		return -1, fmt.Errorf("the program %s that VMs start: %w: build it with make build, and put it beside drover", g.Path, err)
	}
	if g.info != nil && os.SameFile(info, g.info) && info.ModTime().Equal(g.info.ModTime()) {
		return g.fd, nil
	}
	if err := static(g.Path, info); err != nil {
		return -1, err
	}
	if err := g.same(); err != nil {
		if g.info != nil { // replaced during an upgrade: the open file is still the right one
			return g.fd, nil
		}
		return -1, err
	}
	fd, err := unix.Open(g.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("the program %s that VMs start: %w", g.Path, err)
	}
	g.shut()
	g.fd, g.info = fd, info
	return fd, nil
}

// static checks that containers can execute the program: they have other users and perhaps other libraries.
func static(path string, info os.FileInfo) error {
	const everybody = 0o005
	if info.Mode().Perm()&everybody != everybody {
		return fmt.Errorf("other users may not execute %s, and VMs have their own: chmod a+rx %s", path, path)
	}
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is no program: %w", path, err)
	}
	defer f.Close() //nolint:errcheck // read only
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs libraries, which images do not have: build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}

// ErrVersion means that the program belongs to another version of drover.
var ErrVersion = errors.New("it is of another version than drover")

// same asks the program for its version. Programs before that option existed give no answer.
func (g *Agent) same() error {
	if g.Version == "" {
		return nil
	}
	const limit = time.Minute // on a busy machine
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	said, err := exec.CommandContext(ctx, g.Path, "--version").Output()
	is := strings.TrimSpace(string(said))
	if err == nil && is == g.Version {
		return nil
	}
	if is == "" {
		is = "unknown"
	}
	return fmt.Errorf("the program %s that VMs start: %w (%.60q, not %q): put the one that was built with this drover in its place (make build makes both)",
		g.Path, ErrVersion, is, g.Version)
}

func (g *Agent) shut() {
	if g.info != nil {
		process.CloseFD(g.fd)
		g.info = nil
	}
}

// Close closes the file.
func (g *Agent) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut()
}
