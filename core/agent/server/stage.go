package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"

	"drover/core"
	"drover/core/agent/wire"
)

// place is a folder that accepts one archive in the VM's life. It is held open from before user code ran, so that
// nothing can be put in its way.
type place struct {
	name  string
	root  *os.Root
	at    int   // a descriptor of the folder
	limit int64 // bytes of all files
	cred  credential
	taken bool
}

func openPlaces(cfg wire.Config, cred credential) (map[string]*place, error) {
	limit := cfg.Limits.Disk
	if limit <= 0 {
		limit = wire.DefaultDisk
	}
	places := map[string]*place{}
	for _, name := range wire.Places() {
		dir := path.Join(cfg.Home, name)
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return places, fmt.Errorf("make the place for files: %w", err)
		}
		p, err := openPlace(dir, name, limit, cred)
		if err != nil {
			return places, fmt.Errorf("open the place for files: %w", err)
		}
		places[name] = p
		if err := p.adopt(".", p.shown(0o700)); err != nil {
			return places, fmt.Errorf("give %s to the job user: %w", dir, err)
		}
	}
	return places, nil
}

func openPlace(dir, name string, limit int64, cred credential) (*place, error) {
	at, err := syscall.Open(dir, nameOnly|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, syscall.Close(at))
	}
	return &place{name: name, root: root, at: at, limit: limit, cred: cred}, nil
}

func (p *place) close() {
	_, _ = p.root.Close(), syscall.Close(p.at) // nothing was written through them
}

// path leads to the folder, even if it was renamed or its owner made it inaccessible.
func (p *place) path() string { return "/proc/self/fd/" + strconv.Itoa(p.at) }

// unshut restores the owner's access.
func (p *place) unshut() error {
	var st syscall.Stat_t
	if err := syscall.Stat(p.path(), &st); err != nil || st.Mode&0o700 == 0o700 {
		return err
	}
	return syscall.Chmod(p.path(), st.Mode&0o777|0o700)
}

// adopt gives a folder to the job user.
func (p *place) adopt(name string, mode fs.FileMode) error {
	if err := p.root.Chmod(name, mode); err != nil {
		return err
	}
	return p.cred.own(func(uid, gid int) error { return p.root.Lchown(name, uid, gid) })
}

// fill reads entries until the archive ends. Afterwards all of it is in the place, or nothing and an error.
func (p *place) fill(r io.Reader) error {
	if p.taken {
		return core.Errorf(core.CodeConflict, "", "%s has its files already; a VM takes them once", p.name)
	}
	if names, err := p.names(1); err != nil || len(names) > 0 {
		return core.Errorf(core.CodeConflict, "", "%s is not empty", p.name)
	}
	err := p.unpack(r, false)
	if err == nil {
		p.taken = true
		return nil
	}
	if left := p.empty(); left != nil {
		return core.Wrap(left, core.CodeBadVM, "", "empty %s after a refused archive", p.name)
	}
	return p.refusal(err)
}

// refusal words why an archive could not be unpacked; nil stays nil.
func (p *place) refusal(err error) error {
	if err == nil {
		return nil
	}
	var refusal *core.Error
	switch {
	case errors.As(err, &refusal):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return core.Errorf(core.CodeInvalid, "", "the archive for %s ends too early", p.name)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return core.Wrap(err, core.CodeLimit, "", "%s has no room for the archive", p.name)
	}
	return core.Wrap(err, core.CodeBadVM, "", "stage %s", p.name)
}

// lay reads entries that overwrite existing files.
func (p *place) lay(r io.Reader) error { return p.refusal(p.unpack(r, true)) }

// seen is what an archive has said of a path so far.
type seen byte

const (
	unseen  seen = iota
	implied      // a folder, because something lies below it
	named        // a folder
	filed        // a file
)

// filling is the state of one unpack.
type filling struct {
	*place
	over  bool // existing files are overwritten
	seen  map[string]seen
	bytes int64
	buf   []byte

	here string   // the folder of the last file
	dir  *os.Root // that folder; mostly files come folder by folder
}

func (p *place) unpack(r io.Reader, over bool) error {
	f := &filling{place: p, over: over, seen: map[string]seen{}}
	defer f.leave()
	for {
		e, err := wire.ReadEntry(r)
		if err != nil {
			return err
		}
		switch e.Kind {
		case wire.EntryEnd:
			return nil
		case wire.EntryVoid:
			return core.Errorf(core.CodeInvalid, "", "the archive for %s was given up", p.name)
		case wire.EntryDir:
			err = f.folder(e)
		case wire.EntryFile:
			err = f.file(e, r)
		}
		if err != nil {
			return err
		}
	}
}

func (f *filling) folder(e wire.Entry) error {
	if err := f.take(e.Name, named); err != nil {
		return err
	}
	if err := f.mkdir(e.Name); err != nil {
		return err
	}
	return f.adopt(e.Name, f.shown(folderMode(e.Mode)))
}

func (f *filling) file(e wire.Entry, r io.Reader) error {
	if f.bytes += e.Size; e.Size > f.limit || f.bytes > f.limit {
		return core.Errorf(core.CodeLimit, "", "the archive for %s has more than %d bytes", f.place.name, f.limit)
	}
	if err := f.take(e.Name, filed); err != nil {
		return err
	}
	dir, err := f.enter(path.Dir(e.Name))
	if err != nil {
		return err
	}
	if f.over {
		if err := clearAway(dir, path.Base(e.Name)); err != nil {
			return err
		}
	}
	// harden has set a umask that leaves these modes unchanged.
	file, err := dir.OpenFile(path.Base(e.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.shown(fileMode(e.Mode)))
	if err != nil {
		return err
	}
	if err := f.write(file, e.Size, r); err != nil {
		_ = file.Close() // the first error is the one that counts
		return err
	}
	return file.Close()
}

// enter opens a folder of the place, unless it is open.
func (f *filling) enter(name string) (*os.Root, error) {
	if name == "." {
		return f.root, nil
	}
	if f.dir == nil || f.here != name {
		f.leave()
		dir, err := f.root.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		f.here, f.dir = name, dir
	}
	return f.dir, nil
}

func (f *filling) leave() {
	if f.dir != nil {
		_ = f.dir.Close()
		f.dir = nil
	}
}

func (f *filling) write(file *os.File, size int64, r io.Reader) error {
	if most := min(size, wire.MaxFrame); int64(len(f.buf)) < most {
		f.buf = make([]byte, most)
	}
	for left := size; left > 0; {
		n, err := r.Read(f.buf[:min(left, int64(len(f.buf)))])
		if n > 0 {
			if _, werr := file.Write(f.buf[:n]); werr != nil {
				return werr
			}
			left -= int64(n)
		}
		if err != nil && left > 0 {
			return err
		}
	}
	return f.cred.own(file.Chown)
}

// take records the type of a path, and makes the folders above it.
func (f *filling) take(name string, as seen) error {
	if was := f.seen[name]; was != unseen && (was != implied || as != named) {
		return core.Errorf(core.CodeInvalid, "", "the archive for %s names %q twice", f.place.name, name)
	}
	f.seen[name] = as
	for i, c := range []byte(name) {
		if c != '/' {
			continue
		}
		if err := f.above(name[:i]); err != nil {
			return err
		}
	}
	if len(f.seen) > wire.MaxEntries {
		return core.Errorf(core.CodeLimit, "", "the archive for %s has more than %d entries", f.place.name, wire.MaxEntries)
	}
	return nil
}

// above makes one folder that a path implies.
func (f *filling) above(dir string) error {
	switch f.seen[dir] {
	case implied, named:
		return nil
	case filed:
		return core.Errorf(core.CodeInvalid, "", "the archive for %s has %q as a file and as a folder", f.place.name, dir)
	case unseen:
	}
	f.seen[dir] = implied
	if err := f.mkdir(dir); err != nil {
		return err
	}
	return f.adopt(dir, 0o755)
}

// mkdir makes a folder, unless it exists.
func (f *filling) mkdir(name string) error {
	err := f.root.Mkdir(name, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := f.root.Lstat(name); err != nil || info.IsDir() || !f.over {
		return err
	}
	if err := f.root.Remove(name); err != nil {
		return err
	}
	return f.root.Mkdir(name, 0o700)
}

// clearAway removes an existing object at a file's path.
func clearAway(dir *os.Root, name string) error {
	err := dir.Remove(name)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTEMPTY):
		return dir.RemoveAll(name) // it was unpacked by us, so it is not deep
	}
	return err
}

// The job user can read and write all staged files; other users cannot write them, and set-id bits are removed.
func fileMode(mode uint32) fs.FileMode   { return fs.FileMode(mode)&0o755 | 0o600 }
func folderMode(mode uint32) fs.FileMode { return fs.FileMode(mode)&0o755 | 0o700 }

// shown lets the box's user read and execute what its owner may, in the place for it.
func (p *place) shown(mode fs.FileMode) fs.FileMode {
	if p.name != wire.Submission {
		return mode
	}
	owner := mode & 0o500
	return mode | owner>>3 | owner>>6
}

// empty removes all that lies in the place.
func (p *place) empty() error {
	for {
		names, err := p.names(256)
		if err != nil || len(names) == 0 {
			return err
		}
		for _, name := range names {
			if err := p.root.RemoveAll(name); err != nil {
				return err
			}
		}
	}
}

// names lists up to n names in the place.
func (p *place) names(n int) ([]string, error) {
	dir, err := p.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // nothing was written
	names, err := dir.Readdirnames(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}
