package confine

import (
	"encoding/binary"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judge runs the filters over a call, as the kernel would, and returns the errno
// that it ends with, or 0.
func judge(t *testing.T, programs [][]byte, id arch.AuditArch, number int, args ...uint64) unix.Errno {
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
	for _, program := range programs {
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
		const allow, errno = 0x7fff0000, 0x00050000
		if uint32(verdict) == allow {
			continue
		}
		require.Equal(t, uint32(errno), uint32(verdict)&0xffff0000)
		return unix.Errno(verdict & 0xffff)
	}
	return 0
}

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
		"a file":                        {call: "openat", want: 0},
		"a process":                     {call: "clone", args: []uint64{uint64(unix.SIGCHLD)}, want: 0},
		"a thread":                      {call: "clone", args: []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, want: 0},
		"a user namespace":              {call: "clone", args: []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, want: unix.EPERM},
		"a time namespace":              {call: "clone", args: []uint64{unix.CLONE_NEWTIME}, want: unix.EPERM},
		"clone3":                        {call: "clone3", want: unix.ENOSYS},
		"unshare":                       {call: "unshare", args: []uint64{0}, want: unix.EPERM},
		"a mount":                       {call: "mount", want: unix.EPERM},
		"the new mount calls":           {call: "fsopen", want: unix.EPERM},
		"tracing":                       {call: "ptrace", want: unix.EPERM},
		"io_uring":                      {call: "io_uring_setup", want: unix.ENOSYS},
		"an internet socket":            {call: "socket", args: []uint64{unix.AF_INET}, want: 0},
		"a unix socket":                 {call: "socketpair", args: []uint64{unix.AF_UNIX}, want: 0},
		"a socket to the hypervisor":    {call: "socket", args: []uint64{unix.AF_VSOCK}, want: unix.EAFNOSUPPORT},
		"the same, dressed up":          {call: "socket", args: []uint64{unix.AF_VSOCK | low}, want: unix.EAFNOSUPPORT},
		"a stream over TCP":             {call: "socket", args: []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, want: 0},
		"a stream over SCTP":            {call: "socket", args: []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, want: unix.EPROTONOSUPPORT},
		"a stream over MPTCP":           {call: "socket", args: []uint64{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, want: unix.EPROTONOSUPPORT},
		"packets in sequence":           {call: "socket", args: []uint64{unix.AF_INET, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK}, want: unix.EPROTONOSUPPORT},
		"packets in sequence, locally":  {call: "socket", args: []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, want: 0},
		"datagrams":                     {call: "socket", args: []uint64{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, want: 0},
		"echoes":                        {call: "socket", args: []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, want: unix.EPROTONOSUPPORT},
		"a list of interfaces":          {call: "socket", args: []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, want: 0},
		"a firewall":                    {call: "socket", args: []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, want: unix.EPROTONOSUPPORT},
		"a firewall, dressed up":        {call: "socket", args: []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER | low}, want: unix.EPROTONOSUPPORT},
		"a watcher":                     {call: "inotify_init1", want: unix.ENOSYS},
		"a watcher where there is room": {call: "inotify_init1", in: Situation{Inotify: true}, want: 0},
		"messages without an owner":     {call: "msgget", in: Situation{Watched: true}, want: unix.ENOSYS},
		"a terminal's input":            {call: "ioctl", args: []uint64{0, unix.TIOCSTI}, want: unix.EPERM},
		"a terminal's input, dressed":   {call: "ioctl", args: []uint64{0, unix.TIOCSTI | low}, want: unix.EPERM},
		"a terminal's size":             {call: "ioctl", args: []uint64{0, unix.TIOCGWINSZ}, want: 0},
		"a signal":                      {call: "kill", args: []uint64{1, 15}, want: 0},
		"a signal to the agent":         {call: "kill", args: []uint64{1, 15}, in: Situation{OneUser: true}, want: unix.EPERM},
		"a signal to the agent, cut":    {call: "kill", args: []uint64{1 | low, 15}, in: Situation{OneUser: true}, want: unix.EPERM},
		"a signal to a child":           {call: "kill", args: []uint64{3, 15}, in: Situation{OneUser: true}, want: 0},
		"a queued signal":               {call: "rt_sigqueueinfo", args: []uint64{3, 15}, in: Situation{OneUser: true}, want: unix.EPERM},
		"its own limits":                {call: "prlimit64", args: []uint64{0, 7}, in: Situation{OneUser: true}, want: 0},
		"the agent's limits":            {call: "prlimit64", args: []uint64{1, 7}, in: Situation{OneUser: true}, want: unix.EPERM},
		"its own niceness":              {call: "setpriority", args: []uint64{0, 0, 19}, in: Situation{OneUser: true}, want: 0},
		"its user's niceness":           {call: "setpriority", args: []uint64{unix.PRIO_USER, 0, 19}, in: Situation{OneUser: true}, want: unix.EPERM},
		"a chosen signal for a pipe":    {call: "fcntl", args: []uint64{3, unix.F_SETSIG, 11}, in: Situation{OneUser: true}, want: unix.EPERM},
		"closing at exec":               {call: "fcntl", args: []uint64{3, unix.F_SETFD, 1}, in: Situation{OneUser: true}, want: 0},
		"the limit of dumps":            {call: "prlimit64", args: []uint64{0, unix.RLIMIT_CORE, 0, 1}, want: 0},
		"no dumps":                      {call: "prlimit64", args: []uint64{0, unix.RLIMIT_CORE, 1}, want: unix.ENOSYS},
		"no dumps of another":           {call: "prlimit64", args: []uint64{7, unix.RLIMIT_CORE, low}, want: unix.ENOSYS},
		"no dumps, dressed up":          {call: "prlimit64", args: []uint64{0, unix.RLIMIT_CORE | low, 1}, want: unix.ENOSYS},
		"no dumps, as of old":           {call: "setrlimit", args: []uint64{unix.RLIMIT_CORE, 1}, want: unix.ENOSYS},
		"no dumps, as of old, dressed":  {call: "setrlimit", args: []uint64{unix.RLIMIT_CORE | low, 1}, want: unix.ENOSYS},
		"another limit, as of old":      {call: "setrlimit", args: []uint64{unix.RLIMIT_NOFILE, 1}, want: 0},
		"another limit":                 {call: "prlimit64", args: []uint64{0, unix.RLIMIT_STACK, 1}, want: 0},
		"memory without a file":         {call: "memfd_create", want: 0},
		"memory without an owner":       {call: "memfd_create", in: Situation{Watched: true}, want: unix.ENOSYS},
		"memory without an owner, too":  {call: "shmget", in: Situation{Watched: true}, want: unix.ENOSYS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs, err := Filters(c.in)
			require.NoError(t, err)
			number, known := native.SyscallNames[c.call]
			require.True(t, known)
			assert.Equal(t, c.want, judge(t, programs, native.ID, number, c.args...))
		})
	}
}

func TestRoomForWatchers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instances, watches, ours string
		want                     bool
	}{
		"as the kernel has it": {"128", "192536", "192536", false},
		"raised":               {"1024", "65536", "65536", true},
		"few watches":          {"1024", "8192", "65536", false},
		"lowered for us":       {"1024", "65536", "10", false},
		"no such setting":      {"", "", "", false},
	} {
		assert.Equal(t, c.want, RoomForWatchers(func(name string) string {
			return map[string]string{
				"fs/inotify/max_user_instances": c.instances, "user/max_inotify_instances": c.instances,
				"fs/inotify/max_user_watches": c.watches, "user/max_inotify_watches": c.ours,
			}[name]
		}), name)
	}
}

func TestFiltersKnowOneArchitecture(t *testing.T) {
	t.Parallel()
	programs, err := Filters(Situation{})
	require.NoError(t, err)
	native, err := arch.GetInfo("")
	require.NoError(t, err)
	read := native.SyscallNames["read"]
	assert.Zero(t, judge(t, programs, native.ID, read))
	for _, other := range []*arch.Info{arch.I386, arch.ARM, arch.AARCH64, arch.X86_64} {
		if other.ID != native.ID {
			assert.Equal(t, unix.ENOSYS, judge(t, programs, other.ID, read), other.Name)
		}
	}
	const x32 = 0x40000000
	assert.Equal(t, unix.ENOSYS, judge(t, programs, native.ID, read|x32), "the other calls of the same architecture")
	assert.Equal(t, unix.ENOSYS, judge(t, programs, native.ID, 5000), "calls that are not there yet")
}

// TestFilterNames finds names that are misspelt: each is a call of some architecture.
func TestFilterNames(t *testing.T) {
	t.Parallel()
	newer := map[string]bool{"open_tree_attr": true} // than the library's lists
	for _, list := range [][]string{refused, absent, watchers, uncounted, oneUserRefused} {
		for _, name := range list {
			known := newer[name]
			for _, a := range []*arch.Info{arch.X86_64, arch.AARCH64, arch.I386, arch.ARM} {
				_, ok := a.SyscallNames[name]
				known = known || ok
			}
			assert.True(t, known, name)
		}
	}
}
