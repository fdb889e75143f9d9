package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"drover/core"
)

// privateRedis is a redis-server of this process alone, in a folder of its own.
type privateRedis struct {
	url string
	dir string
	cmd *exec.Cmd
}

// startPrivateRedis starts one. Returns UNAVAILABLE if there is no redis-server to start.
func startPrivateRedis(ctx context.Context, aof string) (*privateRedis, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, core.Errorf(core.CodeUnavailable, "", "there is no redis-server on this machine: apt-get install redis-server")
	}
	dir, err := os.MkdirTemp("", "drover-bench-")
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "no temporary folder can be made")
	}
	socket := filepath.Join(dir, "redis.sock")
	args := []string{"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", dir, "--save", "", "--appendonly", "no"}
	if aof != "off" {
		args = append(args, "--appendonly", "yes", "--appendfsync", aof)
	}
	p := &privateRedis{url: "unix://" + socket, dir: dir, cmd: exec.Command(path, args...)} //nolint:gosec // our own words
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "redis-server cannot be started")
	}
	deadline, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(deadline, "unix", socket)
		if err == nil {
			return p, conn.Close()
		}
		select {
		case <-deadline.Done():
			_ = p.stop() // the first fault says more
			return nil, core.Wrap(err, core.CodeUnavailable, "", "redis-server does not answer")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (p *privateRedis) stop() error {
	_ = p.cmd.Process.Kill() // it may have ended already
	_ = p.cmd.Wait()         // and then says how
	return os.RemoveAll(p.dir)
}
