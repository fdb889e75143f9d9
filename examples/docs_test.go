package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
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

// The example in docs/harness.md, as its readers will copy it.
func TestExampleOfTheGuide(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main"), []byte(block(t, "sh")), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "harness.json"), []byte(block(t, "json")), 0o600))
	pack, err := harness.Pack(folder)
	require.NoError(t, err)
	assert.InEpsilon(t, 60, pack.Config.Timeout.Seconds(), 0)

	for program, want := range map[string]harness.Verdict{
		`read name; echo "hello $name"`:      harness.Passed,
		`echo hello`:                         harness.Failed,
		`exit 3`:                             harness.Crashed,
		`while :; do :; done`:                harness.TimeLimit,
		`while :; do echo "hello Ada"; done`: harness.OutputLimit,
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			submission := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(submission, "hello.sh"), []byte(program), 0o600))
			cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "main"))
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "DROVER_SUBMISSION=" + submission}
			var out bytes.Buffer
			cmd.Stdout = &out
			require.NoError(t, cmd.Run())
			report, err := harness.ParseReport(out.Bytes())
			require.NoError(t, err, out.String())
			got := core.Result{State: core.RequestCompleted, Score: report.Score, MaxScore: report.MaxScore, Tests: report.Tests}
			assert.Equal(t, want, harness.VerdictOf(&got), out.String())
		})
	}
}
