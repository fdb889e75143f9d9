package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Root is where cgroups are mounted.
const Root = "/sys/fs/cgroup"

// The controllers that hold something.
const (
	Memory = "memory"
	Pids   = "pids"
	CPU    = "cpu"
)

// account counts what processes compute. In version 2 every cgroup does.
const account = "cpuacct"

// Controllers lists them, in the order that they are named.
func Controllers() []string { return []string{Memory, Pids, CPU} }

// counted lists those and what counts.
func counted() []string { return append(Controllers(), account) }

// place is where a controller is: a folder in which VMs' cgroups are made.
type place struct {
	folder string
	v2     bool
}

// Host is how a host's cgroups are laid out. The zero value has none.
type Host struct {
	at   map[string]place // controller → where it is
	tops []string         // every hierarchy, those without a controller of ours too
	v2   string           // of them the one of version 2, "" if there is none
}

// FSType is the magic number of a folder's file system, 0 if it cannot be told.
func FSType(path string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0
	}
	return int64(st.Type) //nolint:unconvert // of another size elsewhere
}

// Find looks at what is mounted in a folder: each controller may be of version 1
// or 2, and is of use in the one where it is.
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

// words of a file of a cgroup; one that is not there has none.
func words(folder, file string) []string {
	text, _ := os.ReadFile(filepath.Join(folder, file))
	return strings.Fields(string(text))
}

// Has reports whether a controller is there.
func (h Host) Has(controller string) bool {
	_, ok := h.at[controller]
	return ok
}

// Missing lists the controllers that are not there.
func (h Host) Missing() []string {
	return slices.DeleteFunc(Controllers(), h.Has)
}

// Of lists the controllers that are there and of version 1, or of version 2.
func (h Host) Of(version int) []string {
	return slices.DeleteFunc(Controllers(), func(name string) bool {
		p, ok := h.at[name]
		return !ok || p.v2 != (version == 2)
	})
}

// Used lists what of version 1 a VM is in.
func (h Host) Used() []string {
	return slices.DeleteFunc(counted(), func(name string) bool {
		p, ok := h.at[name]
		return !ok || p.v2
	})
}

// V2 is where version 2 is mounted, "" if it is not.
func (h Host) V2() string { return h.v2 }

// Tops lists every hierarchy.
func (h Host) Tops() []string { return slices.Clone(h.tops) }

// Folders lists where VMs' cgroups are made, each folder once.
func (h Host) Folders() []string {
	var all []string
	for _, name := range counted() {
		if p, ok := h.at[name]; ok && !slices.Contains(all, p.folder) {
			all = append(all, p.folder)
		}
	}
	return all
}

// Below is the same host with the cgroups of version 2 made below a parent, which
// passes some controllers on; those of version 2 that it does not pass are gone.
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

// enable passes controllers of version 2 on to the children of a cgroup.
func enable(folder string, controllers []string) error {
	on := words(folder, "cgroup.subtree_control")
	for _, name := range controllers {
		if slices.Contains(on, name) {
			continue
		}
		if err := write(filepath.Join(folder, "cgroup.subtree_control"), "+"+name); err != nil {
			return fmt.Errorf("pass the controller %s on: %w", name, err)
		}
	}
	return nil
}

// write writes to a file that is there.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
