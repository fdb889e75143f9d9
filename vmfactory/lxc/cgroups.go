package lxc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory/process"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	cpuPeriod  = 100_000 // µs
	// What the agent itself needs on top of its job's limits.
	agentMemory = 16 << 20
	agentPids   = 64
)

// The names of a VM's cgroups begin with these, then the tag of its run folder.
const (
	payloadPrefix = "drover-lxc-" // what is in the container
	monitorPrefix = "drover-lxm-" // its monitor
)

// controllers are those that hold something, in the order that they are named.
var controllers = []string{"memory", "pids", "cpu"}

// cgroups is how this host's cgroups are laid out.
type cgroups struct {
	root string
	v2   bool              // all controllers are of version 2
	at   map[string]string // controller → the folder of its hierarchy
	tops []string          // every hierarchy: liblxc makes cgroups in all, unless told not to
	why  string            // what is missing, and how to mend it
}

// fsType is the magic number of a folder's file system, 0 if it cannot be told.
func fsType(path string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0
	}
	return int64(st.Type) //nolint:unconvert // of another size elsewhere
}

// findCgroups looks at what is mounted.
func findCgroups(root string, fsType func(string) int64) cgroups {
	c := cgroups{root: root, at: map[string]string{}}
	if fsType(root) == unix.CGROUP2_SUPER_MAGIC {
		c.v2, c.tops = true, []string{root}
		text, _ := os.ReadFile(filepath.Join(root, "cgroup.controllers")) // without it there are none
		for _, name := range controllers {
			if slices.Contains(strings.Fields(string(text)), name) {
				c.at[name] = root
			}
		}
	} else {
		entries, _ := os.ReadDir(root) // without it there are none
		for _, e := range entries {
			path, err := filepath.EvalSymlinks(filepath.Join(root, e.Name()))
			if err != nil {
				continue
			}
			switch fsType(path) {
			case unix.CGROUP_SUPER_MAGIC:
				if slices.Contains(controllers, e.Name()) {
					c.at[e.Name()] = path
				}
			case unix.CGROUP2_SUPER_MAGIC:
			default:
				continue
			}
			if !slices.Contains(c.tops, path) {
				c.tops = append(c.tops, path)
			}
		}
	}
	var missing []string
	for _, name := range controllers {
		if c.at[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		c.why = fmt.Sprintf("liblxc can use no cgroup controller %s here: a machine whose %s has version 1 beside version 2 must have them in version 1; "+
			"else boot with systemd.unified_cgroup_hierarchy=1 for version 2 alone, and look for cgroup_disable= on the kernel's command line",
			strings.Join(missing, ", "), root)
	}
	return c
}

// use is what liblxc is told to use: less than all there is where that is more.
func (c *cgroups) use() string {
	if c.v2 {
		return ""
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(controllers), func(name string) bool { return c.at[name] == "" }), ",")
}

func payload(tag, vm string) string { return payloadPrefix + tag + "-" + vm }
func monitor(tag, vm string) string { return monitorPrefix + tag + "-" + vm }

// bound is one limit: the file of a controller that holds it and what it says.
type bound struct {
	controller, file, value string
	maybe                   bool // a kernel without the file counts nothing there
}

// bounds are the limits of a VM as this host's version names them.
func (c *cgroups) bounds(l core.Limits, cpus float64) []bound {
	memory, pids := strconv.FormatInt(l.Memory+agentMemory, 10), strconv.Itoa(l.Pids+agentPids)
	quota := strconv.Itoa(int(cpus * cpuPeriod))
	if c.v2 {
		return []bound{
			{controller: "memory", file: "memory.max", value: memory},
			{controller: "memory", file: "memory.swap.max", value: "0", maybe: true},
			{controller: "pids", file: "pids.max", value: pids},
			{controller: "cpu", file: "cpu.max", value: quota + " " + strconv.Itoa(cpuPeriod)},
		}
	}
	return []bound{
		{controller: "memory", file: "memory.limit_in_bytes", value: memory},
		{controller: "memory", file: "memory.memsw.limit_in_bytes", value: memory, maybe: true}, // with swap
		{controller: "memory", file: "memory.kmem.tcp.limit_in_bytes", value: strconv.FormatInt((l.Memory+agentMemory)/4, 10), maybe: true},
		{controller: "pids", file: "pids.max", value: pids},
		{controller: "cpu", file: "cpu.cfs_period_us", value: strconv.Itoa(cpuPeriod)},
		{controller: "cpu", file: "cpu.cfs_quota_us", value: quota},
	}
}

// has tells whether the kernel has a limit's file. The root of version 1 has all
// of them; of version 2 some are only below it, and a start without them fails.
func (c *cgroups) has(b bound) bool {
	if !b.maybe {
		return true
	}
	if c.v2 {
		_, err := os.Stat("/proc/swaps")
		return err == nil
	}
	_, err := os.Stat(filepath.Join(c.at[b.controller], b.file))
	return err == nil
}

// verify reads the limits of a running VM back, and looks whether its processes
// are where the limits are. What liblxc was told proves nothing: on some layouts
// it ignores keys with a warning.
func (c *cgroups) verify(name string, all []bound) error {
	for _, b := range all {
		if !c.has(b) {
			continue
		}
		file := filepath.Join(c.at[b.controller], name, b.file)
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("limit %s is not in force: %w", b.file, err)
		}
		if got := strings.TrimSpace(string(text)); !holds(got, b.value, b.controller == "memory") {
			return fmt.Errorf("limit %s is not in force: %s says %s where %s was asked for", b.file, file, got, b.value)
		}
	}
	return c.inside(name)
}

// holds compares words; the kernel rounds memory down to pages.
func holds(got, want string, memory bool) bool {
	least := int64(0) // below what was asked for
	if memory {
		least = int64(os.Getpagesize()) - 1
	}
	g, w := strings.Fields(got), strings.Fields(want)
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		have, err := strconv.ParseInt(g[i], 10, 64)
		most, werr := strconv.ParseInt(w[i], 10, 64)
		if err != nil || werr != nil || have > most || have < 0 || most-have > least {
			return false
		}
	}
	return true
}

// inside looks whether the VM's first process is in its cgroup of every controller.
func (c *cgroups) inside(name string) error {
	for _, controller := range controllers {
		pids, err := members(filepath.Join(c.at[controller], name))
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return fmt.Errorf("no process of the VM is in its cgroup of controller %s", controller)
		}
	}
	return nil
}

// members lists the processes in a cgroup.
func members(folder string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) { // it goes, or is gone
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []int
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("%s lists a process %q", folder, word)
		}
		all = append(all, pid)
	}
	return all, nil
}

// found lists the VMs of a run folder that have cgroups.
func (c *cgroups) found(tag string) []string {
	var all []string
	for _, top := range c.tops {
		entries, _ := os.ReadDir(top) // one that cannot be read has nothing of ours
		for _, e := range entries {
			for _, prefix := range []string{payload(tag, ""), monitor(tag, "")} {
				id, ours := strings.CutPrefix(e.Name(), prefix)
				if ours && e.IsDir() && core.ValidName(id) && !slices.Contains(all, id) {
					all = append(all, id)
				}
			}
		}
	}
	return all
}

// folders are all places where a VM may have a cgroup.
func (c *cgroups) folders(tag, vm string) []string {
	var all []string
	for _, top := range c.tops {
		all = append(all, filepath.Join(top, payload(tag, vm)), filepath.Join(top, monitor(tag, vm)))
	}
	return all
}

func (c *cgroups) exists(tag, vm string) bool {
	return slices.ContainsFunc(c.folders(tag, vm), func(folder string) bool {
		_, err := os.Lstat(folder)
		return err == nil
	})
}

// end kills all that is in a VM's cgroups, what is in the container first, and
// removes them. Those that are not there are fine.
func (c *cgroups) end(ctx context.Context, tag, vm string) error {
	for _, name := range []string{payload(tag, vm), monitor(tag, vm)} {
		for _, controller := range c.tops {
			if err := empty(ctx, filepath.Join(controller, name)); err != nil {
				return err
			}
		}
	}
	for _, folder := range c.folders(tag, vm) {
		if err := remove(ctx, folder); err != nil {
			return err
		}
	}
	return nil
}

// empty kills what is in a cgroup until nothing is: what is killed may just have
// started something.
func empty(ctx context.Context, folder string) error {
	for {
		all, err := within(folder)
		if err != nil {
			return err
		}
		for _, who := range all {
			if err := who.Kill(ctx); err != nil {
				return err
			}
		}
		if pids, err := members(folder); err != nil || len(pids) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return core.Wrap(ctx.Err(), core.CodeUnavailable, "", "cgroup %s does not become empty", folder)
		case <-time.After(time.Millisecond): // the kernel takes the dead off the list a little later
		}
	}
}

// within are the processes in a cgroup. A pid that is on its list may be another's
// by the time that we ask who has it, one of the host even, where a VM starts and
// ends processes as fast as it can: only one that is on the list afterwards is of it.
func within(folder string) ([]process.Process, error) {
	pids, err := members(folder)
	if err != nil || len(pids) == 0 {
		return nil, err
	}
	who := make(map[int]process.Process, len(pids))
	for _, pid := range pids {
		if one, err := process.Identify(pid); err == nil { // else it is gone
			who[pid] = one
		}
	}
	pids, err = members(folder)
	var all []process.Process
	for _, pid := range pids {
		if one, ok := who[pid]; ok {
			all = append(all, one)
		}
	}
	return all, err
}

// remove removes a cgroup and what is below it. A process that just died may
// keep it for a moment.
func remove(ctx context.Context, folder string) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := unix.Rmdir(folder)
		switch {
		case err == nil || errors.Is(err, unix.ENOENT):
			return struct{}{}, nil
		case errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENOTEMPTY):
			return struct{}{}, errors.Join(err, removeBelow(ctx, folder))
		}
		return struct{}{}, backoff.Permanent(fmt.Errorf("remove %s: %w", folder, err))
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: time.Millisecond, Multiplier: 2, MaxInterval: 100 * time.Millisecond,
	}), backoff.WithMaxElapsedTime(5*time.Second))
	return err
}

// removeBelow removes the cgroups in a cgroup, of which there are none unless
// liblxc made them.
func removeBelow(ctx context.Context, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil //nolint:nilerr // it is gone
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := errors.Join(empty(ctx, filepath.Join(folder, e.Name())), remove(ctx, filepath.Join(folder, e.Name()))); err != nil {
				return err
			}
		}
	}
	return nil
}
