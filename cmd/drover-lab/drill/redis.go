package drill

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// server is the cluster's redis-server, with AOF, whose clock can be moved where
// there is libfaketime.
type server struct {
	component
	url   string
	kept  string // folder of its append-only file
	clock string // file that says how far its clock is ahead; "" if it cannot be moved
	why   string // why not
}

// Where distributions put libfaketime and the C library.
var (
	fakers = []string{"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib*/faketime/libfaketime.so.1", "/usr/lib*/libfaketime.so.1"}
	libcs  = []string{"/lib/*/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"}
)

// newServer prepares the server. It listens on address, or on a socket in its
// folder if that is "".
func newServer(ctx context.Context, dir, address string, log *os.File) (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, core.Errorf(core.CodeUnavailable, "", "there is no redis-server on this machine: apt-get install redis-server")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "a folder for Redis cannot be made")
	}
	s := &server{component: component{name: "redis", log: log}, kept: filepath.Join(dir, "appendonlydir")}
	s.argv = []string{path, "--dir", dir, "--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction"}
	if address == "" {
		socket := filepath.Join(dir, "redis.sock")
		s.url = "unix://" + socket
		s.argv = append(s.argv, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700")
	} else {
		s.url = "redis://" + address + ":6379"
		s.argv = append(s.argv, "--port", "6379", "--bind", address, "--protected-mode", "no")
	}
	s.env = []string{"PATH=" + os.Getenv("PATH")}
	s.fake(ctx, dir)
	return s, nil
}

// wipe removes all that a server which is down had kept.
func (s *server) wipe() error {
	return core.Wrap(os.RemoveAll(s.kept), core.CodeUnavailable, s.kept, "what Redis kept cannot be removed")
}

// saved is the folder of the copy of what the server had written.
func (s *server) saved() string { return s.kept + ".saved" }

// save copies what the server has written; it writes on meanwhile, and the copy ends somewhere.
func (s *server) save() error {
	err := os.RemoveAll(s.saved())
	if err == nil {
		err = os.CopyFS(s.saved(), os.DirFS(s.kept))
	}
	return core.Wrap(err, core.CodeUnavailable, s.kept, "what Redis keeps cannot be copied")
}

// restore puts the copy in the place of what a server which is down had kept.
func (s *server) restore() error {
	err := os.RemoveAll(s.kept)
	if err == nil {
		err = os.Rename(s.saved(), s.kept)
	}
	return core.Wrap(err, core.CodeUnavailable, s.kept, "what Redis kept cannot be restored")
}

// fake puts the server under a clock that can be moved.
func (s *server) fake(ctx context.Context, dir string) {
	faker, libc := first(fakers), first(libcs)
	if faker == "" || libc == "" {
		s.why = "there is no libfaketime on this machine: apt-get install libfaketime"
		return
	}
	s.clock = filepath.Join(dir, "clock")
	// Memory comes from the C library: jemalloc asks for the time before libfaketime is ready.
	env := append(slices.Clone(s.env), "LD_PRELOAD="+faker+":"+libc, "FAKETIME_TIMESTAMP_FILE="+s.clock,
		"FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
	err := s.jump(0)
	if err == nil {
		try := exec.CommandContext(ctx, s.argv[0], "--version")
		try.Env = env
		if out, failed := try.CombinedOutput(); failed != nil || strings.Contains(string(out), "libfaketime") {
			err = fmt.Errorf("redis-server does not run under libfaketime: %s", strings.TrimSpace(string(out)))
		}
	}
	if err != nil {
		s.clock, s.why = "", err.Error()
		return
	}
	s.env = env
}

// first returns the first file that one of the patterns matches, or "".
func first(patterns []string) string {
	for _, p := range patterns {
		if found, err := filepath.Glob(p); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// jump moves the server's clock to so much ahead of the true time.
func (s *server) jump(ahead time.Duration) error {
	text := "+0"
	if ahead != 0 {
		text = fmt.Sprintf("%+d", int64(ahead.Seconds()))
	}
	// In one step: the server may read it any time.
	next := s.clock + ".next"
	if err := os.WriteFile(next, []byte(text+"\n"), 0o600); err != nil {
		return core.Wrap(err, core.CodeUnavailable, s.clock, "the clock of Redis cannot be moved")
	}
	return core.Wrap(os.Rename(next, s.clock), core.CodeUnavailable, s.clock, "the clock of Redis cannot be moved")
}

// fill leaves the server so little memory that it refuses what needs more, whatever ends
// meanwhile, or lifts that.
func fill(ctx context.Context, c *Client, full bool) error {
	most := "0"
	if full {
		facts, err := c.Redis.Server(ctx)
		if err != nil {
			return err
		}
		used, err := strconv.ParseInt(facts["used_memory"], 10, 64)
		if err != nil {
			return core.Wrap(err, core.CodeUnavailable, "", "Redis does not say what memory it uses")
		}
		most = strconv.FormatInt(used/2, 10)
	}
	return core.Wrap(c.Redis.Client().ConfigSet(ctx, "maxmemory", most).Err(), core.CodeUnavailable, "", "maxmemory of Redis cannot be set")
}
