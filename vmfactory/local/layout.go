package local

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"drover/vmfactory/confine"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent"
	"drover/vmfactory/enter"
)

// A VM sees the host's system folders read-only, a few files of its /etc, and fresh tmpfs. Nothing is copied or
// mounted on the host, and nothing has to be deleted: everything is in the VM's mount namespace and ends with it.
//
// What VMs have in common, which is the most, is put together once, in the mount namespace of the spawner, where that
// is allowed; a VM's namespace starts as a copy of it. Otherwise each VM puts it together for itself.

// Bounds of the small places; the large ones have the pool's limit.
const (
	rootSize   = 1 << 20  // the root folder itself, read-only once made
	rootInodes = 512      //
	ownSize    = 64 << 10 // of the VM's own files, read-only once made
	mostShm    = 16 << 20 // of /dev/shm
	perInode   = 4 << 10  // bytes of a place for each file that it may hold
	fewInodes  = 2048     //
)

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

// place mounts a fresh place that holds at most size bytes on a folder of the ground.
func (l *layout) place(at string, size int64, mode uint32, id int) {
	l.folders = append(l.folders, strings.Trim(at, "/"))
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
	cgroups []string // folders of the VM's cgroups on the host
	laid    bool     // its spawner laid the ground, and its first process has no network of its own
}

// Folders of what belongs to the VM alone, besides those of writable.
const (
	ownAt     = "/run/vm"         // files of this VM, and folders for cgroups
	cgroupsAt = ownAt + "/cgroup" // where the agent reads the files of the VM's cgroups
)

// build returns the steps that make the VM's file system and enter it. They run in the VM's namespaces with the host's
// root, or the spawner's, still in place.
func build(s shape, g ground) []enter.Step {
	var l layout
	if !s.laid {
		l.keep(g.program)
	}
	if !s.oneUser {
		l.add(enter.Step{Do: enter.IDs, Num: []uint64{agentID, agentID}})
	}
	l.add(enter.Step{Do: enter.Unshare, Bits: unix.CLONE_NEWCGROUP}) // it is in its cgroup by now, whose name is the host's
	l.add(enter.Step{Do: enter.Hostname, Text: s.host})
	if s.laid { // a copy of its own, which can become the root: mounts that were inherited cannot
		l.add(enter.Step{Do: enter.Mount, From: base, Path: base, Bits: unix.MS_BIND | unix.MS_REC})
		l.add(enter.Step{Do: enter.Chdir, Path: base})
	} else {
		l.steps = append(l.steps, g.steps(base)...)
	}
	owner := agentID
	if s.oneUser {
		owner = jobID
	}
	l.place(ownAt, ownSize, 0o755, owner)
	l.text(ownAt+"/hosts", "127.0.0.1 localhost "+s.host+"\n::1 localhost\n")
	l.text(ownAt+"/hostname", s.host+"\n")
	l.cgroups(s.cgroups)
	l.add(enter.Step{Do: enter.Restrict, Path: strings.Trim(ownAt, "/"), Bits: readOnly | unix.MOUNT_ATTR_NODEV})
	l.writable(s.limits)
	l.proc(s) // last: runtimes read the list of mounts up to a cgroup's, and this adds many
	l.add(enter.Step{Do: enter.Pivot})
	return l.steps
}

// scratch is where jobs can write besides their home.
var scratch = []string{"/tmp", "/dev/shm"}

func (l *layout) writable(limits core.Limits) {
	l.place(scratch[0], limits.Disk, 0o1777, jobID)
	l.place(agent.HomeDir, limits.Disk, 0o755, jobID)
	l.place(scratch[1], min(limits.Disk, mostShm), 0o1777, jobID)
}

// proc mounts the VM's own /proc.
func (l *layout) proc(s shape) {
	hidden := ""
	if !s.oneUser {
		hidden = confine.HidePIDs
	}
	l.add(enter.Step{
		Do: enter.Mount, From: "proc", Path: "proc", Type: "proc", Text: hidden, Bits: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC,
	})
	if !s.laid {
		l.steps = append(l.steps, confine.Net()...)
	}
	l.steps = append(l.steps, confine.Proc()...)
}

// cgroups lets the agent, but not user code, read the VM's usage.
func (l *layout) cgroups(folders []string) {
	if len(folders) == 0 {
		return
	}
	l.add(enter.Step{Do: enter.Mkdir, Path: strings.Trim(cgroupsAt, "/"), Bits: 0o700})
	for i, from := range folders {
		at := fmt.Sprintf("%s/%d", strings.Trim(cgroupsAt, "/"), i)
		l.add(enter.Step{Do: enter.Mkdir, Path: at, Bits: 0o700})
		l.add(enter.Step{Do: enter.Mount, From: from, Path: at, Bits: unix.MS_BIND | unix.MS_REC})
		l.add(enter.Step{Do: enter.Restrict, Path: at, Bits: readOnly | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC, Deep: true})
	}
}
