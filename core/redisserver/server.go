// Package redisserver starts real redis-servers for this process alone: one, a
// primary with replicas and Sentinels, or a Cluster. For tests, drills and
// benchmarks. They die with the process, however that dies.
package redisserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"drover/core"
)

// Server is a redis-server, reachable over a socket in a folder of its own.
type Server struct {
	Dir    string // what it keeps; removed by Stop
	Socket string
	Addr   string // 127.0.0.1:port, if it listens on one

	guard  *exec.Cmd
	orders io.WriteCloser // the guard lives until this is closed
	done   *bufio.Scanner // a line for each order that was carried out
}

// guardScript starts the server, does what standard input says, and stops the server when
// that ends, which it does when the process at its other end dies. $0 is redis-server, $1 the
// folder; the rest is for the server.
const guardScript = `server=$0; dir=$1; shift
run() { "$server" "$@" >/dev/null 2>&1 & pid=$!; }
end() { kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }
run "$@"
while read -r order; do
	case $order in
	start) run "$@" ;;
	kill) end ;;
	*) kill -"$order" "$pid" ;;
	esac
	echo "$order"
done
end
rm -rf "$dir"`

// Start starts a server with more settings, each as on redis-server's own
// command line, and returns once it answers. Returns UNAVAILABLE if there is
// none to start or it does not answer.
func Start(ctx context.Context, settings ...string) (*Server, error) {
	return start(ctx, "", settings...)
}

// start starts a server, from a file of settings unless that is empty.
func start(ctx context.Context, file string, settings ...string) (*Server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, core.Errorf(core.CodeUnavailable, "", "there is no redis-server on this machine: apt-get install redis-server")
	}
	dir, err := os.MkdirTemp("", "drover-redis-")
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "no temporary folder can be made")
	}
	s := &Server{Dir: dir, Socket: filepath.Join(dir, "redis.sock")}
	var args []string
	if file != "" {
		conf := filepath.Join(dir, "redis.conf")
		if err := os.WriteFile(conf, []byte(file), 0o600); err != nil {
			return nil, errors.Join(core.Wrap(err, core.CodeUnavailable, conf, "the settings of redis-server cannot be written"), os.RemoveAll(dir))
		}
		args = append(args, conf)
	}
	args = append(args, "--port", "0", "--unixsocket", s.Socket, "--unixsocketperm", "700", "--dir", dir)
	if file == "" {
		args = append(args, "--save", "")
	}
	s.guard = exec.Command("/bin/sh", append(append([]string{"-c", guardScript, path, dir}, args...), settings...)...) //nolint:noctx // it outlives ctx
	s.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                                                          // who kills our group leaves it to clean up
	s.orders, err = s.guard.StdinPipe()
	if err == nil {
		var out io.Reader
		out, err = s.guard.StdoutPipe()
		s.done = bufio.NewScanner(out)
	}
	if err == nil {
		err = s.guard.Start()
	}
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "redis-server cannot be started")
	}
	if err := s.await(ctx); err != nil {
		_ = s.Stop() // the first fault says more
		return nil, err
	}
	return s, nil
}

// await returns once the server takes connections.
func (s *Server) await(ctx context.Context) error {
	return eventually(ctx, "redis-server does not answer", func() error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", s.Socket)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// eventually tries until fn succeeds, for half a minute at the most.
func eventually(ctx context.Context, otherwise string, fn func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := fn()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return core.Wrap(err, core.CodeUnavailable, "", "%s", otherwise)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// order has the guard do something, and returns once it is done.
func (s *Server) order(word string) error {
	if _, err := io.WriteString(s.orders, word+"\n"); err != nil {
		return core.Wrap(err, core.CodeUnavailable, "", "the guard of redis-server is gone")
	}
	if !s.done.Scan() {
		return core.Errorf(core.CodeUnavailable, "", "the guard of redis-server is gone")
	}
	return nil
}

// Kill ends the server as a loss of power does. Its folder stays.
func (s *Server) Kill() error { return s.order("kill") }

// Pause stops it where it is (SIGSTOP), Resume lets it go on.
func (s *Server) Pause() error { return s.order("STOP") }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.order("CONT") }

// Restart starts a killed server again in its folder and returns once it answers.
func (s *Server) Restart(ctx context.Context) error {
	if err := os.Remove(s.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return core.Wrap(err, core.CodeUnavailable, s.Socket, "the socket of the killed server cannot be removed")
	}
	if err := s.order("start"); err != nil {
		return err
	}
	return s.await(ctx)
}

// URL is how go-redis names the server.
func (s *Server) URL() string { return "unix://" + s.Socket }

// Stop kills the server and removes its folder.
func (s *Server) Stop() error {
	_ = s.orders.Close() // the guard then ends the server
	return s.guard.Wait()
}
