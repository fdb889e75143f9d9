package service_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/service"
)

func TestLockHasOneHolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run", "host")
	l, err := service.TakeLock(dir, "vmfactory")
	require.NoError(t, err)
	_, err = service.TakeLock(dir, "vmfactory")
	require.True(t, core.Is(err, core.CodeBusy), "%v", err)
	require.ErrorContains(t, err, "process "+strconv.Itoa(os.Getpid())+" has the lock")

	other, err := service.TakeLock(dir, "testrunner")
	require.NoError(t, err)
	other.Release()

	l.Release()
	l, err = service.TakeLock(dir, "vmfactory")
	require.NoError(t, err)
	require.True(t, l.Stands())
	require.NoError(t, os.Rename(service.LockPath(dir, "vmfactory"), service.LockPath(dir, "evicted")))
	require.False(t, l.Stands())
	heir, err := service.TakeLock(dir, "vmfactory")
	require.NoError(t, err)
	require.False(t, l.Stands(), "the heir's stands there")
	require.True(t, heir.Stands())
	_, err = service.TakeLock(dir, "evicted")
	require.Equal(t, core.CodeBusy, core.CodeOf(err))
	heir.Release()
	l.Release()
}

func TestLockRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "link.lock")))
	for _, tc := range []struct {
		dir, name string
		code      core.Code
	}{
		{dir, "../escape", core.CodeInvalid},
		{filepath.Join(dir, "file"), "x", core.CodeUnavailable},
		{dir, "link", core.CodeUnavailable},
	} {
		_, err := service.TakeLock(tc.dir, tc.name)
		require.Equal(t, tc.code, core.CodeOf(err), "%v", err)
	}
	require.NoFileExists(t, filepath.Join(dir, "elsewhere"))
}

func TestNumberIsTheLowestFreeOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	take := func() (int, *service.Lock) {
		n, l, err := service.TakeNumber(dir, core.RoleTestrunner, 3)
		require.NoError(t, err)
		return n, l
	}
	for want := range 3 {
		n, l := take()
		require.Equal(t, want, n)
		t.Cleanup(l.Release)
	}
	_, _, err := service.TakeNumber(dir, core.RoleTestrunner, 3)
	require.True(t, core.Is(err, core.CodeBusy), "%v", err)

	n, l, err := service.TakeNumber(dir, core.RoleTaskrunner, 1)
	require.NoError(t, err)
	require.Zero(t, n)
	l.Release()
}

// TestKilledHolderFreesItsLock starts this test binary again as the holder.
func TestKilledHolderFreesItsLock(t *testing.T) {
	t.Parallel()
	const variable = "LOCK_TEST_DIR"
	if dir := os.Getenv(variable); dir != "" {
		n, _, err := service.TakeNumber(dir, core.RoleTestrunner, 2)
		fmt.Println("took", n, err)
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
	}
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledHolderFreesItsLock$")
	child.Env = append(os.Environ(), variable+"="+dir)
	_, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "took 0 <nil>\n", line)

	_, err = service.TakeLock(dir, "testrunner-0")
	require.True(t, core.Is(err, core.CodeBusy), "%v", err)
	require.ErrorContains(t, err, "process "+strconv.Itoa(child.Process.Pid))

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	n, l, err := service.TakeNumber(dir, core.RoleTestrunner, 2)
	require.NoError(t, err)
	require.Zero(t, n, "the restarted process has its predecessor's number")
	l.Release()
}
