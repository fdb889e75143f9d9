package coretest

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Line is a connection to a server that a test can disturb: it can hold what the program sends, and lose answers.
type Line struct {
	Socket string // where it listens; of the form that MongoDB's driver takes too

	to       string // the server's socket
	listener net.Listener

	mu   sync.Mutex
	hold func(said []byte) bool // nil: nothing
	lose func(answer []byte) bool
	free chan struct{} // closed when what is held may go on

	held, answers int // so far
}

// NewLine makes a line to the unix socket of a server.
func NewLine(t testing.TB, to string) *Line {
	t.Helper()
	dir, err := os.MkdirTemp("", "line-") // t.TempDir's names are too long for sockets
	require.NoError(t, err)
	l := &Line{Socket: filepath.Join(dir, "l.sock"), to: to, free: make(chan struct{})}
	l.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "unix", l.Socket)
	require.NoError(t, err)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := l.listener.Accept()
			if err != nil {
				return // closed
			}
			conns.Go(func() { l.serve(client) })
		}
	})
	t.Cleanup(func() {
		l.Release()
		require.NoError(t, l.listener.Close())
		conns.Wait()
		require.NoError(t, os.RemoveAll(dir))
	})
	return l
}

// serve is one connection.
func (l *Line) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(context.Background(), "unix", l.to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		pass(client, server, func(answer []byte) bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.answers++
			return l.lose == nil || !l.lose(answer)
		})
		_ = client.Close() // ends the other direction
	}()
	pass(server, client, func(said []byte) bool {
		l.mu.Lock()
		if l.hold == nil || !l.hold(said) {
			l.mu.Unlock()
			return true
		}
		l.held++
		free := l.free
		l.mu.Unlock()
		<-free
		return true
	})
	if half, ok := server.(*net.UnixConn); ok {
		_ = half.CloseWrite() // the server answers what it was told before it hangs up
	}
	<-answers
}

// pass copies as long as good says so.
func pass(to io.Writer, from io.Reader, good func([]byte) bool) {
	buf := make([]byte, 1<<20)
	for {
		n, err := from.Read(buf)
		if n > 0 && !good(buf[:n]) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Holds makes the line hold everything sent with the text in it, "" for all. It is delivered late, after Release,
// even if the sender is gone by then.
func (l *Line) Holds(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = func(said []byte) bool { return bytes.Contains(said, []byte(text)) }
}

// Loses makes the line lose every nth answer, and its connection.
func (l *Line) Loses(nth int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	l.lose = func([]byte) bool {
		n++
		return n%nth == 0
	}
}

// Release lets what is held go on, and holds and loses nothing more.
func (l *Line) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.free)
	l.hold, l.lose, l.free = nil, nil, make(chan struct{})
}

// Held counts what was held so far.
func (l *Line) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// Answered counts what came back so far.
func (l *Line) Answered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers
}
