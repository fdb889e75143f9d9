package attack

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/probe"
)

// corePattern says what the kernel does with processes that crash.
const corePattern = "/proc/sys/kernel/core_pattern"

// dumps keeps other tests of this host from changing the pattern, or with LOCK_EX
// from looking at it, until the function that it returns is called.
func dumps(t *testing.T, how int) func() {
	t.Helper()
	free, err := lock(corePattern, how)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return func() {} // hidden here, so nobody changes it
	}
	require.NoError(t, err)
	return free
}

// lock locks a file that all tests of this host see, until the function that it returns is called.
func lock(path string, how int) (free func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, unix.Flock(int(f.Fd()), how)
}

// crash crashes in a VM while the host has a program for that. Where a test may not
// name one, what there is must do: whether limits stay is seen by core-dumps.
func crash(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	defer func() { v.Alive(t); s.end(t, v) }()
	free := dumps(t, unix.LOCK_EX)
	defer free()
	restore, ok := counted(t)
	if !ok {
		return append(got(t, v.Probe(t, "core-dumps", probe.Target{})), got(t, v.Probe(t, "crash", probe.Target{}))...)
	}
	defer restore()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "ulimit -c 0; kill -SEGV $$")
	err := cmd.Run()
	status, is := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, is && status.Signaled(), "%v", err)
	if !status.CoreDump() {
		t.Log("this kernel starts no program for crashes: what holds VMs from it is not tried")
	}
	return got(t, v.Probe(t, "crash", probe.Target{}))
}

// counted makes the host count the bytes of crashes, by a program that harms nobody
// even if a test crashes. What was set before comes back even if this process is
// killed: a child that is not hears its end. False if the pattern cannot be written.
func counted(t *testing.T) (restore func(), ok bool) {
	t.Helper()
	const counts = "/usr/bin/wc"
	was, err := os.ReadFile(corePattern)
	if err != nil || unix.Access(corePattern, unix.W_OK) != nil || unix.Access(counts, unix.X_OK) != nil {
		return nil, false
	}
	guard := exec.Command("/bin/sh", "-c", `trap "" HUP INT TERM; echo ready; cat >/dev/null; printf '%s\n' "$0" >`+corePattern, strings.TrimSuffix(string(was), "\n"))
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	alive, err := guard.StdinPipe()
	require.NoError(t, err)
	ready, err := guard.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, guard.Start())
	_, err = ready.Read(make([]byte, 1))
	require.NoError(t, err)
	restore = func() {
		require.NoError(t, alive.Close())
		require.NoError(t, guard.Wait())
		now, err := os.ReadFile(corePattern)
		require.NoError(t, err)
		require.Equal(t, string(was), string(now))
	}
	if err := os.WriteFile(corePattern, []byte("|"+counts), 0); err != nil {
		restore()
		return nil, false
	}
	return restore, true
}
