package lxc

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
)

// Paths in the container while it is being made.
const (
	imageAt   = "/run/image" // as the monitor sees it; see starter.c
	rootAt    = "/run/root"
	programAt = "/run/drover-agent"
	cgroupsAt = "run/cgroup" // of the container, where its agent reads usage
)

// devices are all devices that a VM has.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// Bounds of the small places; the large ones have the pool's limit.
const (
	devSize   = 64 << 10
	runSize   = 256 << 10
	someFiles = 128
	mostShm   = 16 << 20 // of /dev/shm
	perInode  = 4 << 10  // bytes of a place for each file that it may hold
	fewInodes = 2048
)

// needed are the capabilities that the container's first process needs in its own user namespace until it drops most
// of them; see package confine.
var needed = []string{
	"sys_admin", "net_admin", "setpcap", "setuid", "setgid", "kill", "chown", "dac_override", "fowner", "sys_ptrace", "sys_resource",
}

// config is the text of a container's config in the format of lxc.container.conf(5).
type config struct{ strings.Builder }

func (c *config) set(key, format string, args ...any) {
	fmt.Fprintf(c, "lxc.%s = %s\n", key, fmt.Sprintf(format, args...))
}

// mount adds a mount. Its target is below the container's root.
func (c *config) mount(from, at, kind, options string) {
	c.set("mount.entry", "%s %s %s %s 0 0", from, at, kind, options)
}

// tmpfs adds a place that holds at most size bytes, and so many files.
func (c *config) tmpfs(at string, size, files int64, mode string, id int, more string) {
	c.mount("tmpfs", at, "tmpfs", fmt.Sprintf("size=%d,nr_inodes=%d,mode=%s,uid=%d,gid=%d,nosuid,nodev%s", size, files, mode, id, id, more))
}

// container describes a VM to liblxc.
type container struct {
	vm      string
	payload string // cgroups
	monitor string
	firstID int
	limits  core.Limits
	cgroups []string // folders on the host that the agent may read
	network *link    // nil is none
}

// text writes the config.
func (k container) text() string {
	var c config
	c.set("uts.name", "%s", k.vm)
	c.set("rootfs.path", "dir:%s", imageAt)
	c.set("rootfs.mount", "%s", rootAt)
	c.set("rootfs.options", "ro")
	c.set("init.cmd", "/proc/self/fd/%d %s", agentFD, enterName)
	c.set("environment", "GOMAXPROCS=1")
	c.set("environment", "GOGC=off")
	for _, kind := range []string{"u", "g"} {
		c.set("idmap", "%s 0 %d %d", kind, k.firstID, idsEach)
	}
	c.set("cap.keep", "%s", strings.Join(needed, " "))
	c.set("no_new_privs", "1")
	c.set("apparmor.profile", "unconfined") // its stock profiles forbid mounts that the last steps make; see docs/security.md
	c.set("autodev", "0")
	c.set("tty.max", "0")
	c.set("console.path", "none")
	c.set("log.file", "/proc/self/fd/%d", logFD)
	c.set("log.level", "ERROR")
	c.set("cgroup.dir.container", "%s/%s", k.payload, initName) // we set and check their limits
	c.set("cgroup.dir.monitor", "%s", k.monitor)
	k.net(&c)
	k.places(&c)
	return c.String()
}

// places adds the container's mounts other than its image.
func (k container) places(c *config) {
	disk := k.limits.Disk
	files := max(fewInodes, disk/perInode)
	c.set("mount.auto", "proc:rw") // as far as its user namespace may; the last steps make it read-only
	c.tmpfs("dev", devSize, someFiles, "755", agentID, ",noexec")
	for _, name := range devices {
		c.mount("/dev/"+name, "dev/"+name, "none", "bind,ro,nosuid,noexec,create=file")
	}
	c.tmpfs("dev/shm", min(disk, mostShm), files, "1777", jobID, ",create=dir")
	c.tmpfs("run", runSize, someFiles, "755", agentID, ",noexec")
	c.mount(programAt, strings.TrimPrefix(wire.BoxProgram, "/"), "none", "bind,ro,nosuid,nodev,create=file")
	c.tmpfs(cgroupsAt, 4<<10, 16, "700", agentID, ",noexec,create=dir")
	for i, folder := range k.cgroups {
		c.mount(folder, path.Join(cgroupsAt, strconv.Itoa(i)), "none", "bind,ro,nosuid,nodev,noexec,create=dir")
	}
	c.tmpfs("tmp", disk, files, "1777", jobID, "")
	c.tmpfs("var/tmp", disk, files, "1777", jobID, ",optional")
	c.tmpfs("home", runSize, someFiles, "755", agentID, "")
	c.tmpfs(strings.TrimPrefix(agent.HomeDir, "/"), disk, files, "755", jobID, ",create=dir")
}
