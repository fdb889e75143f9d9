package main

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/harness"
	"drover/vmfactory/lxc"
)

// An autograder that looks at all that it is given, and uses all that its results can say.
const (
	autograderSetup = "#!/usr/bin/env bash\nset -e\npwd >/autograder/source/where\necho prepared >/opt/prepared\nmkdir -p /autograder/source/build\necho 'from setup' >/autograder/source/build/made\nid -u >/autograder/source/who\n"
	autograderRun   = "#!/usr/bin/env bash\ncp /autograder/submission/sum.py /autograder/source/sum.py\ncd /autograder/source\necho for staff\necho in red >&2\npython3 grade.py\n"
	autograderGrade = `
import json, os, subprocess

def text(name):
    with open(name) as f:
        return f.read().strip()

with open("/autograder/submission_metadata.json") as f:
    about = json.load(f)
facts = {
    "setup": [text("where"), text("build/made"), text("/opt/prepared"), text("who")],
    "users": [u["id"] for u in about["users"]],
    "method": about["submission_method"],
    "keys": sorted(about) + sorted(about["assignment"]),
    "root": os.getuid() == 0,
    "files": sorted(os.listdir("/autograder")),
    "submitted": sorted(os.listdir("/autograder/submission")),
}
os.makedirs("/autograder/source/scratch")
run = subprocess.run(["python3", "sum.py"], input="20 22", capture_output=True, text=True)
right = run.stdout.strip() == "42"
with open("/autograder/results/results.json", "w") as f:
    json.dump({
        "output": "<b>done</b><br>with &lt;all&gt;", "output_format": "html", "execution_time": 1.5, "visibility": "visible",
        "stdout_visibility": "visible", "extra_data": facts, "test_output_format": "text", "test_name_format": "text",
        "tests": [
            {"score": 2.0 if right else 0.0, "max_score": 2, "name": "adds", "number": "1.1", "output": "\u001b[32mgood\u001b[0m", "output_format": "ansi", "status": "passed" if right else "failed", "tags": ["sum"], "extra_data": {"a": 1}},
            {"score": 1, "max_score": 1, "name": "secret name", "output": "secret words", "visibility": "hidden"},
            {"score": 0, "max_score": 3, "name": "in *words*", "name_format": "md", "output": "| a | b |\n|---|---|\n| 1 | 2 |", "output_format": "md", "visibility": "after_published"},
            {"name": "no points", "output": "only words"},
        ],
        "leaderboard": [{"name": "time", "value": 1.25, "order": "asc"}, {"name": "stars", "value": "*****"}],
    }, f)
`
)

const autograderPython = `#!/usr/bin/env python3
import json, pathlib
source = pathlib.Path("/autograder/submission/sum.py").read_text()
test = {"name": "<b>bold</b>", "score": int("sum" in source), "max_score": 1, "output": "<i>fine</i>"}
pathlib.Path("/autograder/results/results.json").write_text(json.dumps({"tests": [test], "test_output_format": "html", "test_name_format": "html"}))
`

// zipOf writes a zip with files, whose programs are executable where they begin with #!.
func zipOf(t *testing.T, files map[string]string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "autograder.zip")
	out, err := os.Create(at)
	require.NoError(t, err)
	w := zip.NewWriter(out)
	for name, text := range files {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, out.Close())
	return at
}

// The zip of an autograder grades in containers of an image that its setup.sh has prepared.
func TestAutograderInContainers(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.LXC)
	if os.Getenv("DROVER_TEST_AUTOGRADER") == "" {
		t.Skip("it is asked for by DROVER_TEST_AUTOGRADER=yes: it installs packages of Debian")
	}
	if os.Geteuid() != 0 {
		coretest.Missing(t, "root", nil)
	}
	h := newTestCluster(t)
	file := zipOf(t, map[string]string{"setup.sh": autograderSetup, "run_autograder": autograderRun, "grade.py": autograderGrade})
	_, errs, code := h.run("image", "build", "hw1", "--suite", "bookworm", "--autograder", file)
	require.Zero(t, code, errs)
	h.withContainers()
	up := h.up()
	t.Cleanup(up.stop)
	_, errs, code = h.run("pool", "set", "--memory", "512M", "--disk", "256M", "--timeout", "2m", "--warm", "1", "--max", "2", "hw1", "--unboxed", "--provider", lxc.Name, "--image", "hw1")
	require.Zero(t, code, errs)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sum.py"), []byte("print(sum(map(int, input().split())))\n"), 0o600))
	result, _ := h.grade("hw1", file, dir)
	require.Equal(t, core.RequestCompleted, result.State, result.Reason+result.Stderr)
	assert.Equal(t, harness.Partial, harness.VerdictOf(&result))
	assert.InDelta(t, 3, *result.Score, 0)
	assert.InDelta(t, 6, *result.MaxScore, 0)
	var shown []string
	for _, one := range result.Tests {
		shown = append(shown, one.Name+": "+strings.ReplaceAll(strings.Trim(one.Message, "`\n"), "\n", " "))
	}
	assert.Equal(t, []string{
		"Output: done with <all>", "Printed by the autograder: for staff in red", "1.1 adds: good", "Hidden test 1: ", "Hidden test 2: ",
		"no points: only words", "Leaderboard: | | | |---|---| | `time` | `1.25` | | `stars` | `*****` |",
	}, shown)
	var wrote struct {
		Facts struct {
			Setup, Users, Keys, Files, Submitted []string
			Method                               string
			Root                                 bool
		} `json:"extra_data"`
	}
	require.NoError(t, json.Unmarshal([]byte(result.Stdout), &wrote))
	assert.Equal(t, []string{"/autograder/source", "from setup", "prepared", "0"}, wrote.Facts.Setup)
	assert.Equal(t, []string{"results", "run_autograder", "source", "submission", "submission_metadata.json"}, wrote.Facts.Files)
	assert.Equal(t, []string{"sum.py"}, wrote.Facts.Submitted)
	assert.Subset(t, wrote.Facts.Keys, []string{"course_id", "created_at", "previous_submissions", "users", "total_points"})
	assert.False(t, wrote.Facts.Root)

	// One whose program is Python, and whose setup.sh does nothing.
	file = zipOf(t, map[string]string{"setup.sh": "#!/usr/bin/env bash\n", "run_autograder": autograderPython})
	result, _ = h.grade("hw1", file, dir)
	require.Equal(t, core.RequestCompleted, result.State, result.Reason+result.Stderr)
	assert.InDelta(t, 1, *result.Score, 0)
	assert.Equal(t, "bold", result.Tests[0].Name)
}
