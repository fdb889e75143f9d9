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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
)

// The one key that the service knows.
const (
	Key    = "drover-key"
	Secret = "drover-secret"
)

// Server is an S3 service.
type Server struct {
	Addr string // 127.0.0.1:port

	dir     string // removed by stop
	buckets string // each folder below is a bucket
	path    string // of the program
	more    []string
	guard   *exec.Cmd
	pipe    io.Closer // the guard lives until this is closed
}

// guardScript starts the service and stops it when standard input ends, which it does when
// the process at its other end dies. $0 is the program, $1 its log.
const guardScript = `log=$1; shift
"$0" "$@" >"$log" 2>&1 & pid=$!
cat >/dev/null
kill -9 "$pid"; wait "$pid" 2>/dev/null
true`

// Start starts a service without buckets for a test, with more settings as on its command line, and returns once it
// answers. It ends with the test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	tier.Need(t, tier.S3)
	path, err := program()
	if err != nil {
		coretest.Missing(t, "versitygw", err)
	}
	dir, err := os.MkdirTemp(memory(), "drover-s3-")
	require.NoError(t, err)
	s := &Server{dir: dir, path: path, more: settings, buckets: filepath.Join(dir, "buckets")}
	t.Cleanup(s.stop)
	require.NoError(t, errors.Join(os.Mkdir(s.buckets, 0o700), s.choose(t.Context())))
	s.Restart(t)
	return s
}

// memory is a folder for what need not survive a loss of power: nothing there waits for a disk. The service cannot be
// told to do without.
func memory() string {
	const shared = "/dev/shm"
	if unix.Access(shared, unix.W_OK) == nil {
		return shared
	}
	return os.TempDir()
}

// program builds the service, or finds it built.
var program = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", core.Wrap(err, core.CodeUnavailable, "", "the go command does not say where this module is")
	}
	build := exec.Command("go", "tool", "-n", "-modfile=scripts/servers.mod", "versitygw")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Dir = filepath.Dir(strings.TrimSpace(string(root)))
	var said strings.Builder
	build.Stderr = &said
	path, err := build.Output()
	if err != nil {
		return "", core.Wrap(err, core.CodeUnavailable, "", "the S3 service cannot be built: %s", said.String())
	}
	return strings.TrimSpace(string(path)), nil
})

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
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	args := slices.Concat([]string{
		"-c", guardScript, s.path, filepath.Join(s.dir, "log"),
		"--access", Key, "--secret", Secret, "--port", s.Addr, "--health", "/health", "--quiet", "--keep-alive",
	}, s.more, []string{"posix", s.buckets})
	s.guard = exec.Command("/bin/sh", args...)
	s.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // who kills our group leaves it to clean up
	pipe, err := s.guard.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, s.guard.Start())
	s.pipe = pipe
	require.NoError(t, s.await(t.Context()))
}

// await returns once the service answers, or after minutes.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
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

// stop kills the service and removes what it keeps.
func (s *Server) stop() {
	_ = s.Kill()            // it reports its own violent end
	_ = os.RemoveAll(s.dir) // a temporary folder
}

// Bucket makes a bucket and returns the URL that names it.
func (s *Server) Bucket(t testing.TB, name string) string {
	t.Helper()
	require.NoError(t, os.Mkdir(s.Path(name, ""), 0o700))
	return s.URL(name)
}

// Path is where the service has a bucket's file.
func (s *Server) Path(bucket, key string) string {
	return filepath.Join(s.buckets, bucket, filepath.FromSlash(key))
}

// URL names a bucket, whether it is there or not.
func (s *Server) URL(bucket string) string {
	return fmt.Sprintf("s3://%s?endpoint=http://%s&region=us-east-1&use_path_style=true", bucket, s.Addr)
}

// Environment is what a process needs beside the URL; it keeps the machine's own settings out.
func Environment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": Key, "AWS_SECRET_ACCESS_KEY": Secret,
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	}
}
