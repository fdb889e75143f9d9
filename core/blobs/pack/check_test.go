package pack_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"drover/core"
	"drover/core/blobs/pack"

	"github.com/stretchr/testify/require"
)

// archive writes headers as they are; files get content of their size.
func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var to bytes.Buffer
	w := tar.NewWriter(&to)
	for _, h := range headers {
		if h.ModTime.IsZero() {
			h.ModTime = time.Unix(0, 0)
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		require.NoError(t, w.WriteHeader(&h))
		_, err := w.Write(make([]byte, h.Size))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return to.Bytes()
}

func file(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 3} }

func dir(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	with := func(h tar.Header, change func(h *tar.Header)) tar.Header { change(&h); return h }
	for name, c := range map[string]struct {
		archive []byte
		want    core.Code
	}{
		"good":              {archive(t, file("a"), dir("b/"), file("b/c")), ""},
		"run":               {archive(t, with(file("a"), func(h *tar.Header) { h.Mode = 0o755 })), ""},
		"parent":            {archive(t, file("../a")), core.CodeInvalid},
		"absolute":          {archive(t, file("/a")), core.CodeInvalid},
		"parent inside":     {archive(t, dir("a/"), file("a/../../b")), core.CodeInvalid},
		"dot":               {archive(t, file("./a")), core.CodeInvalid},
		"itself":            {archive(t, dir("./")), core.CodeInvalid},
		"empty name":        {archive(t, dir("/")), core.CodeInvalid},
		"double slash":      {archive(t, dir("a/"), file("a//b")), core.CodeInvalid},
		"twice":             {archive(t, file("a"), file("a")), core.CodeInvalid},
		"file and folder":   {archive(t, file("a"), dir("a/")), core.CodeInvalid},
		"unsorted":          {archive(t, file("b"), file("a")), core.CodeInvalid},
		"no folder":         {archive(t, file("a/b")), core.CodeInvalid},
		"below a file":      {archive(t, file("a"), file("a/b")), core.CodeInvalid},
		"symlink":           {archive(t, tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}), core.CodeInvalid},
		"hard link":         {archive(t, file("a"), tar.Header{Name: "b", Typeflag: tar.TypeLink, Linkname: "a"}), core.CodeInvalid},
		"device":            {archive(t, tar.Header{Name: "a", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}), core.CodeInvalid},
		"pipe":              {archive(t, tar.Header{Name: "a", Typeflag: tar.TypeFifo}), core.CodeInvalid},
		"set-uid":           {archive(t, with(file("a"), func(h *tar.Header) { h.Mode = 0o4755 })), core.CodeInvalid},
		"other mode":        {archive(t, with(file("a"), func(h *tar.Header) { h.Mode = 0o666 })), core.CodeInvalid},
		"owner":             {archive(t, with(file("a"), func(h *tar.Header) { h.Uid = 1 })), core.CodeInvalid},
		"owner's name":      {archive(t, with(file("a"), func(h *tar.Header) { h.Uname = "root" })), core.CodeInvalid},
		"time":              {archive(t, with(file("a"), func(h *tar.Header) { h.ModTime = time.Unix(1, 0) })), core.CodeInvalid},
		"extended attribut": {archive(t, with(file("a"), func(h *tar.Header) { h.PAXRecords = map[string]string{"SCHILY.xattr.user.x": "y"} })), core.CodeInvalid},
		"not UTF-8":         {archive(t, file("\xff")), core.CodeInvalid},
		"no archive":        {bytes.Repeat([]byte("x"), 2048), core.CodeInvalid},
		"cut":               {archive(t, file("a"))[:514], core.CodeInvalid},
		"followed":          {append(archive(t, file("a")), 'x'), core.CodeInvalid},
		"entries":           {archive(t, file("a"), file("b"), file("c"), file("d")), core.CodeLimit},
		"bytes":             {archive(t, with(file("a"), func(h *tar.Header) { h.Size = 11 })), core.CodeLimit},
	} {
		summary, err := pack.Check(bytes.NewReader(c.archive), pack.Limits{Entries: 3, Bytes: 10})
		require.Equal(t, c.want, core.CodeOf(err), "%s: %v", name, err)
		if c.want == "" {
			require.Positive(t, summary.Entries, name)
		}
	}
}

// What Check lets pass keeps to its limits and to its folder.
func FuzzCheck(f *testing.F) {
	seed := f.TempDir()
	for name, content := range map[string]string{"main": "x", "a": "", "ü": "y"} {
		if err := os.WriteFile(filepath.Join(seed, name), []byte(content), 0o700); err != nil { // to be run
			f.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(seed, "z"), 0o700); err != nil {
		f.Fatal(err)
	}
	var to bytes.Buffer
	if err := pack.Folder(f.Context(), seed, &to, pack.Defaults()); err != nil {
		f.Fatal(err)
	}
	f.Add(to.Bytes())
	f.Fuzz(func(t *testing.T, archive []byte) {
		limits := pack.Limits{Entries: 20, Bytes: 1 << 20}
		summary, err := pack.Check(bytes.NewReader(archive), limits)
		if err != nil {
			require.NotEqual(t, core.CodeInternal, core.CodeOf(err))
			return
		}
		require.LessOrEqual(t, summary.Entries, limits.Entries)
		require.LessOrEqual(t, summary.Bytes, limits.Bytes)
		for from := tar.NewReader(bytes.NewReader(archive)); ; {
			h, err := from.Next()
			if err != nil {
				break
			}
			require.True(t, filepath.IsLocal(h.Name), h.Name)
		}
	})
}
