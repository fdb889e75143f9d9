package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestFilesOfARunAreKept(t *testing.T) {
	h, up := newUpHerd(t)
	stdout, stderr, code := h.run("run", "--json", "--collect", "out", "--collect", "missing", "--", "sh", "-c",
		"mkdir -p out/sub; echo one > out/one; echo two > out/sub/two; chmod 755 out/one; ln -s /etc/passwd out/link; mkfifo out/pipe; exit 3")
	require.Equal(t, 3, code, stderr)
	var res core.Result
	require.NoError(t, json.Unmarshal([]byte(stdout), &res))
	require.Len(t, res.Files, 2)
	require.Len(t, res.LeftOut, 3)
	to := filepath.Join(t.TempDir(), "fetched")
	out, errs, code := h.run("request", "files", "--to", to, res.ID)
	require.Zero(t, code, errs)
	require.Contains(t, out, "out/sub/two")
	require.Contains(t, out, "out/link")
	require.Contains(t, out, "it is not a plain file")
	text, err := os.ReadFile(filepath.Join(to, "out", "sub", "two"))
	require.NoError(t, err)
	require.Equal(t, "two\n", string(text))
	info, err := os.Stat(filepath.Join(to, "out", "one"))
	require.NoError(t, err)
	require.EqualValues(t, 0o755, info.Mode().Perm())
	_, errs, code = h.run("request", "files", "--to", to, res.ID)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "not there yet")
	out, errs, code = h.run("request", "files", "--json", res.ID)
	require.Zero(t, code, errs)
	require.True(t, json.Valid([]byte(out)))

	_, errs, code = h.run("run", "--collect", "out", "--", "sh", "-c", "mkdir out; touch out/a; ln -s / out/root")
	require.Zero(t, code, errs)
	require.Contains(t, errs, "kept 1 of its files: drover request files --to FOLDER ")
	require.Contains(t, errs, "out/root was not kept: it is not a plain file")
	up.stop()
	h.requireNothingLeft()
}

// oneBlob is a store that has the same for every digest.
type oneBlob struct{ core.Blobs }

func (oneBlob) Open(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("abc")), nil
}

// Whatever a store says of paths, files are written beneath the folder that was named.
func TestFetchedFilesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	blobs := oneBlob{}
	for _, path := range []string{"../x", "/etc/x", "a/../../x", "", ".", "a//b"} {
		to := filepath.Join(t.TempDir(), "to")
		require.Error(t, fetch(t.Context(), blobs, []core.File{{Path: path, Digest: "d", Size: 3}}, to), path)
		require.NoFileExists(t, filepath.Join(filepath.Dir(to), "x"))
	}
	to := filepath.Join(t.TempDir(), "to")
	twice := []core.File{{Path: "a", Digest: "d", Size: 2, Mode: 0o4777}, {Path: "a", Digest: "d", Size: 3}}
	require.Error(t, fetch(context.Background(), blobs, twice, to), "nothing is written over")
	info, err := os.Stat(filepath.Join(to, "a"))
	require.NoError(t, err)
	require.EqualValues(t, 2, info.Size(), "and no more than was said")
	require.EqualValues(t, 0o755, info.Mode())
}
