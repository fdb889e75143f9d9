package script_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/service/guard"
	"drover/core/service/script"
)

// program writes a script of the shell.
func program(t *testing.T, text string) script.Script {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, guard.WriteProgram(t.Context(), path, []byte("#!/bin/sh\n"+text+"\n")))
	return script.Script{Path: path, Timeout: time.Minute, Output: 1000}
}

func TestAProgramGetsItsInputAndNoSecrets(t *testing.T) {
	t.Setenv("DROVER_REDIS", "redis://:secret@db")
	s := program(t, `cat; echo "$1 $ANSWER"; env`)
	s.Env = []string{"ANSWER=42"}
	require.NoError(t, s.Check())
	out, err := s.Run(t.Context(), []byte("in "), "word")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(out), "in word 42\n"), "%s", out)
	require.NotContains(t, string(out), "secret")
	require.Contains(t, string(out), "PATH=")
}

func TestAProgramThatFails(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`echo "no quota" >&2; printf '\033[2J' >&2; exit 3`: `failed \(no quota \[2J\): exit status 3`,
		`exec yes`:             "wrote more than 1000 bytes",
		`yes >&2 & exit 1`:     "failed",
		`exec /nowhere/at/all`: "failed",
	} {
		_, err := program(t, text).Run(t.Context(), nil)
		require.Contains(t, []core.Code{core.CodeUnavailable, core.CodeLimit}, core.CodeOf(err), text)
		require.Regexp(t, want, err.Error())
	}
	for _, path := range []string{"", "sh", "/", "/etc/passwd", "/nowhere"} {
		require.Equal(t, core.CodeInvalid, core.CodeOf(script.Script{Path: path}.Check()), path)
	}
}

// Whatever a program began ends with it, also when its time is over.
func TestNothingOfAProgramIsLeft(t *testing.T) {
	t.Parallel()
	for text, timeout := range map[string]time.Duration{
		`sleep 1000 & echo $! > "$1"`:             time.Minute,
		`sleep 1000 & echo $! > "$1"; sleep 1000`: time.Second,
	} {
		s := program(t, text)
		s.Timeout = timeout
		pid := filepath.Join(t.TempDir(), "pid")
		_, err := s.Run(t.Context(), nil, pid)
		if timeout == time.Second {
			require.ErrorContains(t, err, "took longer than 1s")
		}
		read, err := os.ReadFile(pid)
		require.NoError(t, err)
		n, err := strconv.Atoi(strings.TrimSpace(string(read)))
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(n) + "/stat")
			return err != nil || strings.Contains(string(stat), ") Z ") || syscall.Kill(n, 0) != nil
		}, time.Minute, 10*time.Millisecond)
	}
}
