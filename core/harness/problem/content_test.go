package problem_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
)

// packageOf makes a package of tests, by file.
func packageOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

const settings = "problem_format_version: legacy\nname: Content\nlimits: {memory: 256}\n"

// A content is in the harness once, whatever links and copies of it the package has, and each test has its own.
func TestAContentIsThereOnce(t *testing.T) {
	t.Parallel()
	dir := packageOf(t, map[string]string{
		"problem.yaml": settings, "data/sample/1.in": "one\n", "data/sample/1.ans": "1\n", "data/secret/a.in": "two\n", "data/secret/a.ans": "1\n",
		"data/secret/b.in": "one\n", "data/secret/b.ans": "2\n", "data/secret/c.ans": "3\n", "data/secret/d.in": "", "data/secret/d.ans": "",
	})
	require.NoError(t, os.Symlink("a.in", filepath.Join(dir, "data/secret/c.in")))
	p := open(t, dir)
	made := t.TempDir()
	require.NoError(t, p.Write(made))
	pack, err := harness.Pack(made)
	require.NoError(t, err)
	want := map[string][2]string{"sample/1": {"one\n", "1\n"}, "secret/a": {"two\n", "1\n"}, "secret/b": {"one\n", "2\n"}, "secret/c": {"two\n", "3\n"}, "secret/d": {"", ""}}
	for _, test := range pack.Cases.Tests() {
		input, err := test.Input.Read(pack.Folder, 100)
		require.NoError(t, err)
		answer, err := test.Output.Read(pack.Folder, 100)
		require.NoError(t, err)
		got := [2]string{string(input), string(answer)}
		assert.Equal(t, want[test.Title()], got, test.Title())
		delete(want, test.Title())
	}
	assert.Empty(t, want)
	seen := map[string]string{}
	for _, name := range pack.Folder.Names() {
		if filepath.Dir(name) != "data/sample" && filepath.Dir(name) != "data/secret" {
			continue
		}
		in, _, err := pack.Folder.Open(name)
		require.NoError(t, err)
		content, err := io.ReadAll(in)
		require.NoError(t, err)
		assert.NotContains(t, seen, string(content), name)
		seen[string(content)] = name
	}
	assert.Len(t, seen, 6)
}

// Tests may be much larger than programs; more than a harness holds is refused.
func TestLargeTests(t *testing.T) {
	t.Parallel()
	dir := packageOf(t, map[string]string{"problem.yaml": settings, "data/secret/1.in": "1", "data/secret/1.ans": "1\n"})
	large := filepath.Join(dir, "data/secret/1.in")
	require.NoError(t, os.Truncate(large, harness.MaxProgramBytes+1))
	made := t.TempDir()
	require.NoError(t, open(t, dir).Write(made))
	pack, err := harness.Pack(made)
	require.NoError(t, err)
	assert.Greater(t, pack.Size(), int64(harness.MaxProgramBytes))
	again, err := harness.Read(pack.Tar())
	require.NoError(t, err)
	size, _ := again.Folder.Size("data/secret/1.in")
	assert.Equal(t, int64(harness.MaxProgramBytes+1), size)
	changed, err := again.WithFile("note", []byte("x"))
	require.NoError(t, err)
	assert.Greater(t, changed.Size(), pack.Size())

	require.NoError(t, os.Truncate(large, harness.MaxPackBytes+1))
	err = open(t, dir).Write(t.TempDir())
	assert.Equal(t, core.CodeLimit, core.CodeOf(err))
	assert.ErrorContains(t, err, "more than 512 MiB")
}
