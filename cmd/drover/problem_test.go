package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest/tier"
)

const problems = "../../core/harness/problem/testdata"

// Each package's submissions end as it says, in VMs of one cluster; those of the package lies and crashing do not.
// TestProblemWithoutATime has a cluster made for one package.
func TestProblemsAreVerified(t *testing.T) {
	tier.OnlyInAll(t, tier.Long)
	t.Parallel()
	h := newTestCluster(t, calm...)
	h.up()
	h.said("pool", "set", "--memory", "2G", "--disk", "2G", "--pids", "256", "--timeout", "1h", "--warm", "2", "--max", "4", "--peer", "judges")
	wrong := map[string]map[string]string{
		"lies":     {"input_validators/nothing": "wrong answer", "input_validators/positive.py": "wrong answer", "submissions/accepted/wrong.py": "wrong answer", "submissions/wrong_answer/right.py": "accepted"},
		"expects":  {"submissions/others/lies.py": "wrong answer"},
		"crashing": {"submissions/accepted/any.py": "judge error"},
	}
	var building int64
	entries, err := os.ReadDir(problems)
	require.NoError(t, err)
	for _, e := range entries {
		out, errs, code := h.run("problem", "verify", "--json", "--pool", "judges", filepath.Join(problems, e.Name()))
		if strings.Contains(e.Name(), "refused") {
			require.Equal(t, 2, code, errs)
			require.Contains(t, errs, "drover cannot judge this package as its authors say")
			continue
		}
		var found struct {
			TimeMs int64 `json:"time_ms"`
			Times  struct {
				Whole   int64  `json:"whole_ms"`
				Grading int64  `json:"grading_ms"`
				Build   int64  `json:"build_ms"`
				Slowest int64  `json:"slowest_ms"`
				Of      string `json:"slowest_submission"`
			} `json:"times"`
			Rows []struct {
				Path    string `json:"path"`
				Wanted  string `json:"expected"`
				Outcome string `json:"outcome"`
				Fits    bool   `json:"fits"`
				About   string `json:"about"`
				CPUMs   int64  `json:"cpu_ms"`
				Tests   []struct {
					CPUMs int64 `json:"cpu_ms"`
				} `json:"tests"`
			} `json:"rows"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &found), errs)
		require.Positive(t, found.TimeMs)
		require.NotEmpty(t, found.Rows)
		require.Positive(t, found.Times.Whole)
		building += found.Times.Build // some take less than a millisecond
		require.Greater(t, found.Times.Grading, found.Times.Build, e.Name())
		got := map[string]string{}
		for _, r := range found.Rows {
			if r.Path == found.Times.Of {
				require.Equal(t, found.Times.Slowest, r.CPUMs)
			}
			if r.Outcome == "accepted" || r.Outcome == "wrong answer" {
				require.NotEmpty(t, r.Tests, r.Path)
				for _, one := range r.Tests { // of what cannot be built it is the build alone
					require.LessOrEqual(t, one.CPUMs, r.CPUMs, r.Path)
				}
			}
			t.Logf("| %s | %s | %s | %s | %s", e.Name(), r.Path, r.Wanted, r.Outcome, r.About)
			if !r.Fits {
				got[r.Path] = r.Outcome
			}
		}
		require.Equal(t, slices.Sorted(maps.Keys(wrong[e.Name()])), slices.Sorted(maps.Keys(got)), "%s\n%s", e.Name(), out)
		for path, outcome := range wrong[e.Name()] {
			require.Equal(t, outcome, got[path], path)
		}
		require.Equal(t, len(got) > 0, code == 1, "%s: code %d", e.Name(), code)
	}
	require.Positive(t, building)
}

func TestProblemIsShown(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	out, errs, code := h.run("problem", "show", filepath.Join(problems, "points"))
	require.Zero(t, code, errs)
	require.Contains(t, out, "Cube: scoring, format 2025-09")
	require.Contains(t, out, "secret/2-all")
	out, _, code = h.run("problem", "show", filepath.Join(problems, "refused"))
	require.Zero(t, code)
	require.Contains(t, out, "refused: problem.yaml, line 10: cores: this limit is not known")
	_, errs, code = h.run("problem", "show")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "which package?")
}

// A pool whose VMs have less memory than the package asks for is named.
func TestProblemInASmallPool(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	h.up()
	_, errs, code := h.run("pool", "set", "default", "--memory", "64M")
	require.Zero(t, code, errs)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(problems, "answers"))))
	settings := filepath.Join(dir, "problem.yaml")
	raw, err := os.ReadFile(settings)
	require.NoError(t, err)
	require.NoError(t, os.Remove(settings))
	require.NoError(t, os.WriteFile(settings, append(raw, "limits: {memory: 100}\n"...), 0o600))
	out, errs, code := h.run("problem", "verify", "--pool", "default", dir)
	require.Zero(t, code, errs+out)
	require.Equal(t, 1, strings.Count(out, "note: pool default: it gives programs up to 100 MiB of memory, and VMs of the pool have 64 MiB"), out)
}

// Nothing can be measured without an accepted submission.
func TestProblemWithoutATime(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(problems, "measured"))))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "submissions", "accepted")))
	_, errs, code := h.run("problem", "verify", dir)
	require.Equal(t, 2, code, errs)
	require.Contains(t, errs, "has no accepted submission to measure")
}

// A package becomes an assignment, and the same command updates it.
func TestProblemIsImported(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	for _, args := range [][]string{{"pool", "set", "default"}, {"class", "add", "cs1"}} {
		_, errs, code := h.run(args...)
		require.Zero(t, code, errs)
	}
	_, errs, code := h.run("problem", "import", filepath.Join(problems, "measured"), "cs1/sum")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "give --time")
	for range 2 {
		out, errs, code := h.run("problem", "import", filepath.Join(problems, "sum"), "cs1/sum")
		require.Zero(t, code, errs)
		require.Contains(t, out, "cs1/sum is judged as the package")
		require.Contains(t, out, "3 tests, 1 points")
	}
	out, errs, code := h.run("assignment", "show", "--json", "cs1/sum")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"title": "Sum"`)
	require.Contains(t, out, `"statement/problem.en.md"`)

	out, errs, code = h.run("assignment", "files", "cs1/sum")
	require.Zero(t, code, errs)
	require.Regexp(t, `statement/problem\.en\.md +[0-9]+ B`, out)
	folder := filepath.Join(t.TempDir(), "sum")
	_, errs, code = h.run("assignment", "files", "--to", folder, "cs1/sum")
	require.Zero(t, code, errs)
	require.FileExists(t, filepath.Join(folder, "statement", "problem.en.md"))

	out, errs, code = h.run("problem", "list", "cs1")
	require.Zero(t, code, errs)
	require.Regexp(t, `cs1/sum +Sum +(2025-09|legacy)`, out)
	out, errs, code = h.run("problem", "list", "--json")
	require.Zero(t, code, errs)
	var listed []map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &listed), out)
	require.Len(t, listed, 1)
	require.Equal(t, "cs1/sum", listed[0]["assignment"])
	require.EqualValues(t, 3, listed[0]["tests"])
	require.Len(t, listed[0]["digest"], 64)
	_, errs, code = h.run("assignment", "harness", "--none", "cs1/sum")
	require.Zero(t, code, errs)
	out, _, code = h.run("problem", "list", "cs1")
	require.Zero(t, code)
	require.NotContains(t, out, "cs1/sum")
}
