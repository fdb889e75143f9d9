package harness_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
	"drover/core/service/guard"
)

// zipped packs files as a zip.
func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var to bytes.Buffer
	w := zip.NewWriter(&to)
	for name, text := range files {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return to.Bytes()
}

// grader is an autograder that says what it finds.
const grader = `#!/bin/sh
cd /autograder
echo said to staff
cp submission/hello.txt source/copy.txt
printf '{"score": 1, "output": "%s", "tests": []}' "$(cat source/copy.txt source/words.txt)" >/autograder/results/results.json
exit 3
`

// An autograder's zip is a harness as it is, and its program finds everything where Gradescope has it.
func TestAutograderRuns(t *testing.T) {
	t.Parallel()
	p, err := harness.Read(bytes.NewReader(zipped(t, map[string]string{
		"setup.sh": "apt-get install -y cowsay", "run_autograder": grader, "words.txt": "and words", "lib/x.py": "1", "main": "theirs",
	})))
	require.NoError(t, err)
	require.True(t, p.IsAutograder())
	again, err := harness.Read(p.Tar())
	require.NoError(t, err)
	require.Equal(t, p, again, "what was made of it stays")

	dir := t.TempDir()
	for _, sub := range []string{"harness", "submission", "image"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	untar := exec.CommandContext(t.Context(), "tar", "-xf", "-", "-C", filepath.Join(dir, "harness"))
	untar.Stdin = p.Tar()
	require.NoError(t, untar.Run())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "submission", "hello.txt"), []byte("hello "), 0o600))
	place := func(name string) string { return filepath.Join(dir, name) }
	moved := func(name string) {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		text := strings.NewReplacer("/usr/lib/autograder", place("image"), "/tmp/autograder", place("at"), "/autograder", place("autograder")).Replace(string(raw))
		require.NoError(t, guard.WriteProgram(t.Context(), name, []byte(text)))
	}
	moved(place("harness/main"))
	moved(place("harness/source/run_autograder"))
	require.NoError(t, os.WriteFile(place("image/of-setup"), nil, 0o600))
	run := func() (string, string, error) {
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "sh", place("harness/main"))
		cmd.Env = append(os.Environ(), "DROVER_HARNESS="+place("harness"), "DROVER_SUBMISSION="+place("submission"))
		cmd.Stdin = strings.NewReader(`{"raw_submission":{"assignment":"cs1/hw1","id":"01a","timestamp":"2026-11-01T00:00:00.000Z","user":"a\"nn"},` +
			`"raw_assignment":{"due":"2026-12-01T00:00:00.000Z","due_cutoff":null,"id":"cs1/hw1","name":"One"}}`)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		return out.String(), errs.String(), err
	}
	_, errs, err := run()
	require.Error(t, err)
	require.Contains(t, errs, "VMs of this pool have no")
	require.NoError(t, os.Symlink(place("at"), place("autograder")))
	out, errs, err := run()
	require.NoError(t, err, errs)
	require.Equal(t, "said to staff\n", errs)
	r, err := harness.ParseResults([]byte(out), errs, false)
	require.NoError(t, err)
	require.Equal(t, []core.Test{{Name: "Output", Message: "```\nhello and words\n```"}}, r.Tests)
	require.FileExists(t, place("at/of-setup"), "what setup.sh left")
	var meta struct {
		ID         string `json:"id"`
		Assignment struct {
			Title  string  `json:"title"`
			Course string  `json:"course_id"`
			Due    string  `json:"due_date"`
			Late   *string `json:"late_due_date"`
		} `json:"assignment"`
		Users []struct {
			Name string `json:"name"`
			Own  struct {
				Due string `json:"due_date"`
			} `json:"assignment"`
		} `json:"users"`
	}
	raw, err := os.ReadFile(place("at/submission_metadata.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &meta), string(raw))
	require.Equal(t, "01a", meta.ID)
	require.Equal(t, "One", meta.Assignment.Title)
	require.Equal(t, "2026-12-01T00:00:00.000Z", meta.Assignment.Due)
	require.Equal(t, "cs1", meta.Assignment.Course)
	require.Equal(t, meta.Assignment.Due, meta.Users[0].Own.Due)
	require.Nil(t, meta.Assignment.Late)
	require.Equal(t, `a"nn`, meta.Users[0].Name)
	require.NoError(t, guard.WriteProgram(t.Context(), place("harness/source/run_autograder"), []byte("#!/bin/sh\nexit 4\n")))
	_, errs, err = run()
	require.Error(t, err)
	require.Contains(t, errs, "exit code 4 and wrote no results.json")
}

// Only an autograder is taken for one, and no archive gets out of its folder or grows without end.
func TestAutograderArchives(t *testing.T) {
	t.Parallel()
	p, err := harness.Read(bytes.NewReader(zipped(t, map[string]string{"top/run_autograder": grader, "top/setup.sh": ""})))
	require.NoError(t, err)
	require.True(t, p.IsAutograder(), "in one folder")
	p, err = harness.Read(bytes.NewReader(zipped(t, map[string]string{"main": "#!/bin/sh\n", "run_autograder": "x"})))
	require.NoError(t, err)
	require.False(t, p.IsAutograder(), "a harness with a file of that name")
	for name, files := range map[string]map[string]string{
		"../x":      {"run_autograder": grader, "setup.sh": "", "../x": ""},
		"a/../../x": {"run_autograder": grader, "setup.sh": "", "a/../../x": ""},
		"bomb":      {"run_autograder": grader, "setup.sh": "", "zeros": strings.Repeat("\x00", harness.MaxProgramBytes+1)},
		"nothing":   {"setup.sh": ""},
	} {
		_, err := harness.Read(bytes.NewReader(zipped(t, files)))
		require.Contains(t, []core.Code{core.CodeInvalid, core.CodeLimit}, core.CodeOf(err), name)
	}
	_, err = harness.ParseConfig([]byte(`{"drover/format": "junit"}`))
	require.ErrorContains(t, err, "gradescope")
}
