package server

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair is a connection: the agent's end and its peer's.
func pair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs = os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	t.Cleanup(func() {
		assert.NoError(t, ours.Close())
		assert.NoError(t, theirs.Close())
	})
	return ours, theirs
}

// A connection that sends nothing, or stops in the middle, is not waited for.
func TestConnectionsDoNotWaitForever(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said       string
		idle, head time.Duration
		status     int // of the answer; 0 is none
	}{
		"says nothing":         {idle: time.Millisecond, head: time.Hour},
		"stops in a line":      {said: "GET /sta", idle: time.Hour, head: time.Millisecond, status: http.StatusBadRequest},
		"stops in the headers": {said: "GET /status HTTP/1.1\r\nA: b\r\n", idle: time.Hour, head: time.Millisecond, status: http.StatusBadRequest},
		"stops before the body": {
			said: "PUT /assignment HTTP/1.1\r\nAuthorization: Bearer s\r\nContent-Length: 9\r\n\r\n", idle: time.Hour, head: time.Second,
			status: http.StatusBadRequest,
		},
		"says no more": {said: "GET /x HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n", idle: time.Hour, head: time.Hour, status: http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := pair(t)
			a := &Agent{idle: c.idle, head: c.head}
			a.cfg.Secret = "s"
			_, err := io.WriteString(theirs, c.said)
			require.NoError(t, err)
			if name == "says no more" { // what is refused is drained, and ends with its sender
				require.NoError(t, syscall.Shutdown(int(theirs.Fd()), syscall.SHUT_WR))
			}
			a.serve(ours) // it returns
			require.NoError(t, syscall.Shutdown(int(ours.Fd()), syscall.SHUT_WR))
			answer, err := http.ReadResponse(bufio.NewReader(theirs), nil)
			if c.status == 0 {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				return
			}
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			assert.Equal(t, c.status, answer.StatusCode)
		})
	}
}
