package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover-lab/drill"
	"drover/cmd/drover/terminal"
	"drover/core/coretest/tier"
)

// drilled runs a drill to its end and returns what it says.
func drilled(t *testing.T, args ...string) (report drill.Report, stderr string, code int) {
	t.Helper()
	path := lab(t)
	logs := t.TempDir()
	cmd := exec.Command(path, append([]string{"drill", "--json", "--logs", logs}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code says how it ended
	require.NoError(t, json.Unmarshal(out.Bytes(), &report), "it said: %s", errs.String())
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		files, err := filepath.Glob(filepath.Join(logs, "*"))
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			t.Logf("%s:\n%s", filepath.Base(f), text)
		}
	})
	return report, errs.String(), cmd.ProcessState.ExitCode()
}

func TestAShortDrillLosesAndDoublesNothing(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	report, said, code := drilled(t, "--faults", "30", "--beat", "200ms", "--seed", "4")
	require.Zero(t, code, "%s%v", said, report.Details)
	require.True(t, report.Sound())
	require.Equal(t, 30, report.Faults["total"])
	require.Greater(t, report.Jobs, 30)
	require.Empty(t, report.Details, "every fault was injected and healed")
	if os.Getenv("CI") == "true" {
		require.Empty(t, report.Skipped, "every fault can be injected")
		require.True(t, report.Isolated)
	}
	require.Positive(t, report.DetectMs.N)
}

func TestAPlainDrillNeedsNoNamespaces(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	report, said, code := drilled(t, "--faults", "2", "--beat", "200ms", "--seed", "1", "--hosts", "1", "--plain", "--only", "kill-testrunner", "--only", "cut-host")
	require.Zero(t, code, "%s%v", said, report.Details)
	require.False(t, report.Isolated)
	require.Contains(t, report.Skipped, "cut-host")
	require.Equal(t, 2, report.Faults["total"])
}

func TestAStoppedDrillHealsAndReports(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	path := lab(t)
	scratch := t.TempDir()
	cmd := exec.Command(path, "drill", "--json", "--hosts", "1", "--faults", "1000", "--only", "kill-testrunner", "--hold", "1h", "--logs", filepath.Join(scratch, "logs"))
	var out bytes.Buffer
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(scratch, "logs", "faults.log"))
		return err == nil && strings.Contains(string(text), "fault 1:")
	}, testTimeout, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait() // the code says how it ended
	require.Equal(t, terminal.ExitStopped, cmd.ProcessState.ExitCode(), out.String())
	var report drill.Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.True(t, report.Sound(), report.Details)
	require.Equal(t, 1, report.Faults["total"])
}

func TestDrillRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--faults", "0"},
		{"--faults", "many"},
		{"--hosts", "99"},
		{"--only", "kill-cat"},
		{"--beat", "1ms"},
		{"--for", "-1s"},
		{"--hold", "-1s"},
		{"--load", strconv.Itoa(1 << 20)},
		{"--at-once", "0"},
		{"--seed", "-1"},
		{"now"},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, terminal.ExitUsage, typeIn(t.Context(), append([]string{"drill"}, args...), nil, &out, &errs), args)
		require.Empty(t, out.String())
		require.NotEmpty(t, errs.String())
	}
}
