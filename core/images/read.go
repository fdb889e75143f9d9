package images

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drover/core"
)

// Options are how a tar from elsewhere is read.
type Options struct {
	Limits Limits   // zero: Defaults
	Drop   []string // files, and folders whose content, that are left out
	Began  int64    // files that are newer (seconds since 1970) get the time of the newest older one; 0 is never
	Spool  string   // folder for the content meanwhile; "" is the system's
}

// entry is a file, folder or link that was read.
type entry struct {
	kind byte // tar.TypeReg, TypeDir, TypeSymlink, or TypeLink until all is read
	run  bool
	time int64
	link string
	size int64
	at   int64 // of a file's content in the spool; equal for hard links
}

// Tree is a root file system that was read whole. Its content lies in a file
// without a name.
type Tree struct {
	opts    Options
	entries map[string]*entry
	spool   *os.File
	used    int64
}

// Read reads a tar of a whole system to its end, with or without leading "./" or "/", in any order; of two entries
// with one name the later one counts. What an image does not keep is dropped (see the package). Returns INVALID for
// what a root file system cannot have: no content at all, names and links that climb out, entries below a link or
// file, devices outside of dev, pipes and sockets; LIMIT beyond the limits, which also count dropped entries.
func Read(ctx context.Context, r io.Reader, opts Options) (t *Tree, err error) {
	if opts.Limits == (Limits{}) {
		opts.Limits = Defaults()
	}
	t = &Tree{opts: opts, entries: map[string]*entry{}}
	if t.spool, err = nameless(opts.Spool); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	// Headers, padding and dropped entries count as well: an endless stream ends here.
	const perEntry = 4 << 10
	whole := &bounded{ctx: ctx, from: r, left: opts.Limits.Bytes + int64(opts.Limits.Entries+100)*perEntry, limits: opts.Limits}
	from := tar.NewReader(whole)
	for n := 1; ; n++ {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return t, unreadable(err)
		}
		if err := opts.Limits.check(n, t.used+h.Size); err != nil {
			return t, err
		}
		if err := t.take(h, from); err != nil {
			return t, err
		}
	}
	// The rest after the end of the tar is padding, and ignored.
	if _, err := io.Copy(io.Discard, whole); err != nil {
		return t, unreadable(err)
	}
	if len(t.entries) == 0 {
		return t, core.Errorf(core.CodeInvalid, "", "the archive holds nothing that an image keeps")
	}
	return t, t.finish()
}

// Close frees the content's file.
func (t *Tree) Close() error {
	return core.Wrap(t.spool.Close(), core.CodeUnavailable, "", "the spool of an image cannot be closed")
}

// take notes one entry and spools its content.
func (t *Tree) take(h *tar.Header, content io.Reader) error {
	name, err := cleanName(h.Name)
	if err != nil || name == "." || h.Typeflag == tar.TypeXGlobalHeader {
		return err
	}
	if within(name, volatile) {
		return nil
	}
	e := &entry{kind: h.Typeflag, run: h.Mode&0o111 != 0, time: stamp(h.ModTime)}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		e.kind = tar.TypeReg
		err = t.keep(e, content)
	case tar.TypeDir:
		if was := t.entries[name]; was != nil && was.kind == tar.TypeDir {
			was.time = e.time
			return nil
		}
	case tar.TypeSymlink:
		e.link = h.Linkname
		if err = checkPath("the target of a link", e.link); err == nil && (e.link == "" || climbs(name, e.link)) {
			err = core.Errorf(core.CodeInvalid, name, "the link %q leads out of the root, to %q", name, e.link)
		}
	case tar.TypeLink:
		e.link, err = cleanName(h.Linkname)
	default:
		err = core.Errorf(core.CodeInvalid, name, "%q is a %s: outside of dev an image holds only files, folders and links", name, kind(h.Typeflag))
	}
	if err == nil {
		t.entries[name] = e
	}
	return err
}

// keep spools a file's content.
func (t *Tree) keep(e *entry, content io.Reader) error {
	e.at = t.used
	n, err := io.Copy(io.NewOffsetWriter(t.spool, t.used), content)
	e.size = n
	t.used += n
	if errors.Is(err, unix.ENOSPC) {
		return core.Wrap(err, core.CodeUnavailable, "", "there is no room for the content of an image in %s: free some, or name another folder in TMPDIR", t.spool.Name())
	}
	if err != nil {
		return unreadable(err)
	}
	return t.opts.Limits.check(0, t.used)
}

// cleanName brings a name into its simplest form, "." for the root. Returns
// INVALID for one that climbs.
func cleanName(name string) (string, error) {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", core.Errorf(core.CodeInvalid, name, "%q in the archive climbs out of its folder", name)
	}
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	if clean == "" {
		clean = "."
	}
	return clean, checkPath("the name", clean)
}

// finish resolves hard links, adds what every image has, drops what none has,
// and checks that everything lies in a folder.
func (t *Tree) finish() error {
	if err := t.resolve(); err != nil {
		return err
	}
	for name, e := range t.entries {
		if slices.Contains(secret, name) || e.kind != tar.TypeDir && slices.Contains(t.opts.Drop, name) || within(name, t.opts.Drop) {
			delete(t.entries, name)
		}
	}
	for _, name := range Places() {
		if e := t.entries[name]; e == nil || e.kind != tar.TypeDir {
			t.entries[name] = &entry{kind: tar.TypeDir}
		}
	}
	for name, content := range own {
		e := &entry{kind: tar.TypeReg}
		if err := t.keep(e, strings.NewReader(content)); err != nil {
			return err
		}
		t.entries[name] = e
	}
	for name := range maps.Clone(t.entries) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			above := t.entries[dir]
			if above == nil {
				t.entries[dir] = &entry{kind: tar.TypeDir}
			} else if above.kind != tar.TypeDir {
				return core.Errorf(core.CodeInvalid, name, "%q in the archive lies below %q, which is a %s", name, dir, kind(above.kind))
			}
		}
	}
	t.settleTimes()
	_, err := t.summary()
	return err
}

// resolve gives hard links what they name.
func (t *Tree) resolve() error {
	for name, e := range t.entries {
		if e.kind != tar.TypeLink {
			continue
		}
		to := e
		for hops := 0; to != nil && to.kind == tar.TypeLink; hops++ {
			if hops > len(t.entries) {
				return core.Errorf(core.CodeInvalid, name, "the hard link %q names itself", name)
			}
			to = t.entries[to.link]
		}
		if to == nil || to.kind == tar.TypeDir {
			return core.Errorf(core.CodeInvalid, name, "the hard link %q names %q, which is no file of the archive", name, e.link)
		}
		*e = *to
	}
	return nil
}

// settleTimes gives files that were written during the build one time, which depends only on the system's packages.
func (t *Tree) settleTimes() {
	if t.opts.Began == 0 {
		return
	}
	newest := int64(0)
	for _, e := range t.entries {
		if e.time < t.opts.Began && e.kind == tar.TypeReg {
			newest = max(newest, e.time)
		}
	}
	for _, e := range t.entries {
		if e.time >= t.opts.Began {
			e.time = newest
		}
	}
}

// summary counts what will be written.
func (t *Tree) summary() (Summary, error) {
	s := Summary{Entries: len(t.entries)}
	seen := map[int64]bool{}
	for _, e := range t.entries {
		if e.kind == tar.TypeReg && !seen[e.at] {
			s.Bytes += e.size
			seen[e.at] = e.size > 0
		}
	}
	return s, t.opts.Limits.check(s.Entries, s.Bytes)
}

// text returns the content of a small file; "" if there is none.
func (t *Tree) text(name string) string {
	const most = 64 << 10
	e := t.entries[name]
	if e == nil || e.kind != tar.TypeReg || e.size > most {
		return ""
	}
	content := make([]byte, e.size)
	if _, err := t.spool.ReadAt(content, e.at); err != nil {
		return "" // what is said to people only
	}
	return string(content)
}

// bounded ends a stream with its context, or when it is longer than it may be.
type bounded struct {
	ctx    context.Context // a Reader has no other place for it
	from   io.Reader
	left   int64
	limits Limits
}

// Read reads on.
func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, core.Wrap(err, core.CodeUnavailable, "", "reading the archive was stopped")
	}
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.limits.check(b.limits.Entries+1, 0)
	}
	return n, err
}

// nameless makes a file without a name, so that nothing of it stays.
func nameless(dir string) (*os.File, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	f, err := os.CreateTemp(dir, ".image-")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "folder %s cannot take the content of an image: name another in TMPDIR", dir)
	}
	return f, nil
}

// kind names what an entry is, for people.
func kind(flag byte) string {
	switch flag {
	case tar.TypeReg:
		return "file"
	case tar.TypeDir:
		return "folder"
	case tar.TypeSymlink, tar.TypeLink:
		return "link"
	case tar.TypeChar, tar.TypeBlock:
		return "device"
	case tar.TypeFifo:
		return "pipe"
	}
	return "thing of an unknown kind"
}

func unreadable(err error) error {
	var known *core.Error
	if errors.As(err, &known) {
		return err
	}
	return core.Wrap(err, core.CodeInvalid, "", "the archive cannot be read")
}
