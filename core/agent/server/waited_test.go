package server

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Of all threads of a run the one counts that waited longest; what is no process of it does not count.
func TestHowLongARunWaited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"7/status": "Name:\tx\nState:\tR (running)\nPPid:\t1\n", "7/task/7/schedstat": "900000000 1000000 12\n", "7/task/8/schedstat": "1 2500000000 3\n",
		"9/status": "Name:\ty\nState:\tS (sleeping)\nPPid:\t1\n", "9/task/9/schedstat": "5 7000000000 1\n",
		"11/status": "Name:\tz\nState:\tR (running)\nPPid:\t1\n", "11/task/11/schedstat": "0\n",
	} {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	tree := &tree{proc: fd, init: true, list: make([]byte, 8<<10), text: make([]byte, 4<<10)}
	require.Equal(t, 2500*time.Millisecond, tree.waited(func(p process) bool { return p.pid != 9 }))
	require.Equal(t, 7*time.Second, tree.waited(func(process) bool { return true }))
	require.Zero(t, tree.waited(func(p process) bool { return p.pid == 11 }), "a kernel that does not count it")
}
