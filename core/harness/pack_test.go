package harness_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
)

// folder makes a harness folder; a content of "x" makes the file executable.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		mode := os.FileMode(0o640)
		if content == "x" {
			mode = 0o740
		}
		require.NoError(t, os.WriteFile(path, []byte(content), mode))
	}
	return dir
}

func TestPack(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"main": "x", "tests/1.in": "one", "harness.json": `{"drover/timeout":3}`})
	pack, err := harness.Pack(dir)
	require.NoError(t, err)
	assert.InEpsilon(t, 3, pack.Config.Timeout.Seconds(), 0)

	type entry struct {
		content string
		mode    int64
	}
	got := map[string]entry{}
	for r := tar.NewReader(pack.Tar()); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		got[head.Name] = entry{string(content), head.Mode}
	}
	assert.Equal(t, map[string]entry{
		"main": {"x", 0o755}, "tests/": {"", 0o755}, "tests/1.in": {"one", 0o644}, "harness.json": {`{"drover/timeout":3}`, 0o644},
	}, got)

	require.NoError(t, os.Chtimes(filepath.Join(dir, "main"), pastTime, pastTime))
	again, err := harness.Pack(dir)
	require.NoError(t, err)
	assert.Equal(t, pack, again, "the same folder gives the same bytes, whatever its times")
}

func TestPack_Refuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make func(t *testing.T) string
		code core.Code
		says string
	}{
		"No folder":           {func(t *testing.T) string { return filepath.Join(t.TempDir(), "none") }, core.CodeInvalid, "cannot be opened"},
		"No main":             {func(t *testing.T) string { return folder(t, map[string]string{"main.sh": "x"}) }, core.CodeInvalid, "has neither main"},
		"Main a folder":       {func(t *testing.T) string { return folder(t, map[string]string{"main/x": "x"}) }, core.CodeInvalid, "has neither main"},
		"Main not executable": {func(t *testing.T) string { return folder(t, map[string]string{"main": "echo"}) }, core.CodeInvalid, "chmod +x"},
		"Bad settings": {func(t *testing.T) string {
			return folder(t, map[string]string{"main": "x", "harness.json": "{"})
		}, core.CodeInvalid, "harness.json of the harness: the harness's configuration is not JSON"},
		"Large settings": {func(t *testing.T) string {
			return folder(t, map[string]string{"main": "x", "harness.json": string(make([]byte, harness.MaxConfigSize+1))})
		}, core.CodeLimit, "longer than"},
		"A link": {func(t *testing.T) string {
			dir := folder(t, map[string]string{"main": "x"})
			require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "passwd")))
			return dir
		}, core.CodeInvalid, `"passwd" is a symbolic link`},
		"Settings that lead away": {func(t *testing.T) string {
			dir := folder(t, map[string]string{"main": "x"})
			require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "harness.json")))
			return dir
		}, core.CodeInvalid, `"harness.json" is a symbolic link`},
		"Too large": {func(t *testing.T) string {
			dir := folder(t, map[string]string{"main": "x"})
			require.NoError(t, os.WriteFile(filepath.Join(dir, "big"), nil, 0o600))
			require.NoError(t, os.Truncate(filepath.Join(dir, "big"), harness.MaxPackBytes+1))
			return dir
		}, core.CodeLimit, "too large"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := harness.Pack(test.make(t))
			require.Error(t, err)
			assert.Equal(t, test.code, core.CodeOf(err))
			assert.Contains(t, err.Error(), test.says)
		})
	}
}
