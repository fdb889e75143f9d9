package attack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/probe"
)

// kind is one kind of object that calls make the kernel keep. The limits of a VM must bound all that such objects pin:
// memory of the host, memory of its kernel, and its open files.
type kind struct {
	calls string // that make it, or make it keep more
	most  int64  // that each of four processes makes: enough for more than a VM may have, if nothing holds it
	quick bool   // made in a moment
}

// kinds has every kind, by the name of its maker.
var kinds = map[string]kind{
	"open files":       {calls: "open openat creat dup dup2 dup3 fcntl execve execveat", most: 2000, quick: true},
	"mapped files":     {calls: "mmap remap_file_pages", most: 65_536, quick: true},
	"pipes":            {calls: "pipe pipe2 splice tee write writev pwrite64 pwritev pwritev2", most: 2000},
	"pinned pages":     {calls: "vmsplice madvise", most: 150, quick: true},
	"spliced files":    {calls: "sendfile copy_file_range", most: 20_000},
	"descriptors":      {calls: "eventfd eventfd2 memfd_create timerfd_create timerfd_settime timerfd_settime64 signalfd signalfd4 pidfd_open", most: 2000},
	"watches":          {calls: "epoll_create epoll_create1 epoll_ctl", most: 2000},
	"unix sockets":     {calls: "socketpair sendmsg sendmmsg", most: 2000},
	"TCP connections":  {calls: "socket bind listen accept accept4 connect", most: 20_000},
	"datagrams":        {calls: "sendto", most: 2000},
	"netlink sockets":  {calls: "ioctl", most: 2000},
	"multicast groups": {calls: "setsockopt", most: 1500},
	"timers":           {calls: "timer_create timer_settime timer_settime64 setitimer alarm", most: 20_000},
	"queued signals":   {calls: "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal rt_sigaction sigaltstack", most: 20_000},
	"System V objects": {calls: "shmget shmat semget semop semtimedop semtimedop_time64 msgget msgsnd mq_open mq_timedsend mq_timedsend_time64 mq_notify", most: 4000},
	"inodes": {calls: "mkdir mkdirat link linkat symlink symlinkat rename renameat renameat2 mknod mknodat truncate ftruncate fallocate " +
		"unlink unlinkat rmdir", most: 20_000},
	"record locks":   {calls: "flock", most: 40_000},
	"mappings":       {calls: "munmap mprotect mremap brk mseal map_shadow_stack pkey_alloc pkey_mprotect mlock mlock2 mlockall munlock munlockall", most: 65_536},
	"page tables":    {calls: "msync mincore", most: 60_000, quick: true},
	"Landlock rules": {calls: "landlock_create_ruleset landlock_add_rule landlock_restrict_self", most: 100_000},
	"names": {calls: "stat lstat newfstatat fstatat statx statfs access faccessat faccessat2 readlink readlinkat chdir chmod fchmodat fchmodat2 chown lchown " +
		"fchownat utime utimes futimesat utimensat utimensat_time64 getxattr lgetxattr listxattr llistxattr removexattr lremovexattr", most: 100_000},
	"sessions": {calls: "clone fork vfork setsid setpgid unshare", most: 200},
}

// makesNothing are the calls after which the kernel keeps no more than before, or no more than one thing of a fixed size
// for each process, thread or open file.
const makesNothing = `read readv pread64 preadv preadv2 lseek close close_range fstat fstatfs getdents getdents64 getcwd fchdir umask fchmod fchown
	fgetxattr flistxattr fremovexattr pkey_free get_mempolicy membarrier shmctl shmdt semctl msgrcv msgctl mq_unlink mq_timedreceive mq_timedreceive_time64
	mq_getsetattr exit exit_group wait4 waitid process_mrelease getpid getppid gettid getpgid getpgrp getsid set_tid_address set_robust_list
	get_robust_list rseq restart_syscall rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 pause
	futex futex_time64 futex_waitv futex_wait futex_wake futex_requeue sched_yield sched_getaffinity sched_setaffinity sched_getparam
	sched_setparam sched_getscheduler sched_setscheduler sched_getattr sched_setattr sched_get_priority_max sched_get_priority_min
	sched_rr_get_interval sched_rr_get_interval_time64 getpriority setpriority ioprio_get ioprio_set getcpu getrlimit setrlimit prlimit64 getrusage
	prctl arch_prctl arch_specific_syscall personality seccomp getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid
	setregid setresuid setresgid setfsuid setfsgid setgroups capget capset shutdown getsockname getpeername getsockopt recvfrom recvmsg recvmmsg
	recvmmsg_time64 poll ppoll ppoll_time64 select pselect6 pselect6_time64 epoll_wait epoll_pwait epoll_pwait2 time times gettimeofday
	clock_gettime clock_gettime64 clock_getres clock_getres_time64 clock_nanosleep clock_nanosleep_time64 nanosleep getitimer timer_delete
	timer_getoverrun timer_gettime timer_gettime64 timerfd_gettime timerfd_gettime64 uname sysinfo getrandom`

// Objects has a provider's VMs make as many objects of each kind as they can.
func Objects(t *testing.T, make providertest.New) {
	t.Helper()
	s := &scene{Scene: providertest.NewScene(t, make)}
	for name := range kinds {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, s.pinned(t, name))
		})
	}
}

// quickObjects tries the kinds that are made in a moment.
func quickObjects(t *testing.T, s *scene) []string {
	t.Helper()
	var leaks []string
	for name, k := range kinds {
		if k.quick {
			leaks = append(leaks, s.pinned(t, name)...)
		}
	}
	return leaks
}

// stock is what the host has of something, and how much of it a VM, with what others do meanwhile, may take.
type stock struct {
	what string
	has  func() int64
	most int64
}

const (
	busy      = 96 << 20 // bytes that others take meanwhile
	busyFiles = 20_000
	mapped    = 16_384 // files that a run may map
)

func stocks(l core.Limits) []stock {
	memory := func(name string) func() int64 {
		return func() int64 { return fields("/proc/meminfo")[name] << 10 }
	}
	available := memory("MemAvailable:")
	return []stock{
		{"bytes of memory", func() int64 { return -available() }, l.Memory + 3*l.Disk + busy},
		{"bytes of kernel memory", memory("SUnreclaim:"), l.Memory + busy},
		{"bytes of page tables", memory("PageTables:"), l.Memory + busy},
		{"open files", func() int64 { return first("/proc/sys/fs/file-nr") }, int64(l.Pids*l.OpenFiles) + mapped + busyFiles},
	}
}

// pinned has a VM make objects of a kind, and returns what of the host they take beyond the VM's limits. What grows, and
// is given back when the VM ends, is the VM's; others on a busy machine may do both once, but not three times.
func (s *scene) pinned(t *testing.T, name string) []string {
	t.Helper()
	const tries = 3
	var leaks []string
	for range tries {
		if leaks = s.pinnedOnce(t, name); len(leaks) == 0 {
			break
		}
	}
	return leaks
}

func (s *scene) pinnedOnce(t *testing.T, name string) []string {
	t.Helper()
	pool := providertest.Pool()
	pool.Limits.Timeout = 5 * time.Minute // on a busy machine
	v := s.Armed(t, pool)
	defer s.end(t, v)
	target := probe.Target{Marker: name, PID: 4, Most: kinds[name].most, Folders: []string{"/tmp"}}
	for _, one := range s.largeFiles(t)[:1] {
		target.Files = append(target.Files, one.path)
	}
	all := stocks(pool.Limits)
	read := func() []int64 {
		var now []int64
		for _, one := range all {
			now = append(now, one.has())
		}
		return now
	}
	before := read()
	var said strings.Builder
	holding, ended := make(chan struct{}), make(chan error, 1)
	var limit string
	go func() {
		o, err := v.Run(t.Context(), agent.Run{Args: v.ProbeArgs("objects", target)}, func(_ string, data []byte) {
			if said.Write(data); strings.HasSuffix(said.String(), "holding\n") {
				close(holding)
			}
		})
		limit = o.Limit()
		ended <- err
	}()
	select {
	case <-holding:
	case err := <-ended:
		require.NoError(t, err)
		t.Logf("ended as over the limit of %s with %s", limit, strings.ReplaceAll(said.String(), "\n", "; "))
		assert.Contains(t, []string{core.LimitMemory, core.LimitPids}, limit)
		return nil
	}
	now := read()
	require.NoError(t, v.Kill(t.Context()))
	require.NoError(t, <-ended)
	t.Log(strings.ReplaceAll(said.String(), "\n", "; "))
	var leaks []string
	for i, one := range all {
		grown := now[i] - before[i]
		t.Logf("%s: %d more; %d are allowed", one.what, grown, one.most)
		if grown > one.most && one.hasFallen(now[i]-one.most) {
			leaks = append(leaks, fmt.Sprintf("%s pin %d %s", name, grown, one.what))
		}
	}
	return leaks
}

// hasFallen waits until the host has no more than so much, which it may free only after a while, and reports whether it has.
func (one stock) hasFallen(to int64) bool {
	const pause = 50 * time.Millisecond
	again := time.NewTicker(pause)
	defer again.Stop()
	for range settle / (10 * pause) {
		if one.has() <= to {
			return true
		}
		<-again.C
	}
	return false
}
