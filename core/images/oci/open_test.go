package oci_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/images"
	"drover/core/images/oci"
)

// archive makes a tar of "name=content", "name/" and "name→target".
func archive(t *testing.T, entries ...string) []byte {
	t.Helper()
	var to bytes.Buffer
	w := tar.NewWriter(&to)
	for _, e := range entries {
		h, content := tar.Header{Name: e, Typeflag: tar.TypeDir, Mode: 0o755}, ""
		if name, text, ok := strings.Cut(e, "="); ok {
			h, content = tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}, text
		} else if name, target, ok := strings.Cut(e, "→"); ok {
			h = tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
		}
		require.NoError(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return to.Bytes()
}

// image makes an image of layers.
func image(t *testing.T, layers ...[]byte) v1.Image {
	t.Helper()
	made := empty.Image
	for _, content := range layers {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
		require.NoError(t, err)
		made, err = mutate.AppendLayers(made, layer)
		require.NoError(t, err)
	}
	return made
}

// layoutOf writes a layout with images.
func layoutOf(t *testing.T, images ...v1.Image) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	at, err := layout.Write(dir, empty.Index)
	require.NoError(t, err)
	for _, one := range images {
		require.NoError(t, at.AppendImage(one))
	}
	return dir
}

// packed makes a tar of a folder.
func packed(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "packed.tar")
	to, err := os.Create(file)
	require.NoError(t, err)
	w := tar.NewWriter(to)
	require.NoError(t, w.AddFS(os.DirFS(dir)))
	require.NoError(t, errors.Join(w.Close(), to.Close()))
	return file
}

// saved is what docker save writes.
func saved(t *testing.T, one v1.Image) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "saved.tar")
	require.NoError(t, tarball.WriteToFile(file, nil, one))
	return file
}

// squeezed compresses a file.
func squeezed(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return written(t, compressed(t, content))
}

func compressed(t *testing.T, content []byte) []byte {
	t.Helper()
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	_, err := w.Write(content)
	require.NoError(t, errors.Join(err, w.Close()))
	return to.Bytes()
}

func written(t *testing.T, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	return file
}

// read returns the files in opt of what Open makes of a file.
func read(t *testing.T, file string) (files map[string]string, what string, err error) {
	t.Helper()
	temp := t.TempDir()
	system, what, err := oci.Open(t.Context(), file, temp, images.Defaults())
	if err == nil {
		var tree *images.Tree
		if tree, err = images.Read(t.Context(), system, images.Options{}); err == nil {
			files = unpacked(t, tree)
			err = tree.Close()
		}
		err = errors.Join(err, system.Close())
	}
	left, failed := os.ReadDir(temp)
	require.NoError(t, failed)
	require.Empty(t, left, "nothing stays in the temporary folder")
	return files, what, err
}

func unpacked(t *testing.T, tree *images.Tree) map[string]string {
	t.Helper()
	var to bytes.Buffer
	_, err := tree.Write(t.Context(), &to)
	require.NoError(t, err)
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	_, err = images.Unpack(t.Context(), &to, root, images.Defaults())
	require.NoError(t, err)
	files := map[string]string{}
	require.NoError(t, fs.WalkDir(root.FS(), "opt", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var text []byte
			text, err = root.ReadFile(name)
			files[name] = string(text)
		}
		return err
	}))
	return files
}

func TestOpen(t *testing.T) {
	t.Parallel()
	two := image(t,
		archive(t, "opt/", "opt/kept=1", "opt/replaced=old", "opt/removed=x", "opt/emptied/", "opt/emptied/x=x", "opt/link→kept", "tmp/x=x"),
		archive(t, "opt/replaced=new", "opt/.wh.removed=", "opt/emptied/.wh..wh..opq=", "opt/emptied/y=y"),
	)
	want := map[string]string{"opt/kept": "1", "opt/replaced": "new", "opt/emptied/y": "y"}
	plain := archive(t, "./", "./opt/", "./opt/kept=1", "./opt/replaced=new", "./opt/emptied/y=y")
	foreign, err := mutate.ConfigFile(two, &v1.ConfigFile{OS: "plan9", Architecture: "mips"})
	require.NoError(t, err)
	several := layoutOf(t)
	at, err := layout.FromPath(several)
	require.NoError(t, err)
	require.NoError(t, at.AppendImage(foreign, layout.WithPlatform(v1.Platform{OS: "plan9", Architecture: "mips"})))
	require.NoError(t, at.AppendImage(two, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH})))
	nested := layoutOf(t)
	at, err = layout.FromPath(nested)
	require.NoError(t, err)
	require.NoError(t, at.AppendIndex(mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: two})))

	for name, c := range map[string]struct{ file, what string }{
		"layout":             {layoutOf(t, two), "OCI layout"},
		"for several":        {several, "OCI layout"},
		"index in an index":  {nested, "OCI layout"},
		"packed":             {packed(t, layoutOf(t, two)), "OCI image"},
		"packed, compressed": {squeezed(t, packed(t, layoutOf(t, two))), "OCI image"},
		"saved":              {saved(t, two), "container image"},
		"saved, compressed":  {squeezed(t, saved(t, two)), "container image"},
		"plain":              {written(t, plain), "root file system"},
		"plain, compressed":  {squeezed(t, written(t, plain)), "root file system"},
	} {
		files, what, err := read(t, c.file)
		require.NoError(t, err, name)
		require.Equal(t, c.what, what, name)
		require.Equal(t, want, files, name)
	}
}

// TestNamesOfLayers shows that the upper of two files stays however their names are
// spelt, and that images are refused where that cannot be told.
func TestNamesOfLayers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lower, upper []string
		refused      bool
	}{
		"without":               {[]string{"opt/", "opt/x=old", "opt/y=old"}, []string{"opt/x=new", "opt/.wh.y="}, false},
		"a dot above":           {[]string{"opt/", "opt/x=old", "opt/y=old"}, []string{"./", "./opt/x=new", "./opt/.wh.y="}, false},
		"a dot below":           {[]string{"./", "./opt/", "./opt/x=old", "./opt/y=old"}, []string{"opt/x=new", "opt/.wh.y="}, false},
		"slashes":               {[]string{"/", "/opt/", "/opt/x=old", "/opt/y=old"}, []string{"/opt/x=new", "/opt/.wh.y="}, false},
		"a slash above":         {[]string{"opt/", "opt/x=old", "opt/y=old"}, []string{"/opt/x=new"}, true},
		"a slash below":         {[]string{"/opt/", "/opt/x=old", "/opt/y=old"}, []string{"./opt/x=new"}, true},
		"one that hides":        {[]string{"opt/", "opt/x=new", "opt/y=old"}, []string{"/opt/.wh.y="}, true},
		"both in one":           {[]string{"opt/", "opt/x=new"}, []string{"//opt/z=z", "opt/a=a"}, true},
		"a slash above, dotted": {[]string{"opt/", "opt/x=old", "opt/y=old"}, []string{"/./opt/x=new"}, true},
	} {
		made := image(t, archive(t, c.lower...), archive(t, c.upper...))
		for _, file := range []string{layoutOf(t, made), saved(t, made)} {
			files, _, err := read(t, file)
			if c.refused {
				require.Equal(t, core.CodeInvalid, core.CodeOf(err), name)
				require.ErrorContains(t, err, "begin with /", name)
				continue
			}
			require.NoError(t, err, name)
			require.Equal(t, map[string]string{"opt/x": "new"}, files, name)
		}
	}
}

// swapped puts other layers into what docker save wrote.
func swapped(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var to bytes.Buffer
	w := tar.NewWriter(&to)
	for from := tar.NewReader(bytes.NewReader(content)); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		text, err := io.ReadAll(from)
		require.NoError(t, err)
		if strings.HasSuffix(h.Name, ".tar.gz") {
			text = compressed(t, archive(t, "opt/", "opt/kept=evil"))
			h.Size = int64(len(text))
		}
		require.NoError(t, w.WriteHeader(h))
		_, err = w.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return written(t, to.Bytes())
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	good := image(t, archive(t, "opt/", "opt/kept=1"))
	change := func(dir string, what func(name string, content []byte) []byte) string {
		blobs := filepath.Join(dir, "blobs/sha256")
		found, err := os.ReadDir(blobs)
		require.NoError(t, err)
		for _, d := range found {
			file := filepath.Join(blobs, d.Name())
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, what(d.Name(), content), 0o600))
		}
		return dir
	}
	kinds := map[string]func(content []byte) bool{
		"manifest": func(c []byte) bool { return bytes.Contains(c, []byte(`"schemaVersion"`)) },
		"config":   func(c []byte) bool { return bytes.Contains(c, []byte(`"rootfs"`)) },
		"layer":    func(c []byte) bool { return !bytes.HasPrefix(c, []byte("{")) },
	}
	for kind, is := range kinds {
		seen := 0
		dir := change(layoutOf(t, good), func(_ string, content []byte) []byte {
			if is(content) {
				seen++
				if kind == "layer" { // a good one, but not this one
					return compressed(t, archive(t, "opt/", "opt/evil=1"))
				}
				return append(content, ' ')
			}
			return content
		})
		require.Equal(t, 1, seen, kind)
		_, _, err := read(t, dir)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%s: %v", kind, err)
	}
	secret := layoutOf(t, good)
	require.NoError(t, filepath.WalkDir(filepath.Join(secret, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path))
		}
		return err
	}))
	climbing := image(t, archive(t, "../../opt/x=1"))
	linked := image(t, archive(t, "opt/", "opt/out→../../etc/passwd"), archive(t, "opt/x=1"))
	windows := image(t, archive(t, "opt/", `opt/out→c:x`))
	foreign, err := mutate.ConfigFile(good, &v1.ConfigFile{OS: "linux", Architecture: "pdp11"})
	require.NoError(t, err)
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, os.Symlink("/dev/null", pipe))

	for name, c := range map[string]struct {
		file string
		want core.Code
	}{
		"nothing":              {filepath.Join(t.TempDir(), "nothing"), core.CodeNotFound},
		"a folder":             {t.TempDir(), core.CodeInvalid},
		"a device":             {pipe, core.CodeInvalid},
		"a text":               {written(t, []byte(strings.Repeat("text ", 1000))), core.CodeInvalid},
		"a bad compression":    {written(t, []byte("\x1f\x8bnothing")), core.CodeInvalid},
		"two images":           {layoutOf(t, good, image(t, archive(t, "opt/x=1"))), core.CodeInvalid},
		"no image":             {layoutOf(t), core.CodeInvalid},
		"links for files":      {secret, core.CodeInvalid},
		"a layer that climbs":  {layoutOf(t, climbing), core.CodeInvalid},
		"a saved one as well":  {saved(t, climbing), core.CodeInvalid},
		"a link that climbs":   {layoutOf(t, linked), core.CodeInvalid},
		"saved, it as well":    {saved(t, linked), core.CodeInvalid},
		"a link that may":      {saved(t, windows), core.CodeInvalid},
		"another layer, saved": {swapped(t, saved(t, good)), core.CodeInvalid},
		"for other machines":   {layoutOf(t, foreign), core.CodeInvalid},
		"that, saved":          {saved(t, foreign), core.CodeInvalid},
		"a climbing tar":       {written(t, archive(t, "opt/", "../x=1")), core.CodeInvalid},
		"an empty saved image": {written(t, archive(t, "manifest.json=[]")), core.CodeInvalid},
		"a layout of nothing":  {written(t, archive(t, "oci-layout={}", "index.json={}")), core.CodeInvalid},
	} {
		_, _, err := read(t, c.file)
		require.Equal(t, c.want, core.CodeOf(err), "%s: %v", name, err)
		if strings.Contains(name, "link that") {
			require.ErrorContains(t, err, `the link "opt/out"`, name)
		}
	}

	limits := images.Defaults()
	limits.Packed = 10
	_, _, err = oci.Open(t.Context(), packed(t, layoutOf(t, good)), t.TempDir(), limits)
	require.Equal(t, core.CodeLimit, core.CodeOf(err))
	limits = images.Defaults()
	limits.Entries = 1 // what a later layer hides counts as well
	_, _, err = oci.Open(t.Context(), saved(t, good), t.TempDir(), limits)
	require.Equal(t, core.CodeLimit, core.CodeOf(err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = oci.Open(ctx, packed(t, layoutOf(t, good)), t.TempDir(), images.Defaults())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

// A tar whose names are those of a saved image, with a folder below a file and the like.
func TestOpenStrangeLayouts(t *testing.T) {
	t.Parallel()
	for i, entries := range [][]string{
		{"oci-layout={}", "blobs=x", "blobs/sha256/" + strings.Repeat("0", 64) + "=x"},
		{"oci-layout→/etc/passwd", "index.json→/etc/passwd"},
		{"oci-layout={}", "blobs→/etc", "index.json={}"},
		{"oci-layout={}", fmt.Sprintf(`index.json={"manifests":[{"digest":"sha256:../../%s"}]}`, strings.Repeat("0", 64))},
	} {
		_, _, err := read(t, written(t, archive(t, entries...)))
		require.Error(t, err, i)
	}
}
