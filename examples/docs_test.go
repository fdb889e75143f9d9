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
	"drover/examples"
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

// The cases.yaml of the guide, as its readers will copy it: all of them can be read.
func TestCasesOfTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/harness.md")
	require.NoError(t, err)
	blocks := strings.Split(string(guide), "```yaml\n")[1:]
	require.Len(t, blocks, 2)
	for _, rest := range blocks {
		text, _, ok := strings.Cut(rest, "```")
		require.True(t, ok)
		folder := t.TempDir()
		for name, content := range map[string]string{
			"cases.yaml": text, "large/1.in": "1 1000000000\n", "large/1.out": "1000000001\n", "check.c": "int main(void) { return 0; }\n", "1.in": "3 2 1\n",
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
