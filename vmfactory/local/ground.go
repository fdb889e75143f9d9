package local

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/cgroup"
	"drover/vmfactory/enter"
)

// system are the host's folders that a VM sees, if they exist. Symbolic links (a merged /usr) stay links.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// settings are the parts of the host's /etc that programs need: nothing about people, keys or networks. Patterns
// relative to /etc.
var settings = []string{
	"alternatives", "ld.so.cache", "localtime", "protocols", "services", "os-release", "fonts", "fpc*", "java*", "mono", "perl", "python*", "R", "texmf",
}

// databases are folders of the host's /var that compilers read: lists of installed libraries, and nothing else.
var databases = []string{"/var/lib/ghc/package.conf.d"}

// devices are all devices of a VM, except zero.
var devices = []string{"null", "full", "random", "urandom"}

// base is where the new root is assembled, in the VM's own mount namespace; any folder that is not in system would
// do.
const base = "/tmp"

// ground is what VMs' file systems have in common. Key changes when it has to be laid anew.
type ground struct {
	key     string
	program string       // drover-run in VMs, kept at keptAt; "" is none
	parts   []enter.Step // in the ground's folder
}

// steps puts the ground together in a folder, and ends there.
func (g ground) steps(at string) []enter.Step {
	root := enter.Step{
		Do: enter.Mount, From: "tmpfs", Path: at, Type: "tmpfs", Bits: tmpfsFlags,
		Text: fmt.Sprintf("size=%d,nr_inodes=%d,mode=755", rootSize, rootInodes),
	}
	return slices.Concat([]enter.Step{root, {Do: enter.Chdir, Path: at}}, g.parts,
		[]enter.Step{{Do: enter.Restrict, Path: ".", Bits: readOnly | unix.MOUNT_ATTR_NODEV}})
}

// lay returns the steps that make a root folder, of the mount namespace of a spawner, that has nothing but the ground,
// in base, and what VMs need to see of the host while they start: its /proc, without which the kernel lets them mount
// none, and its cgroups.
func (g ground) lay() []enter.Step {
	var l layout
	l.keep(g.program)
	l.add(enter.Step{Do: enter.Mount, From: "tmpfs", Path: base, Type: "tmpfs", Bits: tmpfsFlags, Text: fmt.Sprintf("size=%d,mode=755", rootSize)})
	l.add(enter.Step{Do: enter.Chdir, Path: base})
	for _, seen := range []string{"/proc", cgroup.Root} {
		l.folder(seen)
		l.add(enter.Step{Do: enter.Mount, From: seen, Path: strings.Trim(seen, "/"), Bits: unix.MS_BIND | unix.MS_REC, Maybe: true})
	}
	l.folder(base)
	l.steps = append(l.steps, g.steps(strings.Trim(base, "/"))...)
	l.add(enter.Step{Do: enter.Chdir, Path: ".."})
	l.add(enter.Step{Do: enter.Pivot})
	return l.steps
}

// keptAt is a file that every host has and no VM sees.
const keptAt = "/etc/passwd"

// keep makes the namespace's mounts its own, and mounts the program where the VM's users can reach it, too: it may be in
// a folder that only this process may enter, or in base. The mount covers keptAt in this namespace only.
func (l *layout) keep(program string) {
	l.add(enter.Step{Do: enter.Mount, From: "none", Path: "/", Bits: unix.MS_REC | unix.MS_PRIVATE})
	if program != "" {
		l.add(enter.Step{Do: enter.Mount, From: program, Path: keptAt, Bits: unix.MS_BIND})
	}
}

func tellHost(watched, program bool) (layout, error) {
	var l layout
	if err := l.system(); err != nil {
		return l, err
	}
	if err := l.etc(); err != nil {
		return l, err
	}
	l.devices(watched)
	if program {
		l.show(keptAt, wire.BoxProgram, false, readOnly|unix.MOUNT_ATTR_NODEV)
	}
	for _, at := range append([]string{"/proc", ownAt, "/mnt", agent.HomeDir}, scratch...) {
		l.folder(at)
	}
	l.link("/var/tmp", "/tmp")
	return l, nil
}

// system shows the host's system folders in the VM.
func (l *layout) system() error {
	for _, path := range system {
		info, err := os.Lstat(path)
		switch {
		case os.IsNotExist(err):
			continue
		case err != nil:
			return err
		case info.Mode().Type() == os.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			l.link(path, to)
		case info.IsDir():
			l.show(path, path, true, readOnly|unix.MOUNT_ATTR_NODEV)
		}
	}
	for _, path := range databases {
		if info, err := os.Lstat(path); err == nil && info.IsDir() { // most hosts have none
			l.show(path, path, true, readOnly|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
		}
	}
	return l.strays()
}

// private are folders whose contents a VM never sees, whatever link leads there.
var private = []string{"/root", "/home", "/etc", "/var", "/run", "/tmp", "/dev", "/proc", "/sys", "/boot", "/srv"}

// strays shows the targets of links directly below /usr that lead elsewhere, such as a /usr/local that was moved to
// another disk.
func (l *layout) strays() error {
	entries, err := os.ReadDir("/usr")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type() != os.ModeSymlink {
			continue
		}
		to, err := os.Readlink(filepath.Join("/usr", e.Name()))
		if err != nil {
			return err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join("/usr", to)
		}
		real, err := filepath.EvalSymlinks(to)
		if err != nil {
			continue // a dangling link may dangle in the VM as well
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() || !stray(to, real) {
			continue
		}
		l.show(real, to, true, readOnly|unix.MOUNT_ATTR_NODEV)
	}
	return nil
}

// stray reports whether a link to a folder leads out of what a VM sees, to something that it may see; real is the
// folder's real path.
func stray(to, real string) bool {
	return to != "/" && real != "/" && !within(to, system) && !within(to, private) && !within(real, private)
}

// within reports whether a path is one of the folders or below one.
func within(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}

// etc makes a small /etc with a few of the host's files in it.
func (l *layout) etc() error {
	l.text("/etc/passwd", fmt.Sprintf("root:x:0:0:root:/:/bin/sh\njob:x:%d:%d:job:%s:/bin/sh\nbox:x:%d:%d:box:%s:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
		jobID, jobID, agent.HomeDir, boxID, boxID, agent.BoxDir))
	l.text("/etc/group", fmt.Sprintf("root:x:0:\njob:x:%d:\nbox:x:%d:\nnogroup:x:65534:\n", jobID, boxID))
	l.text("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n")
	l.text("/etc/resolv.conf", "")
	l.link("/etc/hosts", ownAt+"/hosts")
	l.link("/etc/hostname", ownAt+"/hostname")
	for _, pattern := range settings {
		found, err := filepath.Glob(filepath.Join("/etc", pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := l.setting(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// setting shows one world-readable file or folder of the host's /etc.
func (l *layout) setting(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().Type() == os.ModeSymlink {
		to, err := os.Readlink(path)
		if err != nil {
			return err
		}
		l.link(path, to)
		return nil
	}
	const everybody = 0o004
	if info.Mode().Perm()&everybody != 0 && (info.IsDir() || info.Mode().IsRegular()) {
		l.show(path, path, info.IsDir(), readOnly|unix.MOUNT_ATTR_NODEV)
	}
	return nil
}

func (l *layout) devices(watched bool) {
	for _, name := range devices {
		l.device(name, name)
	}
	l.zero(watched)
	links := map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		l.link("/dev/"+name, links[name])
	}
}

func (l *layout) device(from, at string) {
	l.show("/dev/"+from, "/dev/"+at, false, readOnly|unix.MOUNT_ATTR_NOEXEC)
}

// zero shows /dev/zero. A shared mapping of it is memory that may belong to no process. So where a watchdog over
// processes limits memory, /dev/full replaces it: it reads the same, cannot be mapped, and accepts no writes.
func (l *layout) zero(watched bool) {
	if watched {
		l.device("full", "zero")
		return
	}
	l.device("zero", "zero")
}
