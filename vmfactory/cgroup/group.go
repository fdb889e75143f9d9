package cgroup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory/process"
)

// Cgroups below a VM's own.
const (
	jobName   = "job"   // user code
	agentName = "agent" // in version 2, where a cgroup has processes or children: of the agent
	allName   = "all"   // below user code's, in version 2: of runs without limits of their own
	ownName   = "own"   // below user code's: of the run with limits of its own
)

// Group is one VM's cgroups.
type Group struct {
	host  Host
	name  string
	apart bool // user code is separate from the agent
}

// At returns the cgroups of that name, whether they exist or not. With apart, user code has its own; if agent and
// user code share one user, user code could leave it.
func (h Host) At(name string, apart bool) Group { return Group{host: h, name: name, apart: apart} }

// folder returns a controller's cgroup of the whole VM.
func (g Group) folder(controller string) string {
	return filepath.Join(g.host.at[controller].folder, g.name)
}

// job returns a controller's cgroup of user code.
func (g Group) job(controller string) string {
	if !g.apart {
		return g.folder(controller)
	}
	return filepath.Join(g.folder(controller), jobName)
}

// own returns a controller's cgroup of the run with limits of its own.
func (g Group) own(controller string) string { return filepath.Join(g.job(controller), ownName) }

// runs returns a controller's cgroup of the runs without.
func (g Group) runs(controller string) string {
	if g.host.at[controller].v2 {
		return filepath.Join(g.job(controller), allName)
	}
	return g.job(controller)
}

// made lists the folders that Make makes, children first.
func (g Group) made() []string {
	var all []string
	add := func(folders ...string) {
		for _, folder := range folders {
			if !slices.Contains(all, folder) {
				all = append(all, folder)
			}
		}
	}
	for _, name := range g.inner() {
		add(g.own(name), g.runs(name), g.job(name), g.seat(name))
	}
	for _, top := range g.host.Folders() {
		add(filepath.Join(top, g.name))
	}
	return all
}

// inner lists the controllers that have a cgroup for user code; processors are limited for the VM as a whole.
func (g Group) inner() []string {
	if !g.apart {
		return nil
	}
	return slices.DeleteFunc([]string{Memory, Pids, account}, func(name string) bool { return !g.host.Has(name) })
}

// Make makes the cgroups and verifies their limits; cpus is how many processors the VM may use. It first removes
// existing ones, and on failure those that it made. The cgroup of a run with limits of its own has none at first: those
// of all runs hold it, and the agent sets its own before each such run.
func (g Group) Make(l core.Limits, cpus float64) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Remove(context.Background()))
		}
	}()
	if two := g.host.Of(2); len(two) > 0 {
		if err := enable(g.host.at[two[0]].folder, two); err != nil {
			return err
		}
	}
	for _, top := range g.host.Folders() {
		folder := filepath.Join(top, g.name)
		err := makeFolder(folder)
		if errors.Is(err, unix.EEXIST) { // left by an interrupted creation
			err = errors.Join(Remove(context.Background(), folder), makeFolder(folder))
		}
		if err != nil {
			return fmt.Errorf("make %s: %w", folder, err)
		}
	}
	if err := set(g.host.whole(l, cpus), g.folder); err != nil {
		return err
	}
	if err := g.part(); err != nil {
		return err
	}
	if g.apart {
		return set(g.host.job(l), g.job)
	}
	return nil
}

// part makes the cgroups below the VM's own.
func (g Group) part() error {
	var two []string
	for _, name := range g.inner() {
		if g.host.at[name].v2 {
			two = append(two, name)
			continue
		}
		if err := errors.Join(mkdir(g.job(name)), mkdir(g.own(name))); err != nil {
			return err
		}
	}
	if len(two) == 0 {
		return nil
	}
	if err := enable(g.folder(two[0]), two); err != nil {
		return err
	}
	return errors.Join(mkdir(g.job(two[0])), mkdir(filepath.Join(g.folder(two[0]), agentName)), enable(g.job(two[0]), two),
		mkdir(g.runs(two[0])), mkdir(g.own(two[0])))
}

// mkdir makes a cgroup, which another controller of the same hierarchy may have made already.
func mkdir(folder string) error {
	if err := makeFolder(folder); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make %s: %w", folder, err)
	}
	return nil
}

// makeFolder makes a cgroup that a VM's agent, another user, can read, whatever the umask.
func makeFolder(folder string) error {
	const readable = 0o755
	if err := unix.Mkdir(folder, readable); err != nil {
		return err
	}
	return unix.Chmod(folder, readable)
}

// InForce reads the limits back from the kernel, for a VM that has had no run yet.
func (g Group) InForce(l core.Limits, cpus float64) error {
	if err := inForce(g.host.whole(l, cpus), g.folder); err != nil || !g.apart {
		return err
	}
	if err := inForce(g.host.job(l), g.job); err != nil {
		return err
	}
	for _, name := range g.inner() { // has no limits yet
		if err := unix.Access(g.own(name), unix.F_OK); err != nil {
			return fmt.Errorf("there is no cgroup for a run with limits of its own, %s: %w", g.own(name), err)
		}
	}
	return nil
}

// Inherited verifies that the cgroups of user code have the switches of the VM's own, which are set only there. One look
// for each host is enough: it is the kernel's doing.
func (g Group) Inherited() error {
	if !g.apart {
		return nil
	}
	return errors.Join(inForce(g.host.switches(), g.job), inForce(g.host.switches(), g.own))
}

// seat returns the agent's cgroup in a controller's hierarchy.
func (g Group) seat(controller string) string {
	if slices.ContainsFunc(g.inner(), func(name string) bool { return g.host.at[name].v2 }) && g.host.at[controller].v2 {
		return filepath.Join(g.folder(controller), agentName)
	}
	return g.folder(controller)
}

// Open returns a descriptor of the cgroup of version 2 in which the agent can be started, or -1 if there is none.
func (g Group) Open() (int, error) {
	two := g.host.Of(2)
	if len(two) == 0 {
		return -1, nil
	}
	return unix.Open(g.seat(two[0]), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// Take moves a process, the future agent, into the cgroups in which it was not started, and verifies its place.
func (g Group) Take(pid int) error {
	for _, name := range counted() {
		if !g.host.Has(name) {
			continue
		}
		seat := g.seat(name)
		if !g.host.at[name].v2 {
			if err := process.WriteFile(filepath.Join(seat, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
				return fmt.Errorf("move process %d to %s: %w", pid, seat, err)
			}
		}
		in, err := members(seat)
		if err != nil {
			return err
		}
		if !slices.Contains(in, pid) {
			return fmt.Errorf("process %d is not in %s", pid, seat)
		}
	}
	return nil
}

// Members lists the VM's processes in the cgroup of that name below.
func (g Group) Members(below string) ([]int, error) {
	return members(filepath.Join(g.folder(Memory), below))
}

// Inhabited checks that the VM has processes in the cgroup of that name below, for every controller, where liblxc was
// to put them.
func (g Group) Inhabited(below string) error {
	for _, name := range Controllers() {
		if !g.host.Has(name) {
			continue
		}
		in, err := members(filepath.Join(g.folder(name), below))
		if err != nil {
			return err
		}
		if len(in) == 0 {
			return fmt.Errorf("no process of the VM is in its cgroup of controller %s", name)
		}
	}
	return nil
}

// Controls opens the files by which a process moves into the cgroups of user code, and those of their limits and caches,
// as descriptors for the agent in the order of package wire; -1 is none. They let their holder move itself but
// no other process: the kernel checks who opened them. The caller closes them.
func (g Group) Controls() (files []int, err error) {
	files = slices.Repeat([]int{-1}, wire.Controls)
	defer func() {
		if err != nil {
			for _, fd := range files {
				process.CloseFD(fd)
			}
		}
	}()
	open := func(at int, folder, file string, mode int) {
		if err == nil {
			files[at], err = unix.Open(filepath.Join(folder, file), mode|unix.O_CLOEXEC, 0)
		}
	}
	for i, name := range g.inner() {
		switch {
		case !g.host.at[name].v2:
			open(wire.ControlThreads+i, g.job(name), "tasks", unix.O_WRONLY)
			open(wire.ControlOwnThreads+i, g.own(name), "tasks", unix.O_WRONLY)
		case files[wire.ControlIn] < 0:
			open(wire.ControlIn, g.runs(name), "cgroup.procs", unix.O_WRONLY)
			open(wire.ControlOwnIn, g.own(name), "cgroup.procs", unix.O_WRONLY)
			open(wire.ControlOut, g.seat(name), "cgroup.procs", unix.O_WRONLY)
		}
		switch name {
		case Memory:
			limit := g.host.limitFile()
			open(wire.ControlMemory, g.job(name), limit, unix.O_WRONLY)
			open(wire.ControlOwnMemory, g.own(name), limit, unix.O_WRONLY)
			open(wire.ControlOwnPeak, g.own(name), g.host.peak(), unix.O_RDWR)
			if g.host.FreesCaches() {
				open(wire.ControlOwnFreeCaches, g.own(name), g.host.cacheFile(), unix.O_WRONLY)
			}
		case Pids:
			open(wire.ControlPids, g.job(name), "pids.max", unix.O_WRONLY)
			open(wire.ControlOwnPids, g.own(name), "pids.max", unix.O_WRONLY)
		}
	}
	if g.host.FreesCaches() { // also where user code is in the agent's cgroup
		open(wire.ControlFreeCaches, g.job(Memory), g.host.cacheFile(), unix.O_WRONLY)
	}
	return files, err
}

// Usage returns the folders with the usage of the VM, and the paths of their files for an agent that sees the first
// folder at at/0, the second at at/1 and so on.
func (g Group) Usage(at string) (folders []string, files wire.Cgroup) {
	for _, top := range g.host.Folders() {
		folders = append(folders, filepath.Join(top, g.name))
	}
	name := func(controller, folder, file string) string {
		if !g.host.Has(controller) {
			return ""
		}
		i := slices.Index(folders, g.folder(controller))
		return strings.Replace(filepath.Join(folder, file), folders[i], fmt.Sprintf("%s/%d", at, i), 1)
	}
	used, events := "memory.usage_in_bytes", "memory.oom_control"
	if g.host.at[Memory].v2 {
		used, events = "memory.current", "memory.events"
	}
	gauges := func(at func(controller string) string) wire.Gauges {
		return wire.Gauges{
			MemoryPeak: name(Memory, at(Memory), g.host.peak()), MemoryEvents: name(Memory, at(Memory), events), MemoryStat: name(Memory, at(Memory), "memory.stat"),
			PidsEvents: name(Pids, at(Pids), "pids.events"), CPU: g.computed(name, at),
		}
	}
	files.Gauges = gauges(g.job)
	if len(g.inner()) > 0 {
		files.Own = gauges(g.own)
	}
	if slices.Contains(g.inner(), Memory) {
		files.MemoryAll, files.MemoryJob = name(Memory, g.folder(Memory), used), name(Memory, g.job(Memory), used)
	}
	return folders, files
}

// computed returns the file with the processor time used in a cgroup of user code, or else of the whole VM, where
// only that has one.
func (g Group) computed(name func(controller, folder, file string) string, at func(controller string) string) string {
	inner := g.inner()
	if slices.Contains(inner, account) || !g.apart && g.host.Has(account) {
		return name(account, at(account), "cpuacct.usage")
	}
	for _, controller := range inner {
		if g.host.at[controller].v2 {
			return name(controller, at(controller), "cpu.stat")
		}
	}
	if g.host.at[CPU].v2 {
		return name(CPU, g.folder(CPU), "cpu.stat")
	}
	return ""
}
