package attack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestHostState shows that the comparison sees what is left, and says what.
func TestHostState(t *testing.T) {
	t.Parallel()
	was := stateOfHost()
	assert.NotEmpty(t, was.texts)
	for name := range was.counts {
		assert.Contains(t, tolerances, name)
	}
	for name := range tolerances {
		assert.Contains(t, was.counts, name)
	}
	for name := range tolerances {
		now := state{texts: was.texts, counts: map[string]int64{}}
		for other, n := range was.counts {
			now.counts[other] = n + tolerances[other]
		}
		assert.Empty(t, was.more(now), "what others may take")
		now.counts[name]++
		require.Len(t, was.more(now), 1)
		assert.Contains(t, was.more(now)[0], name)
	}
	now := state{texts: map[string]string{}, counts: was.counts}
	for name, text := range was.texts {
		now.texts[name] = text
	}
	now.texts["/proc/sys/kernel/hostname"] = "another"
	require.Len(t, was.more(now), 1)
	assert.Contains(t, was.more(now)[0], "hostname")

	f, err := os.Create(filepath.Join(t.TempDir(), "locked"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	all := stateOfHost().counts
	assert.Positive(t, all["locks on files"])
	for _, kind := range []string{"net", "mnt", "pid", "user"} {
		assert.Positive(t, all["namespaces: "+kind], kind)
	}

	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Skipf("no shared memory here: %v", err)
	}
	defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	assert.Positive(t, stateOfHost().counts["shared memory, queues, semaphores"])
}
