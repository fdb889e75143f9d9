package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core/service/guard"
	"drover/vmfactory/providertest/programs"
)

// start runs a probe in a process of the host.
func start(t *testing.T, name string, target Target, sys *syscall.SysProcAttr) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), programs.Prober(t), Args(name, target)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = sys
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); !ended { //nolint:errorlint // as exec returns it
		require.NoError(t, err)
	}
	return out.String()
}

// private is a namespace where the probe is root and harms nobody: a sandbox
// without a filter that forgot to give its privileges up.
func private(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	sys := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	try := exec.CommandContext(t.Context(), "/bin/true")
	try.SysProcAttr = sys
	if err := try.Run(); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "this test needs user namespaces")
		}
		t.Skipf("this test needs user namespaces: %v", err)
	}
	return sys
}

// victim is a process that a probe may do anything to.
func victim(t *testing.T) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "/bin/sleep", "1000")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // killed, one way or the other
	})
	return cmd
}

// ownVictim is one whose program is ours to change.
func ownVictim(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile("/bin/sleep")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "sleep")
	require.NoError(t, guard.WriteProgram(t.Context(), path, text))
	cmd := exec.CommandContext(t.Context(), path, "1000")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // killed: the context has ended
	return cmd
}

// runsForeign reports whether the kernel runs programs of another architecture.
func runsForeign(t *testing.T) bool {
	t.Helper()
	err := runForeign()
	if errors.Is(err, syscall.ENOEXEC) {
		return false
	}
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended)
	require.Equal(t, foreignExit, ended.ExitCode())
	return true
}

// TestGetThrough runs every probe where nothing holds it: it must say so.
func TestGetThrough(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(file, []byte("secret"), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer socket.Close()
	abstract, err := net.Listen("unix", fmt.Sprintf("@drover-probe-%d", os.Getpid()))
	require.NoError(t, err)
	defer abstract.Close()
	host, err := os.Hostname()
	require.NoError(t, err)
	locked := filepath.Join(t.TempDir(), "locked")
	hold, err := os.Create(locked)
	require.NoError(t, err)
	defer hold.Close()
	require.NoError(t, unix.Flock(int(hold.Fd()), unix.LOCK_EX))
	queue := fmt.Sprintf("drover-probe-%d", os.Getpid())
	few := Target{Most: 4, Folders: []string{folder}}
	covered := map[string]bool{"agent-signals": true, "agent-threads": true, "sessions": true, "orphans": true, "memory-and-wait": true, "spin": true, "litter": true, "slice": true, "unwaited": true, "unwaited-flag": true, "sight": true, "stains": true} // below, part of another, or measured from outside

	for name, c := range map[string]struct {
		target  Target
		private bool
		says    string
	}{
		"network":        {target: Target{TCP: "127.0.0.1:9"}},
		"host-loopback":  {target: Target{TCP: listener.Addr().String(), Abstract: "@none"}, says: "tcp"},
		"host-files":     {target: Target{Files: []string{file}}},
		"system-files":   {target: Target{Folders: []string{folder}}},
		"mounts":         {private: true},
		"devices":        {says: "opened /"},
		"host-processes": {target: Target{PID: 1 << 21, Marker: "probe.test"}},
		"agent-socket":   {target: Target{Sockets: []string{socket.Addr().String()}}},
		"agent-tracing":  {target: Target{PID: victim(t).Process.Pid}},
		"privileges":     {},
		"namespaces":     {private: true},
		"kernel-calls":   {private: true},
		"foreign-calls":  {},
		"hostname":       {target: Target{Host: host}},
		"forks":          {target: few},
		"memory":         {target: Target{Most: 8 << 20}},
		"shared-zero":    {target: Target{Most: 8 << 20}},
		"memory-by-many": {target: Target{Most: 8 << 20}},
		"disk":           {target: few},
		"inodes":         {target: few},
		"file-size":      {target: Target{Most: 1 << 20}},
		"open-files":     {target: few},
		"shared-memory":  {},
		"proc-files":     {},
		"own-files":      {},
		"sockets":        {},
		"cgroup-names":   {},
		"watchers":       {target: few},

		"memory-files":    {target: Target{Most: 1 << 20, Folders: []string{folder}}},
		"memory-file":     {target: Target{Most: 8 << 20}},
		"memory-system-v": {target: Target{Most: 8 << 20}},
		"memory-pipes":    {target: Target{Most: 1 << 20}},
		"memory-tables":   {target: Target{Most: 1 << 20}},
		"threads":         {target: few},
		"deep":            {target: few},
		"core-dumps":      {private: true, says: "core dumps"},
		"crash":           {says: "was dumped"},
		"agent-files":     {target: Target{PID: ownVictim(t).Process.Pid}, says: "/proc/"},
		"setuid-programs": {},
		"locks":           {target: Target{Files: []string{locked}}},
		"queues":          {target: Target{Marker: queue}},
		"zombies":         {target: few, private: true},
		"clocks":          {},
		"priority":        {},
		"release-agent":   {private: true},
		"kernel-parts":    {private: true},
		"terminal":        {says: "opened /dev/"},
		"facts":           {says: "/proc/meminfo"},
		"access-lists":    {target: few},
		"uncounted":       {says: "policy"},
		"file-locks":      {target: few},
		"host-stores":     {},
		"cached":          {target: Target{Files: []string{file}}},
		"marks":           {target: Target{Files: []string{file}, Folders: []string{folder}}},
		"watches":         {target: few},
		"counters":        {},
		"same-user":       {target: Target{Most: int64(os.Getuid())}},

		"harness-memory":      {target: Target{PID: victim(t).Process.Pid}},
		"harness-arguments":   {target: Target{PID: victim(t).Process.Pid}},
		"harness-signals":     {target: Target{PID: victim(t).Process.Pid}, says: "may signal it"},
		"harness-files":       {target: Target{Files: []string{file}}, says: "read "},
		"harness-modes":       {target: Target{Files: []string{file}}},
		"harness-socket":      {target: Target{Sockets: []string{socket.Addr().String()}}, says: "reached"},
		"harness-descriptors": {target: Target{Marker: "TMPDIR="}},
	} {
		t.Run(name, func(t *testing.T) {
			var sys *syscall.SysProcAttr
			if c.private {
				sys = private(t)
			}
			if name == "shared-memory" {
				c.target.Marker = fmt.Sprintf("drover-probe-%d", os.Getpid())
				path := filepath.Join("/dev/shm", c.target.Marker)
				require.NoError(t, os.WriteFile(path, nil, 0o600))
				defer os.Remove(path)
			}
			if name == "foreign-calls" && !runsForeign(t) {
				t.Skip("this kernel runs no programs of another architecture")
			}
			covered[name] = true
			if pattern, _ := os.ReadFile("/proc/sys/kernel/core_pattern"); name == "crash" && !bytes.HasPrefix(pattern, []byte("core")) {
				t.Skipf("what crashes is not dumped where it stands here, but to %q", pattern)
			}
			if name == "queues" { // the first makes it, the second finds it
				require.Equal(t, Held, start(t, name, c.target, sys))
				defer unlink(t, queue)
			}
			said := start(t, name, c.target, sys)
			assert.Contains(t, said, "got through: ")
			assert.Contains(t, said, c.says)
		})
	}
	for _, name := range Names() {
		assert.True(t, covered[name] || slices.Contains([]string{"foreign-calls", "traces", "touch-items", "measure-items", "large-files", "objects", "numbers", "move-numbers"}, name), "probe %s was never seen to get through", name)
	}
	assert.Contains(t, start(t, "host-loopback", Target{TCP: "127.0.0.1:1", Abstract: abstract.Addr().String()}, nil), "got through: reached unix")
}

// unlink removes a message queue.
func unlink(t *testing.T, queue string) {
	t.Helper()
	name, err := unix.BytePtrFromString(queue)
	require.NoError(t, err)
	_, _, errno := unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
	assert.Zero(t, errno)
}

// TestSignals shows that the probe of signals ends what does not guard itself.
func TestSignals(t *testing.T) {
	t.Parallel()
	one := victim(t)
	start(t, "agent-signals", Target{PID: one.Process.Pid}, nil)
	require.Error(t, one.Wait())
}

// TestThreads shows that the probe of threads finds the processes that it may signal.
func TestThreads(t *testing.T) {
	t.Parallel()
	args := append([]string{"-c", `/bin/sleep 1000 & "$0" "$@"; exit 0`, ""}, Args("agent-threads", Target{})...)
	args[2] = programs.Prober(t)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", args...)
	cmd.SysProcAttr = private(t) // whose end is the end of all in there
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "may signal")
}

// TestOrphans shows that the probe leaves something behind where nothing kills it.
func TestOrphans(t *testing.T) {
	t.Parallel()
	marker := fmt.Sprintf("drover-orphan-%d", os.Getpid())
	assert.Equal(t, Held, start(t, "orphans", Target{Marker: marker}, nil))
	var left []int
	for _, pid := range pids() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		session, serr := unix.Getsid(pid) // what it forks looks like it until its exec
		if err == nil && serr == nil && session == pid && bytes.Contains(text, []byte(marker)) {
			left = append(left, pid)
			assert.NoError(t, syscall.Kill(-pid, syscall.SIGKILL), "each leads its session")
		}
	}
	assert.Len(t, left, 3)
}
