// Package scripts_test runs what operators run.
package scripts_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/service/guard"
)

// cronHost is a machine with a drover of the test's own making.
type cronHost struct {
	data, path string
}

func newCronHost(t *testing.T, drover string) cronHost {
	t.Helper()
	h := cronHost{data: filepath.Join(t.TempDir(), "data"), path: "/usr/bin:/bin"}
	if drover != "" {
		bin := t.TempDir()
		require.NoError(t, guard.WriteProgram(t.Context(), filepath.Join(bin, "drover"), []byte("#!/bin/sh\n"+drover)))
		h.path = bin + ":" + h.path
	}
	return h
}

func (h cronHost) command(t *testing.T) *exec.Cmd {
	t.Helper()
	// A copy, so that a checkout's own bin/ is out of sight.
	script, err := os.ReadFile("overseer-cron")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "overseer-cron")
	require.NoError(t, guard.WriteProgram(t.Context(), file, script))
	cmd := exec.CommandContext(t.Context(), file)
	cmd.Env = []string{"PATH=" + h.path, "DROVER_DATA=" + h.data}
	return cmd
}

// run returns the exit code and what was printed.
func (h cronHost) run(t *testing.T) (int, string) {
	t.Helper()
	out, err := h.command(t).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	if exit != nil {
		return exit.ExitCode(), string(out)
	}
	return 0, string(out)
}

func (h cronHost) log(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.data, name))
	require.NoError(t, err)
	return string(text)
}

func TestCronIsQuietWhenAllIsWell(t *testing.T) {
	t.Parallel()
	h := newCronHost(t, `echo "args: $*"; echo noise >&2`)
	code, out := h.run(t)
	require.Zero(t, code, out)
	require.Empty(t, out, "cron would mail it every minute")
	log := h.log(t, "overseer-cron.log")
	require.Contains(t, log, "args: overseer --once\nnoise\n")
	require.Contains(t, log, "ended with exit code 0")
	left, err := os.ReadDir(h.data)
	require.NoError(t, err)
	require.Len(t, left, 2, "the log and the lock stay, nothing else: %v", left)
}

func TestCronReportsAFailure(t *testing.T) {
	t.Parallel()
	h := newCronHost(t, `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do echo "line $i."; done; exit 5`)
	code, out := h.run(t)
	require.Equal(t, 5, code)
	require.Contains(t, out, "exit code 5")
	require.Contains(t, out, "line 22.")
	require.NotContains(t, out, "line 1.\n", "a mail shows the end only")
	require.Contains(t, h.log(t, "overseer-cron.log"), "line 1.\n")
}

func TestCronRunsNeverOverlap(t *testing.T) {
	t.Parallel()
	h := newCronHost(t, `echo begun >"$DROVER_DATA/begun"; read -r _ <"$DROVER_DATA/go"`)
	require.NoError(t, os.MkdirAll(h.data, 0o700))
	for _, name := range []string{"begun", "go"} {
		require.NoError(t, exec.CommandContext(t.Context(), "mkfifo", filepath.Join(h.data, name)).Run())
	}
	first := h.command(t)
	require.NoError(t, first.Start())
	begun, err := os.Open(filepath.Join(h.data, "begun"))
	require.NoError(t, err)
	_, err = bufio.NewReader(begun).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, begun.Close())

	code, out := h.run(t)
	require.Equal(t, 75, code, out)
	require.Empty(t, out)
	require.Contains(t, h.log(t, "overseer-cron.log"), "an earlier run is still at work")

	require.NoError(t, os.WriteFile(filepath.Join(h.data, "go"), []byte("\n"), 0o600))
	require.NoError(t, first.Wait())
}

func TestCronKeepsItsLogSmall(t *testing.T) {
	t.Parallel()
	h := newCronHost(t, `echo fresh`)
	require.NoError(t, os.MkdirAll(h.data, 0o700))
	old := bytes.Repeat([]byte("old\n"), 512<<10)
	require.NoError(t, os.WriteFile(filepath.Join(h.data, "overseer-cron.log"), old, 0o600))
	code, out := h.run(t)
	require.Zero(t, code, out)
	require.True(t, strings.HasPrefix(h.log(t, "overseer-cron.log"), "fresh\n"))
	require.Equal(t, string(old), h.log(t, "overseer-cron.log.1"))
}

func TestCronWithoutTheProgram(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/local/bin/drover"); err == nil {
		t.Skip("this machine has a drover where the script looks for it")
	}
	code, out := newCronHost(t, "").run(t)
	require.Equal(t, 127, code)
	require.Contains(t, out, "make build")
}
