package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"drover/vmfactory/process"

	"github.com/cenkalti/backoff/v5"
	"github.com/criyle/go-sandbox/pkg/cgroup"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/guest"
)

// group is one VM's cgroup, in each hierarchy that holds something.
type group struct {
	ctl     cgroup.Cgroup
	has     cgroup.Controllers
	v2      bool
	folders []string
}

// at returns the group of that name whether it exists or not.
func (c *cgroups) at(name string) *group {
	g := &group{has: c.has, v2: c.v2}
	if c.v2 {
		g.folders = []string{filepath.Join(cgroupRoot, c.parent, name)}
		return g
	}
	for _, controller := range c.has.Names() {
		g.folders = append(g.folders, filepath.Join(cgroupRoot, controller, name))
	}
	return g
}

// make makes a cgroup with limits that are in force. It removes what it made if
// it fails.
func (c *cgroups) make(name string, limits core.Limits, cpus float64) (g *group, err error) {
	g = c.at(name)
	if err := g.remove(context.Background()); err != nil { // what a killed Prepare left
		return g, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.remove(context.Background()))
		}
	}()
	if g.ctl, err = cgroup.New(path.Join(c.parent, name), &g.has); err != nil {
		return g, err
	}
	return g, g.limit(limits, cpus)
}

// limit sets the limits and reads them back.
func (g *group) limit(limits core.Limits, cpus float64) error {
	if g.has.Memory {
		most := uint64(limits.Memory + agentMemory) //nolint:gosec // checked by core to be positive
		if err := g.ctl.SetMemoryLimit(most); err != nil {
			return fmt.Errorf("set the memory limit: %w", err)
		}
		if err := g.limitSwap(most); err != nil {
			return fmt.Errorf("set the swap limit: %w", err)
		}
		if !g.v2 { // version 1 counts the buffers of TCP apart
			err := os.WriteFile(filepath.Join(g.folder("memory"), "memory.kmem.tcp.limit_in_bytes"), strconv.AppendUint(nil, most/4, 10), 0)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("set the limit of TCP memory: %w", err)
			}
		}
		if err := g.inForce(most, "memory", "memory.max", "memory.limit_in_bytes"); err != nil {
			return err
		}
	}
	if g.has.Pids {
		most := uint64(limits.Pids + agentPids) //nolint:gosec // checked by core to be positive
		if err := g.ctl.SetProcLimit(most); err != nil {
			return fmt.Errorf("set the limit of processes: %w", err)
		}
		if err := g.inForce(most, "pids", "pids.max", "pids.max"); err != nil {
			return err
		}
	}
	if g.has.CPU && cpus > 0 {
		quota := uint64(cpus * cpuPeriod)
		if err := g.ctl.SetCPUBandwidth(quota, cpuPeriod); err != nil {
			return fmt.Errorf("set the cpu limit: %w", err)
		}
		if err := g.inForce(quota, "cpu", "cpu.max", "cpu.cfs_quota_us"); err != nil {
			return err
		}
	}
	return nil
}

// limitSwap forbids swap beside the memory limit, where the kernel counts it.
func (g *group) limitSwap(memory uint64) error {
	var err error
	switch ctl := g.ctl.(type) {
	case *cgroup.V1: // memory and swap together
		err = ctl.SetMemoryMemswLimitInBytes(memory)
	case *cgroup.V2:
		err = ctl.WriteUint("memory.swap.max", 0)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // without swap accounting there is no such file, and none can be made
	}
	return err
}

// inForce reads a limit back, the first word of its file. The kernel rounds
// memory down to pages.
func (g *group) inForce(want uint64, controller, v2, v1 string) error {
	file := filepath.Join(g.folder(controller), v1)
	if g.v2 {
		file = filepath.Join(g.folder(controller), v2)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	word, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
	got, err := strconv.ParseUint(string(word), 10, 64)
	if err != nil || got > want {
		return fmt.Errorf("%s says %s where %d was set", file, bytes.TrimSpace(text), want)
	}
	return nil
}

// folder is where the files of a controller are.
func (g *group) folder(controller string) string {
	for i, name := range g.has.Names() {
		if name == controller && !g.v2 {
			return g.folders[i]
		}
	}
	return g.folders[0]
}

// open returns a descriptor of the cgroup that a process can be born into, or -1
// where it has to be moved there.
func (g *group) open() (int, error) {
	if !g.v2 {
		return -1, nil
	}
	return unix.Open(g.folders[0], unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// take moves a process into the cgroup unless it was born there, and looks
// whether it is in it.
func (g *group) take(pid int) error {
	for _, folder := range g.folders {
		file := filepath.Join(folder, "cgroup.procs")
		if !g.v2 {
			if err := cgroup.AddProcesses(file, []int{pid}); err != nil {
				return fmt.Errorf("move process %d to %s: %w", pid, folder, err)
			}
		}
		in, err := cgroup.ReadProcesses(file)
		if err != nil {
			return err
		}
		if !slices.Contains(in, pid) {
			return fmt.Errorf("process %d is not in %s", pid, folder)
		}
	}
	return nil
}

// files names what the agent may read of the cgroup, as it sees it.
func (g *group) files() guest.Cgroup {
	at := func(controller, file string) string {
		for i, folder := range g.folders {
			if folder == g.folder(controller) {
				return fmt.Sprintf("%s/%d/%s", cgroupsAt, i, file)
			}
		}
		return ""
	}
	if g.v2 {
		return guest.Cgroup{
			MemoryPeak: at("memory", "memory.peak"), MemoryEvents: at("memory", "memory.events"),
			CPU: at("cpu", "cpu.stat"), PidsEvents: at("pids", "pids.events"),
		}
	}
	var files guest.Cgroup
	if g.has.Memory {
		files.MemoryPeak, files.MemoryEvents = at("memory", "memory.max_usage_in_bytes"), at("memory", "memory.oom_control")
	}
	if g.has.Pids {
		files.PidsEvents = at("pids", "pids.events")
	}
	return files
}

// processes lists all that is in the cgroup.
func (g *group) processes() ([]process.Process, error) {
	var all []process.Process
	for _, folder := range g.folders {
		pids, err := cgroup.ReadProcesses(filepath.Join(folder, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, pid := range pids {
			if p, err := process.Identify(pid); err == nil { // else it is gone
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// remove removes the cgroup. One that is not there is fine. A process that just
// died may keep it for a moment.
func (g *group) remove(ctx context.Context) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		var all error
		for _, folder := range g.folders {
			err := unix.Rmdir(folder)
			if errors.Is(err, unix.EBUSY) {
				return struct{}{}, err
			}
			if err != nil && !errors.Is(err, unix.ENOENT) {
				all = errors.Join(all, backoff.Permanent(fmt.Errorf("remove %s: %w", folder, err)))
			}
		}
		return struct{}{}, all
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: time.Millisecond, Multiplier: 2, MaxInterval: 100 * time.Millisecond,
	}), backoff.WithMaxElapsedTime(5*time.Second))
	return err
}
