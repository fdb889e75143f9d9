package trace

import (
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/process"
)

// Descriptors are those of a VM's first process while it is started.
type Descriptors struct {
	Begin, Config process.Pipe // its input: its plan, or the sign to begin if it has that; then the agent's settings
	Null          int
	Controls      []int // for entering cgroups of user code, in the order of package cgroup; nil if there are none

	log, socket, anchor int
	lifeline            int // its maker's; below 0 if the VM outlives its maker
}

// Descriptors opens them, including the agent's listening socket, which is bound in the VM's folder; the VM never
// sees the folder. The lifeline may be below 0.
func (s Set) Descriptors(id string, lifeline int) (d *Descriptors, err error) {
	none := process.Pipe{Read: -1, Write: -1}
	d = &Descriptors{Begin: none, Config: none, Null: -1, log: -1, socket: -1, anchor: -1, lifeline: lifeline}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if d.Begin, err = process.NewPipe(); err != nil {
		return d, err
	}
	if d.Config, err = process.NewPipe(); err != nil {
		return d, err
	}
	if d.Null, err = unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return d, fmt.Errorf("open /dev/null: %w", err)
	}
	folder := s.Path(id)
	if d.log, err = unix.Open(filepath.Join(folder, LogFile), unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC, 0o600); err != nil {
		return d, fmt.Errorf("open its log: %w", err)
	}
	if d.socket, err = listen(folder); err != nil {
		return d, err
	}
	// Opened as a path only: nothing can be read through it, and it leads to no other folder.
	if d.anchor, err = unix.Open(filepath.Join(folder, agent.SocketFile), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return d, fmt.Errorf("name the agent's socket: %w", err)
	}
	return d, nil
}

// Theirs lists them, followed by more, in the order that the first process and the agent expect.
func (d *Descriptors) Theirs(more ...int) []int {
	all := []int{d.Begin.Read, d.Null, d.log, d.socket, d.Config.Read, d.lifeline, d.anchor}
	all = append(all, d.Controls...)
	all = append(all, slices.Repeat([]int{-1}, wire.Controls-len(d.Controls))...)
	for i, fd := range all {
		if fd < 0 {
			all[i] = d.Null // unused
		}
	}
	return append(all, more...)
}

// Close closes them, except the lifeline.
func (d *Descriptors) Close() {
	d.Begin.Close()
	d.Config.Close()
	for _, fd := range append([]int{d.Null, d.log, d.socket, d.anchor}, d.Controls...) {
		process.CloseFD(fd)
	}
}

// Open returns the indexes of the open controls, for the agent's settings.
func (d *Descriptors) Open() []int {
	var all []int
	for i, fd := range d.Controls {
		if fd >= 0 {
			all = append(all, i)
		}
	}
	return all
}
