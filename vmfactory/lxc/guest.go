package lxc

import (
	"debug/elf"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"drover/vmfactory/process"
)

// guestProgram is the program that containers start. They get it as an open file,
// not by a path: nothing is mounted for it, and nobody in the container can name it.
type guestProgram struct {
	path string

	mu   sync.Mutex
	fd   int
	info os.FileInfo
}

// open returns a descriptor of the program, a new one when the file was replaced.
// It stays ours.
func (g *guestProgram) open() (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	info, err := os.Stat(g.path)
	if err != nil {
		return -1, fmt.Errorf("the program %s that VMs start: %w: build it with make build, and put it beside drover", g.path, err)
	}
	if g.info != nil && os.SameFile(info, g.info) && info.ModTime().Equal(g.info.ModTime()) {
		return g.fd, nil
	}
	if err := static(g.path, info); err != nil {
		return -1, err
	}
	fd, err := unix.Open(g.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("the program %s that VMs start: %w", g.path, err)
	}
	g.shut()
	g.fd, g.info = fd, info
	return fd, nil
}

// static looks whether containers, whose users are others and whose libraries may
// be any, can execute the program.
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

func (g *guestProgram) shut() {
	if g.info != nil {
		process.CloseFD(g.fd)
		g.info = nil
	}
}

func (g *guestProgram) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut()
}
