package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/cmd/drover/doctor"
	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/agent/wire"
	"drover/core/coretest/tier"
	"drover/core/service"
	"drover/vmfactory"
)

// What a newcomer types wrongly is refused with the right code and a way on, and
// never with a page of help.
func TestBadInputIsRefusedInOneSentence(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DROVER_DATA", filepath.Join(dir, "missing"))
	t.Setenv("DROVER_REDIS", "")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"nosuch", terminal.ExitUsage, `drover has no command "nosuch". See drover --help`},
		{"runn", terminal.ExitUsage, `Did you mean "run"?`},
		{"request lst", terminal.ExitUsage, `Did you mean "list"?`},
		{"request nosuch", terminal.ExitUsage, "See drover request --help"},
		{"--nosuch", terminal.ExitUsage, "see drover --help"},
		{"pool set --nosuch", terminal.ExitUsage, "see drover pool set --help"},
		{"up now", terminal.ExitUsage, `drover up takes no argument "now"`},
		{"submit", terminal.ExitUsage, "drover submit [flags] --harness DIR --submission PATH"},
		{"submit --harness x", terminal.ExitUsage, "drover submit [flags] --harness DIR --submission PATH"},
		{"run", terminal.ExitUsage, "no command to run"},
		{"run -- true", terminal.ExitNoCluster, "Start one with: drover up"},
		{"request list", terminal.ExitNoCluster, "no such file or directory.\nStart one"},
		{"--config /no/such/file pool list", terminal.ExitUsage, "/no/such/file"},
		{"up --data " + filepath.Join(dir, "file", "below"), terminal.ExitNoCluster, "cannot be made"},
		{"testrunner --slots 0", terminal.ExitUsage, "slots"},
		{"testrunner --pools a,,b", terminal.ExitUsage, "pools"},
		{"request show --redis nowhere x", terminal.ExitUsage, "it is not a URL"},
	} {
		t.Run(test.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := typeIn(context.Background(), append([]string{"drover"}, strings.Fields(test.args)...), strings.NewReader(""), &out, &errs)
			require.Equal(t, test.code, code, errs.String())
			require.Contains(t, errs.String(), test.want)
			require.Empty(t, out.String())
			require.True(t, strings.HasPrefix(errs.String(), "drover: "), errs.String())
			require.LessOrEqual(t, strings.Count(errs.String(), "\n"), 4, errs.String())
		})
	}
}

func TestWhatNobodyKnowsIsSaidSo(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h.fake("h1", 0)
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"host show nowhere", terminal.ExitNotFound, "no host nowhere: see drover host list"},
		{"host drain nowhere", terminal.ExitNotFound, "no host nowhere: see drover host list"},
		{"host forget nowhere", terminal.ExitNotFound, "no host nowhere: see drover host list"},
		{"host forget h1", terminal.ExitRefused, "stop its components"},
		{"vm list --on No!", terminal.ExitUsage, "host"},
		{"request list --before No!", terminal.ExitUsage, "request id"},
		{"request list --pool No!", terminal.ExitUsage, "pool"},
		{"request output nobody", terminal.ExitNotFound, "drover request list"},
		{"run --memory 0 -- true", terminal.ExitUsage, "above 0"},
		{"run --memory -5MiB -- true", terminal.ExitUsage, "64MiB"},
		{"run --timeout -5s -- true", terminal.ExitUsage, "above 0"},
		{"run --store sqlite:///no/such/folder/x.db -- true", terminal.ExitUsage, "/no/such/folder"},
	} {
		_, errs, code := h.run(strings.Fields(test.args)...)
		require.Equal(t, test.code, code, "%s: %s", test.args, errs)
		require.Contains(t, errs, test.want, test.args)
	}
	out, _, code := h.run("vm", "list", "--on", "nowhere")
	require.Zero(t, code)
	require.Contains(t, out, "no VMs on host nowhere")
}

func TestComponentMakesItsDataFolder(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	data := filepath.Join(h.cfg.Data, "not", "there", "yet")
	p := h.start("taskrunner", "--data", data)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(data, "drover.db"))
		return err == nil && strings.Contains(p.said(), "registered")
	}, testTimeout, 10*time.Millisecond)
	p.stop()
}

func TestARefusedComponentNeverSaysThatItIsUp(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	lock, err := service.TakeLock(h.cfg.Run, "vmfactory")
	require.NoError(t, err)
	defer lock.Release()
	out, errs, code := h.run("vmfactory")
	require.Equal(t, terminal.ExitRefused, code, errs)
	require.Empty(t, out)
	require.Contains(t, errs, "another vmfactory works on this host")
	require.NotContains(t, errs, "is up")
	require.NotContains(t, errs, "registered")
}

func TestItIsSaidWhyARequestWaits(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	ctx := context.Background()
	row, _, err := h.cluster.Intake.Submit(ctx, core.Spec{Pool: "default", Submitter: "s", Command: []string{"true"}})
	require.NoError(t, err)
	require.Contains(t, request.WhyWaits(ctx, h.cluster.AsOperator(), row.Spec.ID), "no vmfactory is running")

	pool := core.DefaultPool("default")
	pool.Paused = true
	require.NoError(t, h.cluster.Intake.SetPool(ctx, pool))
	require.Contains(t, request.WhyWaits(ctx, h.cluster.AsOperator(), row.Spec.ID), "is paused")
	said := make(chan string, 1)
	f := request.NewFollower(h.cluster.AsOperator(), row.Spec.ID)
	f.Notice, f.Wonder = func(text string) { said <- text }, time.Nanosecond
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		done <- f.Follow(ctx)
	}()
	require.Contains(t, <-said, "is paused")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)

	_, errs, code := h.run("doctor")
	require.Equal(t, terminal.ExitFault, code, errs)
	out, _, _ := h.run("doctor")
	require.Contains(t, out, "is paused, and 1 request waits")
}

func TestABrokenPoolIsSeenFromEverywhere(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	h.pool()
	ctx := context.Background()
	odd := core.DefaultPool("odd")
	odd.Provider = "other"
	require.NoError(t, h.cluster.Intake.SetPool(ctx, odd))
	factory, runner := h.start("vmfactory"), h.start("testrunner")
	const why = "provider other is not set up on this host"
	require.Eventually(t, func() bool {
		out, _, _ := h.run("pool", "show", "odd")
		return strings.Contains(out, "broken on h1") && strings.Contains(out, why)
	}, testTimeout, 50*time.Millisecond)
	out, _, code := h.run("doctor", "--json")
	require.Equal(t, terminal.ExitFault, code)
	require.Contains(t, out, "cannot make VMs of pool odd: "+why)
	require.NotContains(t, out, "of pool default")
	out, _, code = h.run("host", "list")
	require.Zero(t, code)
	require.Contains(t, out, "cannot make VMs of odd")
	row, _, err := h.cluster.Intake.Submit(ctx, core.Spec{Pool: "odd", Submitter: "s", Command: []string{"true"}})
	require.NoError(t, err)
	require.Contains(t, request.WhyWaits(ctx, h.cluster.AsOperator(), row.Spec.ID), why)
	odd.Provider = "local"
	require.NoError(t, h.cluster.Intake.SetPool(ctx, odd))
	_, errs, code := h.run("run", "--pool", "odd", "--", "true")
	require.Zero(t, code, errs)
	require.Eventually(t, func() bool {
		out, _, _ := h.run("pool", "show", "odd")
		return !strings.Contains(out, "broken on")
	}, testTimeout, 50*time.Millisecond)
	runner.stop()
	factory.stop()
	h.requireNothingLeft()
}

func TestNobodyReadsTheOutputAnyMore(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h, up := newUpCluster(t)
	h.said("pool", "set", "--timeout", "1h", "default") // nothing but the reader ends it
	cmd := exec.Command(h.path, "run", "--timeout", "1h", "--", "sh", "-c", "while echo y; do sleep 0.01; done")
	cmd.Env = h.env
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.Error(t, cmd.Wait())
	require.Equal(t, terminal.ExitSignal+int(syscall.SIGPIPE), cmd.ProcessState.ExitCode())
	h.awaitLeft(0)
	rows, err := h.cluster.Store.List(context.Background(), core.Filter{})
	require.NoError(t, err)
	require.Equal(t, core.RequestCancelled, rows[0].State)
	up.stop()
	h.requireNothingLeft()
}

// A terminal gets no control sequence of the job's, unless one asks for it.
func TestUntrustedOutputOnATerminal(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h, up := newUpCluster(t)
	evil := []string{"sh", "-c", `printf 'red \033[31m\n'; printf 'title \033]0;x\a\n' >&2`}
	piped, errs, code := h.run(append([]string{"run", "--"}, evil...)...)
	require.Zero(t, code)
	require.Equal(t, "red \x1b[31m\n", piped, "a pipe gets what the job wrote")
	require.Equal(t, "title \x1b]0;x\a\n", errs)
	rows, err := h.cluster.Store.List(context.Background(), core.Filter{})
	require.NoError(t, err)
	id := rows[0].Spec.ID
	for _, test := range []struct {
		args []string
		raw  bool
	}{
		{append([]string{"run", "--"}, evil...), false},
		{append([]string{"run", "--raw", "--"}, evil...), true},
		{[]string{"request", "output", id}, false},
		{[]string{"request", "output", "--raw", id}, true},
		{[]string{"request", "output", "--json", id}, false},
	} {
		shown := h.onTerminal(test.args...)
		require.Contains(t, shown, "red", test.args)
		require.Equal(t, test.raw, strings.Contains(shown, "\x1b[31m"), "%v: %q", test.args, shown)
		require.Equal(t, test.raw, strings.Contains(shown, "\a"), "%v: %q", test.args, shown)
	}
	up.stop()
	h.requireNothingLeft()
}

// newTerminal returns both ends of a terminal: a person's, and the programs'.
func newTerminal(t *testing.T) (ours, peer *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	fd := int(ours.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	peer, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return ours, peer
}

// echoes reports whether a terminal shows what is typed.
func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return settings.Lflag&unix.ECHO != 0
}

// onTerminal runs a command on a terminal and returns what that got.
func (h *testCluster) onTerminal(args ...string) string {
	h.t.Helper()
	ours, peer := newTerminal(h.t)
	defer ours.Close()
	cmd := exec.Command(h.path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, peer, peer
	require.NoError(h.t, cmd.Start())
	require.NoError(h.t, peer.Close())
	var shown bytes.Buffer
	_, err := shown.ReadFrom(ours) // EIO once nobody has the other end
	var failed *fs.PathError
	require.ErrorAs(h.t, err, &failed)
	require.NoError(h.t, cmd.Wait())
	return shown.String()
}

// What a killed program left in the folder for temporary files, the next one removes.
func TestKilledEmbeddedClusterIsSwept(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	top := t.TempDir()
	h.env = append(h.env, "TMPDIR="+top)
	left := func() []string {
		found, err := filepath.Glob(filepath.Join(top, "drover-*"))
		require.NoError(t, err)
		return found
	}
	for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := h.start("run", "--embedded", "--", "sh", "-c", "echo begun; sleep 3600")
		require.Eventually(t, func() bool { return strings.Contains(p.said(), "begun") }, testTimeout, 5*time.Millisecond)
		require.Len(t, left(), 1, "only its own")
		p.signal(end)
		p.await()
		if end == syscall.SIGKILL {
			require.Len(t, left(), 1)
			continue
		}
		require.Equal(t, terminal.ExitStopped, p.cmd.ProcessState.ExitCode(), p.said())
		require.Empty(t, left(), "%s: %s", end, p.said())
	}
	p := h.start("demo")
	require.Eventually(t, func() bool { return strings.Contains(p.said(), "submissions") }, testTimeout, time.Millisecond)
	p.signal(syscall.SIGINT)
	p.await()
	require.Equal(t, terminal.ExitStopped, p.cmd.ProcessState.ExitCode(), p.said())
	require.NotContains(t, p.said(), "context canceled")
	require.Empty(t, left())
}

func TestDoctorKnowsWhatIsNotForHostileCode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scope, pattern string
		levels         map[string]string
	}{
		{"1\n", "core\n", map[string]string{"ptrace": doctor.FindingOK}},
		{"2\n", "/var/core.%p\n", map[string]string{"ptrace": doctor.FindingOK}},
		{"0\n", "|/usr/lib/systemd/systemd-coredump %P %u\n", map[string]string{"ptrace": doctor.FindingWarn, "core dumps": doctor.FindingWarn}},
		{"", "", map[string]string{"ptrace": doctor.FindingWarn}},
	} {
		var f doctor.Findings
		f.Kernel(func(path string) ([]byte, error) {
			text := test.pattern
			if strings.Contains(path, "ptrace_scope") {
				text = test.scope
			}
			if text == "" {
				return nil, errors.New("missing")
			}
			return []byte(text), nil
		})
		levels := map[string]string{}
		for _, one := range f {
			levels[one.About] = one.Level
			if one.Level == doctor.FindingWarn {
				require.Contains(t, one.Mend, "sysctl")
			}
		}
		require.Equal(t, test.levels, levels)
	}
	var f doctor.Findings
	f.Limit("", vmfactory.Limit{Name: core.LimitMemory, HeldBy: wire.HeldByWatchdog, Note: "delegate a cgroup"})
	f.Limit("", vmfactory.Limit{Name: core.LimitMemory, HeldBy: wire.HeldByCgroup})
	f.Limit("", vmfactory.Limit{Name: "cpu", Note: "delegate a cgroup"})
	require.Equal(t, doctor.FindingWarn, f[0].Level)
	require.Contains(t, f[0].Text, "not for hostile code")
	require.Equal(t, "delegate a cgroup", f[0].Mend)
	require.Equal(t, doctor.FindingOK, f[1].Level)
	require.Equal(t, doctor.FindingWarn, f[2].Level)
}
