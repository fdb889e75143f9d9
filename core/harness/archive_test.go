package harness_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/harness"
)

// However people pack a folder, it is the harness that drover makes of the folder itself.
func TestRead_TakesWhatPeoplePack(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "hw 1")
	for name, text := range map[string]string{
		"main": "#!/bin/sh\n", "harness.json": `{"drover/timeout":5}`, "tests/1/in": "1 2", "tests/1/out": "3", "lib/check": "#!/bin/sh\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		mode := os.FileMode(0o640)
		if strings.HasPrefix(text, "#!") {
			mode = 0o750
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	want, err := harness.Pack(dir)
	require.NoError(t, err)

	read := func(name string, packed []byte) {
		t.Helper()
		got, err := harness.Read(bytes.NewReader(packed))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		file := filepath.Join(t.TempDir(), "packed")
		require.NoError(t, os.WriteFile(file, packed, 0o600))
		got, err = harness.Pack(file)
		require.NoError(t, err, name)
		require.Equal(t, want, got, "the file of "+name)
	}
	for _, command := range []string{
		"tar -C $dir -cf - .", "cd $dir && tar -cf - *", "cd $dir && tar -czf - $(ls -r)", "tar -C $top -czf - 'hw 1'", "tar -C $dir --format=ustar -cf - .",
		"tar -C $dir --format=v7 -czf - .", "tar -C $dir -cf $more . && tar -C $dir -rf $more main && cat $more",
	} {
		command = strings.NewReplacer("$dir", "'"+dir+"'", "$top", top, "$more", filepath.Join(t.TempDir(), "more")).Replace(command)
		out, err := exec.CommandContext(t.Context(), "sh", "-c", command).Output()
		require.NoError(t, err, command)
		read(command, out)
	}
	for name, below := range map[string]string{"a zip": dir, "a zip of the folder": top} {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		require.NoError(t, w.AddFS(os.DirFS(below)), name)
		require.NoError(t, w.Close())
		read(name, out.Bytes())
	}
}

// tarred is a tar, compressed by gzip, of these headers; files have as many zeros as they say.
func tarred(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for _, h := range headers {
		require.NoError(t, w.WriteHeader(&h))
		_, err := io.CopyN(w, zeros{}, h.Size)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, packed.Close())
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestRead_RefusesWhatHarms(t *testing.T) {
	t.Parallel()
	main := tar.Header{Name: "main", Typeflag: tar.TypeReg, Mode: 0o700, Uid: 1000}
	with := func(more ...tar.Header) []byte { return tarred(t, append([]tar.Header{main}, more...)...) }
	var many []tar.Header
	for i := range harness.MaxPackFiles + 1 {
		many = append(many, tar.Header{Name: fmt.Sprintf("d/%d", i), Typeflag: tar.TypeReg})
	}
	for says, packed := range map[string][]byte{
		"\"../x\" leads out":     with(tar.Header{Name: "../x", Typeflag: tar.TypeReg}),
		"\"a/../../x\" leads":    with(tar.Header{Name: "a/../../x", Typeflag: tar.TypeReg}),
		"\"/etc/x\" leads out":   with(tar.Header{Name: "/etc/x", Typeflag: tar.TypeReg}),
		"\"l\" in":               with(tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"}),
		"\"h\" in":               with(tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "main"}),
		"\"p\" in":               with(tar.Header{Name: "p", Typeflag: tar.TypeFifo}),
		"8000 files and folders": with(many...),
		"at most 64 MiB":         with(tar.Header{Name: "bomb", Typeflag: tar.TypeReg, Size: harness.MaxProgramBytes + 1}),
		"a file and a folder":    with(tar.Header{Name: "main/x", Typeflag: tar.TypeReg}),
		"no file in it":          tarred(t),
		"neither main":           {},
		"cannot be decompressed": with()[:40],
	} {
		_, err := harness.Read(bytes.NewReader(packed))
		require.Error(t, err, says)
		require.Contains(t, []core.Code{core.CodeInvalid, core.CodeLimit}, core.CodeOf(err), "%s: %v", says, err)
		require.ErrorContains(t, err, says)
	}
}

// Half a gigabyte is too much, packed or not.
func TestRead_RefusesTooMuch(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Long)
	var long bytes.Buffer
	w := zip.NewWriter(&long)
	f, err := w.Create("main")
	require.NoError(t, err)
	_, err = io.CopyN(f, zeros{}, harness.MaxPackBytes+1)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = harness.Read(&long)
	require.Equal(t, core.CodeLimit, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "or 512 MiB")
	_, err = harness.Read(io.LimitReader(zeros{}, harness.MaxPackBytes+1))
	require.Equal(t, core.CodeLimit, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "larger than the 536870912 bytes")
}
