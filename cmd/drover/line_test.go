package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// line is what a component reaches Redis through where a test wants it cut: it can
// hold what the component says, and lose what it is answered.
type line struct {
	to     string // the socket of Redis
	socket net.Listener

	mu   sync.Mutex
	hold func(said []byte) bool // nil: nothing
	lose func(answer []byte) bool
	free chan struct{} // closed when what is held may go on

	held, answers int // so far
}

// newLine makes a line to the herd's Redis.
func (h *testHerd) newLine() *line {
	h.t.Helper()
	dir, err := os.MkdirTemp(h.cfg.Data, "line-")
	require.NoError(h.t, err)
	l := &line{to: h.redis.Socket, free: make(chan struct{})}
	l.socket, err = net.Listen("unix", filepath.Join(dir, "l"))
	require.NoError(h.t, err)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := l.socket.Accept()
			if err != nil {
				return // closed
			}
			conns.Go(func() { l.serve(client) })
		}
	})
	h.t.Cleanup(func() {
		l.release()
		require.NoError(h.t, l.socket.Close())
		conns.Wait()
	})
	return l
}

// over makes the herd's next components use the line.
func (h *testHerd) over(l *line) *testHerd {
	return h.with("DROVER_REDIS=unix://" + l.socket.Addr().String())
}

// serve is one connection.
func (l *line) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", l.to)
	if err != nil {
		return
	}
	defer server.Close()
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
		_ = half.CloseWrite() // Redis answers what it was told before it hangs up
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

// holds makes the line hold whatever has the text in it, "" for everything. It is
// delivered, late, after release: even if who said it is gone by then.
func (l *line) holds(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = func(said []byte) bool { return bytes.Contains(said, []byte(text)) }
}

// loses makes the line lose every nth answer, and its connection.
func (l *line) loses(nth int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	l.lose = func([]byte) bool {
		n++
		return n%nth == 0
	}
}

// release lets what is held go on, and holds and loses nothing more.
func (l *line) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.free)
	l.hold, l.lose, l.free = nil, nil, make(chan struct{})
}

// awaitHeld waits until something is held.
func (l *line) awaitHeld(t *testing.T) {
	t.Helper()
	await(t, "something is held on the line", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.held > 0
	})
}

// answered counts what came back so far.
func (l *line) answered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers
}
