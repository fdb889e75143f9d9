package pack_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs/pack"
)

// Files in memory make the very archive that a folder of them makes.
func TestFilesIsFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]pack.File{"main": {Run: true, Content: []byte("#!/bin/sh\n")}, "a/b/c": {Content: []byte("x")}, "a.txt": {Content: []byte{}}, "a-b": {Content: nil}}
	for name, f := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		mode := os.FileMode(0o644)
		if f.Run {
			mode = 0o755
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), f.Content, mode))
	}
	var want, got bytes.Buffer
	require.NoError(t, pack.Folder(t.Context(), dir, &want, pack.Defaults()))
	require.NoError(t, pack.Files(files, &got, pack.Defaults()))
	require.Equal(t, want.Bytes(), got.Bytes())
	_, err := pack.Check(&got, pack.Defaults())
	require.NoError(t, err)
}

func TestFilesRefuses(t *testing.T) {
	t.Parallel()
	one := pack.File{Content: []byte("x")}
	for name, test := range map[string]struct {
		files map[string]pack.File
		code  core.Code
	}{
		"out":               {map[string]pack.File{"../a": one}, core.CodeInvalid},
		"the folder itself": {map[string]pack.File{".": one}, core.CodeInvalid},
		"both":              {map[string]pack.File{"a": one, "a/b": one}, core.CodeInvalid},
		"no text":           {map[string]pack.File{"\xff": one}, core.CodeInvalid},
		"too many":          {map[string]pack.File{"a/b": one, "a/c": one, "d": one}, core.CodeLimit},
		"too large":         {map[string]pack.File{"a": {Content: make([]byte, 11)}}, core.CodeLimit},
	} {
		require.Equal(t, test.code, core.CodeOf(pack.Files(test.files, &bytes.Buffer{}, pack.Limits{Entries: 3, Bytes: 10})), name)
	}
}
