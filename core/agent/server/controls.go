package server

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"drover/core"
	"drover/core/agent/wire"
)

// controls are the open files of user code's own cgroups; see package cgroup of the vmfactory. They are
// close-on-exec, like all the agent's descriptors.
type controls struct {
	open  []int
	usage *usage
	pool  int64   // the limit of user code's memory, as the pool has it
	limit int64   // the same for the runs from now on
	set   int64   // the value now in force
	used  [2]bool // cells in which a run was whose caches are not freed yet
}

// cell is the cgroup of a run: that of all others, or the one with limits of its own, which the kernel then enforces.
type cell int

const (
	shared cell = iota
	own
)

// threadControls is the number of files of threads in each set.
const threadControls = wire.ControlOwnThreads - wire.ControlThreads

// ownMemory is the part of wire.AgentMemory that the agent keeps free for itself.
const ownMemory = wire.AgentMemory / 2

func newControls(cfg wire.Config, u *usage) controls {
	return controls{open: cfg.Controls, usage: u, pool: cfg.Limits.Memory, limit: cfg.Limits.Memory, set: cfg.Limits.Memory}
}

// pass writes to a control, if it is open.
func (d *controls) pass(control int, text string) error {
	if !slices.Contains(d.open, control) {
		return nil
	}
	_, err := syscall.Write(wire.ControlFD+control, []byte(text))
	return err
}

// self, written to a control, means the writer.
const self = "0"

// stay moves the calling thread, and what it starts, into a run's cgroups of version 1, until it is moved elsewhere.
func (d *controls) stay(at cell) error {
	first := wire.ControlThreads
	if at == own {
		first = wire.ControlOwnThreads
	}
	for i := range threadControls {
		if err := d.pass(first+i, self); err != nil {
			return fmt.Errorf("enter the cgroup of user code: %w", err)
		}
	}
	return nil
}

// around calls start while the calling thread (version 1) or the agent (version 2) is in the run's cgroup.
func (d *controls) around(at cell, start func() error) error {
	d.used[at] = true
	if err := d.stay(at); err != nil {
		return err
	}
	in := wire.ControlIn
	if at == own {
		in = wire.ControlOwnIn
	}
	if err := d.pass(in, self); err != nil {
		return fmt.Errorf("enter the cgroup of user code: %w", err)
	}
	err := start()
	if failed := d.pass(wire.ControlOut, self); failed != nil {
		return fmt.Errorf("leave the cgroup of user code: %w", failed)
	}
	if at == own {
		if failed := d.stay(shared); failed != nil { // it counts as a process of the run
			return failed
		}
	}
	return err
}

// freeCaches has the kernel free what it caches for runs that are over: names that they looked up, and pages of files that
// they read. A later run would tell by the time of its own look-ups and reads what theirs were. Both are charged to the
// cgroup of the process that brought them in; those that the host, or another VM, had before tell nothing.
func (d *controls) freeCaches(at cell) error {
	if !d.used[at] {
		return nil
	}
	control := wire.ControlOwnFreeCaches
	if at == shared { // the other one is below it
		control = wire.ControlFreeCaches
		d.used[own] = false
	}
	d.used[at] = false
	for {
		switch err := d.pass(control, wire.FreeAllCaches); err {
		case nil, syscall.EAGAIN, syscall.EBUSY: //nolint:errorlint // straight from the kernel: the rest is in use, or is no cache
			return nil
		case syscall.EINTR: // by the runtime
		default:
			return fmt.Errorf("free what was cached for a run: %w", err)
		}
	}
}

// holds reports whether the kernel enforces limits of a run that are below the pool's.
func (d *controls) holds() bool {
	return !slices.ContainsFunc([]int{wire.ControlMemory, wire.ControlPids, wire.ControlOwnMemory, wire.ControlOwnPids}, func(control int) bool {
		return !slices.Contains(d.open, control)
	})
}

// startingPids is how many more processes and threads are allowed while a run starts: the agent is among them for
// that moment.
const startingPids = 64

// bound sets the limits of a run's cgroups before it starts: all binds this and all later runs, mine this one only.
// Memory left by earlier runs counts: if it is too much, the kernel ends the run at once.
func (d *controls) bound(at cell, all, mine core.Limits) error {
	if !d.holds() {
		return nil
	}
	if all.Memory > 0 {
		d.limit = min(d.limit, all.Memory)
	}
	err := d.makeRoom()
	if err == nil {
		err = d.pids(wire.ControlPids, all.Pids, wire.PidsBehind+startingPids)
	}
	if err == nil && at == own {
		d.usage.own.begin()
		memory := d.set
		if mine.Memory > 0 {
			memory = min(memory, mine.Memory)
		}
		if err = d.pass(wire.ControlOwnMemory, strconv.FormatInt(memory, 10)); err == syscall.EBUSY { //nolint:errorlint // straight from the kernel
			err = d.pass(wire.ControlOwnMemory, strconv.FormatInt(max(d.usage.own.most(), memory), 10))
		}
		if err == nil {
			err = d.pids(wire.ControlOwnPids, mine.Pids, startingPids)
		}
	}
	return core.Wrap(err, core.CodeBadVM, "", "set the limits of a run")
}

// close lowers the limit on processes of a started run to its own.
func (d *controls) close(at cell, all, mine core.Limits) error {
	if !d.holds() {
		return nil
	}
	err := d.pids(wire.ControlPids, all.Pids, wire.PidsBehind)
	if err == nil && at == own {
		err = d.pids(wire.ControlOwnPids, mine.Pids, 0)
	}
	return core.Wrap(err, core.CodeBadVM, "", "set the limit of processes of a run")
}

// pids writes a limit on processes; 0 is none, if another one is in force.
func (d *controls) pids(control, most, more int) error {
	if most <= 0 {
		return d.pass(control, "max")
	}
	return d.pass(control, strconv.Itoa(most+more))
}

// makeRoom counts files that the agent holds or has staged like the job's own: what they take beyond the agent's
// share is taken off the job's limit. Otherwise they and the job together could fill the VM, and the kernel might
// kill the agent.
func (d *controls) makeRoom() error {
	if !slices.Contains(d.open, wire.ControlMemory) {
		return nil
	}
	all, job := cgroupValue(d.usage.all, ""), cgroupValue(d.usage.job, "")
	if all < 0 || job < 0 {
		return nil
	}
	want := min(d.limit, max(d.pool+wire.AgentMemory-ownMemory-(all-job), 0))
	if want == d.set {
		return nil
	}
	// Memory above the limit was left by earlier runs: it cannot grow.
	if err := d.pass(wire.ControlMemory, strconv.FormatInt(max(want, job), 10)); err != nil && err != syscall.EBUSY { //nolint:errorlint // straight from the kernel
		return core.Wrap(err, core.CodeBadVM, "", "set the job's limit of memory")
	}
	d.set = want
	return nil
}
