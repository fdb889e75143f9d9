package confine

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judge runs the filters over a call, as the kernel would, and returns the errno
// that it ends with, or carried.
func judge(t *testing.T, program []byte, id arch.AuditArch, number int, args ...uint64) unix.Errno {
	t.Helper()
	// The package's machine loads words as a network has them, so they are put there so.
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[0:], uint32(number))
	binary.BigEndian.PutUint32(data[4:], uint32(id))
	for i, a := range args {
		low, high := 16+8*i, 20+8*i
		if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
			low, high = high, low
		}
		binary.BigEndian.PutUint32(data[low:], uint32(a))
		binary.BigEndian.PutUint32(data[high:], uint32(a>>32))
	}
	var all []bpf.Instruction
	for ; len(program) > 0; program = program[8:] {
		all = append(all, bpf.RawInstruction{
			Op: binary.NativeEndian.Uint16(program), Jt: program[2], Jf: program[3], K: binary.NativeEndian.Uint32(program[4:]),
		}.Disassemble())
	}
	vm, err := bpf.NewVM(all)
	require.NoError(t, err)
	verdict, err := vm.Run(data)
	require.NoError(t, err)
	if uint32(verdict) == verdictAllow {
		return carried
	}
	require.Equal(t, uint32(verdictErrno), uint32(verdict)&0xffff0000)
	return unix.Errno(verdict & 0xffff)
}

// carried is that a call is carried out: 0 is one that only seems to be.
const carried = unix.Errno(0xffff)

func TestFilters(t *testing.T) {
	t.Parallel()
	native, err := arch.GetInfo("")
	require.NoError(t, err)
	const low = 1 << 32 // what the kernel cuts off an int
	for name, c := range map[string]struct {
		call string
		args []uint64
		in   Situation
		want unix.Errno
	}{
		"a file":                       {call: "openat", want: carried},
		"a process":                    {call: "clone", args: []uint64{uint64(unix.SIGCHLD)}, want: carried},
		"a thread":                     {call: "clone", args: []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, want: carried},
		"a user namespace":             {call: "clone", args: []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, want: unix.EPERM},
		"a time namespace":             {call: "clone", args: []uint64{unix.CLONE_NEWTIME}, want: unix.EPERM},
		"clone3":                       {call: "clone3", want: unix.ENOSYS},
		"unshare":                      {call: "unshare", args: []uint64{0}, want: unix.EPERM},
		"users by unshare":             {call: "unshare", args: []uint64{unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWIPC}, want: unix.EPERM},
		"what the agent renews":        {call: "unshare", args: []uint64{unix.CLONE_NEWNET | unix.CLONE_NEWIPC}, want: carried},
		"a mount":                      {call: "mount", want: unix.EPERM},
		"the new mount calls":          {call: "fsopen", want: unix.EPERM},
		"tracing":                      {call: "ptrace", want: unix.EPERM},
		"io_uring":                     {call: "io_uring_setup", want: unix.ENOSYS},
		"an internet socket":           {call: "socket", args: []uint64{unix.AF_INET}, want: carried},
		"a unix socket":                {call: "socketpair", args: []uint64{unix.AF_UNIX}, want: carried},
		"a socket to the hypervisor":   {call: "socket", args: []uint64{unix.AF_VSOCK}, want: unix.EAFNOSUPPORT},
		"the same, dressed up":         {call: "socket", args: []uint64{unix.AF_VSOCK | low}, want: unix.EAFNOSUPPORT},
		"a stream over TCP":            {call: "socket", args: []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, want: carried},
		"a stream over SCTP":           {call: "socket", args: []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, want: unix.EPROTONOSUPPORT},
		"a stream over MPTCP":          {call: "socket", args: []uint64{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, want: unix.EPROTONOSUPPORT},
		"packets in sequence":          {call: "socket", args: []uint64{unix.AF_INET, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK}, want: unix.EPROTONOSUPPORT},
		"packets in sequence, locally": {call: "socket", args: []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, want: carried},
		"datagrams":                    {call: "socket", args: []uint64{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, want: carried},
		"echoes":                       {call: "socket", args: []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, want: unix.EPROTONOSUPPORT},
		"a list of interfaces":         {call: "socket", args: []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, want: carried},
		"a firewall":                   {call: "socket", args: []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, want: unix.EPROTONOSUPPORT},
		"a firewall, dressed up":       {call: "socket", args: []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER | low}, want: unix.EPROTONOSUPPORT},
		"a watcher":                    {call: "inotify_init1", want: unix.ENOSYS},
		"a watch over a folder":        {call: "fcntl", args: []uint64{3, unix.F_NOTIFY}, want: unix.EINVAL},
		"a watch, dressed up":          {call: "fcntl", args: []uint64{3, unix.F_NOTIFY | low}, want: unix.EINVAL},
		"a lease":                      {call: "fcntl", args: []uint64{3, unix.F_SETLEASE}, want: unix.EINVAL},
		"a hint that stays":            {call: "fcntl", args: []uint64{3, unix.F_SET_RW_HINT}, want: unix.EINVAL},
		"a lock of nobody":             {call: "fcntl", args: []uint64{3, unix.F_OFD_SETLK}, want: unix.EINVAL},
		"a lock":                       {call: "fcntl", args: []uint64{3, unix.F_SETLK}, want: carried},
		"a list of access":             {call: "setxattr", want: unix.EOPNOTSUPP},
		"a list of access by a link":   {call: "lsetxattr", want: unix.EOPNOTSUPP},
		"a list of access of a file":   {call: "fsetxattr", want: unix.EOPNOTSUPP},
		"what attributes there are":    {call: "listxattr", want: carried},
		"pages that are there":         {call: "preadv2", args: []uint64{3, 0, 1, 0, 0, unix.RWF_NOWAIT}, want: unix.EOPNOTSUPP},
		"pages, as of old":             {call: "preadv2", args: []uint64{3, 0, 1, 0, 0, 0}, want: carried},
		"pages that are not kept":      {call: "pwritev2", args: []uint64{3, 0, 1, 0, 0, 0x80}, want: unix.EOPNOTSUPP},
		"advice on files":              {call: "fadvise64", args: []uint64{3, 0, 0, unix.FADV_DONTNEED}, want: 0},
		"reading ahead":                {call: "readahead", want: 0},
		"writing all disks out":        {call: "sync", want: 0},
		"writing a mapped file out":    {call: "msync", args: []uint64{0, 4096, unix.MS_SYNC}, want: 0},
		"is it mapped":                 {call: "msync", args: []uint64{0, 4096, unix.MS_ASYNC}, want: carried},
		"memory to be merged":          {call: "madvise", args: []uint64{0, 4096, unix.MADV_MERGEABLE}, want: unix.EINVAL},
		"memory given back":            {call: "madvise", args: []uint64{0, 4096, unix.MADV_DONTNEED}, want: carried},
		"names that were looked up":    {call: "openat2", want: unix.ENOSYS},
		"asynchronous I/O":             {call: "io_setup", want: unix.ENOSYS},
		"memory of a node":             {call: "mbind", want: unix.EPERM},
		"huge pages":                   {call: "mmap", args: []uint64{0, 4096, 3, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_HUGETLB}, want: unix.ENOMEM},
		"memory":                       {call: "mmap", args: []uint64{0, 4096, 3, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS}, want: carried},
		"huge pages without a file":    {call: "memfd_create", args: []uint64{0, unix.MFD_HUGETLB}, want: unix.ENOMEM},
		"huge pages to share":          {call: "shmget", args: []uint64{1, 4096, 0o4600}, want: unix.ENOMEM},
		"flags of a file":              {call: "ioctl", args: []uint64{3, unix.FS_IOC_GETFLAGS}, want: carried},
		"flags for a file":             {call: "ioctl", args: []uint64{3, unix.FS_IOC_SETFLAGS}, want: unix.ENOTTY},
		"keys for a file system":       {call: "ioctl", args: []uint64{3, unix.FS_IOC_ADD_ENCRYPTION_KEY}, want: unix.ENOTTY},
		"bytes to read":                {call: "ioctl", args: []uint64{3, unix.TIOCINQ}, want: carried},
		"an interface":                 {call: "ioctl", args: []uint64{3, unix.SIOCGIFFLAGS}, want: carried},
		"a name for a thread":          {call: "prctl", args: []uint64{unix.PR_SET_NAME}, want: carried},
		"a name for memory":            {call: "prctl", args: []uint64{unix.PR_SET_VMA}, want: unix.EINVAL},
		"a core for itself":            {call: "prctl", args: []uint64{unix.PR_SCHED_CORE}, want: unix.EINVAL},
		"a filter":                     {call: "seccomp", args: []uint64{unix.SECCOMP_SET_MODE_FILTER}, want: unix.EINVAL},
		"a filter, as of old":          {call: "prctl", args: []uint64{unix.PR_SET_SECCOMP, 2}, want: unix.EINVAL},
		"a filter for a socket":        {call: "setsockopt", args: []uint64{3, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER}, want: unix.ENOPROTOOPT},
		"a large buffer":               {call: "setsockopt", args: []uint64{3, unix.SOL_SOCKET, unix.SO_RCVBUF}, want: 0},
		"an address used again":        {call: "setsockopt", args: []uint64{3, unix.SOL_SOCKET, unix.SO_REUSEADDR}, want: carried},
		"labels of flows":              {call: "setsockopt", args: []uint64{3, unix.SOL_IPV6, 32}, want: unix.ENOPROTOOPT},
		"the same number elsewhere":    {call: "setsockopt", args: []uint64{3, unix.SOL_TCP, 32}, want: carried},
		"no dumps, by a high pointer":  {call: "prlimit64", args: []uint64{0, unix.RLIMIT_CORE, 1 << 40}, want: unix.ENOSYS},
		"messages without an owner":    {call: "msgget", in: Situation{Watched: true}, want: unix.ENOSYS},
		"a terminal's input":           {call: "ioctl", args: []uint64{0, unix.TIOCSTI}, want: unix.EPERM},
		"a terminal's input, dressed":  {call: "ioctl", args: []uint64{0, unix.TIOCSTI | low}, want: unix.EPERM},
		"a terminal's size":            {call: "ioctl", args: []uint64{0, unix.TIOCGWINSZ}, want: carried},
		"a signal":                     {call: "kill", args: []uint64{1, 15}, want: carried},
		"a signal to the agent":        {call: "kill", args: []uint64{1, 15}, in: Situation{OneUser: true}, want: unix.EPERM},
		"a signal to the agent, cut":   {call: "kill", args: []uint64{1 | low, 15}, in: Situation{OneUser: true}, want: unix.EPERM},
		"a signal to a child":          {call: "kill", args: []uint64{3, 15}, in: Situation{OneUser: true}, want: carried},
		"a queued signal":              {call: "rt_sigqueueinfo", args: []uint64{3, 15}, in: Situation{OneUser: true}, want: unix.EPERM},
		"its own limits":               {call: "prlimit64", args: []uint64{0, 7}, in: Situation{OneUser: true}, want: carried},
		"the agent's limits":           {call: "prlimit64", args: []uint64{1, 7}, in: Situation{OneUser: true}, want: unix.EPERM},
		"its own niceness":             {call: "setpriority", args: []uint64{0, 0, 19}, in: Situation{OneUser: true}, want: carried},
		"its user's niceness":          {call: "setpriority", args: []uint64{unix.PRIO_USER, 0, 19}, in: Situation{OneUser: true}, want: unix.EPERM},
		"a chosen signal for a pipe":   {call: "fcntl", args: []uint64{3, unix.F_SETSIG, 11}, in: Situation{OneUser: true}, want: unix.EPERM},
		"closing at exec":              {call: "fcntl", args: []uint64{3, unix.F_SETFD, 1}, in: Situation{OneUser: true}, want: carried},
		"the limit of dumps":           {call: "prlimit64", args: []uint64{0, unix.RLIMIT_CORE, 0, 1}, want: carried},
		"no dumps":                     {call: "prlimit64", args: []uint64{0, unix.RLIMIT_CORE, 1}, want: unix.ENOSYS},
		"no dumps of another":          {call: "prlimit64", args: []uint64{7, unix.RLIMIT_CORE, low}, want: unix.ENOSYS},
		"no dumps, dressed up":         {call: "prlimit64", args: []uint64{0, unix.RLIMIT_CORE | low, 1}, want: unix.ENOSYS},
		"no dumps, as of old":          {call: "setrlimit", args: []uint64{unix.RLIMIT_CORE, 1}, want: unix.ENOSYS},
		"no dumps, as of old, dressed": {call: "setrlimit", args: []uint64{unix.RLIMIT_CORE | low, 1}, want: unix.ENOSYS},
		"another limit, as of old":     {call: "setrlimit", args: []uint64{unix.RLIMIT_NOFILE, 1}, want: carried},
		"another limit":                {call: "prlimit64", args: []uint64{0, unix.RLIMIT_STACK, 1}, want: carried},
		"memory without a file":        {call: "memfd_create", want: carried},
		"memory without an owner":      {call: "memfd_create", in: Situation{Watched: true}, want: unix.ENOSYS},
		"memory without an owner, too": {call: "shmget", in: Situation{Watched: true}, want: unix.ENOSYS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := Filter(c.in)
			require.NoError(t, err)
			number, known := native.SyscallNames[c.call]
			require.True(t, known)
			assert.Equal(t, c.want, judge(t, program, native.ID, number, c.args...))
		})
	}
}

func TestFiltersKnowOneArchitecture(t *testing.T) {
	t.Parallel()
	program, err := Filter(Situation{})
	require.NoError(t, err)
	native, err := arch.GetInfo("")
	require.NoError(t, err)
	read := native.SyscallNames["read"]
	assert.Equal(t, carried, judge(t, program, native.ID, read))
	for _, other := range []*arch.Info{arch.I386, arch.ARM, arch.AARCH64, arch.X86_64} {
		if other.ID != native.ID {
			assert.Equal(t, unix.ENOSYS, judge(t, program, other.ID, read), other.Name)
		}
	}
	const x32 = 0x40000000
	assert.Equal(t, unix.ENOSYS, judge(t, program, native.ID, read|x32), "the other calls of the same architecture")
	assert.Equal(t, unix.ENOSYS, judge(t, program, native.ID, 5000), "calls that are not there yet")
}

func TestBoxFilter(t *testing.T) {
	t.Parallel()
	program, err := BoxFilter()
	require.NoError(t, err)
	native, err := arch.GetInfo("")
	require.NoError(t, err)
	assert.Equal(t, unix.EPERM, judge(t, program, native.ID, native.SyscallNames["socket"], unix.AF_UNIX))
	assert.Equal(t, carried, judge(t, program, native.ID, native.SyscallNames["socket"], unix.AF_INET))
	assert.Equal(t, carried, judge(t, program, native.ID, native.SyscallNames["read"]))
	assert.Equal(t, carried, judge(t, program, native.ID, 5000), "other calls are judged by the VM's filter")
	for _, name := range boxRefused {
		assert.Equal(t, unix.EPERM, judge(t, program, native.ID, native.SyscallNames[name]), name)
	}
}

// TestEveryCallIsJudged: each call of the architectures that VMs run on is on one
// list, and what is on a list is a call of some architecture.
func TestEveryCallIsJudged(t *testing.T) {
	t.Parallel()
	newer := map[string]bool{"open_tree_attr": true} // than the library's lists
	on := map[string]int{}
	for _, list := range [][]string{allowed, refused, absent, idle, unsupported} {
		for _, name := range list {
			on[name]++
			known := newer[name]
			for _, a := range []*arch.Info{arch.X86_64, arch.AARCH64, arch.I386, arch.ARM} {
				_, ok := a.SyscallNames[name]
				known = known || ok
			}
			assert.True(t, known, "there is no call %s", name)
		}
	}
	for _, a := range []*arch.Info{arch.X86_64, arch.AARCH64} {
		for name := range a.SyscallNames {
			assert.Equal(t, 1, on[name], "lists that have %s of %s", name, a.Name)
		}
		for _, s := range []Situation{{}, {OneUser: true}, {Watched: true}, {OneUser: true, Watched: true}} {
			raw, err := encode(program(a, s))
			require.NoError(t, err)
			assert.Less(t, len(raw)/8, 1500, "of 4096 instructions that the kernel takes")
			for name, number := range a.SyscallNames {
				if slices.Contains(allowed, name) && !slices.ContainsFunc(rules(s), func(r rule) bool { return r.call == name }) && (!s.Watched || !slices.Contains(uncounted, name)) && (!s.Watched || s.OneUser || !slices.Contains(landlock, name)) && (!s.OneUser || !slices.Contains(oneUserRefused, name)) {
					assert.Equal(t, carried, judge(t, raw, a.ID, number), "%s of %s", name, a.Name)
				} else if !slices.Contains(allowed, name) {
					assert.NotEqual(t, carried, judge(t, raw, a.ID, number), "%s of %s", name, a.Name)
				}
			}
		}
	}
	for _, list := range [][]string{uncounted, landlock, oneUserRefused} {
		for _, name := range list {
			assert.Contains(t, allowed, name, "it is refused to some VMs")
		}
	}
	for _, r := range rules(Situation{OneUser: true, Watched: true}) {
		assert.Contains(t, allowed, r.call, "a rule for what is not allowed at all")
	}
}
