package examples_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
	"drover/core/harness"
	"drover/examples"
	"drover/vmfactory/local"
	"drover/vmfactory/providertest/programs"
)

// block returns the first code block of a language in the author's guide.
func block(t *testing.T, language string) string {
	t.Helper()
	guide, err := os.ReadFile("../docs/harness.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(guide), "```"+language+"\n")
	require.True(t, ok)
	code, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	return code
}

// graded runs a harness of one file on a submission of one file, in a VM.
func graded(t *testing.T, program, name, submission string) (core.Result, string) {
	t.Helper()
	run := filepath.Join(t.TempDir(), "run")
	provider, err := local.New(local.Config{Run: run, Agent: programs.Agent(t), TieToProcess: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	if err := provider.Ready(t.Context()); err != nil {
		coretest.Missing(t, "a machine that can make VMs", err)
	}
	t.Cleanup(func() { require.NoError(t, provider.Destroy(context.Background(), "guide")) })
	pool := core.DefaultPool("guide")
	pool.Limits.Timeout = 5 * time.Minute // of the whole harness: on a busy machine a second of processor takes many
	vm, err := makeVM(t.Context(), provider, filepath.Join(run, "guide"), pool)
	require.NoError(t, err)
	defer vm.Close()
	require.NoError(t, vm.Assign(t.Context(), "guide"))
	for place, text := range map[string][2]string{"harness": {"main", program}, "submission": {name, submission}} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: text[0], Mode: 0o755, Size: int64(len(text[1]))}))
		_, err := w.Write([]byte(text[1]))
		require.NoError(t, errors.Join(err, w.Close()))
		require.NoError(t, vm.Stage(t.Context(), place, &b))
	}
	var out, errs bytes.Buffer
	exit, err := vm.Run(t.Context(), agent.Run{
		Args: []string{agent.HarnessDir + "/main"}, Dir: agent.HarnessDir, Harness: true,
		Env: []string{"DROVER_HARNESS=" + agent.HarnessDir, "DROVER_SUBMISSION=" + agent.SubmissionDir, "DROVER_WORK=" + agent.WorkDir},
	}, func(stream string, data []byte) {
		if stream == agent.Stdout {
			out.Write(data)
		} else {
			errs.Write(data)
		}
	})
	require.NoError(t, err)
	require.Zero(t, exit.Code, "%s %s", out.String(), errs.String())
	report, err := harness.ParseReport(out.Bytes())
	require.NoError(t, err, out.String())
	return core.Result{State: core.RequestCompleted, Score: report.Score, MaxScore: report.MaxScore, Tests: report.Tests}, out.String()
}

// The example in docs/harness.md, as its readers will copy it.
func TestExampleOfTheGuide(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program := block(t, "sh")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main"), []byte(program), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "harness.json"), []byte(block(t, "json")), 0o600))
	pack, err := harness.Pack(folder)
	require.NoError(t, err)
	assert.InEpsilon(t, 60, pack.Config.Timeout.Seconds(), 0)

	for submission, want := range map[string]harness.Verdict{
		`read name; echo "hello $name"`:      harness.Passed,
		`echo hello`:                         harness.Failed,
		`exit 3`:                             harness.Crashed,
		`while :; do :; done`:                harness.TimeLimit,
		`while :; do echo "hello Ada"; done`: harness.OutputLimit,
	} {
		t.Run(submission, func(t *testing.T) {
			t.Parallel()
			got, said := graded(t, program, "hello.sh", submission)
			assert.Equal(t, want, harness.VerdictOf(&got), said)
		})
	}
}

// The one in Python, and what its submissions wrote beside harnesses without a box.
func TestPythonOfTheGuide(t *testing.T) {
	t.Parallel()
	if lacks := examples.Lacking([]string{"python3"}); len(lacks) > 0 {
		coretest.Missing(t, "the snippet in Python", fmt.Errorf("no %s", strings.Join(lacks, ", ")))
	}
	for submission, want := range map[string]struct {
		verdict harness.Verdict
		score   float64
	}{
		"import sys\nprint(sum(map(int, sys.stdin.read().split())))": {harness.Passed, 3},
		"print(0)": {harness.Partial, 1},
		"import os\nfor at in ('/home/job/harness', os.environ['DROVER_SUBMISSION']):\n  for name in ('json', 'tempfile', 'difflib'):\n    try: open(f'{at}/{name}.py', 'w').write('raise SystemExit')\n    except OSError: pass\nprint('x')": {harness.Failed, 0},
		"while True: pass": {harness.TimeLimit, 0},
	} {
		t.Run(submission, func(t *testing.T) {
			t.Parallel()
			got, said := graded(t, block(t, "python"), "sum.py", submission)
			assert.Equal(t, want.verdict, harness.VerdictOf(&got), said)
			assert.InDelta(t, want.score, *got.Score, 0, said)
		})
	}
}

// The cases.yaml of the guide, as its readers will copy it: all of them can be read.
func TestCasesOfTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/harness.md")
	require.NoError(t, err)
	blocks := strings.Split(string(guide), "```yaml\n")[1:]
	require.Len(t, blocks, 5)
	for _, rest := range blocks {
		text, _, ok := strings.Cut(rest, "```")
		require.True(t, ok)
		folder := t.TempDir()
		for name, content := range map[string]string{
			"cases.yaml": text, "large/1.in": "1 1000000000\n", "large/1.out": "1000000001\n", "check.c": "int main(void) { return 0; }\n", "1.in": "3 2 1\n", "answer.py": "", "grade.py": "",
			"check.cpp": "", "testlib.h": "", "tests/01": "1 2\n", "tests/01.a": "3\n",
		} {
			at := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
			require.NoError(t, os.WriteFile(at, []byte(content), 0o600))
		}
		pack, err := harness.Pack(folder)
		require.NoError(t, err)
		require.NotNil(t, pack.Cases)
		assert.NotEmpty(t, pack.Cases.Tests())
	}
}

func TestLacking(t *testing.T) {
	t.Parallel()
	assert.Empty(t, examples.Lacking([]string{"sh", "/bin/sh"}))
	assert.Equal(t, []string{"no-such-program", "/no/such/file", "/usr"}, examples.Lacking([]string{"no-such-program", "/no/such/file", "sh", "/usr"}))
}
