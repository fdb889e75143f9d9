package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/core/coretest/tier"
)

func TestHarnessIsChecked(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	dir, submission := t.TempDir(), t.TempDir()
	write := func(in, name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(in, name), []byte(text), 0o600))
	}
	write(submission, "add.sh", "read a b; echo $((a + b))\n")
	_, errs, code := h.run("harness", "check", dir)
	require.Equal(t, terminal.ExitUsage, code)
	require.Contains(t, errs, "neither main")
	_, errs, code = h.run("harness", "check")
	require.Equal(t, terminal.ExitUsage, code)
	require.Contains(t, errs, "which folder?")

	write(dir, "cases.yaml", "run: sh add.sh\ntests:\n  - {input: 1 2, expect: 3}\n")
	for _, args := range [][]string{{"harness", "check", dir}, {"submit", "--embedded", "--harness", dir, "--submission", submission}} {
		_, errs, code = h.run(args...)
		require.Equal(t, terminal.ExitUsage, code, errs)
		require.Contains(t, errs, `cases.yaml, line 3: a test has no field "expect"`)
	}

	write(dir, "cases.yaml", "run: sh add.sh\ntests:\n  - {input: 1 2, output: 3}\n  - {input: 2 2, output: 5, points: 2}\n")
	out, errs, code := h.run("harness", "check", dir)
	require.Zero(t, code, errs)
	require.Contains(t, out, "2 tests, 3 points")
	require.Contains(t, out, "no test is hidden")
}

// A submission is graded by a harness that is checked, which gets the time that it asks for, up to an hour, where a pool
// has less by default.
func TestHarnessIsTried(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
	write("cases.yaml", "run: sh a.sh\ntests:\n  - {input: 1 2, output: 3}\n  - {input: 2 2, output: 5, points: 2}\n")
	write("a.sh", "read a b; echo $((a + b))\n")
	out, errs, code := h.run("harness", "check", dir, "--submission", filepath.Join(dir, "a.sh"))
	require.Zero(t, code, errs)
	require.Contains(t, out, "1 of 3 points")
	require.Contains(t, out, "wrong answer: line 1 differs")
	require.Contains(t, out, "accepted")
	require.NoError(t, os.Remove(filepath.Join(dir, "cases.yaml")))
	write("main", `#!/bin/sh
# reports the time that it has
time=$(grep -o '"drover/timeout":[0-9.]*}*[,}]' | tr -d '},' | head -n 1)
printf '{"score":1,"max_score":1,"message":"it has %s"}\n' "${time#*:}"
`)
	for asks, has := range map[string]string{"45": `it has 45\"`, "86400": `it has 3600\"`} {
		write("harness.json", `{"drover/timeout": `+asks+`}`)
		out, errs, code := h.run("harness", "check", "--json", "--submission", filepath.Join(dir, "a.sh"), dir)
		require.Zero(t, code, errs)
		require.Contains(t, out, has)
	}
}

// A program that starts its submission itself is told what that means.
func TestHarnessWithoutABox(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main"), []byte("#!/bin/sh\nsh \"$DROVER_SUBMISSION/a.sh\"\n"), 0o700))
	out, errs, code := h.run("harness", "check", dir)
	require.Zero(t, code, errs)
	require.Contains(t, out, "nothing in it calls drover-run")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main"), []byte("#!/bin/sh\ndrover-run -- sh \"$DROVER_SUBMISSION/a.sh\"\n"), 0o700))
	out, errs, code = h.run("harness", "check", dir)
	require.Zero(t, code, errs)
	require.NotContains(t, out, "note:")

	var f request.Checked
	for held, says := range map[string]string{"user": "", "landlock": "modes and times", "": "no Landlock"} {
		f.Warnings = nil
		f.Reach(map[string]string{"harness": held})
		if says == "" {
			require.Empty(t, f.Warnings)
			continue
		}
		require.Contains(t, f.Warnings[0], says)
	}
}
