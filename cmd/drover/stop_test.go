package main

import (
	"bytes"
	"net"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest/tier"
)

// A component that is stopped while it still connects exits without an error, as
// supervisord and systemd expect: it holds no work.
func TestAStopWhileStarting(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	path, err := program()
	require.NoError(t, err)
	for _, role := range []string{"testrunner", "vmfactory", "taskrunner", "overseer", "web", "up"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			silent, err := net.Listen("tcp4", "127.0.0.1:0")
			require.NoError(t, err)
			defer silent.Close()
			cmd := exec.CommandContext(t.Context(), path, role)
			var said bytes.Buffer
			cmd.Stderr = &said
			cmd.Env = []string{"DROVER_DATA=" + t.TempDir(), "DROVER_REDIS=redis://" + silent.Addr().String(), "DROVER_HOST=h1"}
			require.NoError(t, cmd.Start())
			conn, err := silent.Accept() // it waits for an answer that never comes
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, cmd.Wait(), "drover said: %s", &said)
		})
	}
}
