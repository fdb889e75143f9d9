package images_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/images"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// one is an entry of an archive under test; its size is that of its text.
type one struct {
	tar.Header
	text string
}

func file(name, text string) one {
	return one{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, text}
}

func dir(name string) one {
	return one{tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o700}, ""}
}

func link(name, to string) one {
	return one{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}, ""}
}

func hard(name, to string) one {
	return one{tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}, ""}
}

func (o one) with(change func(h *tar.Header)) one {
	change(&o.Header)
	return o
}

// archive writes entries as they are.
func archive(t testing.TB, all ...one) []byte {
	t.Helper()
	var to bytes.Buffer
	w := tar.NewWriter(&to)
	for _, o := range all {
		if o.Size == 0 {
			o.Size = int64(len(o.text))
		}
		if o.ModTime.IsZero() {
			o.ModTime = time.Unix(77, 0)
		}
		require.NoError(t, w.WriteHeader(&o.Header))
		_, err := io.WriteString(w, o.text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return to.Bytes()
}

// write packs a tar.
func write(t testing.TB, plain []byte, opts images.Options) ([]byte, images.Summary, error) {
	t.Helper()
	tree, err := images.Read(t.Context(), bytes.NewReader(plain), opts)
	if err != nil {
		return nil, images.Summary{}, err
	}
	var to bytes.Buffer
	sum, err := tree.Write(t.Context(), &to)
	return to.Bytes(), sum, errors.Join(err, tree.Close())
}

// listing unpacks an image and says what is on the disk: files by their text,
// folders "/", links "→ target".
func listing(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	at := t.TempDir()
	require.NoError(t, os.Chmod(at, 0o700))
	unpack(t, packed, at)
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		name, err := filepath.Rel(at, path)
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		switch {
		case d.IsDir():
			require.Equal(t, fs.ModeDir|0o755, info.Mode(), name)
			found[name] = "/"
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			require.NoError(t, err)
			found[name] = "→ " + to
		default:
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			found[name] = fmt.Sprintf("%o %s", info.Mode(), text)
		}
		return nil
	}))
	return found
}

func unpack(t *testing.T, packed []byte, at string) images.Summary {
	t.Helper()
	root, err := os.OpenRoot(at)
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	sum, err := images.Unpack(t.Context(), bytes.NewReader(packed), root, images.Defaults())
	require.NoError(t, err)
	return sum
}

// every is what every image has beside its own.
func every(more map[string]string) map[string]string {
	all := map[string]string{
		".": "/", "etc": "/", "var": "/", "etc/hostname": "644 ", "etc/machine-id": "644 ", "etc/resolv.conf": "644 ",
		"etc/hosts": "644 127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n",
	}
	for _, place := range images.Places() {
		all[place] = "/"
	}
	maps.Copy(all, more)
	return all
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long/", 50) + "ü"
	packed, sum, err := write(t, archive(t,
		dir("./"),
		file("./usr/bin/run", "#!").with(func(h *tar.Header) { h.Mode = 0o4711; h.Uid = 1000; h.Uname = "ann" }),
		file("etc/passwd", "root"),
		file("/etc/absolute", "y"),
		file("etc/private", "z").with(func(h *tar.Header) { h.Mode = 0o600 }),
		link("bin", "usr/bin"), link("usr/sbin", "../bin"), link("etc/alternative", "/usr/bin/run"), link("dangling", "nowhere"),
		hard("usr/bin/also", "./usr/bin/run"), hard("a-first", "usr/bin/also"), hard("bin2", "bin"),
		file(long, "deep"),
		file("empty-1", ""), file("empty-2", ""),
		file("twice", "old"), file("twice", "new"),
		file("x", "a"), file("x-y", "b"), // sorts around a folder's content
		file("attributes", "c").with(func(h *tar.Header) { h.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": "\x01"} }),
		// what no image keeps
		file("tmp/a", "gone"), file("run/a/b", "gone"), file("etc/shadow", "gone"), file("etc/hostname", "gone"), link("etc/resolv.conf", "../run/x"),
		one{tar.Header{Name: "dev/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}, ""},
		one{tar.Header{Name: "dev/log", Typeflag: tar.TypeFifo}, ""},
	), images.Options{})
	require.NoError(t, err)

	want := every(map[string]string{
		"usr": "/", "usr/bin": "/", "usr/bin/run": "755 #!", "usr/bin/also": "755 #!", "a-first": "755 #!",
		"etc/passwd": "644 root", "etc/absolute": "644 y", "etc/private": "644 z",
		"bin": "→ usr/bin", "bin2": "→ usr/bin", "usr/sbin": "→ ../bin", "etc/alternative": "→ /usr/bin/run", "dangling": "→ nowhere",
		long: "644 deep", "empty-1": "644 ", "empty-2": "644 ", "twice": "644 new", "x": "644 a", "x-y": "644 b", "attributes": "644 c",
	})
	for at := filepath.Dir(long); at != "."; at = filepath.Dir(at) {
		want[at] = "/"
	}
	require.Equal(t, want, listing(t, packed))
	require.Equal(t, len(want)-1, sum.Entries)

	at := t.TempDir()
	require.Equal(t, sum, unpack(t, packed, at))
	var file unix.Stat_t
	require.NoError(t, unix.Lstat(filepath.Join(at, "a-first"), &file))
	require.EqualValues(t, 3, file.Nlink, "hard links stay")
	require.EqualValues(t, 77, file.Mtim.Sec, "and times")
	require.NoError(t, unix.Lstat(filepath.Join(at, "usr/bin"), &file))
	require.Zero(t, file.Mtim.Sec)
}

// The same content is the same file, however it was archived.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	a, b, c := file("b/x", strings.Repeat("1", 5000)), file("a", "2"), link("c", "a")
	first, _, err := write(t, archive(t, a, b, c), images.Options{})
	require.NoError(t, err)
	for range 3 { // maps have no order
		other, _, err := write(t, archive(t, dir("./b"), c,
			b.with(func(h *tar.Header) { h.Name, h.Uid, h.Gname, h.Format = "./a", 12, "staff", tar.FormatPAX }), a), images.Options{})
		require.NoError(t, err)
		// a folder that is named has a time, one that is not has none
		require.NotEqual(t, first, other)
		other, _, err = write(t, archive(t, c, b.with(func(h *tar.Header) { h.Name, h.Uid = "./a", 12 }), a), images.Options{})
		require.NoError(t, err)
		require.Equal(t, first, other)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	at := func(o one, sec int64) one { return o.with(func(h *tar.Header) { h.ModTime = time.Unix(sec, 5) }) }
	all := []one{
		at(file("usr/share/doc/a/b", "doc"), 10), at(file("usr/share/docs", "kept"), 20), at(file("var/log/x", "log"), 30), at(hard("kept-log", "var/log/x"), 30),
	}
	opts := images.Options{Drop: []string{"usr/share/doc", "var/log/x"}, Began: 1000}
	early, _, err := write(t, archive(t, append(all, at(file("made", "m"), 1000), at(dir("var"), 1001))...), opts)
	require.NoError(t, err)
	late, _, err := write(t, archive(t, append(all, at(file("made", "m"), 5000), at(dir("var"), 6001))...), opts)
	require.NoError(t, err)
	require.Equal(t, early, late, "when it was made does not matter")
	require.Equal(t, every(map[string]string{
		"usr": "/", "usr/share": "/", "usr/share/docs": "644 kept", "kept-log": "644 log", "made": "644 m",
	}), listing(t, early))
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	device := func(name string) one {
		return one{tar.Header{Name: name, Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}, ""}
	}
	for name, c := range map[string]struct {
		archive []byte
		want    core.Code
	}{
		"parent":                {archive(t, file("../a", "x")), core.CodeInvalid},
		"parent inside":         {archive(t, file("a/../../b", "x")), core.CodeInvalid},
		"parent that stays":     {archive(t, file("a/../b", "x")), core.CodeInvalid},
		"parent in a place":     {archive(t, file("tmp/../../b", "x")), core.CodeInvalid},
		"link that climbs":      {archive(t, link("a", "../etc/passwd")), core.CodeInvalid},
		"link that climbs far":  {archive(t, link("a/b/c", "../../../etc")), core.CodeInvalid},
		"link round about":      {archive(t, link("a", "b/../../c")), core.CodeInvalid},
		"absolute, climbs":      {archive(t, link("a", "/../c")), core.CodeInvalid},
		"nothing":               {nil, core.CodeInvalid},
		"nothing that is kept":  {archive(t, file("tmp/a", "")), core.CodeInvalid},
		"empty link":            {archive(t, link("a", "")), core.CodeInvalid},
		"file through a link":   {archive(t, link("a", "/etc"), file("a/passwd", "x")), core.CodeInvalid},
		"through a later link":  {archive(t, file("a/passwd", "x"), link("a", "/etc")), core.CodeInvalid},
		"below a file":          {archive(t, file("a", "x"), file("a/b", "x")), core.CodeInvalid},
		"hard link out":         {archive(t, hard("a", "../../etc/shadow")), core.CodeInvalid},
		"hard link to nothing":  {archive(t, hard("a", "/etc/passwd")), core.CodeInvalid},
		"hard link to a place":  {archive(t, file("tmp/x", "x"), hard("a", "tmp/x")), core.CodeInvalid},
		"hard link to a folder": {archive(t, dir("b"), hard("a", "b")), core.CodeInvalid},
		"hard link to itself":   {archive(t, hard("a", "a")), core.CodeInvalid},
		"hard links in a ring":  {archive(t, hard("a", "b"), hard("b", "c"), hard("c", "a")), core.CodeInvalid},
		"device":                {archive(t, device("null")), core.CodeInvalid},
		"device beside dev":     {archive(t, device("dev2/null")), core.CodeInvalid},
		"dev itself":            {archive(t, device("dev")), core.CodeInvalid},
		"pipe":                  {archive(t, one{tar.Header{Name: "a", Typeflag: tar.TypeFifo}, ""}), core.CodeInvalid},
		"not UTF-8":             {archive(t, file("\xff", "")), core.CodeInvalid},
		"a long name":           {archive(t, file(strings.Repeat("x", 256), "")), core.CodeInvalid},
		"a long path":           {archive(t, file(strings.Repeat("x/", 2100)+"x", "")), core.CodeInvalid},
		"no archive":            {bytes.Repeat([]byte("x"), 2048), core.CodeInvalid},
		"cut":                   {archive(t, file("a", "xyz"))[:514], core.CodeInvalid},
		"many":                  {archive(t, slices.Repeat([]one{file("a", "")}, 31)...), core.CodeLimit},
		"large":                 {archive(t, file("a", strings.Repeat("x", 600)), file("b", strings.Repeat("x", 401))), core.CodeLimit},
		"large, dropped":        {archive(t, file("tmp/a", strings.Repeat("x", 1001))), core.CodeLimit},
	} {
		_, _, err := write(t, c.archive, images.Options{Limits: images.Limits{Entries: 30, Bytes: 1000}})
		require.Equal(t, c.want, core.CodeOf(err), "%s: %v", name, err)
	}
	many := []one{}
	for i := range 29 {
		many = append(many, file(fmt.Sprintf("d%d/d/d/d/d/x", i), ""))
	}
	_, _, err := write(t, archive(t, many...), images.Options{Limits: images.Limits{Entries: 30, Bytes: 1000}})
	require.Equal(t, core.CodeLimit, core.CodeOf(err), "folders that only names imply count")
}

// A stream that never ends, and one whose caller has gone.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	limits := images.Limits{Entries: 30, Bytes: 1000}
	_, err := images.Read(t.Context(), io.MultiReader(bytes.NewReader(archive(t, file("a", "x"))), endless{}), images.Options{Limits: limits})
	require.Equal(t, core.CodeLimit, core.CodeOf(err))
	sparse := archive(t, file("a", "x").with(func(h *tar.Header) { h.Size = 1 }))
	copy(sparse[124:136], "777777777777") // 64 GiB, says its header
	copy(sparse[148:156], "        ")
	sum := 0
	for _, b := range sparse[:512] {
		sum += int(b)
	}
	copy(sparse[148:156], fmt.Sprintf("%06o\x00 ", sum))
	_, err = images.Read(t.Context(), io.MultiReader(bytes.NewReader(sparse[:512]), endless{}), images.Options{Limits: limits})
	require.Equal(t, core.CodeLimit, core.CodeOf(err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = images.Read(ctx, endless{}, images.Options{})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	_, err = images.Read(t.Context(), endless{}, images.Options{Spool: filepath.Join(t.TempDir(), "nowhere")})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// canonical is what Write would make of entries; anything else is not.
func canonical(t testing.TB, all ...one) []byte {
	t.Helper()
	for i := range all {
		h := &all[i].Header
		h.Mode = map[byte]int64{tar.TypeDir: 0o755, tar.TypeSymlink: 0o777}[h.Typeflag]
		if h.Mode == 0 {
			h.Mode = 0o644
		}
	}
	return squeeze(t, archive(t, all...))
}

func squeeze(t testing.TB, plain []byte) []byte {
	t.Helper()
	var to bytes.Buffer
	w, err := zstd.NewWriter(&to, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<17)) // there are many, and they are small
	require.NoError(t, err)
	_, err = w.Write(plain)
	require.NoError(t, errors.Join(err, w.Close()))
	return to.Bytes()
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	raw := func(o one) []byte { return squeeze(t, archive(t, o)) }
	for name, c := range map[string]struct {
		packed []byte
		want   core.Code
	}{
		"good":               {canonical(t, file("a", "x"), dir("b/"), file("b/c", "y"), link("d", "/etc"), hard("e", "a")), ""},
		"parent":             {canonical(t, file("../a", "x")), core.CodeInvalid},
		"absolute":           {canonical(t, file("/a", "x")), core.CodeInvalid},
		"dot":                {canonical(t, file("./a", "x")), core.CodeInvalid},
		"itself":             {canonical(t, dir("./")), core.CodeInvalid},
		"double slash":       {canonical(t, dir("a/"), file("a//b", "x")), core.CodeInvalid},
		"twice":              {canonical(t, file("a", "x"), file("a", "x")), core.CodeInvalid},
		"unsorted":           {canonical(t, file("b", "x"), file("a", "x")), core.CodeInvalid},
		"no folder":          {canonical(t, file("a/b", "x")), core.CodeInvalid},
		"below a file":       {canonical(t, file("a", "x"), file("a/b", "x")), core.CodeInvalid},
		"through a link":     {canonical(t, link("a", "/tmp"), file("a/b", "x")), core.CodeInvalid},
		"through a link in":  {canonical(t, link("a", "b"), file("a/x", "x"), dir("b/")), core.CodeInvalid},
		"link that climbs":   {canonical(t, link("a", "../x")), core.CodeInvalid},
		"empty link":         {canonical(t, link("a", "")), core.CodeInvalid},
		"hard link forwards": {canonical(t, hard("a", "b"), file("b", "x")), core.CodeInvalid},
		"hard link out":      {canonical(t, hard("a", "../../etc/passwd")), core.CodeInvalid},
		"hard link by link":  {canonical(t, link("a", "/etc/passwd"), hard("b", "a")), core.CodeInvalid},
		"device":             {raw(one{tar.Header{Name: "a", Typeflag: tar.TypeChar, Mode: 0o644}, ""}), core.CodeInvalid},
		"pipe":               {raw(one{tar.Header{Name: "a", Typeflag: tar.TypeFifo, Mode: 0o644}, ""}), core.CodeInvalid},
		"set-uid":            {raw(file("a", "x").with(func(h *tar.Header) { h.Mode = 0o4755 })), core.CodeInvalid},
		"fixture-writable":   {raw(file("a", "x").with(func(h *tar.Header) { h.Mode = 0o666 })), core.CodeInvalid},
		"owner":              {raw(file("a", "x").with(func(h *tar.Header) { h.Uid = 1 })), core.CodeInvalid},
		"owner's name":       {raw(file("a", "x").with(func(h *tar.Header) { h.Uname = "root" })), core.CodeInvalid},
		"attribute":          {raw(file("a", "x").with(func(h *tar.Header) { h.PAXRecords = map[string]string{"SCHILY.xattr.user.x": "y"} })), core.CodeInvalid},
		"parts of a second":  {raw(file("a", "x").with(func(h *tar.Header) { h.ModTime, h.Format = time.Unix(1, 5), tar.FormatPAX })), core.CodeInvalid},
		"no zstd":            {archive(t, file("a", "x")), core.CodeInvalid},
		"no tar":             {squeeze(t, bytes.Repeat([]byte("x"), 2048)), core.CodeInvalid},
		"cut":                {canonical(t, file("a", "x"))[:40], core.CodeInvalid},
		"followed":           {append(canonical(t, file("a", "x")), canonical(t, file("b", "x"))...), core.CodeInvalid},
		"many":               {canonical(t, file("a", ""), file("b", ""), file("c", ""), file("d", ""), file("e", ""), file("f", "")), core.CodeLimit},
		"large":              {canonical(t, file("a", strings.Repeat("x", 101))), core.CodeLimit},
		"bomb":               {canonical(t, file("a", strings.Repeat("x", 8<<20))), core.CodeLimit},
		"zeros forever":      {squeeze(t, make([]byte, 8<<20)), core.CodeInvalid},
	} {
		at := t.TempDir()
		root, err := os.OpenRoot(at)
		require.NoError(t, err)
		_, err = images.Unpack(t.Context(), bytes.NewReader(c.packed), root, images.Limits{Entries: 5, Bytes: 100, Packed: 30 << 10})
		require.NoError(t, root.Close())
		require.Equal(t, c.want, core.CodeOf(err), "%s: %v", name, err)
	}
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	_, err = images.Unpack(t.Context(), bytes.NewReader(canonical(t, file("a", "x"))), root, images.Limits{Entries: 5, Bytes: 100, Packed: 50})
	require.NoError(t, root.Close())
	require.Equal(t, core.CodeLimit, core.CodeOf(err), "larger than the record says: %v", err)
}

// What Unpack finds in its way it does not write to.
func TestUnpackWantsAnEmptyFolder(t *testing.T) {
	t.Parallel()
	at, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o600))
	require.NoError(t, os.Symlink(victim, filepath.Join(at, "a")))
	root, err := os.OpenRoot(at)
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	_, err = images.Unpack(t.Context(), bytes.NewReader(canonical(t, file("a", "x"))), root, images.Defaults())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
}

// Whatever Read takes, Unpack takes too, and all of it lies in its folder.
func FuzzRead(f *testing.F) {
	f.Add(archive(f, dir("a"), file("a/b", "x"), link("c", "a"), hard("d", "a/b")))
	f.Add(archive(f, link("a", "/"), file("b", "")))
	f.Fuzz(func(t *testing.T, plain []byte) {
		limits := images.Limits{Entries: 100, Bytes: 1 << 16, Packed: 1 << 20}
		packed, sum, err := write(t, plain, images.Options{Limits: limits})
		if err != nil {
			require.NotEqual(t, core.CodeInternal, core.CodeOf(err), "%v", err)
			return
		}
		root, err := os.OpenRoot(t.TempDir())
		require.NoError(t, err)
		defer func() { require.NoError(t, root.Close()) }()
		got, err := images.Unpack(t.Context(), bytes.NewReader(packed), root, limits)
		require.NoError(t, err)
		require.Equal(t, sum, got)
	})
}
