package images

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"drover/core"
)

// Unpack unpacks a file that Write wrote into an empty folder, to which no other user may write. Returns INVALID for
// anything that Write cannot have written, LIMIT beyond the limits, UNAVAILABLE if the disk refuses. After an error
// the caller must remove what was written.
func Unpack(ctx context.Context, r io.Reader, dir *os.Root, limits Limits) (Summary, error) {
	packed := &bounded{ctx: ctx, from: r, left: limits.Packed, limits: limits}

	plain, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*maxWindow), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return Summary{}, core.Wrap(err, core.CodeInternal, "", "the decompression cannot begin")
	}
	defer plain.Close()
	u := &unpacking{dir: dir, limits: limits, kinds: map[string]byte{".": tar.TypeDir}}
	from := tar.NewReader(plain)
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = u.entry(h, from)
		}
		if err != nil {
			return u.sum, unreadable(err)
		}
	}
	switch n, err := io.CopyN(io.Discard, plain, 1); {
	case n > 0:
		return u.sum, core.Errorf(core.CodeInvalid, "", "something follows the end of the image")
	case !errors.Is(err, io.EOF):
		return u.sum, unreadable(err)
	}
	return u.sum, u.finish()
}

// unpacking is one Unpack in progress.
type unpacking struct {
	dir    *os.Root
	limits Limits
	sum    Summary
	last   string
	kinds  map[string]byte // of what was unpacked
	times  []stamped       // folders: set last, because files written into them change their times
}

type stamped struct {
	name string
	time time.Time
}

func (u *unpacking) entry(h *tar.Header, content io.Reader) error {
	name := strings.TrimSuffix(h.Name, "/")
	if err := u.check(h, name); err != nil {
		return err
	}
	u.sum.Entries++
	u.sum.Bytes += h.Size
	if err := u.limits.check(u.sum.Entries, u.sum.Bytes); err != nil {
		return err
	}
	u.last, u.kinds[name] = name, h.Typeflag
	var err error
	switch h.Typeflag {
	case tar.TypeDir:
		err = u.dir.Mkdir(name, modeFolder)
		u.times = append(u.times, stamped{name, h.ModTime})
	case tar.TypeSymlink:
		err = u.dir.Symlink(h.Linkname, name)
	case tar.TypeLink:
		err = u.dir.Link(h.Linkname, name)
	default:
		err = u.file(h, name, content)
	}
	return u.fault(err, name)
}

// check returns INVALID for a header that Write cannot have made.
func (u *unpacking) check(h *tar.Header, name string) error {
	refuse := func(why string) error {
		return core.Errorf(core.CodeInvalid, name, "%q in the image %s", h.Name, why)
	}
	if err := checkPath("the name", name); err != nil {
		return err
	}
	want := header(name, h.Typeflag, h.Mode&0o111 != 0, h.ModTime.Unix(), h.Size, h.Linkname)
	switch {
	case name == "." || !fs.ValidPath(name):
		return refuse("leads out of its folder or is not in its simplest form")
	case h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeSymlink && h.Typeflag != tar.TypeLink:
		return refuse("is neither a file nor a folder nor a link")
	case name <= u.last:
		return refuse("comes twice or out of order")
	case u.kinds[path.Dir(name)] != tar.TypeDir:
		return refuse("does not lie in a folder that came before it")
	case h.Typeflag == tar.TypeLink && u.kinds[h.Linkname] != tar.TypeReg:
		return refuse("links to something other than an earlier file")
	case h.Typeflag == tar.TypeSymlink && (h.Linkname == "" || climbs(name, h.Linkname)):
		return refuse("leads out of the root")
	case h.Name != want.Name, h.Mode != want.Mode, !h.ModTime.Equal(want.ModTime), h.Linkname != want.Linkname, h.Size != want.Size,
		stamp(h.ModTime) != h.ModTime.Unix(), h.Uid != 0, h.Gid != 0, h.Uname != "", h.Gname != "", !plain(h.PAXRecords):
		return refuse("has another owner, time or mode than drover gives")
	}
	return nil
}

// plain reports whether a header has only names and a size.
func plain(records map[string]string) bool {
	for key := range records {
		if key != "path" && key != "linkpath" && key != "size" {
			return false
		}
	}
	return true
}

// file writes one file.
func (u *unpacking) file(h *tar.Header, name string, content io.Reader) (err error) {
	f, err := u.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	if err := f.Chmod(fs.FileMode(h.Mode & 0o777)); err != nil {
		return err
	}
	at := unix.NsecToTimeval(h.ModTime.UnixNano())
	return unix.Futimes(int(f.Fd()), []unix.Timeval{at, at})
}

// finish gives folders their modes and times, the inner ones first.
func (u *unpacking) finish() error {
	for i := len(u.times) - 1; i >= 0; i-- {
		at := u.times[i]
		if err := errors.Join(u.dir.Chmod(at.name, modeFolder), u.dir.Chtimes(at.name, at.time, at.time)); err != nil {
			return u.fault(err, at.name)
		}
	}
	return u.fault(u.dir.Chmod(".", modeFolder), ".")
}

// fault distinguishes errors of the disk from faults of the archive.
func (u *unpacking) fault(err error, name string) error {
	var refused *fs.PathError
	var link *os.LinkError
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return core.Wrap(err, core.CodeUnavailable, name, "the disk is full: free space there")
	case errors.As(err, &refused), errors.As(err, &link):
		return core.Wrap(err, core.CodeUnavailable, name, "%q of an image cannot be written", name)
	}
	return err
}
