package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"drover/vmfactory/trace"

	"github.com/criyle/go-sandbox/pkg/cgroup"
	"golang.org/x/sys/unix"

	"drover/core"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	// cgroupPrefix starts the name of every cgroup that is drover's.
	cgroupPrefix = "drover-"
	cpuPeriod    = 100_000 // µs
	// What the agent itself needs on top of its job's limits.
	agentMemory = 16 << 20
	agentPids   = 64
)

// cgroups is what this process may do with the host's cgroups. The zero value
// holds nothing.
type cgroups struct {
	has    cgroup.Controllers
	v2     bool
	parent string // below cgroupRoot, or below each controller of version 1
	why    string // what is missing, and how to mend it
}

// probes counts the cgroups that were made to try what works.
var probes atomic.Int64

// findCgroups tries what works here: it makes a cgroup, sets limits and reads
// them back. Files that exist and even take a number may hold nothing.
func findCgroups(setting, tag string) cgroups {
	if setting == CgroupsOff {
		return cgroups{why: "cgroups are switched off in the settings"}
	}
	c := cgroups{v2: cgroup.DetectedCgroupType == cgroup.TypeV2}
	available, err := cgroup.GetAvailableController()
	if err != nil {
		return cgroups{why: "this machine shows no cgroups in " + cgroupRoot}
	}
	if c.v2 {
		own, err := os.ReadFile("/proc/self/cgroup")
		if err != nil {
			return cgroups{why: "this machine does not say which cgroups a process is in"}
		}
		if c.parent, c.has, c.why = delegated(cgroupRoot, setting, string(own)); c.why != "" {
			return c
		}
	} else {
		c.has = mounted(available)
	}
	tried, err := c.make(c.name(tag, fmt.Sprintf("probe-%d-%d", os.Getpid(), probes.Add(1))), core.Limits{Memory: 64 << 20, Pids: 64}, 1)
	if err == nil {
		err = tried.remove(context.Background())
	}
	if err != nil {
		return cgroups{why: fmt.Sprintf("no cgroup can be used here (%v): run drover as root, or in a cgroup that is delegated to its user "+
			"(systemd: Delegate=yes), and name that with the cgroup setting", err)}
	}
	return c
}

// mounted is those of the controllers that are of version 1 and not merely
// known: on a hybrid machine the others are of version 2 and of no use here.
func mounted(known *cgroup.Controllers) cgroup.Controllers {
	var has cgroup.Controllers
	for _, name := range known.Names() {
		var st unix.Statfs_t
		if err := unix.Statfs(filepath.Join(cgroupRoot, name), &st); err == nil && st.Type == unix.CGROUP_SUPER_MAGIC {
			has.Set(name, true)
		}
	}
	has.CPUSet, has.CPUAcct = false, false
	return has
}

// delegated finds a cgroup of version 2 whose children this process may make and
// limit: the one that is set, or the nearest above its own. Own is what the
// kernel says of the process's cgroups.
func delegated(root, setting, own string) (parent string, has cgroup.Controllers, why string) {
	at := strings.TrimPrefix(filepath.Clean(setting), root)
	if setting == "" {
		_, path, ok := strings.Cut("\n"+own, "\n0::")
		if !ok {
			return "", has, "this process is in no cgroup of version 2"
		}
		at, _, _ = strings.Cut(path, "\n")
	}
	for at = path.Clean("/" + at); ; at = path.Dir(at) {
		folder := filepath.Join(root, at)
		text, err := os.ReadFile(filepath.Join(folder, "cgroup.subtree_control"))
		if err == nil && writable(folder) && writable(filepath.Join(folder, "cgroup.procs")) {
			for _, name := range strings.Fields(string(text)) {
				has.Set(name, true)
			}
			has.CPUSet, has.CPUAcct = false, false
			if has.Memory && has.Pids {
				return strings.Trim(at, "/"), has, ""
			}
			has = cgroup.Controllers{}
		}
		if at == "/" || setting != "" {
			return "", has, "no cgroup of this user passes the memory and pids controllers on: delegate one " +
				"(systemd: Delegate=yes, or systemd-run --user --scope -p Delegate=yes) and name it with the cgroup setting"
		}
	}
}

func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// any reports whether cgroups hold anything here.
func (c *cgroups) any() bool { return len(c.has.Names()) > 0 }

// name is the cgroup of a VM of the run folder that tag stands for.
func (c *cgroups) name(tag, vm string) string { return cgroupPrefix + tag + "-" + vm }

// sweep removes cgroups that no VM has any more: those of this run folder whose
// VM has no folder, with all that still runs in them, and those of others that
// have been empty for a while. Another provider may work on the same folder
// meanwhile: a VM's folder is there before its cgroup and goes after it.
func (c *cgroups) sweep(ctx context.Context, tag string, hasFolder func(vm string) bool) error {
	var failed error
	for _, top := range c.tops() {
		entries, err := os.ReadDir(top)
		if err != nil {
			continue // not there or not ours to read
		}
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), cgroupPrefix) {
				continue
			}
			vm, own := strings.CutPrefix(e.Name(), c.name(tag, ""))
			switch {
			case own && !hasFolder(vm):
				failed = errors.Join(failed, c.end(ctx, e.Name()))
			case !own && trace.Abandoned(filepath.Join(top, e.Name())):
				_ = unix.Rmdir(filepath.Join(top, e.Name())) // refused while something is in it
			}
		}
	}
	return failed
}

// tops are the folders that VMs' cgroups are in.
func (c *cgroups) tops() []string {
	if c.v2 {
		return []string{filepath.Join(cgroupRoot, c.parent)}
	}
	var all []string
	for _, controller := range c.has.Names() {
		all = append(all, filepath.Join(cgroupRoot, controller))
	}
	return all
}

// end kills all that is in a cgroup and removes it.
func (c *cgroups) end(ctx context.Context, name string) error {
	g := c.at(name)
	all, err := g.processes()
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := p.Kill(ctx); err != nil {
			return err
		}
	}
	return g.remove(ctx)
}
