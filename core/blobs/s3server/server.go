// Package s3server starts a real S3 service for tests, versitygw on a folder, as a process
// that dies with this one. Go's build cache has the program: scripts/servers.mod says which.
package s3server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"drover/core"
)

// The one key that the service knows.
const (
	Key    = "drover-key"
	Secret = "drover-secret"
)

// Server is an S3 service. Each folder below Buckets is a bucket.
type Server struct {
	Addr    string // 127.0.0.1:port
	Buckets string

	dir   string // removed by Stop
	path  string // of the program
	more  []string
	guard *exec.Cmd
	pipe  io.Closer // the guard lives until this is closed
}

// guardScript starts the service and stops it when standard input ends, which it does when
// the process at its other end dies. $0 is the program, $1 its log.
const guardScript = `log=$1; shift
"$0" "$@" >"$log" 2>&1 & pid=$!
cat >/dev/null
kill -9 "$pid"; wait "$pid" 2>/dev/null
true`

// Start starts a service without buckets, with more settings as on its command line, and
// returns once it answers. Returns UNAVAILABLE if there is no program for it, or it does not
// answer.
func Start(ctx context.Context, settings ...string) (*Server, error) {
	path, err := program(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "drover-s3-")
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "no temporary folder can be made")
	}
	s := &Server{dir: dir, path: path, more: settings, Buckets: filepath.Join(dir, "buckets")}
	if err := errors.Join(os.Mkdir(s.Buckets, 0o700), s.choose(ctx)); err != nil {
		return nil, errors.Join(core.Wrap(err, core.CodeUnavailable, "", "there is no room or port for an S3 service"), os.RemoveAll(dir))
	}
	if err := s.Restart(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// program builds the service, or finds it built.
func program(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", core.Wrap(err, core.CodeUnavailable, "", "the go command does not say where this module is")
	}
	build := exec.CommandContext(ctx, "go", "tool", "-n", "-modfile=scripts/servers.mod", "versitygw")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Dir = filepath.Dir(strings.TrimSpace(string(root)))
	var said strings.Builder
	build.Stderr = &said
	path, err := build.Output()
	if err != nil {
		return "", core.Wrap(err, core.CodeUnavailable, "", "the S3 service cannot be built: %s", said.String())
	}
	return strings.TrimSpace(string(path)), nil
}

// choose takes a port that is free now.
func (s *Server) choose(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.Addr = l.Addr().String()
	return l.Close()
}

// Restart starts a killed service again, on the same folder and port.
func (s *Server) Restart(ctx context.Context) error {
	args := slices.Concat([]string{
		"-c", guardScript, s.path, filepath.Join(s.dir, "log"),
		"--access", Key, "--secret", Secret, "--port", s.Addr, "--health", "/health", "--quiet", "--keep-alive",
	}, s.more, []string{"posix", s.Buckets})
	s.guard = exec.Command("/bin/sh", args...)                //nolint:noctx // it outlives ctx
	s.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // who kills our group leaves it to clean up
	pipe, err := s.guard.StdinPipe()
	if err == nil {
		err = s.guard.Start()
	}
	if err != nil {
		return core.Wrap(err, core.CodeUnavailable, "", "the S3 service cannot be started")
	}
	s.pipe = pipe
	return s.await(ctx)
}

// await returns once the service answers, or after half a minute.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr+"/health", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(ask)
		if err == nil {
			if err := answer.Body.Close(); err != nil || answer.StatusCode == http.StatusOK {
				return err
			}
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.dir, "log")) // what it says is all there is to know
			return core.Wrap(errors.Join(err, ctx.Err()), core.CodeUnavailable, "", "the S3 service does not answer: %s", log)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Kill ends the service as a loss of power does. What it keeps stays.
func (s *Server) Kill() error {
	if s.pipe == nil {
		return nil
	}
	err := s.pipe.Close()
	s.pipe = nil
	return errors.Join(err, s.guard.Wait())
}

// Stop kills the service and removes what it keeps.
func (s *Server) Stop() error {
	_ = s.Kill() // it reports its own violent end
	return os.RemoveAll(s.dir)
}

// Bucket makes a bucket and returns the URL that names it.
func (s *Server) Bucket(name string) (string, error) {
	err := os.Mkdir(filepath.Join(s.Buckets, name), 0o700)
	return s.URL(name), core.Wrap(err, core.CodeUnavailable, name, "bucket %s cannot be made", name)
}

// URL names a bucket, whether it is there or not.
func (s *Server) URL(bucket string) string {
	return fmt.Sprintf("s3://%s?endpoint=http://%s&region=us-east-1&use_path_style=true", bucket, s.Addr)
}

// Environment is what a process needs beside the URL; it keeps the machine's own settings out.
func Environment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": Key, "AWS_SECRET_ACCESS_KEY": Secret, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	}
}
