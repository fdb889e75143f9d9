package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drover/vmfactory/process"
)

// Root is where cgroups are mounted.
const Root = "/sys/fs/cgroup"

// The controllers that enforce limits.
const (
	Memory = "memory"
	Pids   = "pids"
	CPU    = "cpu"
)

// account counts processor time in version 1. In version 2 every cgroup does.
const account = "cpuacct"

// Controllers lists them, in the order in which they are shown.
func Controllers() []string { return []string{Memory, Pids, CPU} }

// counted lists those and account.
func counted() []string { return append(Controllers(), account) }

// place is where a controller is: a folder for VMs' cgroups.
type place struct {
	folder string
	v2     bool
}

// Host is the layout of a host's cgroups. The zero value has none.
type Host struct {
	at   map[string]place // controller → where it is
	tops []string         // every hierarchy, including those without one of our controllers
	v2   string           // the hierarchy of version 2, "" if there is none
}

// FSType returns the magic number of a folder's file system, 0 if it cannot be read.
func FSType(path string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0
	}
	return int64(st.Type) //nolint:unconvert // of another size elsewhere
}

// Find reads the layout from the mounts in a folder: each controller belongs to version 1 or 2.
func Find(root string, fsType func(string) int64) Host {
	h := Host{at: map[string]place{}}
	if fsType(root) == unix.CGROUP2_SUPER_MAGIC {
		h.tops, h.v2 = []string{root}, root
	} else {
		entries, _ := os.ReadDir(root) // without it there are none
		for _, e := range entries {
			path, err := filepath.EvalSymlinks(filepath.Join(root, e.Name()))
			if err != nil {
				continue
			}
			switch fsType(path) {
			case unix.CGROUP_SUPER_MAGIC:
				if slices.Contains(counted(), e.Name()) {
					h.at[e.Name()] = place{folder: path}
				}
			case unix.CGROUP2_SUPER_MAGIC:
				h.v2 = path
			default:
				continue
			}
			if !slices.Contains(h.tops, path) {
				h.tops = append(h.tops, path)
			}
		}
	}
	if h.v2 != "" {
		for _, name := range words(h.v2, "cgroup.controllers") {
			if _, taken := h.at[name]; !taken && slices.Contains(Controllers(), name) {
				h.at[name] = place{folder: h.v2, v2: true}
			}
		}
	}
	return h
}

// words returns the words in a file of a cgroup; a missing file has none.
func words(folder, file string) []string {
	text, _ := process.ReadFile(filepath.Join(folder, file))
	return strings.Fields(string(text))
}

// Has reports whether a controller is available.
func (h Host) Has(controller string) bool {
	_, ok := h.at[controller]
	return ok
}

// Missing lists the unavailable controllers.
func (h Host) Missing() []string {
	return slices.DeleteFunc(Controllers(), h.Has)
}

// Of lists the available controllers of version 1, or of version 2.
func (h Host) Of(version int) []string {
	return slices.DeleteFunc(Controllers(), func(name string) bool {
		p, ok := h.at[name]
		return !ok || p.v2 != (version == 2)
	})
}

// Used lists the controllers of version 1 that a VM is in.
func (h Host) Used() []string {
	return slices.DeleteFunc(counted(), func(name string) bool {
		p, ok := h.at[name]
		return !ok || p.v2
	})
}

// V2 returns where version 2 is mounted, "" if it is not.
func (h Host) V2() string { return h.v2 }

// Tops lists every hierarchy.
func (h Host) Tops() []string { return slices.Clone(h.tops) }

// Folders lists the folders in which VMs' cgroups are made, each once.
func (h Host) Folders() []string {
	var all []string
	for _, name := range counted() {
		if p, ok := h.at[name]; ok && !slices.Contains(all, p.folder) {
			all = append(all, p.folder)
		}
	}
	return all
}

// Below returns the same host with the cgroups of version 2 made below a parent that delegates some controllers;
// other controllers of version 2 are missing then.
func (h Host) Below(parent string, passes []string) Host {
	below := Host{at: map[string]place{}, tops: h.tops, v2: h.v2}
	for name, p := range h.at {
		switch {
		case !p.v2:
			below.at[name] = p
		case slices.Contains(passes, name):
			below.at[name] = place{folder: filepath.Join(h.v2, parent), v2: true}
		}
	}
	return below
}

// enable delegates controllers of version 2 to the children of a cgroup.
func enable(folder string, controllers []string) error {
	on := words(folder, "cgroup.subtree_control")
	for _, name := range controllers {
		if slices.Contains(on, name) {
			continue
		}
		if err := process.WriteFile(filepath.Join(folder, "cgroup.subtree_control"), "+"+name); err != nil {
			return fmt.Errorf("pass the controller %s on: %w", name, err)
		}
	}
	return nil
}
