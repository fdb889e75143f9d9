package scripts_test

import (
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
	"drover/core/coretest/tier"
)

// testTimeout is how long anything may take on a busy machine before the test gives up.
const testTimeout = 5 * time.Minute

// stubborn is a drover that says what it is told and drains on SIGTERM.
const stubborn = `trap 'echo drained; exit 0' TERM
echo "started as $*"
while :; do sleep 0.05; done`

// supervised is supervisord with the shipped configuration and a drover of the
// test's own making. That jobs run through it is shown in cmd/drover.
type supervised struct {
	env     []string
	conf    string
	logs    string
	process *exec.Cmd
}

func startSupervisord(t *testing.T) *supervised {
	t.Helper()
	tier.Need(t, tier.Host)
	if _, err := exec.LookPath("supervisord"); err != nil {
		coretest.Missing(t, "supervisord", err)
	}
	s := &supervised{logs: t.TempDir()}
	s.conf = coretest.SupervisordConf(t, "..", s.logs)
	s.process = exec.Command("supervisord", "--nodaemon", "--configuration", s.conf)
	s.env = []string{"PATH=" + newCronHost(t, stubborn).path}
	s.process.Env = s.env
	require.NoError(t, s.process.Start())
	t.Cleanup(func() {
		if s.process.ProcessState == nil { // the test failed on its way
			_ = s.process.Process.Signal(syscall.SIGTERM)
			_ = s.process.Wait()
		}
	})
	return s
}

// ctl is what an operator asks of the running supervisord.
func (s *supervised) ctl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "supervisorctl", append([]string{"-c", s.conf}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // another terminal's
	out, err := cmd.CombinedOutput()
	if args[0] != "status" { // whose code says that one is not running yet
		require.NoError(t, err, "%s", out)
	}
	return string(out)
}

func (s *supervised) awaitAllRunning(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		return strings.Count(s.ctl(t, "status"), " RUNNING ") == 5
	}, testTimeout, 100*time.Millisecond)
}

func (s *supervised) log(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.logs, name+".log"))
	require.NoError(t, err)
	return string(text)
}

func TestSupervisordKeepsTheComponentsUpAndStopsThemInOrder(t *testing.T) {
	tier.OnlyInAll(t, tier.Host)
	t.Parallel()
	s := startSupervisord(t)
	s.awaitAllRunning(t)
	s.ctl(t, "signal", "KILL", "testrunner")
	require.Eventually(t, func() bool {
		return strings.Count(s.log(t, "testrunner"), "started as testrunner\n") == 2
	}, testTimeout, 50*time.Millisecond, "it is started again")
	s.awaitAllRunning(t)

	s.ctl(t, "shutdown")
	require.NoError(t, s.process.Wait())
	log := s.log(t, "supervisord")
	for _, program := range []string{"vmfactory", "testrunner", "taskrunner", "overseer", "web"} {
		require.Contains(t, log, "stopped: "+program+" (exit status 0)")
		require.Contains(t, s.log(t, program), "started as "+program+"\n")
		require.Contains(t, s.log(t, program), "drained\n")
	}
	require.Less(t, strings.Index(log, "stopped: testrunner"), strings.Index(log, "stopped: vmfactory"),
		"the VMs are looked after until the last job is done")
}

// TestSupervisordWaitsLongEnough holds the numbers in drover.conf against the settings.
func TestSupervisordWaitsLongEnough(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("drover.conf")
	require.NoError(t, err)
	cfg, err := config.Load(map[string]string{"config": os.DevNull, "data": t.TempDir()}, nil)
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
