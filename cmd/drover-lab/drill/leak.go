package drill

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/service"
	"drover/vmfactory/local"
	"drover/vmfactory/trace"
)

// vms lists the VMs that have something on the host.
func (o *host) vms() []string {
	found, err := trace.Set{Run: o.run, Provider: local.Name}.Found()
	if err != nil {
		return nil // the host has not made its folder yet
	}
	return found
}

// endVMs kills all VMs of the host at once, as the loss of its power does.
func (o *host) endVMs(ctx context.Context) {
	for _, vm := range o.vms() {
		if first, err := (trace.Set{Run: o.run, Provider: local.Name}).First(vm); err == nil {
			_ = first.Kill(ctx) // one that is dead already is no fault
		}
	}
}

// unknown lists VMs that are on a host and not in Redis, or the reverse.
func (h *cluster) unknown(ctx context.Context) []string {
	var all []string
	for _, o := range h.hosts {
		before := o.vms()
		noted, err := h.client.Redis.ListVMs(ctx, o.name)
		if err != nil {
			return []string{err.Error()}
		}
		all = append(all, disagree(o.name, before, noted, o.vms())...)
	}
	return all
}

// disagree compares what Redis has noted of a host with what was there before it was read, and after. What comes or
// goes meanwhile is no disagreement.
func disagree(host string, before []string, noted []core.VMInfo, after []string) (all []string) {
	known := map[string]bool{}
	for i := range noted {
		vm := &noted[i]
		known[vm.ID] = true
		there := slices.Contains(before, vm.ID) || slices.Contains(after, vm.ID)
		if !there && vm.State != core.VMCreating && vm.State != core.VMDestroying {
			all = append(all, vm.ID+" of "+host+" is not there")
		}
	}
	for _, vm := range before {
		if !known[vm] && slices.Contains(after, vm) {
			all = append(all, vm+" on "+host+" is not in Redis")
		}
	}
	return all
}

// remains is what a drill may leave on a machine.
type remains struct {
	links, mounts []string
}

// survey lists the network links and mounts of the drill's namespaces. Where it has
// none of its own it makes none, and others' are none of its business.
func survey(h *cluster) (remains, error) {
	var r remains
	if !h.root {
		return r, nil
	}
	links, err := net.Interfaces()
	if err != nil {
		return r, core.Wrap(err, core.CodeUnavailable, "", "the network links cannot be listed")
	}
	for _, l := range links {
		r.links = append(r.links, l.Name)
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return r, core.Wrap(err, core.CodeUnavailable, "", "the mounts cannot be listed")
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 4 {
			r.mounts = append(r.mounts, words[4])
		}
	}
	return r, nil
}

// adopt makes this process the parent of orphaned processes, so that at the end they are found. In a namespace of its
// own, the first process has them.
func adopt(h *cluster) error {
	if h.root {
		return nil
	}
	return core.Wrap(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), core.CodeUnavailable, "", "lost processes cannot be adopted")
}

// strays lists processes that still run though the cluster has stopped.
func (h *cluster) strays() []string {
	own := map[int]bool{1: true, os.Getpid(): true}
	for _, o := range h.hosts {
		if o.net != nil {
			own[o.net.holder.Process.Pid] = true
		}
	}
	var all []string
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || own[pid] {
			continue
		}
		if name, runs := h.stray(pid); runs {
			all = append(all, name)
		}
	}
	return all
}

// stray reports whether a process is one that the cluster left.
func (h *cluster) stray(pid int) (name string, runs bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false // gone meanwhile
	}
	line := string(text)
	open, closed := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	fields := strings.Fields(line[closed+1:])
	state, parent := fields[0], fields[1]
	if !h.root && parent != strconv.Itoa(os.Getpid()) {
		return "", false
	}
	if state == "Z" {
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // only ours can be reaped
		return "", false
	}
	return line[:open] + line[open+1:closed], true
}

const cgroupRoot = "/sys/fs/cgroup"

// cgroupPrefixes learns, from VMs that are there, how the cgroups of each host's VMs begin.
func (h *cluster) cgroupPrefixes() []string {
	var vms, prefixes []string
	for _, o := range h.hosts {
		vms = append(vms, o.vms()...)
	}
	eachCgroup(func(path string) {
		for _, vm := range vms {
			if p, ok := strings.CutSuffix(path, vm); ok && !slices.Contains(prefixes, p) {
				prefixes = append(prefixes, p)
			}
		}
	})
	return prefixes
}

// cgroups lists those that begin so.
func cgroups(prefixes []string) []string {
	var all []string
	eachCgroup(func(path string) {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(path, p) }) {
			all = append(all, path)
		}
	})
	return all
}

func eachCgroup(visit func(path string)) {
	_ = filepath.WalkDir(cgroupRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile, or not ours to see
		}
		if d.IsDir() {
			visit(path)
		}
		return nil
	})
}

// destroy destroys every VM of the host that env is for.
func destroy(ctx context.Context, program string, env []string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, string(core.RoleVMFactory), "--destroy-vms")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	return core.Wrap(err, core.CodeUnavailable, "", "VMs cannot be destroyed: %s", strings.TrimSpace(string(out)))
}

// sweep destroys the VMs that killed drills left, and their folders. Only plain ones
// leave VMs.
func sweep(ctx context.Context, program string) {
	service.SweepScratch(prefix, func(dir string) error {
		runs, err := filepath.Glob(filepath.Join(dir, "h*", "run"))
		for _, run := range runs {
			data := filepath.Dir(run)
			err = errors.Join(err, destroy(ctx, program, []string{
				"PATH=" + os.Getenv("PATH"), "DROVER_DATA=" + data, "DROVER_RUN=" + run, "DROVER_HOST=" + filepath.Base(data),
			}))
		}
		return err
	})
}

// leaks counts what is left when everything was stopped and destroyed.
func (r *Report) leaks(h *cluster, prefixes []string) {
	for _, o := range h.hosts {
		for _, vm := range o.vms() {
			r.leak("VM %s on %s", vm, o.name)
		}
	}
	for _, path := range cgroups(prefixes) {
		r.leak("cgroup %s", path)
	}
	// A process that was killed a moment ago may not be dead yet.
	var left []string
	for range 50 {
		if left = h.strays(); len(left) == 0 {
			break
		}
		<-time.After(100 * time.Millisecond)
	}
	for _, p := range left {
		r.leak("process %s", p)
	}
}

// more counts links and mounts that were not there before.
func (r *Report) more(before, after remains) {
	for _, l := range after.links {
		if !slices.Contains(before.links, l) {
			r.leak("network link %s", l)
		}
	}
	for _, m := range after.mounts {
		if !slices.Contains(before.mounts, m) {
			r.leak("mount %s", m)
		}
	}
}
