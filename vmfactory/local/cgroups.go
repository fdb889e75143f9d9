package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory/cgroup"
	"drover/vmfactory/process"
	"drover/vmfactory/trace"
)

// cgroupPrefix starts the names of drover's cgroups.
const cgroupPrefix = "drover-"

// cgroups is what this process may do with the host's cgroups. The zero value enforces nothing.
type cgroups struct {
	host  cgroup.Host
	apart bool   // user code has a user, and cgroups, of its own
	why   string // what is missing, and how to mend it
}

// probes counts the cgroups that were made to find out what works.
var probes atomic.Int64

// findCgroups finds out what works here: it makes a cgroup, sets limits and reads them back. A file that exists and
// accepts a number may still enforce nothing.
func findCgroups(setting, tag string, apart bool) cgroups {
	if setting == CgroupsOff {
		return cgroups{why: "cgroups are switched off in the settings"}
	}
	c := cgroups{host: cgroup.Find(cgroup.Root, cgroup.FSType), apart: apart}
	if two := c.host.Of(2); len(two) > 0 {
		own, err := os.ReadFile("/proc/self/cgroup")
		if err != nil {
			return cgroups{why: "this machine does not say which cgroups a process is in"}
		}
		var parent string
		var passes []string
		parent, passes, c.why = delegated(c.host.V2(), setting, string(own), two)
		c.host = c.host.Below(parent, passes)
	}
	if !c.any() {
		if c.why == "" {
			c.why = "this machine shows no cgroups in " + cgroup.Root
		}
		return c
	}
	if err := c.try(c.name(tag, fmt.Sprintf("probe-%d-%d", os.Getpid(), probes.Add(1)))); err != nil {
		return cgroups{why: fmt.Sprintf("no cgroup can be used here (%v): run drover as root, or in a cgroup that is delegated to its user "+
			"(systemd: Delegate=yes), and name that with the cgroup setting", err)}
	}
	return c
}

// try makes a cgroup, opens its controls, looks at what the kernel passed on in it, and removes it.
func (c *cgroups) try(name string) error {
	g := c.at(name)
	if err := g.Make(core.Limits{Memory: 64 << 20, Pids: 64}, 1); err != nil {
		return err
	}
	controls, err := g.Controls()
	err = errors.Join(err, g.Inherited())
	for _, fd := range controls {
		process.CloseFD(fd)
	}
	return errors.Join(err, g.Remove(context.Background()))
}

// delegated finds a cgroup of version 2 in which this process may make children and limit them by these controllers,
// memory and pids above all: the configured one, or the nearest above its own. Own is the kernel's list of the
// process's cgroups.
func delegated(root, setting, own string, controllers []string) (parent string, passes []string, why string) {
	needed := slices.DeleteFunc(slices.Clone(controllers), func(name string) bool { return name == cgroup.CPU && len(controllers) > 1 })
	at := strings.TrimPrefix(filepath.Clean(setting), root)
	if setting == "" {
		_, path, ok := strings.Cut("\n"+own, "\n0::")
		if !ok {
			return "", nil, "this process is in no cgroup of version 2"
		}
		at, _, _ = strings.Cut(path, "\n")
	}
	for at = path.Clean("/" + at); ; at = path.Dir(at) {
		folder := filepath.Join(root, at)
		file := "cgroup.subtree_control"
		if at == "/" { // root can always delegate its controllers
			file = "cgroup.controllers"
		}
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err == nil && writable(folder) && writable(filepath.Join(folder, "cgroup.procs")) {
			has := strings.Fields(string(text))
			passes := slices.DeleteFunc(slices.Clone(controllers), func(name string) bool { return !slices.Contains(has, name) })
			if !slices.ContainsFunc(needed, func(name string) bool { return !slices.Contains(passes, name) }) {
				return strings.Trim(at, "/"), passes, ""
			}
		}
		if at == "/" || setting != "" {
			return "", nil, fmt.Sprintf("no cgroup of this user passes on the controllers %s: delegate one "+
				"(systemd: Delegate=yes, or systemd-run --user --scope -p Delegate=yes) and name it with the cgroup setting", strings.Join(needed, " and "))
		}
	}
}

func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// any reports whether cgroups enforce anything here.
func (c *cgroups) any() bool { return len(c.host.Folders()) > 0 }

// name returns the cgroup of a VM in the run folder that tag stands for.
func (c *cgroups) name(tag, vm string) string { return cgroupPrefix + tag + "-" + vm }

// at returns the cgroups of that name.
func (c *cgroups) at(name string) cgroup.Group { return c.host.At(name, c.apart) }

// sweep removes cgroups without a VM: those of this run folder whose VM has no folder, with all processes in them,
// and those of other run folders that have been empty for a while. Another provider may work on the same folder at
// the same time: a VM's folder is made before its cgroup and removed after it.
func (c *cgroups) sweep(ctx context.Context, tag string, hasFolder func(vm string) bool) error {
	var failed error
	for _, top := range c.host.Folders() {
		entries, err := os.ReadDir(top)
		if err != nil {
			continue // missing, or unreadable for us
		}
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), cgroupPrefix) {
				continue
			}
			vm, own := strings.CutPrefix(e.Name(), c.name(tag, ""))
			switch {
			case own && !hasFolder(vm):
				failed = errors.Join(failed, c.at(e.Name()).End(ctx))
			case !own && trace.Abandoned(filepath.Join(top, e.Name())):
				c.host.Clear(e.Name())
			}
		}
	}
	return failed
}
