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
	drover        = "drover-"     // of any provider
	payloadPrefix = "drover-lxc-" // of the processes in the container
	monitorPrefix = "drover-lxm-" // of its monitor
)

// initName is the cgroup below a VM's own that liblxc makes, and in which it starts the container. It must not exist
// before.
const initName = "init"

// cgroups is the layout of this host's cgroups.
type cgroups struct {
	cgroup.Host
	why string // what is missing, and how to mend it
}

// findCgroups reads the layout from the mounts.
func findCgroups(root string, fsType func(string) int64) cgroups {
	c := cgroups{Host: cgroup.Find(root, fsType)}
	if missing := c.Missing(); len(missing) > 0 {
		c.why = fmt.Sprintf("there is no cgroup controller %s in %s: mount the cgroups there, as systemd does, and look for cgroup_disable= on the kernel's command line",
			strings.Join(missing, ", "), root)
	}
	return c
}

// use returns the hierarchies that liblxc is to use besides version 2; it would use more by default.
func (c *cgroups) use() string { return strings.Join(c.Used(), ",") }

// of returns the cgroups of a VM.
func (c *cgroups) of(tag, vm string) cgroup.Group { return c.At(payload(tag, vm), true) }

func payload(tag, vm string) string { return payloadPrefix + tag + "-" + vm }
func monitor(tag, vm string) string { return monitorPrefix + tag + "-" + vm }

// found lists the VMs of a run folder that have cgroups.
func (c *cgroups) found(tag string) []string {
	var all []string
	for _, top := range c.Tops() {
		entries, _ := os.ReadDir(top) // an unreadable folder has none of ours
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

// folders returns all places where a VM may have a cgroup.
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

// end kills all processes in a VM's cgroups, those in the container first, and removes the cgroups. Missing ones are
// no error.
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
