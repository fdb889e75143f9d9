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
	"drover/vmfactory/process"
)

// Remove removes a VM's cgroups, those below them first. Those that are not there
// are fine. What is in them stays, and so do they then.
func (g Group) Remove(ctx context.Context) error {
	var all error
	for _, top := range g.host.Folders() {
		all = errors.Join(all, Remove(ctx, filepath.Join(top, g.name)))
	}
	return all
}

// End kills all that is in a VM's cgroups and removes them.
func (g Group) End(ctx context.Context) error {
	for _, top := range g.host.Folders() {
		if err := Empty(ctx, filepath.Join(top, g.name)); err != nil {
			return err
		}
	}
	return g.Remove(ctx)
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

// below lists the cgroups in a cgroup.
func below(folder string) []string {
	entries, _ := os.ReadDir(folder) // it is gone, and so are they
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	return all
}

// Empty kills what is in a cgroup and below it until nothing is: what is killed may
// just have started something.
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
		case <-time.After(time.Millisecond): // the kernel takes the dead off the list a little later
		}
	}
	for _, inner := range below(folder) {
		if err := Empty(ctx, inner); err != nil {
			return err
		}
	}
	return nil
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

// Remove removes a cgroup and those below it. A process that just died may keep
// one for a moment.
func Remove(ctx context.Context, folder string) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		for _, inner := range below(folder) {
			if err := Remove(ctx, inner); err != nil {
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

// Clear removes the cgroups of that name, of somebody who is gone, with those below
// them, unless something is in one of them.
func (h Host) Clear(name string) {
	if h.inhabited(name) {
		return
	}
	for _, top := range h.Folders() {
		remove(filepath.Join(top, name))
	}
}

// remove removes a cgroup with those below it as far as nothing is in there.
func remove(folder string) {
	for _, inner := range below(folder) {
		remove(inner)
	}
	_ = unix.Rmdir(folder) // refused if something has come meanwhile
}

// inhabited reports whether something is in cgroups of that name. Lists of processes
// leave out who is not in the reader's pid namespace: only counts are to be trusted
// there. A VM that waits has nobody in the cgroup of user code yet, which would go.
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

// populated asks the kernel whether something is in a cgroup or below it, wherever we
// are. Of version 1 only that of processes knows.
func populated(folder string) (there, known bool) {
	if at := words(folder, "cgroup.events"); len(at) > 1 && at[0] == "populated" {
		return at[1] != "0", true
	}
	if count := words(folder, "pids.current"); len(count) == 1 {
		return count[0] != "0", true
	}
	return false, false
}

// initial reports whether this process is in the host's own pid namespace, which sees
// every process.
func initial() bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && own == "pid:[4026531836]"
}

// Processes lists what is in a cgroup and below it, as far as it can be told.
func Processes(folder string) []int {
	all, _ := members(folder)
	for _, inner := range below(folder) {
		all = append(all, Processes(inner)...)
	}
	return all
}
