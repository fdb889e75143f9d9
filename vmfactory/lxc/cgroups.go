package lxc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"drover/core"
	"drover/vmfactory/cgroup"
)

// The names of a VM's cgroups begin with these, then the tag of its run folder.
const (
	drover        = "drover-"     // what is of any provider
	payloadPrefix = "drover-lxc-" // what is in the container
	monitorPrefix = "drover-lxm-" // its monitor
)

// initName is the cgroup below a VM's own that liblxc makes, and starts the
// container in. It must not be there before.
const initName = "init"

// cgroups is how this host's cgroups are laid out.
type cgroups struct {
	cgroup.Host
	why string // what is missing, and how to mend it
}

// findCgroups looks at what is mounted.
func findCgroups(root string, fsType func(string) int64) cgroups {
	c := cgroups{Host: cgroup.Find(root, fsType)}
	if missing := c.Missing(); len(missing) > 0 {
		c.why = fmt.Sprintf("there is no cgroup controller %s in %s: mount the cgroups there, as systemd does, and look for cgroup_disable= on the kernel's command line",
			strings.Join(missing, ", "), root)
	}
	return c
}

// use is what liblxc is told to use beside version 2: less than all there is where
// that is more.
func (c *cgroups) use() string { return strings.Join(c.Used(), ",") }

// of is the cgroups of a VM.
func (c *cgroups) of(tag, vm string) cgroup.Group { return c.At(payload(tag, vm), true) }

func payload(tag, vm string) string { return payloadPrefix + tag + "-" + vm }
func monitor(tag, vm string) string { return monitorPrefix + tag + "-" + vm }

// found lists the VMs of a run folder that have cgroups.
func (c *cgroups) found(tag string) []string {
	var all []string
	for _, top := range c.Tops() {
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
	for _, top := range c.Tops() {
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
		for _, top := range c.Tops() {
			if err := cgroup.Empty(ctx, filepath.Join(top, name)); err != nil {
				return err
			}
		}
	}
	for _, folder := range c.folders(tag, vm) {
		if err := cgroup.Remove(ctx, folder); err != nil {
			return err
		}
	}
	return nil
}
