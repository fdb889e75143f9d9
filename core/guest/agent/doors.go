package agent

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"drover/core"
	"drover/core/guest/wire"
)

// doors lead to the cgroups that user code has for itself; see package cgroup of
// the vmfactory. They are close-on-exec, like all that the agent has.
type doors struct {
	open  []int
	usage *usage
	limit int64 // of user code's memory, as the pool has it
	set   int64 // the same as it is now
}

// ownMemory is what the agent keeps free for itself of wire.AgentMemory.
const ownMemory = wire.AgentMemory / 2

func newDoors(cfg wire.Config, u *usage) doors {
	return doors{open: cfg.Doors, usage: u, limit: cfg.Limits.Memory, set: cfg.Limits.Memory}
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

// stay takes the calling thread in for good, and with it what it starts.
func (d *doors) stay() error {
	for i := range 2 {
		if err := d.pass(wire.DoorThreads+i, self); err != nil {
			return fmt.Errorf("enter the cgroup of user code: %w", err)
		}
	}
	return nil
}

// around calls start while the agent is in there.
func (d *doors) around(start func() error) error {
	if err := d.pass(wire.DoorIn, self); err != nil {
		return fmt.Errorf("enter the cgroup of user code: %w", err)
	}
	err := start()
	if failed := d.pass(wire.DoorOut, self); failed != nil {
		return fmt.Errorf("leave the cgroup of user code: %w", failed)
	}
	return err
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
	want := min(d.limit, max(d.limit+wire.AgentMemory-ownMemory-(all-job), 0))
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
