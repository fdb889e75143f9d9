package pack_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"drover/core"
	"drover/core/blobs/pack"

	"github.com/stretchr/testify/require"
)

// tree makes a folder: names that end in "/" are folders, in "*" are run.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, strings.TrimSuffix(name, "*"))
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(path, 0o700))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755)) // a mode that must not matter
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		if strings.HasSuffix(name, "*") {
			require.NoError(t, os.Chmod(path, 0o711)) // as above
		}
	}
	return dir
}

func packed(t *testing.T, dir string) []byte {
	t.Helper()
	var to bytes.Buffer
	require.NoError(t, pack.Folder(t.Context(), dir, &to, pack.Defaults()))
	return to.Bytes()
}

// example has everything that a folder may hold.
var example = map[string]string{
	"main*": "#!/bin/sh\n", "a.txt": "a", "a/b.txt": "b", "a/empty/": "", "empty": "", "ünï cödé": "u",
	strings.Repeat("long/", 60) + "name": "l", "-rf": "x", "a b\n\x1b[0m": "odd",
}

func TestFolderIsDeterministic(t *testing.T) {
	t.Parallel()
	dir := tree(t, example)
	first := packed(t, dir)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		mode := os.FileMode(0o640)
		if d.IsDir() || d.Name() == "main" {
			mode = 0o750
		}
		require.NoError(t, os.Chmod(path, mode))
		return os.Chtimes(path, time.Now(), time.Unix(int64(len(path)), 5))
	}))
	require.Equal(t, first, packed(t, dir), "modes and times do not matter")
	require.Equal(t, first, packed(t, tree(t, example)), "nor does the place, or the order of making")
	// A change of this digest makes every harness a new one: it must not come by accident.
	require.Equal(t, "b9dae3e9fb79450a33b6ac101fe688e82ebf3dad8c6cd0c2a5f026f5d6db10f5", fmt.Sprintf("%x", sha256.Sum256(first)))

	changed := map[string]string{}
	for name, content := range example {
		changed[name] = content
	}
	changed["a.txt"] = "A"
	require.NotEqual(t, first, packed(t, tree(t, changed)))
	require.NoError(t, os.Chmod(filepath.Join(dir, "main"), 0o600))
	require.NotEqual(t, first, packed(t, dir), "whether a file may be run does matter")
}

func TestFolderRoundTrip(t *testing.T) {
	t.Parallel()
	archive := packed(t, tree(t, example))
	summary, err := pack.Check(bytes.NewReader(archive), pack.Defaults())
	require.NoError(t, err)
	require.Equal(t, pack.Summary{Entries: 9 + 61, Bytes: 18}, summary)
	got := map[string]string{}
	for from := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		content, err := io.ReadAll(from)
		require.NoError(t, err)
		name := h.Name
		if h.Mode == 0o755 && h.Typeflag == tar.TypeReg {
			name += "*"
		}
		got[name] = string(content)
	}
	for name, content := range example {
		require.Equal(t, content, got[name], name)
		require.Contains(t, got, name)
	}

	summary, err = pack.Check(bytes.NewReader(packed(t, t.TempDir())), pack.Defaults())
	require.NoError(t, err)
	require.Zero(t, summary, "an empty folder is one, too")
}

func TestFolderRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    core.Code
		text    string
	}{
		"link": {func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "sub", "bad")))
		}, core.CodeInvalid, `"sub/bad" is a symbolic link`},
		"link inside": {func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink("../main", filepath.Join(dir, "sub", "bad")))
		}, core.CodeInvalid, `"sub/bad" is a symbolic link`},
		"link to a folder": {func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink("/", filepath.Join(dir, "sub", "bad")))
		}, core.CodeInvalid, `"sub/bad" is a symbolic link`},
		"pipe": {func(t *testing.T, dir string) {
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "sub", "bad"), 0o600))
		}, core.CodeInvalid, `"sub/bad" is a pipe`},
		"socket": {func(t *testing.T, dir string) {
			l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "sub", "bad"))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, l.Close()) })
		}, core.CodeInvalid, `"sub/bad" is a socket`},
		"device": {func(t *testing.T, dir string) {
			// Device 0:0 is the one that anybody may make.
			require.NoError(t, syscall.Mknod(filepath.Join(dir, "sub", "bad"), syscall.S_IFCHR|0o600, 0))
		}, core.CodeInvalid, `"sub/bad" is a device`},
		"name": {func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "\xff"), nil, 0o600))
		}, core.CodeInvalid, "is not UTF-8"},
		"path": {func(t *testing.T, dir string) {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, strings.Repeat(strings.Repeat("x", 200)+"/", 6)), 0o700))
		}, core.CodeInvalid, "at most 1024"},
		"entries": {func(t *testing.T, dir string) {
			for i := range 20 {
				require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
			}
		}, core.CodeLimit, "at most 20 files"},
		"bytes": {func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), make([]byte, 10_000), 0o600))
		}, core.CodeLimit, "10000 bytes"},
		"sparse bytes": {func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "main"), 1<<40))
		}, core.CodeLimit, "10000 bytes"},
		"gone": {func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
		}, core.CodeNotFound, "no folder"},
		"no folder": {func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
		}, core.CodeInvalid, "as a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{"main*": "x", "sub/": ""})
			c.prepare(t, dir)
			err := pack.Folder(t.Context(), dir, io.Discard, pack.Limits{Entries: 20, Bytes: 10_000})
			require.ErrorContains(t, err, c.text)
			require.Equal(t, c.want, core.CodeOf(err))
		})
	}
}

// fickle is a writer that changes the folder while it is packed.
type fickle struct {
	once   bool
	change func()
}

func (f *fickle) Write(p []byte) (int, error) {
	if !f.once {
		f.once = true
		f.change()
	}
	return len(p), nil
}

func TestFolderThatChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string){
		"grown":  func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte("longer"), 0o600)) },
		"shrunk": func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) },
		"gone":   func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"link": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink("a", path))
		},
		"link outside": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink("/etc/passwd", path))
		},
		"pipe": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, syscall.Mkfifo(path, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{"a": "aaa", "z": "zzz"})
			err := pack.Folder(t.Context(), dir, &fickle{change: func() { change(t, filepath.Join(dir, "z")) }}, pack.Defaults())
			require.ErrorContains(t, err, "z cannot be packed")
			require.Equal(t, core.CodeInvalid, core.CodeOf(err))
		})
	}
}

type deadSink struct{ err error }

func (d deadSink) Write([]byte) (int, error) { return 0, d.err }

func TestFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": "aaa"})
	err := pack.Folder(t.Context(), dir, deadSink{errors.New("dead")}, pack.Defaults())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "dead")
	err = pack.Folder(t.Context(), dir, deadSink{core.Errorf(core.CodeLimit, "", "too large")}, pack.Defaults())
	require.Equal(t, core.CodeLimit, core.CodeOf(err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, pack.Folder(ctx, dir, io.Discard, pack.Defaults()), context.Canceled)
}
