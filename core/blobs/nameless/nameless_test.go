package nameless

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// A process that is killed while it reads a stream leaves nothing.
func TestFilesNeverHaveAName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Read(bytes.NewReader(make([]byte, memory+1)), 2*memory, dir)
	require.NoError(t, err)
	held, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", s.file.Fd()))
	require.NoError(t, err)
	require.Contains(t, held, "(deleted)")
	if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600); err == nil {
		require.NoError(t, unix.Close(fd))
		require.NotContains(t, held, ".nameless-", "here it never needs one")
	}
	require.NoError(t, s.Close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestWholeIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, memory - 1, memory, memory + 1, 3*memory + 7} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i / 251)
		}
		s, err := Read(iotest.HalfReader(bytes.NewReader(content)), int64(size), t.TempDir())
		require.NoError(t, err, size)
		require.Equal(t, int64(size), s.Size())
		require.Equal(t, size > memory, s.file != nil, "what is small stays in memory")
		for range 2 { // each reader begins anew
			got, err := io.ReadAll(s.Whole())
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, got), size)
		}
		_, err = Read(bytes.NewReader(content), int64(size)-1, t.TempDir())
		require.Equal(t, core.CodeLimit, core.CodeOf(err), size)
		require.NoError(t, s.Close())
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := Read(iotest.ErrReader(broken), memory, t.TempDir())
	require.ErrorIs(t, err, broken, "the reader's fault stays its own")
	_, err = Read(bytes.NewReader(make([]byte, memory+1)), 2*memory, t.TempDir()+"/gone")
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "see that it has room")
}
