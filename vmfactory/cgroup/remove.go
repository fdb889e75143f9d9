package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory/process"
)

// Remove removes a VM's cgroups, children first. Missing ones are no error. A cgroup with processes in it stays.
func (g Group) Remove(ctx context.Context) error {
	var all error
	for _, top := range g.host.Folders() {
		all = errors.Join(all, Remove(ctx, filepath.Join(top, g.name)))
	}
	return all
}

// End kills all processes in a VM's cgroups and removes the cgroups. When the VM's first process is dead, there are
// usually none left, which the kernel says when they are removed.
func (g Group) End(ctx context.Context) error {
	if g.vanish() {
		return nil
	}
	for _, top := range g.host.Folders() {
		if err := Empty(ctx, filepath.Join(top, g.name)); err != nil {
			return err
		}
	}
	return g.Remove(ctx)
}

// vanish removes the cgroups that Make makes, and reports whether all are gone. The kernel takes a process that has
// just died off its cgroup a little later.
func (g Group) vanish() bool {
	const tries, pause = 10, 100 * time.Microsecond
	folders := g.made()
	if g.host.Has(Memory) {
		freeCaches(g.folder(Memory))
	}
	for range tries {
		for len(folders) > 0 {
			err := unix.Rmdir(folders[0])
			if errors.Is(err, unix.EBUSY) {
				break
			}
			if err != nil && !errors.Is(err, unix.ENOENT) {
				return false
			}
			folders = folders[1:]
		}
		if len(folders) == 0 {
			return true
		}
		<-time.After(pause)
	}
	return false
}

// members lists the processes in a cgroup.
func members(folder string) ([]int, error) {
	text, err := process.ReadFile(filepath.Join(folder, "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) { // it is gone, or is being removed
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

// below lists the cgroups in a cgroup.
func below(folder string) []string {
	entries, _ := os.ReadDir(folder) // it is gone, with its children
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	return all
}

// Empty kills the processes in a cgroup and below it until none are left: a killed process may just have started
// another.
func Empty(ctx context.Context, folder string) error {
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
		pids, err := members(folder)
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return core.Wrap(ctx.Err(), core.CodeUnavailable, "", "cgroup %s does not become empty", folder)
		case <-time.After(time.Millisecond): // the kernel takes dead processes off the list a little later
		}
	}
	for _, inner := range below(folder) {
		if err := Empty(ctx, inner); err != nil {
			return err
		}
	}
	return nil
}

// within returns the processes in a cgroup. A pid on its list may belong to another process by the time it is looked
// up, even to one of the host, if a VM starts and ends processes fast enough: only a pid that is still on the list
// afterwards counts.
func within(folder string) ([]process.Process, error) {
	pids, err := members(folder)
	if err != nil || len(pids) == 0 {
		return nil, err
	}
	who := make(map[int]process.Process, len(pids))
	for _, pid := range pids {
		if one, err := process.Identify(pid); err == nil { // otherwise it is gone
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

// Remove removes a cgroup and those below it. A process that has just died may keep one busy for a moment.
func Remove(ctx context.Context, folder string) error {
	freeCaches(folder)
	return removeAll(ctx, folder)
}

// freeCaches frees what the kernel caches for the processes in a cgroup and below it, and could read again: it would stay
// after the cgroup, show what a VM has read, and keep the kernel from freeing the cgroup itself. One that a kernel
// does not let go is no reason to keep a VM.
func freeCaches(folder string) {
	for _, file := range []string{cacheFile1, cacheFile2} {
		_ = process.WriteFile(filepath.Join(folder, file), wire.FreeAllCaches) // absent in other hierarchies and versions
	}
}

func removeAll(ctx context.Context, folder string) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		for _, inner := range below(folder) {
			if err := removeAll(ctx, inner); err != nil {
				return struct{}{}, backoff.Permanent(err)
			}
		}
		err := unix.Rmdir(folder)
		switch {
		case err == nil || errors.Is(err, unix.ENOENT):
			return struct{}{}, nil
		case errors.Is(err, unix.EBUSY), errors.Is(err, unix.ENOTEMPTY):
			return struct{}{}, err
		}
		return struct{}{}, backoff.Permanent(fmt.Errorf("remove %s: %w", folder, err))
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: time.Millisecond, Multiplier: 2, MaxInterval: 100 * time.Millisecond,
	}), backoff.WithMaxElapsedTime(5*time.Second))
	return err
}

// Clear removes the cgroups of that name whose owner is gone, with those below them, unless one of them has
// processes.
func (h Host) Clear(name string) {
	if h.inhabited(name) {
		return
	}
	for _, top := range h.Folders() {
		remove(filepath.Join(top, name))
	}
}

// remove removes a cgroup and those below it that have no processes.
func remove(folder string) {
	freeCaches(folder)
	for _, inner := range below(folder) {
		remove(inner)
	}
	_ = unix.Rmdir(folder) // refused if a process was added in the meantime
}

// inhabited reports whether cgroups of that name have processes. Lists of processes leave out those outside of the
// reader's pid namespace, so only counts are reliable there. For a waiting VM the cgroup of user code is empty and
// alone would look unused.
func (h Host) inhabited(name string) bool {
	sure := initial()
	for _, top := range h.Folders() {
		folder := filepath.Join(top, name)
		switch there, known := populated(folder); {
		case there:
			return true
		case known:
			sure = true
		}
		if _, err := members(folder); err != nil || len(Processes(folder)) > 0 {
			return true
		}
	}
	return !sure
}

// populated asks the kernel whether a cgroup or one below it has processes, in any namespace. In version 1 only the
// pids controller knows.
func populated(folder string) (there, known bool) {
	if at := words(folder, "cgroup.events"); len(at) > 1 && at[0] == "populated" {
		return at[1] != "0", true
	}
	if count := words(folder, "pids.current"); len(count) == 1 {
		return count[0] != "0", true
	}
	return false, false
}

// initial reports whether this process is in the host's own pid namespace, which sees every process.
func initial() bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && own == "pid:[4026531836]"
}

// Processes lists the visible processes in a cgroup and below it.
func Processes(folder string) []int {
	all, _ := members(folder)
	for _, inner := range below(folder) {
		all = append(all, Processes(inner)...)
	}
	return all
}
