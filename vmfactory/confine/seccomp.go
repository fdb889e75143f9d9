package confine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"sync"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A VM's filters are loaded before the agent starts, so they hold for it and for
// all that it starts. They deny by errno, so that programs that ask whether
// something is there hear that it is not. What they are for is less kernel to
// attack: the namespaces and users are the walls.

// refused calls answer EPERM.
var refused = []string{
	// other namespaces and mounts
	"unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr",
	"fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	// keys, which no namespace holds apart
	"keyctl", "add_key", "request_key",
	// looking into other processes
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
	// kernel parts with a large surface
	"bpf", "perf_event_open", "userfaultfd", "fanotify_init", "lookup_dcookie",
	// the machine
	"init_module", "finit_module", "delete_module", "create_module", "kexec_load", "kexec_file_load", "reboot",
	"swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "iopl", "ioperm", "modify_ldt", "vm86", "vm86old",
	"settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "sethostname", "setdomainname", "vhangup",
	"open_by_handle_at", "name_to_handle_at", "migrate_pages", "move_pages", "nfsservctl", "uselib", "_sysctl", "sysfs",
}

// absent calls answer ENOSYS: libraries fall back to calls whose arguments a
// filter can see, or do without.
var absent = []string{
	"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_secret",
}

// watchers watch files. The kernel counts them for each user of the VM, and again
// for the user who made the VM, so that VMs together could use up what the host's
// own programs need.
var watchers = []string{"inotify_init", "inotify_init1"}

// What one VM may watch with, and for how many VMs the host's settings must have
// room, with as much again for the host itself, before any may.
const (
	InotifyInstances = 8
	InotifyWatches   = 512
	inotifyVMs       = 64
)

// RoomForWatchers reports whether this host's settings have room for them.
func RoomForWatchers(setting func(name string) string) bool {
	for name, each := range map[string]int{"instances": InotifyInstances, "watches": InotifyWatches} {
		for _, at := range []string{"fs/inotify/max_user_", "user/max_inotify_"} {
			most, err := strconv.Atoi(setting(at + name))
			if err != nil || most < 2*inotifyVMs*each {
				return false
			}
		}
	}
	return true
}

// uncounted calls make memory that belongs to no process, where nothing but a
// watchdog over processes holds memory.
var uncounted = []string{"memfd_create", "shmget", "semget", "msgget"}

// namespaces are the flags of clone that make one.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// families are the sockets that a VM may have. Its network namespace holds them;
// what it does not hold (VSOCK), or what has a large surface (ALG, PACKET), is
// not among them.
var families = []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// protocols are those of a family, where it has more than its one use. The kernel
// loads modules for others (SCTP, DCCP, MPTCP), and netlink leads to many parts.
var protocols = map[uint64][]uint64{
	unix.AF_INET:    {0, unix.IPPROTO_TCP, unix.IPPROTO_UDP},
	unix.AF_INET6:   {0, unix.IPPROTO_TCP, unix.IPPROTO_UDP},
	unix.AF_NETLINK: {unix.NETLINK_ROUTE},
}

// oddTypes are the bits that a socket's type has if it is neither a stream nor of
// datagrams (SEQPACKET, DCCP, PACKET). RAW has the bits of both; the kernel refuses
// it to who has no capability.
const oddTypes = 0xf &^ (unix.SOCK_STREAM | unix.SOCK_DGRAM)

// Situation is what the filters depend on.
type Situation struct {
	OneUser bool // agent and user code have the same user
	Watched bool // memory is held by a watchdog alone
	Inotify bool // there is room for watchers
}

// Filters returns the programs to load, in order, each an array of struct sock_filter.
func Filters(s Situation) ([][]byte, error) {
	made, err := filterCache(s)
	if err != nil {
		return nil, fmt.Errorf("seccomp filter: %w", err)
	}
	return made, nil
}

var filterCache = func() func(Situation) ([][]byte, error) {
	var mu sync.Mutex
	all := map[Situation][][]byte{}
	return func(s Situation) ([][]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if made, ok := all[s]; ok {
			return made, nil
		}
		made, err := assembleAll(s)
		if err == nil {
			all[s] = made
		}
		return made, err
	}
}()

func assembleAll(s Situation) ([][]byte, error) {
	perm := seccomp.SyscallGroup{
		Names: refused, Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM),
		NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: namespaces}}},
			// a terminal's input can be forged by who holds it
			{Name: "ioctl", Conditions: lowWord(1, unix.TIOCSTI)},
			{Name: "ioctl", Conditions: lowWord(1, unix.TIOCLINUX)},
		},
	}
	if s.OneUser {
		perm.Names = append(append([]string{}, refused...), oneUserRefused...)
		perm.NamesWithCondtions = append(perm.NamesWithCondtions, oneUserConditions()...)
	}
	gone := append([]string{}, absent...)
	if !s.Inotify {
		gone = append(gone, watchers...)
	}
	if s.Watched {
		gone = append(gone, uncounted...)
	}
	gonePart := dumpLimits()
	if s.Watched { // shared memory without a file, which may be on no process's account
		gonePart = append(gonePart, seccomp.NameWithConditions{Name: "mmap", Conditions: seccomp.ArgumentConditions{
			{Argument: 3, Operation: seccomp.BitsSet, Value: unix.MAP_SHARED}, {Argument: 3, Operation: seccomp.BitsSet, Value: unix.MAP_ANONYMOUS},
		}})
	}
	var other seccomp.ArgumentConditions
	for _, f := range families {
		other = append(other, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: f})
	}
	sockets := []seccomp.NameWithConditions{{Name: "socket", Conditions: other}, {Name: "socketpair", Conditions: other}}

	var all [][]byte
	for _, group := range []seccomp.SyscallGroup{
		perm,
		{Names: gone, NamesWithCondtions: gonePart, Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
		{NamesWithCondtions: sockets, Action: seccomp.ActionErrno | seccomp.Action(unix.EAFNOSUPPORT)},
		{NamesWithCondtions: plainSockets(), Action: seccomp.ActionErrno | seccomp.Action(unix.EPROTONOSUPPORT)},
	} {
		made, err := assemble(group)
		if err != nil {
			return nil, err
		}
		all = append(all, made)
	}
	return all, nil
}

// dumpLimits matches whatever would change the limit of core dumps, which must stay
// where it is. They answer ENOSYS: gpg and others, which forbid themselves dumps, go on at that.
func dumpLimits() []seccomp.NameWithConditions {
	const fresh = 2 // the argument of prlimit64 that is no limit if it only asks
	set := append(lowWord(1, unix.RLIMIT_CORE), seccomp.Condition{Argument: fresh, Operation: seccomp.NotEqual, Value: 0})
	return []seccomp.NameWithConditions{
		{Name: "setrlimit", Conditions: lowWord(0, unix.RLIMIT_CORE)},
		{Name: "prlimit64", Conditions: set},
	}
}

// plainSockets matches the sockets of a family that are not of its protocols. A
// number that is dressed up above its lower half is not of them either.
func plainSockets() []seccomp.NameWithConditions {
	var all []seccomp.NameWithConditions
	for family, plain := range protocols {
		is := lowWord(0, uint32(family)) //nolint:gosec // a small number
		other := slices.Clone(is)
		for _, p := range plain {
			other = append(other, seccomp.Condition{Argument: 2, Operation: seccomp.NotEqual, Value: p})
		}
		all = append(all, seccomp.NameWithConditions{Name: "socket", Conditions: other})
		if family == unix.AF_NETLINK {
			continue
		}
		odd := append(slices.Clone(is), seccomp.Condition{Argument: 1, Operation: seccomp.BitsSet, Value: oddTypes})
		all = append(all, seccomp.NameWithConditions{Name: "socket", Conditions: odd})
	}
	return all
}

// With one user for all, the kernel lets user code do to the agent what a user
// may do to himself. As init of its namespace the agent is safe from SIGKILL and
// SIGSTOP, and it swallows what a kill can send; these are the other ways.
var oneUserRefused = []string{
	"rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", // a signal that claims to be a fault
	"process_mrelease",
}

func oneUserConditions() []seccomp.NameWithConditions {
	unless := func(name string, argument uint32, is uint64) seccomp.NameWithConditions {
		return seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{
			{Argument: argument, Operation: seccomp.NotEqual, Value: is},
		}}
	}
	const itself, ioprioProcess = 0, 1
	return []seccomp.NameWithConditions{
		// binding another process than the caller
		unless("prlimit64", 0, itself), unless("sched_setaffinity", 0, itself), unless("sched_setscheduler", 0, itself),
		unless("sched_setparam", 0, itself), unless("sched_setattr", 0, itself),
		unless("setpriority", 0, unix.PRIO_PROCESS), unless("setpriority", 1, itself),
		unless("ioprio_set", 0, ioprioProcess), unless("ioprio_set", 1, itself),
		// the kernel sends what F_SETSIG chose to whom F_SETOWN named
		{Name: "fcntl", Conditions: lowWord(1, unix.F_SETSIG)},
		{Name: "kill", Conditions: lowWord(0, 1)},
		{Name: "tgkill", Conditions: lowWord(0, 1)},
		{Name: "tkill", Conditions: lowWord(0, 1)},
	}
}

// boxRefused are calls that lead from the box to its harness where both have one user,
// beside those that no job may make: what it shares with all of its user.
var boxRefused = []string{"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl"}

// BoxFilter returns the filter that the box has beside all others where it has the
// user of its harness: an array of struct sock_filter. Landlock does not hold paths of
// sockets, so it may have none that could connect to one.
func BoxFilter() ([]byte, error) {
	return assemble(seccomp.SyscallGroup{
		Names: boxRefused, Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM),
		NamesWithCondtions: []seccomp.NameWithConditions{{Name: "socket", Conditions: lowWord(0, unix.AF_UNIX)}},
	})
}

// lowWord compares the lower half of an argument, as the kernel does where it
// takes an int: Equal would also compare the upper half, which the caller is
// free to fill. The library can test bits of each half, so it is all bits of v
// and none of the others.
func lowWord(argument uint32, v uint32) seccomp.ArgumentConditions {
	all := seccomp.ArgumentConditions{{Argument: argument, Operation: seccomp.BitsNotSet, Value: uint64(^v)}}
	for rest := v; rest != 0; rest &= rest - 1 {
		bit := uint64(1) << bits.TrailingZeros32(rest)
		all = append(all, seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: bit})
	}
	return all
}

// assemble makes one program of one group. The library's own ends a list of
// groups after the first and lets foreign architectures through where the
// default is to allow, so it gets one group at a time, behind our own look at
// the architecture. Calls newer than those it knows answer ENOSYS as well:
// nobody has judged them.
func assemble(group seccomp.SyscallGroup) ([]byte, error) {
	native, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	known := group
	known.Names, known.NamesWithCondtions = nil, nil
	for _, name := range group.Names {
		if _, ok := native.SyscallNames[name]; ok {
			known.Names = append(known.Names, name)
		}
	}
	for _, c := range group.NamesWithCondtions {
		if _, ok := native.SyscallNames[c.Name]; ok {
			known.NamesWithCondtions = append(known.NamesWithCondtions, c)
		}
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{known}}
	program, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	newest := slices.Max(slices.Collect(maps.Keys(native.SyscallNumbers)))
	const numberOffset, archOffset = 0, 4 // in struct seccomp_data
	program = append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(native.ID), SkipTrue: 2},
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: uint32(newest), SkipTrue: 1}, //nolint:gosec // a call's number
		bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(unix.ENOSYS)},
	}, program...)
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, r := range raw {
		if err := binary.Write(&out, binary.NativeEndian, r); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
