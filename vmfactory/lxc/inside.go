package lxc

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/vmfactory/confine"
	"drover/vmfactory/enter"
	"drover/vmfactory/trace"
)

const (
	readOnly  = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID
	enterName = enter.EnterName
)

// etcAt holds the VM's own files of /etc, which cover those of its image.
const etcAt = "run/etc"

// files returns those files, by name.
func files(image, vm, resolvers string) (map[string]string, error) {
	people, err := imageFile(image, "etc/passwd")
	if err != nil {
		return nil, err
	}
	groups, err := imageFile(image, "etc/group")
	if err != nil {
		return nil, err
	}
	user := func(id int, name, home string) string {
		return fmt.Sprintf("%s:x:%d:%d:%s:%s:/bin/sh", name, id, id, name, home)
	}
	return map[string]string{
		"passwd":      account(people, "root:x:0:0:root:/:/bin/sh", user(jobID, "job", agent.HomeDir), user(boxID, "box", agent.BoxDir)),
		"group":       account(groups, "root:x:0:", fmt.Sprintf("job:x:%d:", jobID), fmt.Sprintf("box:x:%d:", boxID)),
		"hosts":       "127.0.0.1 localhost " + vm + "\n::1 localhost\n",
		"hostname":    vm + "\n",
		"resolv.conf": resolvers,
	}, nil
}

// imageFile reads a small text file of an image, without following links out of it; "" if there is none.
func imageFile(image, name string) (string, error) {
	const most = 64 << 10
	root, err := os.OpenRoot(image)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // read only
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", nil // the file is missing, or is a link out of the image
	}
	defer f.Close() //nolint:errcheck // read only
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}

// account adds the users of VMs to a list of users or groups, replacing entries with their names or numbers, and adds
// root if it is missing.
func account(list, root string, own ...string) string {
	var all []string
	for line := range strings.Lines(list) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) < 3 || slices.ContainsFunc(own, func(one string) bool {
			mine := strings.Split(one, ":")
			return f[0] == mine[0] || f[2] == mine[2]
		}) {
			continue
		}
		all = append(all, strings.Join(f, ":"))
	}
	if !slices.ContainsFunc(all, func(line string) bool { return strings.HasPrefix(line, "root:") }) {
		all = slices.Insert(all, 0, root)
	}
	return strings.Join(append(all, own...), "\n") + "\n"
}

// plan returns the steps by which the container's first process becomes the agent.
func (p *Provider) plan(r trace.Record, image string) (enter.Plan, error) {
	vm := r.VM
	own, err := files(image, vm, p.resolvers(r.Pool))
	if err != nil {
		return enter.Plan{}, fmt.Errorf("read the image: %w", err)
	}
	// First: descriptors opened from here on are closed at Exec, except those that are kept.
	steps := []enter.Step{
		{Do: enter.Fds, Num: []uint64{agentFD}},
		{Do: enter.Mount, From: "none", Path: "/", Bits: unix.MS_REC | unix.MS_PRIVATE}, // liblxc makes mounts shared: each of the following would appear twice
		{Do: enter.Mkdir, Path: etcAt, Bits: 0o755},
	}
	for name, text := range own {
		from, at := etcAt+"/"+name, "etc/"+name
		steps = append(steps,
			enter.Step{Do: enter.Write, Path: from, Text: text, Bits: 0o444},
			enter.Step{Do: enter.Mount, From: from, Path: at, Bits: unix.MS_BIND, Maybe: true}, // an image may lack it
		)
	}
	steps = append(steps, enter.Step{Do: enter.Write, Path: "proc/sys/user/max_user_namespaces", Text: "0", Maybe: true})
	steps = append(steps, enter.Step{
		Do: enter.Mount, From: "proc", Path: "proc", Bits: unix.MS_REMOUNT | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, Text: confine.HidePIDs,
	})
	steps = append(append(steps, confine.Net()...), confine.Proc()...)
	for _, at := range []string{"dev", "run", "home"} {
		steps = append(steps, enter.Step{Do: enter.Restrict, Path: at, Bits: readOnly | unix.MOUNT_ATTR_NODEV})
	}
	for name := range own {
		steps = append(steps, enter.Step{Do: enter.Restrict, Path: "etc/" + name, Bits: readOnly | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC, Maybe: true})
	}
	last, err := confine.Leave(vm, confine.Situation{Pinned: len(r.Cores) > 0})
	return enter.Plan{Steps: slices.Concat(steps, r.Pinned(), last)}, err
}
