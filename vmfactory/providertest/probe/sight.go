package probe

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sight writes all that a job can see of where it is, one thing a line, as NAME = VALUE,
// to be compared with what another job sees there. What changes by itself is left out
// here, each for a reason: see passing.
func sight(Target) error {
	began := time.Now()
	say := func(value any, name ...string) {
		if text := strings.Join(name, " "); !passes(text) {
			fmt.Printf("%s = %q\n", text, fmt.Sprint(value))
		}
	}
	own(say)
	shared(say)
	proc(say)
	files(say, began)
	return nil
}

// passing are beginnings of names of what differs from one look to the next whatever
// jobs do, with the reason.
var passing = map[string]string{
	"/proc/self/auxv": "where the kernel has put the program", "/proc/self/stat": "the process's own, of this moment; see status",
	"/proc/self/statm": "see stat", "/proc/self/maps": "see auxv", "/proc/self/smaps": "see auxv", "/proc/self/numa_maps": "see auxv", "/proc/self/pagemap": "see auxv",
	"/proc/self/sched": "see stat", "/proc/self/io": "see stat", "/proc/self/wchan": "see stat", "/proc/self/syscall": "see stat", "/proc/self/stack": "see stat",
	"/proc/self/arch_status": "see stat", "/proc/self/timens_offsets": "as all of the host", "/proc/self/oom_score ": "of its own memory",
	"/proc/self/autogroup": "the host counts sessions", "/proc/self/task": "threads come as its runtime likes", "/proc/self/fdinfo": "of what this look has open",
	"/proc/self/fd ": "pipes have numbers of the host", "/proc/self/environ": "see environment", "/proc/self/mem": "see auxv", "/proc/self/clear_refs": "only written",
	"/proc/self/net/sockstat": "see /proc/net", "/proc/self/net": "see /proc/net", "/proc/self/cwd": "", "/proc/self/root": "", "/proc/self/exe": "",
	"/proc/self/mountstats": "see mountinfo", "/proc/self/mounts": "see mountinfo", "/proc/self/ksm": "see stat", "/proc/self/latency": "see stat",
	"/proc/self/ns net": "the host counts namespaces", "/proc/self/ns ipc": "the host counts namespaces",
	"/proc/self/status Vm": "of its own memory", "/proc/self/status Rss": "of its own memory", "/proc/self/status HugetlbPages": "of its own memory",
	"/proc/self/status voluntary": "of this moment", "/proc/self/status nonvoluntary": "of this moment", "/proc/self/status Threads": "as its runtime likes",
	"/proc/self/status Sig": "of its runtime; see signals", "/proc/self/status Shd": "of its runtime", "/proc/self/status FDSize": "of this look",
	"/proc/stat": "the host's", "/proc/meminfo": "the host's", "/proc/loadavg": "the host's", "/proc/uptime": "the host's", "/proc/cpuinfo": "speeds of this moment",
	"/proc/cgroups": "the host counts cgroups", "/proc/thread-self": "see self",
	"/proc/net/sockstat": "memory is of all networks of the host, and see protocols", "/proc/net/protocols": "memory and sockets are of all networks of the host",
	"/proc/net/unix": "sockets have numbers of the host", "/proc/net/netlink": "see unix", "/proc/net/ptype": "of all networks of the host",
	"/proc/net/snmp6": "a new interface talks to itself for a moment", "/proc/net/dev_snmp6": "see snmp6", "/proc/net/igmp6": "timers", "/proc/net/igmp": "timers",
	"/proc/net/if_inet6": "see snmp6", "/proc/net/ipv6_route": "see snmp6", "/proc/net/rt6_stats": "see snmp6", "/proc/net/mcfilter": "see snmp6",
	"/proc/net/stat": "by processor, of all networks of the host", "/proc/net/softnet_stat": "the host's", "/proc/net/xfrm_stat": "",
	"/proc/sys/fs/": "the host counts files, and sets limits for all", "/proc/sys/kernel/random/": "random", "/proc/sys/kernel/pty/": "the host's",
	"/proc/sys/kernel/ns_last_pid": "threads come as the runtime likes; see process", "/proc/sys/kernel/perf": "the host's", "/proc/sys/kernel/sched": "the host's",
	"/proc/sys/net/netfilter/nf_conntrack": "", "/proc/sys/net/ipv4/tcp_fastopen_key": "random", "/proc/sys/net/ipv6/conf/": "addresses are random",
	"/proc/sys/debug": "the host's", "/proc/sys/dev": "the host's", "/proc/sys/vm": "the host's", "/proc/sys/abi": "the host's",
}

func passes(name string) bool {
	for start := range passing {
		if strings.HasPrefix(name+" ", start) {
			return true
		}
	}
	return false
}

type saying func(value any, name ...string)

// own is what the process is.
func own(say saying) {
	say(os.Getpid(), "process")
	say(strings.Join(slices.Sorted(slices.Values(os.Environ())), "\n"), "environment")
	for resource := range 16 {
		var l unix.Rlimit
		err := unix.Getrlimit(resource, &l)
		say(fmt.Sprint(l, err), "limit", fmt.Sprint(resource))
	}
	nice, _ := unix.Getpriority(unix.PRIO_PROCESS, 0)
	say(nice, "priority")
	var set unix.CPUSet
	_ = unix.SchedGetaffinity(0, &set)
	say(set, "processors")
	mask := unix.Umask(0)
	unix.Umask(mask)
	say(mask, "umask")
	for _, option := range []int{unix.PR_GET_DUMPABLE, unix.PR_GET_NO_NEW_PRIVS, unix.PR_GET_TIMERSLACK, unix.PR_GET_SECUREBITS, unix.PR_GET_THP_DISABLE, unix.PR_GET_KEEPCAPS} {
		got, err := unix.PrctlRetInt(option, 0, 0, 0, 0)
		say(fmt.Sprint(got, err), "prctl", fmt.Sprint(option))
	}
	persona, _, _ := unix.RawSyscall(unix.SYS_PERSONALITY, 0xffffffff, 0, 0)
	say(persona, "personality")
	ioprio, _, _ := unix.RawSyscall(unix.SYS_IOPRIO_GET, 1, 0, 0)
	say(ioprio, "ioprio")
	group, _ := unix.Getpgid(0)
	session, _ := unix.Getsid(0)
	say(fmt.Sprint(group, session), "session")
	dir, _ := os.Getwd()
	say(dir, "folder")
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &u)
	say(u, "children")
}

// shared is what processes of a VM share without a file: System V objects, and the
// numbers that the next ones get.
func shared(say saying) {
	const info = 14 // SHM_INFO; 19 and 12 for semaphores and messages
	for name, call := range map[string][2]uintptr{"memory": {unix.SYS_SHMCTL, info}, "messages": {unix.SYS_MSGCTL, 12}} {
		var b [256]byte
		n, _, errno := unix.RawSyscall(call[0], 0, call[1], uintptr(unsafe.Pointer(&b)))
		say(fmt.Sprint(n, errno, b), "System V", name)
	}
	var b [256]byte
	n, _, errno := unix.RawSyscall6(unix.SYS_SEMCTL, 0, 0, 19, uintptr(unsafe.Pointer(&b)), 0, 0)
	say(fmt.Sprint(n, errno, b), "System V", "semaphores")
	id, _, errno := unix.RawSyscall(unix.SYS_SEMGET, 0, 1, unix.IPC_CREAT|0o600)
	say(fmt.Sprint(id, errno), "System V", "next")
	if errno == 0 {
		_, _, _ = unix.RawSyscall6(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID, 0, 0, 0)
	}
	memory, err := unix.SysvShmGet(unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
	say(fmt.Sprint(memory, err), "System V", "next memory")
	if err == nil {
		_, _ = unix.SysvShmCtl(memory, unix.IPC_RMID, nil)
	}
}

// proc is what the kernel shows.
func proc(say saying) {
	_ = filepath.WalkDir("/proc", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			say("closed", path)
			return nil //nolint:nilerr // it is said
		case path != "/proc" && passes(path):
			return skip(d)
		case d.Type()&fs.ModeSymlink != 0:
			return nil
		case d.IsDir() && filepath.Dir(path) == "/proc" && name[0] >= '0' && name[0] <= '9':
			if name != fmt.Sprint(os.Getpid()) {
				say("is there", "another process", name)
			}
			return fs.SkipDir
		case !d.IsDir():
			say(content(path), path)
		}
		return nil
	})
	for _, dir := range []string{"/proc/self", "/proc/net"} {
		entries, _ := os.ReadDir(dir + "/")
		for _, e := range entries {
			if at := filepath.Join(dir, e.Name()); !e.IsDir() && !passes(at) {
				sayLines(say, at)
			}
		}
	}
	for _, name := range []string{"stat", "status", "net/snmp"} {
		say(content("/proc/1/"+name), "the agent's", name)
	}
	spaces, _ := os.ReadDir("/proc/self/ns")
	for _, e := range spaces {
		to, _ := os.Readlink(filepath.Join("/proc/self/ns", e.Name()))
		say(to, "/proc/self/ns", e.Name())
	}
}

// sayLines says the lines of a file, by their first words where each has one.
func sayLines(say saying, path string) {
	if filepath.Base(path) != "status" {
		say(content(path), path)
		return
	}
	for line := range strings.Lines(content(path)) {
		key, value, _ := strings.Cut(line, ":")
		say(value, path, key)
	}
}

// content is what a file says, or a digest of much.
func content(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var all bytes.Buffer
	part := make([]byte, 64<<10)
	for all.Len() < 1<<20 {
		n, err := unix.Read(fd, part)
		if n <= 0 {
			if err != nil {
				fmt.Fprint(&all, err)
			}
			break
		}
		all.Write(part[:n])
	}
	if all.Len() > 4<<10 {
		return fmt.Sprintf("%x", sha256.Sum256(all.Bytes()))
	}
	return all.String()
}

// files is what lies anywhere, with all that is said of it. System folders are
// read-only, and the host's or an image's: of those the top is enough.
func files(say saying, began time.Time) {
	_ = filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			say("closed", path)
			return nil //nolint:nilerr // it is said
		}
		if path == "/proc" || path == "/sys" {
			return fs.SkipDir
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			say(err, path)
			return nil
		}
		size := st.Size
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			size = 0
		}
		say(fmt.Sprintf("%o %d %d %d %d %d", st.Mode, st.Uid, st.Gid, st.Nlink, size, st.Rdev), path, "stat")
		say(fmt.Sprint(timeOf(st.Atim, began), timeOf(st.Mtim, began), timeOf(st.Ctim, began)), path, "times")
		attributes(say, path)
		if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size < 1<<20 {
			say(content(path), path, "content")
		}
		if d.IsDir() {
			var space unix.Statfs_t
			err := unix.Statfs(path, &space)
			if space.Flags&unix.ST_RDONLY != 0 {
				space.Bavail, space.Bfree, space.Ffree, space.Files = 0, 0, 0, 0 // the host's disk
				if top := strings.Count(path, "/") > 1; top && path != "/home" {
					return fs.SkipDir
				}
			}
			say(fmt.Sprint(space.Bavail, space.Bfree, space.Ffree, space.Files, space.Flags, err), path, "space")
		}
		return nil
	})
}

// timeOf is a time as far as somebody has chosen it: one of the last day goes on by itself.
func timeOf(ts unix.Timespec, now time.Time) string {
	at := time.Unix(ts.Unix())
	if age := now.Sub(at); age < 24*time.Hour && age > -time.Minute {
		return "today "
	}
	return fmt.Sprint(ts.Nano(), " ")
}

func attributes(say saying, path string) {
	list := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, list)
	if n > 0 {
		for name := range bytes.SplitSeq(bytes.TrimRight(list[:n], "\x00"), []byte{0}) {
			value := make([]byte, 64<<10)
			n, err := unix.Lgetxattr(path, string(name), value)
			say(fmt.Sprintf("%x %v", value[:max(n, 0)], err), path, "attribute", string(name))
		}
	} else if err != nil {
		say(err, path, "attributes")
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	say(fmt.Sprint(flags, err), path, "flags")
}
