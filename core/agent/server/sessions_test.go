package server

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/agent/wire"
)

// A session is put behind once, by whichever process of it lets the agent; those that
// do not are counted, each once.
func TestLoudSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "7", "autogroup")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	j := &job{agent: &Agent{tree: &tree{proc: fd, autogroups: true}}, held: map[string]string{}, session: 6}
	var loud []int
	for pid := 5; pid < 14; pid++ { // two in each session
		loud = j.loud(loud, process{pid: pid, session: pid / 2})
	}
	assert.Equal(t, []int{2, 3, 4, 5}, loud, "6 is closed, and comes before 7; session 6 is the run's own")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, furtherNice, string(text))
	assert.Empty(t, j.loud(nil, process{pid: 6, session: 3}), "it is behind now")
	j.held[wire.LimitCPU] = wire.HeldByCgroup
	assert.Empty(t, j.loud(nil, process{pid: 8, session: 4}), "a cgroup knows no sessions")
}
