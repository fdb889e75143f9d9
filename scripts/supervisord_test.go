package scripts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/config"
	"drover/core/coretest"
)

// patience is how long anything may take on a busy machine before the test gives up.
const patience = 2 * time.Minute

// supervised is a host of a herd whose components run under the real supervisord.
type supervised struct {
	env     []string
	logs    string
	process *exec.Cmd
	drover  string
}

func startSupervisord(t *testing.T) *supervised {
	t.Helper()
	if _, err := exec.LookPath("supervisord"); err != nil {
		coretest.Missing(t, "supervisord", err)
	}
	redis := coretest.Alone(t)
	dir := t.TempDir()
	s := &supervised{logs: filepath.Join(dir, "logs"), drover: filepath.Join(dir, "bin", "drover")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", s.drover, "../cmd/drover")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, folder := range []string{"logs", "data"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
	}
	s.env = append(os.Environ(),
		"PATH="+filepath.Dir(s.drover)+":"+os.Getenv("PATH"), "DROVER_LOGS="+s.logs, "DROVER_CONFIG="+emptyFile(t),
		"DROVER_REDIS="+redis.URL, "DROVER_NAMESPACE="+redis.Namespace, "DROVER_HOST=sv", "DROVER_DATA="+filepath.Join(dir, "data"))
	s.process = exec.Command("supervisord", "--nodaemon", "--configuration", "../supervisord.conf")
	s.process.Env = s.env
	require.NoError(t, s.process.Start())
	t.Cleanup(func() {
		if s.process.ProcessState == nil {
			_ = s.process.Process.Signal(syscall.SIGTERM)
			_ = s.process.Wait()
		}
		if t.Failed() {
			s.showLogs(t)
		}
	})
	return s
}

func emptyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "drover.yaml")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

// run runs a program as the host's operator and returns what it printed.
func (s *supervised) run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = s.env
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s %v: %w: %s", name, args, err, complaint.String())
	}
	return out.String(), err
}

func (s *supervised) ctl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return s.run(t, "supervisorctl", append([]string{"-c", "../supervisord.conf"}, args...)...)
}

// awaitAllRunning waits until every program has been up for a while.
func (s *supervised) awaitAllRunning(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, _ := s.ctl(t, "status") // not 0 while one is starting
		return strings.Count(status, " RUNNING ") == 4
	}, patience, 100*time.Millisecond)
}

// requireEcho runs one job through the herd.
func (s *supervised) requireEcho(t *testing.T, word string) {
	t.Helper()
	out, err := s.run(t, s.drover, "run", "--json", "--", "echo", word)
	require.NoError(t, err)
	var result struct {
		State, Stdout, Host string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &result), "%s", out)
	require.Equal(t, "completed", result.State)
	require.Equal(t, word+"\n", result.Stdout)
	require.Equal(t, "sv", result.Host)
}

func (s *supervised) log(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.logs, name+".log"))
	require.NoError(t, err)
	return string(text)
}

func (s *supervised) showLogs(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.logs, "*.log"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Logf("%s:\n%s", filepath.Base(file), text)
	}
}

func TestSupervisord(t *testing.T) {
	t.Parallel()
	s := startSupervisord(t)
	s.awaitAllRunning(t)
	_, err := s.run(t, s.drover, "pool", "set", "default")
	require.NoError(t, err)
	s.requireEcho(t, "one")

	_, err = s.ctl(t, "signal", "KILL", "testrunner")
	require.NoError(t, err)
	s.requireEcho(t, "two") // by its successor
	s.awaitAllRunning(t)

	_, err = s.ctl(t, "shutdown")
	require.NoError(t, err)
	require.NoError(t, s.process.Wait())
	log := s.log(t, "supervisord")
	for _, program := range []string{"vmfactory", "testrunner", "taskrunner", "overseer"} {
		require.Contains(t, log, "stopped: "+program+" (exit status 0)")
	}
	require.Less(t, strings.Index(log, "stopped: testrunner"), strings.Index(log, "stopped: vmfactory"),
		"the VMs are looked after until the last job is done")

	// VMs outlive their vmfactory.
	_, err = s.run(t, s.drover, "vmfactory", "--destroy-vms")
	require.NoError(t, err)
}

// TestSupervisordWaitsLongEnough holds the numbers in supervisord.conf against the settings.
func TestSupervisordWaitsLongEnough(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../supervisord.conf")
	require.NoError(t, err)
	cfg, err := config.Load(map[string]string{"config": emptyFile(t), "data": t.TempDir()}, nil)
	require.NoError(t, err)
	programs := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "[program:") {
			programs++
		}
		var seconds int
		if _, err := fmt.Sscanf(line, "stopwaitsecs=%d", &seconds); err == nil {
			programs--
			require.Greater(t, time.Duration(seconds)*time.Second, cfg.Drain+30*time.Second)
		}
	}
	require.Zero(t, programs, "every program says how long it may take to stop")
}
