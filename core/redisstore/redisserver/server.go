// Package redisserver starts real redis-servers for this process alone: one, a
// primary with replicas and Sentinels. For tests and
// drover-lab. They die with the process, however that dies.
package redisserver

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"drover/core"
	"drover/core/service/guard"
)

// Server is a redis-server, reachable over a socket in a folder of its own.
type Server struct {
	Dir    string // what it keeps; removed by Stop
	Socket string
	Addr   string // 127.0.0.1:port, if it listens on one

	guard *guard.Guard
}

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
	if s.guard, err = guard.Start("redis-server", path, dir, append(args, settings...)...); err != nil {
		return nil, err
	}
	if err := s.await(ctx); err != nil {
		_ = s.Stop() // the first fault says more
		return nil, err
	}
	return s, nil
}

// await returns once the server takes connections.
func (s *Server) await(ctx context.Context) error { return s.guard.Await(ctx, s.Socket) }

// Kill ends the server as a loss of power does. Its folder stays.
func (s *Server) Kill() error { return s.guard.Kill() }

// Pause stops it where it is (SIGSTOP), Resume lets it go on.
func (s *Server) Pause() error { return s.guard.Pause() }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.guard.Resume() }

// Restart starts a killed server again in its folder and returns once it answers.
func (s *Server) Restart(ctx context.Context) error {
	if err := os.Remove(s.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return core.Wrap(err, core.CodeUnavailable, s.Socket, "the socket of the killed server cannot be removed")
	}
	if err := s.guard.Again(); err != nil {
		return err
	}
	return s.await(ctx)
}

// URL is how go-redis names the server.
func (s *Server) URL() string { return "unix://" + s.Socket }

// Stop kills the server and removes its folder.
func (s *Server) Stop() error { return s.guard.Stop() }
