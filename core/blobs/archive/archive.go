// Package archive reads archives from users: a tar, compressed or not, or a zip, made by any program. Archives are
// not trusted: reading is bounded, and links and devices are refused.
package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"drover/core"
	"drover/core/blobs/nameless"
	"drover/core/images"
)

// MaxEntries bounds what an archive may have of files and folders.
const MaxEntries = 10_000

// MaxUnpacked bounds the bytes that are read of an archive, including what is left out.
const MaxUnpacked = 512 << 20

// litter are names of files and folders that programs leave behind and nobody means to send.
var litter = []string{".git", "__MACOSX", ".DS_Store", "Thumbs.db"}

// IsLitter reports whether programs leave files or folders of a name behind.
func IsLitter(name string) bool { return slices.Contains(litter, name) }

// File is a plain file or a folder of an archive. Its content must be read before the next one is requested.
type File struct {
	Path    string // as in the archive without a leading ./, with / between its parts: it may lead anywhere
	Mode    fs.FileMode
	Content io.Reader // nil of a folder and a link
	Link    string    // of a link: the path in the archive that it names, which may lead anywhere
}

// Files yields the plain files and folders of an archive, without litter. Name is for errors. Returns INVALID for
// something that is no archive, or has links or devices in it, LIMIT beyond MaxEntries and MaxUnpacked; the caller
// bounds how much of it is kept.
func Files(name string, from io.Reader) iter.Seq2[File, error] {
	return files(reading{name, false}, from)
}

// Linked is Files for archives that may have links.
func Linked(name string, from io.Reader) iter.Seq2[File, error] {
	return files(reading{name, true}, from)
}

// reading is how an archive is read.
type reading struct {
	name  string
	links bool
}

func files(as reading, from io.Reader) iter.Seq2[File, error] {
	in := bufio.NewReader(from)
	begins, _ := in.Peek(4) // a read error shows when reading
	for _, zip := range []string{"PK\x03\x04", "PK\x05\x06"} {
		if string(begins) == zip {
			return unzip(as, in)
		}
	}
	if strings.HasSuffix(strings.ToLower(as.name), ".zip") {
		return unzip(as, in) // a self-extracting archive begins with a program
	}
	return untar(as, in)
}

// entry is a file or folder in an archive.
type entry struct {
	path string
	mode fs.FileMode
	open func() (io.Reader, error)
	link string // that of a tar
	hard bool   // it names a path from the archive's top
}

// maxLink bounds the path that a link names.
const maxLink = 4 << 10

// target returns the path in the archive that a link names; "" for what is no link.
func (e *entry) target() (string, error) {
	link := e.link
	if link == "" && e.mode&fs.ModeSymlink != 0 { // a zip has it as the content
		content, err := e.open()
		if err != nil {
			return "", err
		}
		raw, err := io.ReadAll(io.LimitReader(content, maxLink))
		if err != nil {
			return "", err
		}
		link = string(raw)
	}
	if link == "" || e.hard || path.IsAbs(link) {
		return link, nil
	}
	return path.Join(path.Dir(strings.TrimPrefix(e.path, "./")), link), nil
}

// file converts an entry; false if it is to be left out.
func file(as reading, e entry) (File, bool, error) {
	name := strings.TrimPrefix(strings.ReplaceAll(e.path, `\`, "/"), "./")
	for part := range strings.SplitSeq(name, "/") {
		if IsLitter(part) {
			return File{}, false, nil
		}
	}
	if e.mode.IsDir() {
		return File{Path: name, Mode: e.mode}, true, nil
	}
	if as.links {
		link, err := e.target()
		if err != nil {
			return File{}, false, unpacked(err, as.name)
		}
		if link != "" {
			return File{Path: name, Mode: e.mode, Link: strings.TrimPrefix(link, "./")}, true, nil
		}
	}
	if !e.mode.IsRegular() {
		return File{}, false, core.Errorf(core.CodeInvalid, as.name, "%.80q in %.80q is no plain file: no links and devices can be sent, put the content in their place", e.path, as.name)
	}
	content, err := e.open()
	if err != nil {
		return File{}, false, unpacked(err, as.name)
	}
	return File{Path: name, Mode: e.mode, Content: packed{content, as.name}}, true, nil
}

func untar(as reading, from io.Reader) iter.Seq2[File, error] {
	name := as.name
	return func(yield func(File, error) bool) {
		plain, err := images.Decompress(from)
		if err != nil {
			yield(File{}, unpacked(err, name))
			return
		}
		defer plain.Close() //nolint:errcheck // only read from
		r := tar.NewReader(&bounded{plain, MaxUnpacked, name})
		for n := 0; ; n++ {
			head, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && n == MaxEntries {
				err = tooMany(name)
			}
			var f File
			ok := false
			if err == nil && head.Typeflag != tar.TypeXGlobalHeader { // git writes its commit there
				mode := head.FileInfo().Mode()
				if head.Typeflag == tar.TypeLink {
					mode |= fs.ModeIrregular // its mode is a plain file's
				}
				f, ok, err = file(as, entry{head.Name, mode, func() (io.Reader, error) { return r, nil }, head.Linkname, head.Typeflag == tar.TypeLink})
			}
			if err != nil {
				yield(File{}, unpacked(err, name))
				return
			}
			if ok && !yield(f, nil) {
				return
			}
		}
	}
}

// bounded reads so many bytes of an archive and then fails with LIMIT.
type bounded struct {
	from io.Reader
	left int64
	in   string
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, core.Errorf(core.CodeLimit, b.in, "%.80q has more than %d MiB in it", b.in, MaxUnpacked>>20)
	}
	return n, err
}

// unzip reads a zip, whose list of files is at its end, from a file without a name.
func unzip(as reading, from io.Reader) iter.Seq2[File, error] {
	name := as.name
	return func(yield func(File, error) bool) {
		whole, err := nameless.Read(from, MaxUnpacked, "")
		if err != nil {
			yield(File{}, err)
			return
		}
		defer whole.Close() //nolint:errcheck // it is gone with that
		thrifty := &thrifty{from: whole, left: maxDirectory}
		r, err := zip.NewReader(thrifty, whole.Size())
		if err == nil && len(r.File) > MaxEntries || thrifty.over {
			err = tooMany(name)
		}
		if err != nil {
			yield(File{}, unpacked(err, name))
			return
		}
		thrifty.left = -1
		for _, f := range r.File {
			u, ok, err := zipped(as, f)
			if err != nil {
				yield(File{}, err)
				return
			}
			if ok && !yield(u, nil) {
				return
			}
		}
	}
}

func zipped(as reading, f *zip.File) (File, bool, error) {
	if f.Flags&1 != 0 {
		return File{}, false, core.Errorf(core.CodeInvalid, as.name, "%.80q needs a password: pack it without one", as.name)
	}
	return file(as, entry{path: f.Name, mode: f.Mode(), open: func() (io.Reader, error) { return f.Open() }})
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
	return core.Errorf(core.CodeLimit, name, "%.80q has more than %d files and folders", name, MaxEntries)
}

// unpacked gives an error about an archive a text, unless it has one.
func unpacked(err error, name string) error {
	var known *core.Error
	if errors.As(err, &known) {
		return err
	}
	return core.Wrap(err, core.CodeInvalid, name, "%.80q cannot be unpacked: pack it anew, or submit the files themselves", name)
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
