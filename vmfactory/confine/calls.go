package confine

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Every call is on one of these lists, or it is absent and answers ENOSYS, as in a kernel without it. The criteria
// are: does it use memory, or something of which the host has only one, without a bound by cgroups or limits of the
// process; does what it makes outlive the process; does it reveal anything of other VMs. A new call of the kernel is
// absent until it is added here.

// allowed calls are carried out, except for the arguments in rules.
var allowed = strings.Fields(`
	read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek sendfile splice tee vmsplice copy_file_range
	open openat creat close close_range dup dup2 dup3 fcntl flock ioctl pipe pipe2 eventfd eventfd2 memfd_create
	stat fstat lstat newfstatat fstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat getdents getdents64 getcwd chdir fchdir
	mkdir mkdirat rmdir link linkat symlink symlinkat unlink unlinkat rename renameat renameat2 mknod mknodat truncate ftruncate fallocate umask
	chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat utimensat_time64
	getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr

	mmap munmap mprotect mremap msync madvise mincore brk mlock mlock2 mlockall munlock munlockall remap_file_pages mseal map_shadow_stack
	pkey_alloc pkey_free pkey_mprotect get_mempolicy membarrier
	shmget shmat shmctl shmdt semget semop semctl semtimedop semtimedop_time64 msgget msgsnd msgrcv msgctl
	mq_open mq_unlink mq_timedsend mq_timedsend_time64 mq_timedreceive mq_timedreceive_time64 mq_notify mq_getsetattr

	clone unshare fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal process_mrelease
	getpid getppid gettid getpgid getpgrp setpgid getsid setsid set_tid_address set_robust_list get_robust_list rseq restart_syscall
	rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo
	sigaltstack signalfd signalfd4 pause
	futex futex_time64 futex_waitv futex_wait futex_wake futex_requeue
	sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam sched_getscheduler sched_setscheduler sched_getattr sched_setattr
	sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_rr_get_interval_time64 getpriority setpriority ioprio_get ioprio_set getcpu
	getrlimit setrlimit prlimit64 getrusage prctl arch_prctl arch_specific_syscall personality seccomp
	landlock_create_ruleset landlock_add_rule landlock_restrict_self
	getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capget capset

	socket socketpair bind listen accept accept4 connect shutdown getsockname getpeername getsockopt setsockopt
	sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg recvmmsg_time64
	poll ppoll ppoll_time64 select pselect6 pselect6_time64 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2

	time times gettimeofday clock_gettime clock_gettime64 clock_getres clock_getres_time64 clock_nanosleep clock_nanosleep_time64 nanosleep
	alarm getitimer setitimer timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64
	timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64
	uname sysinfo getrandom`)

// Allowed lists the calls that VMs can make, if their arguments are allowed. What they make is bounded, kind by kind: see
// vmfactory/providertest/attack.
func Allowed() []string { return slices.Clone(allowed) }

// refused calls answer EPERM.
var refused = strings.Fields(`
	setns mount umount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr
	keyctl add_key request_key
	ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp
	bpf perf_event_open userfaultfd fanotify_init fanotify_mark lookup_dcookie
	mbind set_mempolicy set_mempolicy_home_node migrate_pages move_pages
	init_module finit_module delete_module create_module kexec_load kexec_file_load reboot
	swapon swapoff acct quotactl quotactl_fd syslog iopl ioperm modify_ldt vm86 vm86old
	settimeofday clock_settime clock_settime64 clock_adjtime clock_adjtime64 adjtimex stime sethostname setdomainname vhangup
	open_by_handle_at name_to_handle_at nfsservctl uselib _sysctl sysfs`)

// absent calls answer ENOSYS: libraries fall back to calls whose arguments a filter can inspect, or do without. The
// namespaces of clone3 and the flags of openat2 (one of which reveals which names of a shared folder were looked up
// by others) are in memory. Asynchronous I/O is counted for the whole host. Watching files reveals what other VMs do
// with shared ones, and cachestat what they have read.
var absent = strings.Fields(`
	clone3 openat2 memfd_secret cachestat statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules
	io_uring_setup io_uring_enter io_uring_register io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents io_pgetevents_time64
	inotify_init inotify_init1 inotify_add_watch inotify_rm_watch
	ustat epoll_ctl_old epoll_wait_old get_thread_area set_thread_area uretprobe
	afs_syscall get_kernel_syms query_module getpmsg putpmsg security tuxcall vserver`)

// idle calls answer success without doing anything. A VM writes only to memory; on shared files these calls would
// make the host write out its disks, or reorder cached pages in a way that another VM can observe.
var idle = strings.Fields(`sync syncfs fsync fdatasync sync_file_range fadvise64 readahead`)

// unsupported calls answer EOPNOTSUPP, as on a file system without attributes: an access list uses up to 64 KB of
// kernel memory that no cgroup counts, two for each folder.
var unsupported = strings.Fields(`setxattr lsetxattr fsetxattr`)

// uncounted calls make memory that belongs to no process, or keep memory that a process has given back (a pipe that
// vmsplice filled keeps 2 MB for each 4 KB of a huge page); they are refused where only a watchdog over processes
// limits memory.
var uncounted = []string{"memfd_create", "shmget", "semget", "msgget", "vmsplice"}

// landlock makes sets of any number of rules, 80 bytes each, which belong to no process either.
var landlock = []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}

// If agent and user code have one user, the kernel lets user code do to the agent what a user may do to its own
// processes. As init of its namespace the agent is safe from SIGKILL and SIGSTOP, and it ignores signals that kill
// can send; these are the other ways.
var oneUserRefused = []string{
	"rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", // a signal that pretends to be a fault
	"process_mrelease",
}

// boxRefused are calls that lead from the box to its harness if both have one user, in addition to those refused to
// every job: they use what all processes of a user share.
var boxRefused = []string{"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl"}

// namespaces are the flags of clone that make one.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// families are the sockets that a VM may have. Its network namespace confines them. Families that it does not confine
// (VSOCK), or with a large attack surface (ALG, PACKET), are not included.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// protocols are the allowed ones of families with several. The kernel would load modules for others (SCTP, DCCP,
// MPTCP), and netlink reaches many parts of the kernel.
var protocols = map[uint32][]uint32{
	unix.AF_INET:    {0, unix.IPPROTO_TCP, unix.IPPROTO_UDP},
	unix.AF_INET6:   {0, unix.IPPROTO_TCP, unix.IPPROTO_UDP},
	unix.AF_NETLINK: {unix.NETLINK_ROUTE},
}

// oddTypes are the bits of a socket's type that is neither stream nor datagram (SEQPACKET, DCCP, PACKET). RAW has the
// bits of both; the kernel refuses it without a capability.
const oddTypes = 0xf &^ (unix.SOCK_STREAM | unix.SOCK_DGRAM)

// Kinds of ioctl, by the byte that names the subsystem, and single ones of other kinds.
const (
	ioctlKind     = 0xff00
	ioctlTerminal = 0x5400
	ioctlSocket   = 0x8900
)

var ioctls = []uint32{unix.FS_IOC_GETFLAGS, fsGetXattr, unix.RNDGETENTCNT}

// fcntls are all except leases, watches of folders (F_NOTIFY), hints that stay with a file, and locks of a
// descriptor, whose owner cannot be found.
var fcntls = []uint32{
	unix.F_DUPFD, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_SETOWN, unix.F_GETOWN,
	unix.F_SETSIG, unix.F_GETSIG, unix.F_SETOWN_EX, unix.F_GETOWN_EX, unix.F_DUPFD_CLOEXEC, fDupfdQuery,
	unix.F_SETPIPE_SZ, unix.F_GETPIPE_SZ, unix.F_ADD_SEALS, unix.F_GET_SEALS,
}

// prctls are all except filters (their code is in memory of which a host has one store), names for memory (which no
// cgroup counts), merging memory with others' (MEMORY_MERGE), and reserving a core (SCHED_CORE).
var prctls = []uint32{
	unix.PR_SET_PDEATHSIG, unix.PR_GET_PDEATHSIG, unix.PR_GET_DUMPABLE, unix.PR_SET_DUMPABLE, unix.PR_GET_UNALIGN, unix.PR_SET_UNALIGN,
	unix.PR_GET_KEEPCAPS, unix.PR_SET_KEEPCAPS, unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_GET_SECCOMP, unix.PR_CAPBSET_READ, unix.PR_CAPBSET_DROP,
	unix.PR_GET_TSC, unix.PR_SET_TSC, unix.PR_GET_SECUREBITS, unix.PR_SET_SECUREBITS, unix.PR_SET_TIMERSLACK, unix.PR_GET_TIMERSLACK,
	unix.PR_MCE_KILL_GET, unix.PR_SET_CHILD_SUBREAPER, unix.PR_GET_CHILD_SUBREAPER, unix.PR_SET_NO_NEW_PRIVS, unix.PR_GET_NO_NEW_PRIVS,
	unix.PR_GET_TID_ADDRESS, unix.PR_SET_THP_DISABLE, unix.PR_GET_THP_DISABLE, unix.PR_CAP_AMBIENT, unix.PR_SVE_SET_VL, unix.PR_SVE_GET_VL,
	unix.PR_GET_SPECULATION_CTRL, unix.PR_SET_SPECULATION_CTRL, unix.PR_PAC_RESET_KEYS, unix.PR_SET_TAGGED_ADDR_CTRL, unix.PR_GET_TAGGED_ADDR_CTRL,
	unix.PR_GET_IO_FLUSHER, unix.PR_SET_SYSCALL_USER_DISPATCH, unix.PR_PAC_SET_ENABLED_KEYS, unix.PR_PAC_GET_ENABLED_KEYS,
	unix.PR_SME_SET_VL, unix.PR_SME_GET_VL, unix.PR_SET_MDWE, unix.PR_GET_MDWE, unix.PR_GET_MEMORY_MERGE,
	unix.PR_GET_SHADOW_STACK_STATUS, unix.PR_SET_SHADOW_STACK_STATUS, unix.PR_LOCK_SHADOW_STACK_STATUS, unix.PR_SET_PTRACER,
}

// Numbers that package unix does not have for every architecture.
const (
	fsGetXattr                                           = 0x801c581f // FS_IOC_FSGETXATTR
	fDupfdQuery                                          = 1027
	shmHuge                                              = 0o4000 // SHM_HUGETLB
	madvMergeable, madvCollapse, madvPoison, madvOffline = 12, 25, 100, 101
	ipv6FlowLabels                                       = 32 // IPV6_FLOWLABEL_MGR
)

// rules are the arguments that an allowed call may not have. The first match applies.
func rules(s Situation) []rule {
	all := []rule{
		{"clone", unix.EPERM, conds{bits(0, namespaces)}},
		// The agent, which has the capability, makes new ones of these for user code.
		{"unshare", unix.EPERM, conds{not(0, unix.CLONE_NEWNET|unix.CLONE_NEWIPC, unix.CLONE_NEWIPC)}},
		// a process with the terminal could forge its input
		{"ioctl", unix.EPERM, conds{is(1, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCCONS)}},
		// others reach file systems and devices, and set flags that outlive a file's content
		{"ioctl", unix.ENOTTY, conds{masked(1, ioctlKind, ioctlTerminal, ioctlSocket), not(1, ioctls...)}},
		// ENOSYS, because gpg and others, which disable core dumps, continue after that
		{"setrlimit", unix.ENOSYS, conds{is(0, unix.RLIMIT_CORE)}},
		{"prlimit64", unix.ENOSYS, conds{is(1, unix.RLIMIT_CORE), given(2)}},
		// non-blocking or out of order: flags that reveal, or set, which pages of a shared file the host caches
		{"preadv2", unix.EOPNOTSUPP, conds{bits(5, ^uint32(0))}},
		{"pwritev2", unix.EOPNOTSUPP, conds{bits(5, ^uint32(0))}},
		{"msync", 0, conds{bits(2, unix.MS_SYNC)}},
		{"madvise", unix.EINVAL, conds{is(2, madvMergeable, madvCollapse, madvPoison, madvOffline)}},
		// huge pages, which memory cgroups do not count
		{"mmap", unix.ENOMEM, conds{bits(3, unix.MAP_HUGETLB)}},
		{"memfd_create", unix.ENOMEM, conds{bits(1, unix.MFD_HUGETLB)}},
		{"shmget", unix.ENOMEM, conds{bits(2, shmHuge)}},
		{"socket", unix.EAFNOSUPPORT, conds{not(0, families...)}},
		{"socketpair", unix.EAFNOSUPPORT, conds{not(0, families...)}},
	}
	for _, family := range families {
		if plain, ok := protocols[family]; ok {
			all = append(all, rule{"socket", unix.EPROTONOSUPPORT, conds{is(0, family), not(2, plain...)}})
		}
		if family == unix.AF_INET || family == unix.AF_INET6 {
			all = append(all, rule{"socket", unix.EPROTONOSUPPORT, conds{is(0, family), bits(1, oddTypes)}})
		}
	}
	all = append(all, options()...)
	if s.Watched { // shared memory without a file, which may belong to no process
		all = append(all, rule{"mmap", unix.ENOSYS, conds{bits(3, unix.MAP_SHARED), bits(3, unix.MAP_ANONYMOUS)}})
	}
	if s.OneUser { // the box, which has the harness's user, gets a filter from the agent
		all = append(all, rule{"prctl", unix.EINVAL, conds{not(0, append([]uint32{unix.PR_SET_SECCOMP}, prctls...)...)}})
		all = append(all, oneUserRules()...)
	} else {
		all = append(all, rule{"prctl", unix.EINVAL, conds{not(0, prctls...)}}, rule{"seccomp", unix.EINVAL, conds{is(0, unix.SECCOMP_SET_MODE_FILTER)}})
	}
	// last: earlier rules decide the answer for calls refused for another reason
	return append(all, rule{"fcntl", unix.EINVAL, conds{not(1, fcntls...)}})
}

// options are the rules for socket options.
func options() []rule {
	return []rule{
		// A larger buffer is more memory than the watchdog accounts for.
		{"setsockopt", 0, conds{is(1, unix.SOL_SOCKET), is(2, unix.SO_SNDBUF, unix.SO_RCVBUF)}},
		{"setsockopt", unix.ENOPROTOOPT, conds{
			is(1, unix.SOL_SOCKET), is(2, unix.SO_ATTACH_FILTER, unix.SO_ATTACH_BPF, unix.SO_ATTACH_REUSEPORT_CBPF, unix.SO_ATTACH_REUSEPORT_EBPF),
		}},
		// A host has a limited number of labels for all its programs and namespaces.
		{"setsockopt", unix.ENOPROTOOPT, conds{is(1, unix.SOL_IPV6), is(2, ipv6FlowLabels)}},
	}
}

func oneUserRules() []rule {
	const itself, ioprioProcess = 0, 1
	return []rule{
		// changing limits of another process
		{"prlimit64", unix.EPERM, conds{not(0, itself)}},
		{"sched_setaffinity", unix.EPERM, conds{not(0, itself)}},
		{"sched_setscheduler", unix.EPERM, conds{not(0, itself)}},
		{"sched_setparam", unix.EPERM, conds{not(0, itself)}},
		{"sched_setattr", unix.EPERM, conds{not(0, itself)}},
		{"setpriority", unix.EPERM, conds{not(0, unix.PRIO_PROCESS)}},
		{"setpriority", unix.EPERM, conds{not(1, itself)}},
		{"ioprio_set", unix.EPERM, conds{not(0, ioprioProcess)}},
		{"ioprio_set", unix.EPERM, conds{not(1, itself)}},
		// the kernel would send the signal of F_SETSIG to the process of F_SETOWN
		{"fcntl", unix.EPERM, conds{is(1, unix.F_SETSIG)}},
		{"kill", unix.EPERM, conds{is(0, 1)}},
		{"tgkill", unix.EPERM, conds{is(0, 1)}},
		{"tkill", unix.EPERM, conds{is(0, 1)}},
	}
}
