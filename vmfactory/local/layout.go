package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/vmfactory/confine"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/enter"
)

// A VM sees the host's system folders read-only, a few files of its /etc, and fresh tmpfs. Nothing is copied or
// mounted on the host, and nothing has to be deleted: everything is in the VM's mount namespace and ends with it.

// system are the host's folders that a VM sees, if they exist. Symbolic links (a merged /usr) stay links.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// settings are the parts of the host's /etc that programs need: nothing about people, keys or networks. Patterns
// relative to /etc.
var settings = []string{
	"alternatives", "ld.so.cache", "localtime", "protocols", "services", "os-release", "fonts", "java*", "perl", "python*", "R", "texmf",
}

// devices are all devices of a VM, except zero.
var devices = []string{"null", "full", "random", "urandom"}

// Bounds of the small places; the large ones have the pool's limit.
const (
	rootSize   = 1 << 20  // the root folder itself, read-only once made
	rootInodes = 512      //
	mostShm    = 16 << 20 // of /dev/shm
	perInode   = 4 << 10  // bytes of a place for each file that it may hold
	fewInodes  = 2048     //
)

// base is where the new root is assembled, in the VM's own mount namespace; any folder that is not in system would
// do.
const base = "/tmp"

const (
	tmpfsFlags = unix.MS_NOSUID | unix.MS_NODEV
	readOnly   = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID
)

// layout is the file system of VMs, as steps. It differs between VMs of a host only in limits and cgroups.
type layout struct {
	steps   []enter.Step
	folders []string // made so far
}

func (l *layout) add(s enter.Step) { l.steps = append(l.steps, s) }

// folder makes a folder of the new root and those above it.
func (l *layout) folder(path string) {
	path = strings.Trim(path, "/")
	if path == "" || path == "." || slices.Contains(l.folders, path) {
		return
	}
	l.folder(filepath.Dir(path))
	l.folders = append(l.folders, path)
	l.add(enter.Step{Do: enter.Mkdir, Path: path, Bits: 0o755})
}

// show makes a file or folder of the host readable in the VM.
func (l *layout) show(from, at string, isFolder bool, attr uint64) {
	at = strings.Trim(at, "/")
	if isFolder {
		l.folder(at)
	} else {
		l.folder(filepath.Dir(at))
		l.add(enter.Step{Do: enter.Write, Path: at, Bits: 0o444})
	}
	l.add(enter.Step{Do: enter.Mount, From: from, Path: at, Bits: unix.MS_BIND | unix.MS_REC})
	l.add(enter.Step{Do: enter.Restrict, Path: at, Bits: attr, Deep: true})
}

// link makes a symbolic link.
func (l *layout) link(at, to string) {
	l.folder(filepath.Dir(strings.Trim(at, "/")))
	l.add(enter.Step{Do: enter.Symlink, Path: strings.Trim(at, "/"), Text: to})
}

// text makes a small file.
func (l *layout) text(at, content string) {
	l.folder(filepath.Dir(strings.Trim(at, "/")))
	l.add(enter.Step{Do: enter.Write, Path: strings.Trim(at, "/"), Text: content, Bits: 0o444})
}

// tmpfs mounts a fresh place that holds at most size bytes.
func (l *layout) tmpfs(at string, size int64, mode uint32, id int) {
	l.folder(at)
	inodes := max(fewInodes, size/perInode)
	l.add(enter.Step{
		Do: enter.Mount, From: "tmpfs", Path: strings.Trim(at, "/"), Type: "tmpfs", Bits: tmpfsFlags,
		Text: fmt.Sprintf("size=%d,nr_inodes=%d,mode=%o,uid=%d,gid=%d", size, inodes, mode, id, id),
	})
}

// shape is what differs between VMs.
type shape struct {
	host    string // the VM's host name
	limits  core.Limits
	oneUser bool
	network bool     // it has a network namespace of its own
	watched bool     // memory is limited by a watchdog only
	cgroups []string // folders of the VM's cgroups on the host
	program string   // program that is drover-run in the VM; "" is none
}

// cgroupsAt is where the agent reads the files of the VM's cgroups.
const cgroupsAt = "/run/cgroup"

// ofHost returns the part of the layout that all VMs share. It is built again when the folders that it was built from
// have changed.
var ofHost = func() func() (layout, error) {
	var mu sync.Mutex
	var made layout
	var seen [3]time.Time
	return func() (layout, error) {
		mu.Lock()
		defer mu.Unlock()
		var now [len(seen)]time.Time
		for i, path := range []string{"/", "/etc", "/usr"} {
			info, err := os.Stat(path)
			if err != nil {
				return layout{}, err
			}
			now[i] = info.ModTime()
		}
		if now == seen {
			return made, nil
		}
		l, err := tellHost()
		if err == nil {
			made, seen = l, now
		}
		return l, err
	}
}()

func tellHost() (layout, error) {
	var l layout
	l.add(enter.Step{Do: enter.Mount, From: "none", Path: "/", Bits: unix.MS_REC | unix.MS_PRIVATE})
	l.add(enter.Step{
		Do: enter.Mount, From: "tmpfs", Path: base, Type: "tmpfs", Bits: tmpfsFlags,
		Text: fmt.Sprintf("size=%d,nr_inodes=%d,mode=755", rootSize, rootInodes),
	})
	l.add(enter.Step{Do: enter.Chdir, Path: base})
	if err := l.system(); err != nil {
		return l, err
	}
	if err := l.etc(); err != nil {
		return l, err
	}
	l.devices()
	return l, nil
}

// build returns the steps that make the VM's file system and enter it. They run in the VM's namespaces with the
// host's root still in place.
func build(s shape) ([]enter.Step, error) {
	host, err := ofHost()
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "cannot tell what of this machine's system a VM may see")
	}
	var l layout
	l.keep(s.program)
	if !s.oneUser {
		l.add(enter.Step{Do: enter.IDs, Num: []uint64{agentID, agentID}})
	}
	l.add(enter.Step{Do: enter.Unshare, Bits: unix.CLONE_NEWCGROUP}) // it is in its cgroup by now, whose name is the host's
	l.add(enter.Step{Do: enter.Hostname, Text: s.host})
	l.steps, l.folders = append(l.steps, host.steps...), slices.Clone(host.folders)
	l.proc(s)
	if s.program != "" {
		l.show(keptAt, wire.BoxProgram, false, readOnly|unix.MOUNT_ATTR_NODEV)
	}
	l.zero(s.watched)
	l.text("/etc/hosts", "127.0.0.1 localhost "+s.host+"\n::1 localhost\n")
	l.text("/etc/hostname", s.host+"\n")
	l.writable(s.limits)
	l.cgroups(s.cgroups)
	l.add(enter.Step{Do: enter.Pivot})
	l.add(enter.Step{Do: enter.Restrict, Path: "/", Bits: readOnly | unix.MOUNT_ATTR_NODEV})
	return l.steps, nil
}

// keptAt is a file that every host has and no VM sees.
const keptAt = "/etc/passwd"

// keep mounts the program where the VM's users can reach it, too: it may be in a folder that only this process may
// enter. The mount covers keptAt in this VM's namespace only.
func (l *layout) keep(program string) {
	if program == "" {
		return
	}
	l.add(enter.Step{Do: enter.Mount, From: "none", Path: "/", Bits: unix.MS_REC | unix.MS_PRIVATE})
	l.add(enter.Step{Do: enter.Mount, From: program, Path: keptAt, Bits: unix.MS_BIND})
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

// scratch is where jobs can write besides their home.
var scratch = []string{"/tmp", "/dev/shm"}

func (l *layout) writable(limits core.Limits) {
	l.tmpfs(scratch[0], limits.Disk, 0o1777, jobID)
	l.tmpfs(agent.HomeDir, limits.Disk, 0o755, jobID)
	l.tmpfs(scratch[1], min(limits.Disk, mostShm), 0o1777, jobID)
	l.link("/var/tmp", "/tmp")
	l.folder("/run")
	l.folder("/mnt")
}

// proc mounts the VM's own /proc.
func (l *layout) proc(s shape) {
	l.folder("/proc")
	hidden := ""
	if !s.oneUser {
		hidden = confine.HidePIDs
	}
	l.add(enter.Step{
		Do: enter.Mount, From: "proc", Path: "proc", Type: "proc", Text: hidden, Bits: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC,
	})
	if s.network {
		l.steps = append(l.steps, confine.Net()...)
	}
	l.steps = append(l.steps, confine.Proc()...)
}

func (l *layout) devices() {
	for _, name := range devices {
		l.device(name, name)
	}
	for name, to := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		l.link("/dev/"+name, to)
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

// cgroups lets the agent, but not user code, read the VM's usage.
func (l *layout) cgroups(folders []string) {
	if len(folders) == 0 {
		return
	}
	l.folder("/run")
	l.add(enter.Step{Do: enter.Mkdir, Path: strings.Trim(cgroupsAt, "/"), Bits: 0o700})
	for i, from := range folders {
		at := fmt.Sprintf("%s/%d", strings.Trim(cgroupsAt, "/"), i)
		l.add(enter.Step{Do: enter.Mkdir, Path: at, Bits: 0o700})
		l.add(enter.Step{Do: enter.Mount, From: from, Path: at, Bits: unix.MS_BIND | unix.MS_REC})
		l.add(enter.Step{Do: enter.Restrict, Path: at, Bits: readOnly | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC, Deep: true})
	}
}
