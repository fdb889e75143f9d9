// Package redisserver starts a real redis-server for this process alone: for
// tests and benchmarks. It dies with the process, however that dies.
package redisserver

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"drover/core"
)

// Server is a running redis-server, reachable over a socket in a folder of its own.
type Server struct {
	Socket string

	life  io.WriteCloser // the guard lives until this is closed
	guard *exec.Cmd
}

// guardScript starts the server and stops it when standard input ends, which it
// does when the process at its other end dies. $0 is redis-server, $1 the socket,
// $2 the folder; the rest is for the server.
const guardScript = `server=$0; socket=$1; dir=$2; shift 2
"$server" --port 0 --unixsocket "$socket" --unixsocketperm 700 --dir "$dir" --save "" "$@" >/dev/null 2>&1 &
pid=$!
read -r _
kill -9 "$pid"
wait "$pid" 2>/dev/null
rm -rf "$dir"`

// Start starts a server with more settings, each as on redis-server's own
// command line, and returns once it answers. Returns UNAVAILABLE if there is
// none to start or it does not answer.
func Start(ctx context.Context, settings ...string) (*Server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, core.Errorf(core.CodeUnavailable, "", "there is no redis-server on this machine: apt-get install redis-server")
	}
	dir, err := os.MkdirTemp("", "drover-redis-")
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "no temporary folder can be made")
	}
	s := &Server{Socket: filepath.Join(dir, "redis.sock")}
	args := append([]string{"-c", guardScript, path, s.Socket, dir}, settings...)
	s.guard = exec.Command("/bin/sh", args...)                //nolint:noctx // it outlives ctx
	s.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // who kills our group leaves it to clean up
	if s.life, err = s.guard.StdinPipe(); err == nil {
		err = s.guard.Start()
	}
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "redis-server cannot be started")
	}
	if err := s.await(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// await returns once the server takes connections.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", s.Socket)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			_ = s.Stop() // the first fault says more
			return core.Wrap(err, core.CodeUnavailable, "", "redis-server does not answer")
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// URL is how go-redis names the server.
func (s *Server) URL() string { return "unix://" + s.Socket }

// Stop kills the server and removes its folder.
func (s *Server) Stop() error {
	_ = s.life.Close() // the guard then ends the server
	return s.guard.Wait()
}
