package process

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sleeper(t *testing.T) (*exec.Cmd, Process) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sleep", "1000")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	who, err := Identify(cmd.Process.Pid)
	require.NoError(t, err)
	return cmd, who
}

func isAlive(t *testing.T, p Process) bool {
	t.Helper()
	alive, err := p.Alive()
	require.NoError(t, err)
	return alive
}

func TestProcessDies(t *testing.T) {
	t.Parallel()
	cmd, who := sleeper(t)
	assert.True(t, isAlive(t, who))
	require.NoError(t, who.Kill(t.Context()))
	assert.False(t, isAlive(t, who), "dead, and not reaped yet")
	require.Error(t, cmd.Wait())
	assert.False(t, isAlive(t, who), "gone")
	require.NoError(t, who.Kill(t.Context()), "again")
}

// TestProcessIsAnother shows that a pid which went to another process is left alone.
func TestProcessIsAnother(t *testing.T) {
	t.Parallel()
	_, who := sleeper(t)
	for name, other := range map[string]Process{
		"started at another time":      {PID: who.PID, Start: who.Start + 1, Boot: who.Boot},
		"before the host last started": {PID: who.PID, Start: who.Start, Boot: "another"},
		"the host's first":             {PID: 1, Boot: who.Boot},
		"all of a group":               {PID: -who.PID, Start: who.Start, Boot: who.Boot},
		"nobody":                       {Boot: who.Boot},
	} {
		assert.False(t, isAlive(t, other), name)
		require.NoError(t, other.Kill(t.Context()), name)
		assert.True(t, isAlive(t, who), name)
	}
}

func TestIdentifyOddNames(t *testing.T) {
	t.Parallel()
	name := t.TempDir() + "/a) R 1 (b"
	require.NoError(t, os.Symlink("/bin/sleep", name))
	cmd := exec.CommandContext(t.Context(), name, "1000")
	require.NoError(t, cmd.Start())
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	odd, err := startOf(cmd.Process.Pid)
	require.NoError(t, err)
	own, err := startOf(os.Getpid())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, odd, own)
	assert.Less(t, odd, own+1e6, "ticks, not another field")
}
