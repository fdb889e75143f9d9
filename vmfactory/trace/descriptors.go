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

// Descriptors are those of a VM's first process while it is made.
type Descriptors struct {
	Plan, Config process.Pipe // what it is told: first how to become the agent, then what the agent is
	Null         int
	Controls     []int // into cgroups of user code, as package cgroup opens them; none if there are none

	log, socket, anchor int
	lifeline            int // its maker's; below 0 if nothing ends the VM with its maker
}

// Descriptors opens them, the agent's listening socket among them: bound in the
// VM's folder, which the VM never sees. The lifeline may be below 0.
func (s Set) Descriptors(id string, lifeline int) (d *Descriptors, err error) {
	none := process.Pipe{Read: -1, Write: -1}
	d = &Descriptors{Plan: none, Config: none, Null: -1, log: -1, socket: -1, anchor: -1, lifeline: lifeline}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if d.Plan, err = process.NewPipe(); err != nil {
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
	// It leads nowhere: a file that is only named can be neither read nor left.
	if d.anchor, err = unix.Open(filepath.Join(folder, agent.SocketFile), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return d, fmt.Errorf("name the agent's socket: %w", err)
	}
	return d, nil
}

// Theirs lists them, and what comes after them, in the order that the first process
// and the agent expect.
func (d *Descriptors) Theirs(more ...int) []int {
	all := []int{d.Plan.Read, d.Null, d.log, d.socket, d.Config.Read, d.lifeline, d.anchor}
	all = append(all, d.Controls...)
	all = append(all, slices.Repeat([]int{-1}, wire.Controls-len(d.Controls))...)
	for i, fd := range all {
		if fd < 0 {
			all[i] = d.Null // nobody uses it
		}
	}
	return append(all, more...)
}

// Close closes them, but for the lifeline.
func (d *Descriptors) Close() {
	d.Plan.Close()
	d.Config.Close()
	for _, fd := range append([]int{d.Null, d.log, d.socket, d.anchor}, d.Controls...) {
		process.CloseFD(fd)
	}
}

// Open names the controls that are open, as the agent is told.
func (d *Descriptors) Open() []int {
	var all []int
	for i, fd := range d.Controls {
		if fd >= 0 {
			all = append(all, i)
		}
	}
	return all
}
