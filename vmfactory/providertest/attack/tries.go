package attack

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/probe"
)

// probeOf makes an attack of one probe that aims at nothing.
func probeOf(name string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		t.Helper()
		return s.inside(t, name, probe.Target{})
	}
}

func agentFiles(t *testing.T, s *scene) []string {
	t.Helper()
	return s.inside(t, "agent-files", probe.Target{PID: 1})
}

// agentThreads signals whatever number may be a thread of the agent.
func agentThreads(t *testing.T, s *scene) []string {
	t.Helper()
	leaks := s.inside(t, "agent-threads", probe.Target{})
	const scopes = 6 // the version of Landlock that has them
	if version, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1); version >= scopes && version < 1000 {
		return leaks
	}
	for i := range leaks {
		leaks[i] += ": " + noScopes
	}
	return leaks
}

const noScopes = "this kernel's Landlock has no scopes"

// forkBomb has processes, and threads, beyond the limit while another VM works.
func forkBomb(t *testing.T, s *scene) []string {
	t.Helper()
	most := providertest.Pool().Limits.Pids
	v, other := s.Armed(t, providertest.Pool()), s.Armed(t, providertest.Pool())
	ended := make(chan providertest.Outcome, 1)
	go func() {
		ended <- v.Do(t, core.Limits{Timeout: 3 * time.Second}, nil, "/bin/sh", "-c", "b() { b | b & b; }; b")
	}()
	other.Alive(t) // while the bomb goes off
	<-ended        // its shells may have coped with the kernel's refusals
	v.Alive(t)
	o := v.Probe(t, "threads", probe.Target{Most: int64(3 * most)})
	v.Alive(t)
	s.end(t, v)
	if strings.HasPrefix(o.Stdout, "got through") {
		return got(t, o)
	}
	assert.True(t, strings.Contains(o.Stderr, "errno=11") || o.Limit() == core.LimitPids, "%+v", o)
	return nil
}

func memoryBomb(t *testing.T, s *scene) []string {
	t.Helper()
	most := providertest.Pool().Limits.Memory
	v := s.Armed(t, providertest.Pool())
	o := v.Probe(t, "memory", probe.Target{Most: 8 * most})
	v.Alive(t)
	s.end(t, v)
	assert.Equal(t, core.LimitMemory, o.Limit(), "%+v", o)
	assert.Positive(t, o.MemoryPeakBytes)
	if o.Limit() == core.LimitMemory {
		return nil
	}
	return got(t, o)
}

// memoryElsewhere has twice the limit in memory that is no process's own, in VMs that
// were given files before. Some of it stays when its maker is dead, and the agent, which
// does not share it, must be able to work on.
func memoryElsewhere(t *testing.T, s *scene) []string {
	t.Helper()
	var leaks []string
	pool := providertest.Pool()
	target := probe.Target{Most: 2 * pool.Limits.Memory, Folders: []string{"/tmp", agent.HomeDir, "/dev/shm"}}
	for _, name := range []string{"memory-files", "memory-file", "memory-system-v", "memory-pipes", "memory-tables"} {
		v := s.Armed(t, pool)
		require.NoError(t, v.Stage(t.Context(), wire.Submission, oneFile(t, 20<<20)))
		o, err := v.Try(t, core.Limits{}, nil, v.ProbeArgs(name, target)...)
		if err == nil {
			err = v.Stage(t.Context(), wire.Harness, oneFile(t, 2<<20))
		}
		switch {
		case core.Is(err, core.CodeBadVM):
			leaks = append(leaks, name+": the VM's agent was killed, too")
		case err != nil:
			require.NoError(t, err)
		case o.Limit() != core.LimitMemory && o.Signal != "SIGKILL":
			leaks = append(leaks, got(t, o)...)
		}
		s.end(t, v) // a VM that is full up to its limit has no room for another run
	}
	return leaks
}

// oneFile is an archive with a file of so many zeros, written by hand: a tar.Writer
// copies them in small pieces.
func oneFile(t *testing.T, size int64) io.Reader {
	t.Helper()
	var archive bytes.Buffer
	require.NoError(t, tar.NewWriter(&archive).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "file", Mode: 0o600, Size: size}))
	const block = 512
	require.Zero(t, size%block, "no padding follows")
	return io.MultiReader(&archive, bytes.NewReader(make([]byte, size+2*block)))
}

func sparseFile(t *testing.T, s *scene) []string {
	t.Helper()
	return s.inside(t, "file-size", probe.Target{Most: 1 << 40})
}

// uploads submits archives that would grow beyond all bounds.
func uploads(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	var leaks []string
	long := strings.Repeat("d/", wire.MaxDepth+1)
	for what, write := range map[string]func(*tar.Writer) error{
		"bytes": func(w *tar.Writer) error {
			const size = 1 << 40
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "large", Mode: 0o600, Size: size}); err != nil {
				return err
			}
			_, err := io.Copy(w, io.LimitReader(zeros{}, size))
			return err
		},
		"entries": func(w *tar.Writer) error {
			for i := range 4 * wire.MaxEntries {
				if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("f%d", i), Mode: 0o600}); err != nil {
					return err
				}
			}
			return nil
		},
		"depth": func(w *tar.Writer) error {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: long, Mode: 0o700})
		},
		"a climbing name": func(w *tar.Writer) error {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "../../tmp/x", Mode: 0o600})
		},
		"a link": func(w *tar.Writer) error {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "x", Linkname: "/etc/passwd"})
		},
		"a device": func(w *tar.Writer) error {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeChar, Name: "x", Devmajor: 1, Devminor: 3})
		},
		"a name with an escape": func(w *tar.Writer) error {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "x\x1b[2J", Mode: 0o600})
		},
	} {
		from, to := io.Pipe()
		go func() {
			w := tar.NewWriter(to)
			err := write(w)
			if err == nil {
				err = w.Close()
			}
			_ = to.CloseWithError(err)
		}()
		err := v.Stage(t.Context(), wire.Submission, from)
		_ = from.CloseWithError(io.ErrClosedPipe)
		if !core.Is(err, core.CodeLimit) && !core.Is(err, core.CodeInvalid) {
			leaks = append(leaks, fmt.Sprintf("an archive with too much of %s: %v", what, err))
		}
	}
	o := v.Do(t, core.Limits{}, nil, "/bin/sh", "-c", "ls -A "+agent.SubmissionDir+" /tmp")
	assert.NotContains(t, o.Stdout, "x\n")
	v.Alive(t)
	s.end(t, v)
	return leaks
}

type zeros struct{}

// Read makes zeros.
func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func deepTree(t *testing.T, s *scene) []string {
	t.Helper()
	return s.inside(t, "deep", probe.Target{Most: 20_000, Folders: []string{"/tmp"}})
}

// insideTheHost tries to reach a server that listens on all of the host's addresses.
func insideTheHost(t *testing.T, s *scene) []string {
	t.Helper()
	server, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	defer server.Close() //nolint:errcheck // of a test
	_, port, err := net.SplitHostPort(server.Addr().String())
	require.NoError(t, err)
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	var leaks []string
	for _, a := range addresses {
		ip, _, err := net.ParseCIDR(a.String())
		if err != nil || ip.IsLinkLocalUnicast() {
			continue
		}
		leaks = append(leaks, s.inside(t, "host-loopback", probe.Target{TCP: net.JoinHostPort(ip.String(), port), Abstract: "@none"})...)
	}
	return leaks
}

// locksAcross looks in one VM for a lock that another one holds.
func locksAcross(t *testing.T, s *scene) []string {
	t.Helper()
	pool := providertest.Pool()
	pool.Limits.Timeout = time.Hour // it holds the lock until it is killed, however long the other VM takes
	v := s.Armed(t, pool)
	shared := probe.Target{Files: []string{"/usr/bin/env"}, PID: 1}
	locked := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := v.Run(t.Context(), agent.Run{Args: v.ProbeArgs("locks", shared)}, func(string, []byte) { close(locked) })
		ended <- err
	}()
	select {
	case <-locked:
	case err := <-ended:
		require.NoError(t, err)
		require.Fail(t, "who was to hold the lock has ended")
	}
	shared.PID = 0
	leaks := s.inside(t, "locks", shared)
	require.NoError(t, v.Kill(t.Context()))
	require.NoError(t, <-ended, "it was killed, as it should be")
	s.end(t, v)
	return leaks
}

// queuesAcross looks for a message queue of a VM in another one.
func queuesAcross(t *testing.T, s *scene) []string {
	t.Helper()
	name := providertest.Name()
	return append(s.inside(t, "queues", probe.Target{Marker: name}), s.inside(t, "queues", probe.Target{Marker: name})...)
}

func zombieFlood(t *testing.T, s *scene) []string {
	t.Helper()
	return s.inside(t, "zombies", probe.Target{Most: int64(3 * providertest.Pool().Limits.Pids)})
}

// streams holds up each of a run's streams in turn.
func streams(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	short := core.Limits{Timeout: 300 * time.Millisecond}
	never, open := io.Pipe()
	defer open.Close() //nolint:errcheck // of a test
	o := v.Do(t, short, never, "/bin/cat")
	assert.True(t, o.TimedOut, "its stdin never ends: %+v", o)
	o = v.Do(t, core.Limits{}, io.LimitReader(zeros{}, 64<<20), "/bin/true")
	assert.Zero(t, o.Code, "it never reads its stdin: %+v", o)
	o = v.Do(t, short, io.LimitReader(zeros{}, 64<<20), "/bin/sh", "-c", "while :; do :; done")
	assert.True(t, o.TimedOut, "it never reads and never ends: %+v", o)
	o = v.Do(t, short, nil, "/bin/sh", "-c", "exec >&- 2>&- <&-; while :; do :; done")
	assert.True(t, o.TimedOut, "it closed its output and spins: %+v", o)
	v.Alive(t)
	s.end(t, v)
	return nil
}

func factsOfHost(t *testing.T, s *scene) []string {
	t.Helper()
	var leaks []string
	for _, all := range s.inside(t, "facts", probe.Target{Marker: s.Run}) {
		leaks = append(leaks, strings.Split(strings.TrimSpace(all), "; ")...)
	}
	return leaks
}

// spinners keep more processors busy than the VM has.
func spinners(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	o := v.Do(t, core.Limits{Timeout: time.Second}, nil, v.ProbeArgs("spin", probe.Target{Most: int64(2 * runtime.NumCPU())})...)
	v.Alive(t)
	s.end(t, v)
	require.True(t, o.TimedOut, "%+v", o)
	if o.CPUMs*10 > o.WallMs*13 {
		return []string{fmt.Sprintf("used %.1f processors", float64(o.CPUMs)/float64(o.WallMs))}
	}
	return nil
}

// ownSessions has several sessions, which is nothing where a cgroup holds the processors.
func ownSessions(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	o := v.Probe(t, "sessions", probe.Target{Most: 6})
	v.Alive(t)
	s.end(t, v)
	if o.HeldBy[wire.LimitCPU] != "" {
		return nil
	}
	return got(t, o)
}

// probeAt makes an attack of a probe that needs a place to write to, and a file that
// all VMs have.
func probeAt(name string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		t.Helper()
		return s.inside(t, name, probe.Target{Folders: []string{"/tmp"}, Files: []string{"/usr/bin/env"}})
	}
}

// fileLocks takes locks until it is ended.
func fileLocks(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	o := v.Do(t, core.Limits{}, nil, v.ProbeArgs("file-locks", probe.Target{Most: 40_000, Folders: []string{"/tmp"}, PID: 1})...)
	v.Alive(t)
	s.end(t, v)
	if o.Limit() == core.LimitMemory {
		return nil
	}
	return []string{fmt.Sprintf("holds locks: %+v", o)}
}

// sameUser looks whether a VM's user is the one who made it.
func sameUser(t *testing.T, s *scene) []string {
	t.Helper()
	return s.inside(t, "same-user", probe.Target{Most: int64(os.Geteuid())})
}
