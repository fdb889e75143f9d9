package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// state is the content of the place work at one moment: an archive in a file without a name. User code can open it by
// no path, and cannot reach it through the agent either, even with the same uid.
type state struct {
	file *os.File
	size int64 // bytes that it takes when it is restored
}

// entryLink is a kind of entry that only a kept state has; it is never sent.
const entryLink wire.EntryKind = 'L'

// keep keeps the content of work. Earlier runs left no process alive, so nothing changes during this. All states
// together may use half of the disk, so that there is always room to restore one of them.
func (a *Agent) keep(owner, name string) error {
	if err := a.begin(owner, nil); err != nil {
		return err
	}
	defer a.end(nil)
	if err := replace(a.kept, name); err != nil {
		return err
	}
	s, err := a.pack(a.places[wire.Work], a.kept)
	if err == nil {
		a.kept[name] = s
		a.controls.used[shared] = false // its caches tell no more than the state itself, and later runs need them
	}
	return err
}

// pack archives the content of a place, within the room that other states leave.
func (a *Agent) pack(p *place, beside map[string]*state) (*state, error) {
	if err := p.unshut(); err != nil {
		return nil, p.refusal(err)
	}
	file, err := a.nameless()
	if err != nil {
		return nil, p.refusal(err)
	}
	k := a.keeping(p, beside, file)
	err = k.pack()
	if err == nil {
		err = k.out.Flush()
	}
	if err != nil {
		_ = file.Close() // the first error counts
		return nil, p.refusal(err)
	}
	return &state{file: file, size: k.size}, nil
}

// keeping begins to write a state, within the room that others leave.
func (*Agent) keeping(p *place, beside map[string]*state, file *os.File) *keeping {
	room := p.limit / 2
	for _, s := range beside {
		room -= s.size
	}
	return &keeping{place: p, out: bufio.NewWriterSize(file, wire.MaxFrame), left: min(room, fileLimit())}
}

// nameless opens a file without a name in Home's file system.
func (a *Agent) nameless() (*os.File, error) {
	if err := chmodOf(a.cfg.Home, homeMode); err != nil { // user code may have made it inaccessible
		return nil, err
	}
	home, err := os.OpenRoot(a.cfg.Home)
	if err != nil {
		return nil, err
	}
	defer home.Close() //nolint:errcheck // nothing was written through it
	const name = ".kept"
	if err := clearAway(home, name); err != nil {
		return nil, err
	}
	file, err := home.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := home.Remove(name); err != nil {
		_ = file.Close() // the first error counts
		return nil, err
	}
	return file, nil
}

// fileLimit returns how large a file the agent itself may write by now.
func fileLimit() int64 {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now); err != nil || now.Cur > 1<<62 {
		return 1 << 62
	}
	return int64(now.Cur)
}

// keeping is the state of one pack.
type keeping struct {
	*place
	out     *bufio.Writer
	left    int64 // bytes that may still be kept
	size    int64 // bytes kept so far, in blocks of a file system
	entries int
}

// pack writes everything below work, every folder before its content.
func (k *keeping) pack() error {
	for open := []string{"."}; len(open) > 0; {
		dir := open[len(open)-1]
		open = open[:len(open)-1]
		names, err := k.list(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			at := path.Join(dir, name)
			info, err := k.root.Lstat(at)
			if err != nil {
				return err
			}
			if err := k.one(at, info); err != nil {
				return err
			}
			if info.IsDir() {
				open = append(open, at)
			}
		}
	}
	return k.head(wire.Entry{Kind: wire.EntryEnd}, time.Time{})
}

// list returns the names in a folder, sorted.
func (k *keeping) list(dir string) ([]string, error) {
	info, err := k.root.Lstat(dir)
	if err == nil && info.Mode().Perm()&0o700 != 0o700 {
		err = k.root.Chmod(dir, info.Mode().Perm()|0o700) // whose owner may have made it inaccessible
	}
	if err != nil {
		return nil, err
	}
	f, err := k.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	names, err := f.Readdirnames(wire.MaxEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(names)
	return names, err
}

// one writes one entry. Sockets and pipes are useless without their processes, and are left out.
func (k *keeping) one(at string, info fs.FileInfo) error {
	if k.entries++; k.entries > wire.MaxEntries {
		return core.Errorf(core.CodeLimit, "", "%s holds more than %d files and folders", k.name, wire.MaxEntries)
	}
	e := wire.Entry{Mode: uint32(info.Mode().Perm()), Name: at}
	if err := wire.CheckName(at); err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		e.Kind = wire.EntryDir
		return k.head(e, info.ModTime())
	case mode.Type() == fs.ModeSymlink:
		to, err := k.root.Readlink(at)
		if err != nil {
			return err
		}
		e.Kind, e.Size = entryLink, int64(len(to))
		if err := k.head(e, info.ModTime()); err != nil {
			return err
		}
		_, err = k.out.WriteString(to)
		return err
	case mode.IsRegular():
		e.Kind, e.Size = wire.EntryFile, info.Size()
		return k.file(e, info)
	}
	return nil
}

func (k *keeping) file(e wire.Entry, info fs.FileInfo) error {
	if info.Mode().Perm()&0o400 == 0 {
		if err := k.root.Chmod(e.Name, info.Mode().Perm()|0o400); err != nil {
			return err
		}
	}
	f, err := k.root.OpenFile(e.Name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	if err := k.head(e, info.ModTime()); err != nil {
		return err
	}
	_, err = io.CopyN(k.out, f, e.Size)
	return err
}

// head writes an entry's head: the usual fields, and the modification time.
func (k *keeping) head(e wire.Entry, changed time.Time) error {
	b := wire.AppendEntry(nil, e)
	b = binary.BigEndian.AppendUint64(b, uint64(changed.UnixNano()))
	const page = 4 << 10
	pages := (e.Size + 2*page - 1) / page * page // and one for the entry itself
	k.size += pages
	if k.left -= max(pages, int64(len(b))+e.Size); k.left < 0 {
		return core.Errorf(core.CodeLimit, "", "%s holds more than can be kept", k.name)
	}
	_, err := k.out.Write(b)
	return err
}

// restore unpacks a kept state into the empty place.
func (p *place) restore(s *state) error {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(s.file, int(min(s.size+1, wire.MaxFrame)))
	f := &filling{place: p, seen: map[string]seen{}}
	defer f.leave()
	times := map[string]time.Time{}
	for {
		e, changed, err := readKept(in)
		if err != nil || e.Kind == wire.EntryEnd {
			return errors.Join(err, f.date(times))
		}
		switch e.Kind {
		case wire.EntryDir:
			err = f.folder(e)
		case wire.EntryFile:
			err = f.file(e, in)
		default:
			to := make([]byte, e.Size)
			if _, err = io.ReadFull(in, to); err == nil {
				err = f.link(string(to), e.Name)
			}
			changed = time.Time{}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		if !changed.IsZero() {
			times[e.Name] = changed
		}
	}
}

// link makes a symbolic link, owned by the job user.
func (f *filling) link(to, name string) error {
	if err := f.root.Symlink(to, name); err != nil {
		return err
	}
	return f.cred.own(func(uid, gid int) error { return f.root.Lchown(name, uid, gid) })
}

// date restores the times of files and folders, for build tools that compare them. Folders come last, when nothing is
// written into them any more.
func (f *filling) date(times map[string]time.Time) error {
	for name, changed := range times {
		if err := f.root.Chtimes(name, changed, changed); err != nil {
			return err
		}
	}
	return nil
}

// readKept reads what keeping.head wrote.
func readKept(in io.Reader) (wire.Entry, time.Time, error) {
	var head [15]byte // as wire.AppendEntry writes it
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return wire.Entry{}, time.Time{}, err
	}
	rest := make([]byte, int(binary.BigEndian.Uint16(head[13:]))+8)
	if _, err := io.ReadFull(in, rest); err != nil {
		return wire.Entry{}, time.Time{}, err
	}
	name, stamp := rest[:len(rest)-8], rest[len(rest)-8:]
	return wire.Entry{
		Kind: wire.EntryKind(head[0]), Mode: binary.BigEndian.Uint32(head[1:]), Size: int64(binary.BigEndian.Uint64(head[5:])), Name: string(name), //nolint:gosec // our own
	}, time.Unix(0, int64(binary.BigEndian.Uint64(stamp))), nil //nolint:gosec // our own
}
