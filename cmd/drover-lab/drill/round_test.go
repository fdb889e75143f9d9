package drill

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStopped(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "infinity")
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	require.False(t, stopped(cmd.Process.Pid))
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { return stopped(cmd.Process.Pid) }, time.Minute, time.Millisecond)
	require.False(t, stopped(0), "no process")
}

func TestWhatAServerIsGivenIsRead(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			fmt.Fprint(conn, "+OK\r\n+1 [0 10.118.0.10:1] \"hget\" \"a:meta\" \"planned\"\r\n+1 [0 10.118.0.11:2] \"echo\" \"x\"\r\n")
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := monitor(ctx, "redis://"+l.Addr().String())
	require.NoError(t, err)
	defer c.close()
	var seen []string
	require.True(t, c.until(func(line string) bool {
		seen = append(seen, line)
		return len(seen) == 3
	}))
	require.Contains(t, seen[1], `10.118.0.10:1] "hget" "a:meta" "planned"`)
	cancel()
	require.False(t, c.until(func(string) bool { return true }), "it ends with its context")
	_, err = monitor(t.Context(), "redis://127.0.0.1:1")
	require.True(t, errors.Is(err, syscall.ECONNREFUSED) || os.IsTimeout(err), "%v", err)
}
