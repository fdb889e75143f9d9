// Package pack packs a folder into one file, the same file for the same folder on any machine and at any time: a tar
// with sorted names, fixed times and owners, and modes that say only whether a file is executable. A harness is
// packed like this, so that its content hash names it.
package pack

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"drover/core"
)

// Limits bound an archive.
type Limits struct {
	Entries int   // files and folders
	Bytes   int64 // content of all files together
}

// Defaults are bounds that a harness should not come near.
func Defaults() Limits { return Limits{Entries: 10_000, Bytes: 256 << 20} }

// maxPath is the longest path, in bytes, within an archive.
const maxPath = 1024

// modes and time of what is packed.
const (
	modeFolder = 0o755
	modeFile   = 0o644
	modeRun    = 0o755
)

var epoch = time.Unix(0, 0)

// Folder writes the archive of a folder. Returns INVALID, with its path, for anything but files and folders (links,
// devices, sockets, pipes), for a name that is not text, and for a file that changes during the call; LIMIT beyond
// the limits; NOTFOUND if the folder does not exist.
func Folder(ctx context.Context, dir string, w io.Writer, limits Limits) (err error) {
	root, err := os.OpenRoot(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.CodeNotFound, dir, "there is no folder %s", dir)
	case err != nil:
		return core.Wrap(err, core.CodeInvalid, dir, "%s cannot be opened as a folder", dir)
	}
	defer func() {
		err = errors.Join(err, core.Wrap(root.Close(), core.CodeInternal, dir, "folder %s cannot be closed", dir))
	}()
	found, err := survey(ctx, root, limits)
	if err != nil {
		return err
	}
	to := tar.NewWriter(sink{w})
	for _, f := range found {
		if err := ctx.Err(); err != nil {
			return core.Wrap(err, core.CodeUnavailable, dir, "packing %s was stopped", dir)
		}
		if err := add(to, root, f); err != nil {
			return err
		}
	}
	return to.Close()
}

// sink marks errors of writing, to distinguish them from faults of files.
type sink struct{ to io.Writer }

// Write writes on.
func (s sink) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	var known *core.Error
	if err != nil && !errors.As(err, &known) {
		err = core.Wrap(err, core.CodeUnavailable, "", "the archive cannot be written")
	}
	return n, err
}

// found is a file or folder to pack.
type found struct {
	path string
	info fs.FileInfo
}

// survey lists what is in the folder, sorted, and checks it.
func survey(ctx context.Context, root *os.Root, limits Limits) ([]found, error) {
	var all []found
	var bytes int64
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return core.Wrap(err, core.CodeInvalid, path, "%s cannot be read", path)
		}
		if path == "." {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return core.Wrap(err, core.CodeInvalid, path, "%s cannot be read", path)
		}
		if err := checkPath(path); err != nil {
			return err
		}
		if !info.Mode().IsRegular() && !info.IsDir() {
			return core.Errorf(core.CodeInvalid, path, "%q is a %s: only files and folders can be packed, remove it or put its content there", path, kind(info.Mode()))
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		all = append(all, found{path, info})
		return limits.check(len(all), bytes)
	})
	slices.SortFunc(all, func(a, b found) int { return strings.Compare(a.path, b.path) })
	return all, err
}

// check returns LIMIT beyond the limits.
func (l Limits) check(entries int, bytes int64) error {
	if entries > l.Entries || bytes > l.Bytes {
		return core.Errorf(core.CodeLimit, "", "the folder is too large: at most %d files and folders and %d bytes can be packed", l.Entries, l.Bytes)
	}
	return nil
}

// checkPath returns INVALID for a path that not every machine can hold.
func checkPath(path string) error {
	if !utf8.ValidString(path) {
		return core.Errorf(core.CodeInvalid, path, "the name %q is not UTF-8: rename it", path)
	}
	if len(path) > maxPath {
		return core.Errorf(core.CodeInvalid, path, "the path %.80q… has %d bytes, at most %d are allowed", path, len(path), maxPath)
	}
	return nil
}

// kind names what a file is, for people.
func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// add writes one file or folder.
func add(to *tar.Writer, root *os.Root, f found) error {
	h := header(f.path, f.info.IsDir(), f.info.Mode()&0o111 != 0, f.info.Size())
	if err := to.WriteHeader(h); err != nil {
		return unpacked(err, f.path)
	}
	if f.info.IsDir() {
		return nil
	}
	// It might have become a pipe by now; opening it must not block.
	file, err := root.OpenFile(f.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return unpacked(err, f.path)
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(info, f.info) {
		err = errChanged
	}
	var n int64
	if err == nil {
		n, err = io.Copy(to, io.LimitReader(file, f.info.Size()))
	}
	if err == nil && (n != f.info.Size() || grown(file)) {
		err = errChanged
	}
	return unpacked(errors.Join(err, file.Close()), f.path)
}

// unpacked blames the file, unless writing the archive failed.
func unpacked(err error, path string) error {
	var known *core.Error
	if errors.As(err, &known) {
		return err
	}
	return core.Wrap(err, core.CodeInvalid, path, "%s cannot be packed", path)
}

var errChanged = errors.New("it changed meanwhile")

// grown reports whether there is more to read.
func grown(file io.Reader) bool {
	n, _ := file.Read(make([]byte, 1)) // the end is an error too
	return n > 0
}

// header is the only header that a file or folder may have.
func header(path string, folder, run bool, size int64) *tar.Header {
	h := &tar.Header{Format: tar.FormatPAX, Name: path, ModTime: epoch}
	switch {
	case folder:
		h.Typeflag, h.Name, h.Mode = tar.TypeDir, path+"/", modeFolder
	case run:
		h.Typeflag, h.Size, h.Mode = tar.TypeReg, size, modeRun
	default:
		h.Typeflag, h.Size, h.Mode = tar.TypeReg, size, modeFile
	}
	return h
}
