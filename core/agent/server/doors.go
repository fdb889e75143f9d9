package server

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"drover/core"
	"drover/core/agent/wire"
)

// doors lead to the cgroups that user code has for itself; see package cgroup of
// the vmfactory. They are close-on-exec, like all that the agent has.
type doors struct {
	open  []int
	usage *usage
	pool  int64 // the limit of user code's memory, as the pool has it
	limit int64 // the same of the runs from now on
	set   int64 // the same as it is now
}

// cell is where a run is: with all others, or in the cgroup of the one that has
// limits of its own, which the kernel then holds.
type cell int

const (
	shared cell = iota
	own
)

// threadDoors is how many files of threads each of them has.
const threadDoors = wire.DoorOwnThreads - wire.DoorThreads

// ownMemory is what the agent keeps free for itself of wire.AgentMemory.
const ownMemory = wire.AgentMemory / 2

func newDoors(cfg wire.Config, u *usage) doors {
	return doors{open: cfg.Doors, usage: u, pool: cfg.Limits.Memory, limit: cfg.Limits.Memory, set: cfg.Limits.Memory}
}

// pass writes to a door, if it is there.
func (d *doors) pass(door int, text string) error {
	if !slices.Contains(d.open, door) {
		return nil
	}
	_, err := syscall.Write(wire.DoorFD+door, []byte(text))
	return err
}

// self, written to a door, is who writes.
const self = "0"

// stay takes the calling thread to where a run is of version 1, and with it what it
// starts, until it is taken elsewhere.
func (d *doors) stay(at cell) error {
	first := wire.DoorThreads
	if at == own {
		first = wire.DoorOwnThreads
	}
	for i := range threadDoors {
		if err := d.pass(first+i, self); err != nil {
			return fmt.Errorf("enter the cgroup of user code: %w", err)
		}
	}
	return nil
}

// around calls start while the calling thread, or of version 2 the agent, is where
// the run is.
func (d *doors) around(at cell, start func() error) error {
	if err := d.stay(at); err != nil {
		return err
	}
	in := wire.DoorIn
	if at == own {
		in = wire.DoorOwnIn
	}
	if err := d.pass(in, self); err != nil {
		return fmt.Errorf("enter the cgroup of user code: %w", err)
	}
	err := start()
	if failed := d.pass(wire.DoorOut, self); failed != nil {
		return fmt.Errorf("leave the cgroup of user code: %w", failed)
	}
	if at == own {
		if failed := d.stay(shared); failed != nil { // it counts as one of the run's
			return failed
		}
	}
	return err
}

// holds reports whether the kernel holds the limits of a run, be they below the pool's.
func (d *doors) holds() bool {
	return !slices.ContainsFunc([]int{wire.DoorMemory, wire.DoorPids, wire.DoorOwnMemory, wire.DoorOwnPids}, func(door int) bool {
		return !slices.Contains(d.open, door)
	})
}

// startingPids is how many processes and threads more there may be where a run starts:
// the agent is among them for that moment.
const startingPids = 64

// bound gives a run's cgroups the limits that it has, before it starts: all is what
// binds this and all later runs, mine what binds this one alone. What earlier runs have
// left there counts: if it is too much, the kernel ends the run at once.
func (d *doors) bound(at cell, all, mine core.Limits) error {
	if !d.holds() {
		return nil
	}
	if all.Memory > 0 {
		d.limit = min(d.limit, all.Memory)
	}
	err := d.makeRoom()
	if err == nil {
		err = d.pids(wire.DoorPids, all.Pids, wire.PidsBehind+startingPids)
	}
	if err == nil && at == own {
		d.usage.own.begin()
		memory := d.set
		if mine.Memory > 0 {
			memory = min(memory, mine.Memory)
		}
		if err = d.pass(wire.DoorOwnMemory, strconv.FormatInt(memory, 10)); err == syscall.EBUSY { //nolint:errorlint // straight from the kernel
			err = d.pass(wire.DoorOwnMemory, strconv.FormatInt(max(d.usage.own.most(), memory), 10))
		}
		if err == nil {
			err = d.pids(wire.DoorOwnPids, mine.Pids, startingPids)
		}
	}
	return core.Wrap(err, core.CodeBadVM, "", "set the limits of a run")
}

// close leaves a run that has started the processes that it may have, and no more.
func (d *doors) close(at cell, all, mine core.Limits) error {
	if !d.holds() {
		return nil
	}
	err := d.pids(wire.DoorPids, all.Pids, wire.PidsBehind)
	if err == nil && at == own {
		err = d.pids(wire.DoorOwnPids, mine.Pids, 0)
	}
	return core.Wrap(err, core.CodeBadVM, "", "set the limit of processes of a run")
}

// pids writes a limit on processes; 0 is none, where another one holds.
func (d *doors) pids(door, most, more int) error {
	if most <= 0 {
		return d.pass(door, "max")
	}
	return d.pass(door, strconv.Itoa(most+more))
}

// makeRoom has files that the agent holds or has staged count like the job's own:
// what they take beyond the agent's share is taken off the job's limit. Else they and
// the job together could fill the VM, and then the agent is the kernel's choice, too.
func (d *doors) makeRoom() error {
	if !slices.Contains(d.open, wire.DoorMemory) {
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
	// More is in there already where earlier runs have left it: it cannot grow.
	if err := d.pass(wire.DoorMemory, strconv.FormatInt(max(want, job), 10)); err != nil && err != syscall.EBUSY { //nolint:errorlint // straight from the kernel
		return core.Wrap(err, core.CodeBadVM, "", "set the job's limit of memory")
	}
	d.set = want
	return nil
}
