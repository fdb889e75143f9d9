package transfer

import (
	"archive/tar"
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"drover/core"
	"drover/core/coursework"
	"drover/core/portable"
	"drover/core/rootfs"
)

// endings are those of archives that are unpacked.
var endings = []string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"}

func isArchive(name string) bool { return stem(name) != "" }

// stem is an archive's name without its ending; "" for what is none.
func stem(name string) string {
	for _, end := range endings {
		if n := len(name) - len(end); n > 0 && strings.EqualFold(name[n:], end) {
			return name[:n]
		}
	}
	return ""
}

// left are names of files and folders that programs leave behind and nobody hands in.
var left = []string{".git", "__MACOSX", ".DS_Store", "Thumbs.db"}

// safe returns a path as a submission may have it; false for what is left behind, or no name at all.
func safe(names *portable.Names, path string) (string, bool) {
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case slices.Contains(left, part):
			return "", false
		case part != "" && part != "." && part != "..":
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "", false
	}
	return names.Safe(strings.Join(parts, "/")), true
}

// maxEntries bounds what an archive may have of files and folders, of which fewer are handed in.
const maxEntries = 10_000

// unpack yields the plain files of an archive. A folder that is named as the archive is
// taken off: that is how most programs pack a folder. Fails with INVALID for what is no
// archive, or has links or devices in it, LIMIT for too many entries; how many bytes
// come out is for the reader to bound.
func unpack(name string, from io.Reader, names *portable.Names) iter.Seq2[coursework.Upload, error] {
	if strings.EqualFold(name[len(stem(name)):], ".zip") {
		return unzip(name, from, names)
	}
	return untar(name, from, names)
}

// entry is a file or folder in an archive.
type entry struct {
	path string
	mode fs.FileMode
	open func() (io.Reader, error)
}

// upload is what an entry becomes; false if it is none.
func upload(archive string, e entry, names *portable.Names) (coursework.Upload, bool, error) {
	if e.mode.IsDir() {
		return coursework.Upload{}, false, nil
	}
	if !e.mode.IsRegular() {
		return coursework.Upload{}, false, core.Errorf(core.CodeInvalid, archive, "%.80q in %.80q is no plain file: a submission has no links or devices", e.path, archive)
	}
	path, ok := safe(names, strings.TrimPrefix(strings.TrimPrefix(strings.ReplaceAll(e.path, `\`, "/"), "./"), stem(archive)+"/"))
	if !ok {
		return coursework.Upload{}, false, nil
	}
	content, err := e.open()
	if err != nil {
		return coursework.Upload{}, false, unpacked(err, archive)
	}
	u := coursework.Upload{Path: path, Content: packed{content, archive}}
	if e.mode&0o111 != 0 {
		u.Mode = 0o755
	}
	return u, true, nil
}

func untar(name string, from io.Reader, names *portable.Names) iter.Seq2[coursework.Upload, error] {
	return func(yield func(coursework.Upload, error) bool) {
		plain, err := rootfs.Decompress(from)
		if err != nil {
			yield(coursework.Upload{}, unpacked(err, name))
			return
		}
		defer plain.Close() //nolint:errcheck // only read from
		r := tar.NewReader(&bounded{plain, maxUnpacked, name})
		for n := 0; ; n++ {
			head, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && n == maxEntries {
				err = tooMany(name)
			}
			var u coursework.Upload
			ok := false
			if err == nil && head.Typeflag != tar.TypeXGlobalHeader { // git writes its commit there
				mode := head.FileInfo().Mode()
				if head.Typeflag == tar.TypeLink {
					mode |= fs.ModeIrregular // its mode is a plain file's
				}
				u, ok, err = upload(name, entry{head.Name, mode, func() (io.Reader, error) { return r, nil }}, names)
			}
			if err != nil {
				yield(coursework.Upload{}, unpacked(err, name))
				return
			}
			if ok && !yield(u, nil) {
				return
			}
		}
	}
}

// maxUnpacked bounds the bytes of an archive that are read, also of what is left out.
const maxUnpacked = 512 << 20

// bounded reads so many bytes of an archive and fails with LIMIT then.
type bounded struct {
	from io.Reader
	left int64
	in   string
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, core.Errorf(core.CodeLimit, b.in, "%.80q has more than %d MiB in it", b.in, maxUnpacked>>20)
	}
	return n, err
}

// unzip reads a zip, whose list of files is at its end, from a file without a name.
func unzip(name string, from io.Reader, names *portable.Names) iter.Seq2[coursework.Upload, error] {
	return func(yield func(coursework.Upload, error) bool) {
		whole, size, err := spooled(from)
		if err != nil {
			yield(coursework.Upload{}, err)
			return
		}
		defer whole.Close() //nolint:errcheck // it is gone with that
		thrifty := &thrifty{from: whole, left: maxDirectory}
		r, err := zip.NewReader(thrifty, size)
		if err == nil && len(r.File) > maxEntries || thrifty.over {
			err = tooMany(name)
		}
		if err != nil {
			yield(coursework.Upload{}, unpacked(err, name))
			return
		}
		thrifty.left = -1
		for _, f := range r.File {
			u, ok, err := zipped(name, f, names)
			if err != nil {
				yield(coursework.Upload{}, err)
				return
			}
			if ok && !yield(u, nil) {
				return
			}
		}
	}
}

func zipped(name string, f *zip.File, names *portable.Names) (coursework.Upload, bool, error) {
	if f.Flags&1 != 0 {
		return coursework.Upload{}, false, core.Errorf(core.CodeInvalid, name, "%.80q needs a password: pack it without one", name)
	}
	return upload(name, entry{f.Name, f.Mode(), func() (io.Reader, error) { return f.Open() }}, names)
}

// spooled writes a stream to a file that has no name any more.
func spooled(from io.Reader) (*os.File, int64, error) {
	file, err := os.CreateTemp("", "drover-zip-*")
	if err != nil {
		return nil, 0, core.Wrap(err, core.CodeUnavailable, "", "there is no room to unpack a zip")
	}
	err = os.Remove(file.Name())
	size := int64(0)
	if err == nil {
		size, err = io.Copy(file, from) // what comes in is bounded by its body
	}
	if err != nil {
		_ = file.Close()
		if core.CodeOf(err) == core.CodeInternal {
			err = core.Wrap(err, core.CodeUnavailable, "", "there is no room to unpack a zip")
		}
		return nil, 0, err
	}
	return file, size, nil
}

// maxDirectory bounds the bytes that are read of a zip's list of files: each takes ten
// times as much memory.
const maxDirectory = 4 << 20

// thrifty reads so many bytes and no more; any number if left is -1.
type thrifty struct {
	from io.ReaderAt
	left int
	over bool
}

// ReadAt implements io.ReaderAt.
func (t *thrifty) ReadAt(p []byte, at int64) (int, error) {
	if t.left >= 0 {
		if t.left -= len(p); t.left < 0 {
			t.left, t.over = 0, true
			return 0, io.ErrUnexpectedEOF
		}
	}
	return t.from.ReadAt(p, at)
}

func tooMany(name string) error {
	return core.Errorf(core.CodeLimit, name, "%.80q has more than %d files and folders", name, maxEntries)
}

// unpacked words what goes wrong with an archive, if nobody else has.
func unpacked(err error, name string) error {
	var known *core.Error
	if errors.As(err, &known) {
		return err
	}
	return core.Wrap(err, core.CodeInvalid, name, "%.80q cannot be unpacked: pack it anew, or hand in the files themselves", name)
}

// packed reads a file of an archive.
type packed struct {
	from io.Reader
	in   string
}

// Read implements io.Reader.
func (p packed) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unpacked(err, p.in)
	}
	return n, err
}
