package local

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drover/vmfactory/confine"

	"drover/vmfactory/process"
	"drover/vmfactory/program"
	"drover/vmfactory/trace"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/vmfactory"
	"drover/vmfactory/cgroup"
	"drover/vmfactory/providertest"
)

// open returns a provider on a machine that can make VMs.
func open(t *testing.T, cfg Config) *Provider {
	t.Helper()
	p, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	if err := ready(p); err != nil {
		providertest.Need(t, false, "a machine that can make VMs: "+err.Error())
	}
	return p
}

// started makes a VM and returns its first process.
func started(t *testing.T, p *Provider, id string) process.Process {
	t.Helper()
	require.NoError(t, p.Create(t.Context(), id, core.DefaultPool("p")))
	t.Cleanup(func() { require.NoError(t, p.Destroy(context.WithoutCancel(t.Context()), id)) }) // by then the context has ended
	require.NoError(t, p.Prepare(t.Context(), id))
	who, err := p.traces.First(id)
	require.NoError(t, err)
	return who
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		cfg  Config
		code core.Code
	}{
		"no folder":      {Config{}, core.CodeInvalid},
		"negative cpus":  {Config{Run: t.TempDir(), CPUs: -1}, core.CodeInvalid},
		"a file instead": {Config{Run: file}, core.CodeUnavailable},
	} {
		_, err := New(c.cfg)
		assert.Equal(t, c.code, core.CodeOf(err), name)
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	p := &Provider{}
	image, err := p.Image(t.Context(), core.DefaultPool("p"))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(image, "host:"), image)
	pool := core.DefaultPool("p")
	pool.Image = "debian"
	_, err = p.Image(t.Context(), pool)
	assert.True(t, core.Is(err, core.CodeInvalid))
}

// TestRecordIsBroken shows that what nobody can read is found and destroyed.
func TestRecordIsBroken(t *testing.T) {
	t.Parallel()
	p := open(t, Config{Run: t.TempDir()})
	who := started(t, p, "broken")
	require.NoError(t, os.WriteFile(filepath.Join(p.traces.Path("broken"), trace.RecordFile), []byte("{"), 0o600))
	all, err := p.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []vmfactory.Instance{{ID: "broken", Used: true}}, all)
	assert.True(t, core.Is(p.Check(t.Context(), "broken"), core.CodeBadVM))
	require.NoError(t, p.Destroy(t.Context(), "broken"))
	assert.False(t, isAlive(t, who))
	assert.NoDirExists(t, p.traces.Path("broken"))
}

// TestOthersFolders shows that the run folder may hold what is not a VM.
func TestOthersFolders(t *testing.T) {
	t.Parallel()
	run := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(run, "other"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(run, "lock"), nil, 0o600))
	killed, busy := filepath.Join(run, trace.MakingPrefix+"vm-1"), filepath.Join(run, trace.MakingPrefix+"vm-2")
	require.NoError(t, os.Mkdir(killed, 0o700))
	require.NoError(t, os.Mkdir(busy, 0o700))
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(killed, long, long))
	p, err := New(Config{Run: run})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	all, err := p.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	assert.NoDirExists(t, killed, "what a killed creation left")
	assert.DirExists(t, busy, "what another may be at")
	assert.DirExists(t, filepath.Join(run, "other"))
}

func TestAgentDies(t *testing.T) {
	t.Parallel()
	p := open(t, Config{Run: t.TempDir()})
	who := started(t, p, "vm")
	require.NoError(t, p.Check(t.Context(), "vm"))
	info, err := os.Stat(filepath.Join(p.traces.Path("vm"), agent.SocketFile))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "its socket is its owner's")
	require.NoError(t, who.Kill(t.Context()))
	log := strings.Repeat("x", 1000) + "\nsecond line\n"
	require.NoError(t, os.WriteFile(filepath.Join(p.traces.Path("vm"), trace.LogFile), []byte(log), 0o600))
	err = p.Check(t.Context(), "vm")
	assert.True(t, core.Is(err, core.CodeBadVM))
	assert.ErrorContains(t, err, "dead (xxx")
	assert.Less(t, len(err.Error()), 400, "not all that it said")
	require.NoError(t, os.WriteFile(filepath.Join(p.traces.Path("vm"), trace.LogFile), []byte("\nwhy\nsecond line\n"), 0o600))
	err = p.Check(t.Context(), "vm")
	assert.ErrorContains(t, err, "(why)")
	all, err := p.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []vmfactory.Instance{{ID: "vm", Pool: "p", Kind: all[0].Kind, Used: true}}, all)
}

// TestAgentDoesNotStart shows that Prepare fails at once, with the reason.
func TestAgentDoesNotStart(t *testing.T) {
	t.Parallel()
	p := open(t, Config{Run: t.TempDir()})
	require.NoError(t, p.Create(t.Context(), "vm", core.DefaultPool("p")))
	defer func() { require.NoError(t, p.Destroy(t.Context(), "vm")) }()
	r, err := p.traces.Read("vm")
	require.NoError(t, err)
	r.Pool.Limits.Disk = -1 // no size that tmpfs knows
	require.NoError(t, trace.WriteJSON(filepath.Join(p.traces.Path("vm"), trace.RecordFile), r))
	err = p.Prepare(t.Context(), "vm")
	assert.True(t, core.Is(err, core.CodeBadVM), "%v", err)
	assert.ErrorContains(t, err, "mount tmp: invalid argument")
}

// TestSpawnerIsKilled shows that the process which starts VMs is not missed.
func TestSpawnerIsKilled(t *testing.T) {
	t.Parallel()
	p := open(t, Config{Run: t.TempDir()})
	first := started(t, p, "first")
	require.NoError(t, p.spawn.cmd.Process.Kill())
	second := started(t, p, "second")
	assert.True(t, isAlive(t, first), "VMs do not belong to it")
	assert.True(t, isAlive(t, second))
}

func TestClosed(t *testing.T) {
	t.Parallel()
	p, err := New(Config{Run: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, p.Create(t.Context(), "vm", core.DefaultPool("p")))
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "again")
	require.ErrorIs(t, p.Prepare(t.Context(), "vm"), errClosed)
	require.NoError(t, p.Destroy(t.Context(), "vm"))
}

// tied, in the environment, makes TestTied the process that VMs are tied to.
const tied = "DROVER_TEST_TIED"

// TestTied kills the process that VMs are tied to: they end with it.
func TestTied(t *testing.T) {
	t.Parallel()
	if run := os.Getenv(tied); run != "" {
		p, err := New(Config{Run: run, TieToProcess: true})
		require.NoError(t, err)
		require.NoError(t, p.Create(t.Context(), "vm", core.DefaultPool("p")))
		require.NoError(t, p.Prepare(t.Context(), "vm"))
		_, err = os.Stdout.WriteString("\nready\n")
		require.NoError(t, err)
		select {}
	}
	p := open(t, Config{Run: t.TempDir()})
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestTied$")
	cmd.Env = append(os.Environ(), tied+"="+p.cfg.Run)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, ready := bufio.NewScanner(out), false
	for !ready && lines.Scan() {
		ready = lines.Text() == "ready"
	}
	require.True(t, ready)
	who, err := p.traces.First("vm")
	require.NoError(t, err)
	fd, err := who.Open()
	require.NoError(t, err)
	require.GreaterOrEqual(t, fd, 0, "it lives")
	defer process.CloseFD(fd)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	ended, err := process.WaitEnd(fd, time.Minute)
	require.NoError(t, err)
	assert.True(t, ended)
	require.NoError(t, p.Destroy(t.Context(), "vm"))
}

// TestFolderIsRemoved shows that a VM ends which nobody could find any more.
func TestFolderIsRemoved(t *testing.T) {
	t.Parallel()
	p := open(t, Config{Run: t.TempDir()})
	p.anchor = time.Millisecond
	who := started(t, p, "vm")
	fd, err := who.Open()
	require.NoError(t, err)
	require.GreaterOrEqual(t, fd, 0, "it lives")
	defer process.CloseFD(fd)
	require.NoError(t, p.Check(t.Context(), "vm"))
	require.NoError(t, os.RemoveAll(p.traces.Path("vm")))
	ended, err := process.WaitEnd(fd, time.Minute)
	require.NoError(t, err)
	assert.True(t, ended)
}

// TestAgentIsBound looks at a VM's first process from outside.
func TestAgentIsBound(t *testing.T) {
	t.Parallel()
	p := open(t, Config{Run: t.TempDir()})
	who := started(t, p, "vm")
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", who.PID))
	require.NoError(t, err)
	has := map[string]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		key, value, _ := strings.Cut(line, ":")
		has[key] = strings.TrimSpace(value)
	}
	caps := uint64(confine.Kept)
	if p.owners.mode == singleMode {
		caps = 0
	}
	for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
		assert.Equal(t, fmt.Sprintf("%016x", caps), has[set], set)
	}
	assert.Equal(t, fmt.Sprintf("%016x", 0), has["CapInh"])
	assert.Equal(t, fmt.Sprintf("%016x", 0), has["CapAmb"])
	assert.Equal(t, "1", has["NoNewPrivs"])
	assert.Equal(t, "2", has["Seccomp"], "a filter is in force")
	r, err := p.traces.Read("vm")
	require.NoError(t, err)
	uids, _ := p.owners.maps(r.Place)
	assert.Equal(t, strings.Repeat(fmt.Sprintf("%d\t", uids[0].outside), 4), has["Uid"]+"\t")
	for _, space := range []string{"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"} {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", who.PID, space))
		if err != nil { // the agent is closed to an ordinary user
			continue
		}
		ours, err := os.Readlink("/proc/self/ns/" + space)
		require.NoError(t, err)
		assert.NotEqual(t, ours, theirs, space)
	}
}

// TestHidden shows that what tells of the host is empty, if it is there.
func TestHidden(t *testing.T) {
	t.Parallel()
	p := open(t, Config{Run: t.TempDir()})
	started(t, p, "vm")
	c, err := agent.Dial(p.traces.Path("vm"))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Assign(t.Context(), "test"))
	script := "cd /proc; for f in $(ls | grep -v '^[0-9]'); do case $f in " + strings.Join(confine.Shown, "|") +
		") ;; *) ls $f/ 2>/dev/null; cat $f 2>/dev/null; mkdir $f/x 2>/dev/null && echo wrote ;; esac; done; cat " + strings.Join(confine.Hidden, " ")
	var said strings.Builder
	_, err = c.Run(t.Context(), agent.Run{Args: []string{"/bin/sh", "-c", script + "; echo end"}}, func(_ string, text []byte) { said.Write(text) })
	require.NoError(t, err)
	assert.Equal(t, "end\n", said.String())
}

// nested, in the environment, makes TestReadyInside try to make VMs in a VM.
const nested = "DROVER_TEST_NESTED"

// TestReadyInside shows what Ready says where namespaces are forbidden: in a VM.
func TestReadyInside(t *testing.T) {
	t.Parallel()
	if os.Getenv(nested) != "" {
		p, err := New(Config{Run: "/tmp/run"})
		require.NoError(t, err)
		defer p.Close()
		err = p.Ready(t.Context())
		assert.True(t, core.Is(err, core.CodeUnavailable))
		assert.ErrorContains(t, err, "this machine cannot make VMs: making namespaces: operation not permitted")
		assert.ErrorContains(t, err, "seccomp=unconfined")
		return
	}
	p := open(t, Config{Run: t.TempDir()})
	started(t, p, "vm")
	c, err := agent.Dial(p.traces.Path("vm"))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Assign(t.Context(), "test"))
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "test", Mode: 0o755, Size: int64(len(self)), Typeflag: tar.TypeReg}))
	_, err = w.Write(self)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, c.Stage(t.Context(), "work", &archive))
	var said strings.Builder
	exit, err := c.Run(t.Context(), agent.Run{Args: []string{"./test", "-test.run=^TestReadyInside$"}, Env: []string{nested + "=1"}},
		func(_ string, text []byte) { said.Write(text) })
	require.NoError(t, err)
	assert.Zero(t, exit.Code, said.String())
}

// TestCPU has four processes count for a second. Where nothing holds them they
// use as many CPUs as there are.
func TestCPU(t *testing.T) {
	t.Parallel()
	p := open(t, Config{Run: t.TempDir(), CPUs: 0.25})
	providertest.Need(t, p.cgroups.host.Has(cgroup.CPU), "cgroups that hold the cpu: "+p.cgroups.why)
	started(t, p, "vm")
	c, err := agent.Dial(p.traces.Path("vm"))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Assign(t.Context(), "test"))
	exit, err := c.Run(t.Context(), agent.Run{Args: []string{
		"/bin/sh", "-c", "for i in 1 2 3 4; do while :; do :; done & done; sleep 1",
	}}, func(string, []byte) {})
	require.NoError(t, err)
	assert.Equal(t, "cgroup", exit.HeldBy["cpu"])
	assert.Less(t, exit.CPUMs, exit.WallMs/2, "a quarter, and what a period allows at once")
}

// TestAgentProgram shows that VMs start the small program where it is, and else ours.
func TestAgentProgram(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "drover-agent-") // where VMs' users can get
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, program.Name)
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", path, "drover/cmd/drover-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Chmod(path, 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	wrong, err := New(Config{Run: t.TempDir(), Agent: path, Version: "another"})
	require.NoError(t, err)
	require.ErrorContains(t, wrong.Ready(t.Context()), "another version than drover", "a half-done upgrade")
	require.NoError(t, wrong.Close())
	for what, c := range map[string]struct{ agent, runs string }{
		"it is there": {path, path}, "it is not there": {filepath.Join(dir, "none"), self}, "it needs libraries": {"/bin/sh", self},
	} {
		p := open(t, Config{Run: t.TempDir(), Agent: c.agent})
		who := started(t, p, "vm")
		require.NoError(t, p.Check(t.Context(), "vm"), what)
		exe, err := os.Stat(fmt.Sprintf("/proc/%d/exe", who.PID))
		if err != nil {
			continue // the agent is closed to an ordinary user
		}
		runs, err := os.Stat(c.runs)
		require.NoError(t, err)
		assert.True(t, os.SameFile(runs, exe), what)
	}
}
