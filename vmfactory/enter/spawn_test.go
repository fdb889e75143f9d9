package enter

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spawner starts a process that starts others, and returns how to ask it.
func spawner(t *testing.T) func(Request, ...*os.File) Answer {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "/proc/self/exe")
	cmd.Args, cmd.ExtraFiles, cmd.Stderr = []string{SpawnName}, []*os.File{theirs}, os.Stderr
	require.NoError(t, errors.Join(cmd.Start(), theirs.Close()))
	t.Cleanup(func() { assert.NoError(t, errors.Join(syscall.Close(pair[0]), cmd.Wait()), "it ends with its asker") })
	return func(q Request, files ...*os.File) Answer {
		t.Helper()
		var fds []int
		for _, f := range files {
			fds = append(fds, int(f.Fd()))
		}
		require.NoError(t, syscall.Sendmsg(pair[0], q.Encode(), syscall.UnixRights(fds...), nil, 0))
		reply := make([]byte, MaxAnswer)
		n, err := syscall.Read(pair[0], reply)
		require.NoError(t, err)
		a, err := DecodeAnswer(reply[:n])
		require.NoError(t, err)
		return a
	}
}

// spawned has a process carry out steps once it gets this sign, and returns what it said.
func spawned(t *testing.T, ask func(Request, ...*os.File) Answer, steps []Step, sign string) string {
	t.Helper()
	in, begin, err := os.Pipe()
	require.NoError(t, err)
	heard, out, err := os.Pipe()
	require.NoError(t, err)
	a := ask(Request{Plan: Plan{Steps: steps}}, in, out, out)
	require.Positive(t, a.PID, a.Text)
	_, err = begin.WriteString(sign)
	require.NoError(t, errors.Join(err, begin.Close(), in.Close(), out.Close()))
	said, err := io.ReadAll(heard) // until the process has ended
	require.NoError(t, errors.Join(err, heard.Close()))
	return string(said)
}

func TestSpawn(t *testing.T) {
	t.Parallel()
	ask, dir := spawner(t), t.TempDir()
	for _, name := range []string{"a", "b"} { // the second in memory that the first has used
		at := filepath.Join(dir, name)
		said := spawned(t, ask, []Step{
			{Do: Mkdir, Path: at, Bits: 0o700},
			{Do: Write, Path: at + "/file", Text: "text of " + name, Bits: 0o600},
			{Do: Mkdir, Path: at + "/not/there", Maybe: true},
			{Do: Write, Path: at + "/not/there", Text: "x", Maybe: true}, // three calls, of which the first finds nothing
			{Do: Say, Text: "done " + name},
		}, "!")
		assert.Equal(t, "done "+name, said)
		text, err := os.ReadFile(at + "/file")
		require.NoError(t, err)
		assert.Equal(t, "text of "+name, string(text))
	}
	assert.Equal(t, "mkdir /not/there: no such file or directory\n", spawned(t, ask, []Step{{Do: Mkdir, Path: "/not/there"}, {Do: Say, Text: "went on"}}, "!"))
}

// TestSpawnWaits shows that a process whose asker died before it gave the sign does nothing.
func TestSpawnWaits(t *testing.T) {
	t.Parallel()
	ask, at := spawner(t), filepath.Join(t.TempDir(), "made")
	assert.Equal(t, "wait for the sign to begin: input/output error\n", spawned(t, ask, []Step{{Do: Mkdir, Path: at}}, ""))
	assert.NoDirExists(t, at)
}

// TestSpawnRefuses shows plans that cannot be carried out: no process is started.
func TestSpawnRefuses(t *testing.T) {
	t.Parallel()
	ask := spawner(t)
	hide := Step{Do: Hide, Path: "/proc"}
	for name, c := range map[string]struct {
		steps []Step
		errno syscall.Errno
	}{
		"an unknown verb":       {[]Step{{Do: "dance"}}, syscall.ENOSYS},
		"a path with an end":    {[]Step{{Do: Chdir, Path: "/tmp\x00/x"}}, syscall.EINVAL},
		"a folder hidden twice": {[]Step{hide, hide}, syscall.EINVAL},
		"a user without group":  {[]Step{{Do: IDs, Num: []uint64{1}}}, syscall.EINVAL},
		"an empty filter":       {[]Step{{Do: Seccomp, Num: []uint64{1}}}, syscall.EINVAL},
	} {
		a := ask(Request{Plan: Plan{Steps: c.steps}}, os.Stdin)
		assert.Equal(t, c.errno, a.Errno, name)
	}
	a := ask(Request{Flags: syscall.CLONE_THREAD, Plan: Plan{Steps: []Step{{Do: Say, Text: "x"}}}}, os.Stdin)
	assert.Equal(t, Answer{Errno: syscall.EINVAL, Text: "invalid argument"}, a, "a process that the kernel does not make")
}

// TestMemoryIsBounded shows that a plan which needs more memory than there is fails.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	steps := make([]Step, 0, 3)
	for range cap(steps) {
		steps = append(steps, Step{Do: Chdir, Path: strings.Repeat("x", room/2)})
	}
	c := newCompiled()
	require.ErrorIs(t, c.compile(Plan{Steps: steps}), syscall.E2BIG)
	assert.Less(t, c.used, len(c.memory))
}
