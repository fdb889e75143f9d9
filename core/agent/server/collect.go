package server

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"drover/core"
	"drover/core/agent/wire"
)

// The content of a place was made by user code, which may have put links, pipes and devices there to have another
// program read or write what it cannot. So files are read here, inside the VM, where nothing of the host is; folder
// by folder from one that was opened before user code ran; and the type of each name is checked before it is opened
// and again afterwards. No process of a job is alive during this.

const (
	oPath      = 0x200000 // O_PATH
	nameOnly   = oPath | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
	plainFile  = syscall.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC
	plainDir   = syscall.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_DIRECTORY | syscall.O_CLOEXEC
	mostLooks  = wire.MaxEntries // names looked at for one collection
	namesAtOne = 256
)

// collecting is one collection in progress.
type collecting struct {
	out     *frames
	files   int   // that may still come
	bytes   int64 // of them
	looks   int   // names that may still be looked at
	skipped int   // further reports of skipped files
	taken   map[string]bool
	buf     []byte
}

var errHostGone = errors.New("the host takes no more")

// collect sends files of a place. An error means that nothing was answered yet.
func (a *Agent) collect(name string, conn *os.File, req *request) error {
	if !slices.Contains(wire.Places(), name) {
		return core.Errorf(core.CodeInvalid, a.cfg.VM, "no place is called %q; there are %s", name, strings.Join(wire.Places(), ", "))
	}
	var want wire.Collection
	if err := req.readJSON(&want); err != nil {
		return err
	}
	if err := checkCollection(&want); err != nil {
		return err
	}
	if err := a.begin(req.owner, nil); err != nil {
		return err
	}
	c := &collecting{
		out: newFrames(conn), files: want.Files, bytes: want.Bytes, looks: mostLooks, skipped: wire.MaxSkipped,
		taken: map[string]bool{}, buf: make([]byte, roomAhead+readSize+chunkTail),
	}
	err := c.place(a.places[name], want.Paths) // a reset replaces it
	a.end(nil)
	switch {
	case err == nil:
		c.out.last(wire.KindTaken, struct{}{})
	case !errors.Is(err, errHostGone):
		c.out.last(wire.KindFault, wire.Refusal{Code: core.CodeBadVM, Text: err.Error()})
	}
	return nil
}

func checkCollection(want *wire.Collection) error {
	switch {
	case len(want.Paths) == 0 || len(want.Paths) > wire.MaxPaths:
		return core.Errorf(core.CodeInvalid, "", "a collection names 1 to %d paths, not %d", wire.MaxPaths, len(want.Paths))
	case want.Files < 0 || want.Files > wire.MaxTaken || want.Bytes < 0 || want.Bytes > wire.MaxTakenBytes:
		return core.Errorf(core.CodeInvalid, "", "a collection has at most %d files and %d bytes", wire.MaxTaken, wire.MaxTakenBytes)
	}
	if want.Files == 0 {
		want.Files = wire.MaxTaken
	}
	if want.Bytes == 0 {
		want.Bytes = wire.MaxTakenBytes
	}
	for _, name := range want.Paths {
		if err := wire.CheckName(name); err != nil {
			return err
		}
	}
	return nil
}

func (c *collecting) place(p *place, paths []string) error {
	if err := p.unshut(); err != nil {
		return err
	}
	root, err := p.root.Open(".")
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read from
	for _, name := range paths {
		if err := c.path(int(root.Fd()), name); err != nil {
			return err
		}
	}
	return nil
}

// path descends to a requested path, one name after the other.
func (c *collecting) path(at int, name string) error {
	parts := strings.Split(name, "/")
	dir := at
	defer func() {
		if dir != at {
			_ = syscall.Close(dir)
		}
	}()
	for _, part := range parts[:len(parts)-1] {
		next, err := syscall.Openat(dir, part, plainDir, 0)
		if err != nil {
			why := wire.SkipKind
			if errors.Is(err, syscall.ENOENT) {
				why = wire.SkipAbsent
			}
			return c.skip(name, why)
		}
		if dir != at {
			_ = syscall.Close(dir)
		}
		dir = next
	}
	return c.entry(dir, parts[len(parts)-1], name)
}

// entry collects one name of a folder, of any type.
func (c *collecting) entry(dir int, part, name string) error {
	if err := wire.CheckName(name); err != nil {
		if strings.Count(name, "/") >= wire.MaxDepth {
			return c.skip(name, wire.SkipDepth)
		}
		return c.skip(name, wire.SkipName)
	}
	if c.taken[name] {
		return nil // requested twice
	}
	if c.looks--; c.looks < 0 {
		return c.skip(name, wire.SkipRoom)
	}
	what, err := look(dir, part)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return c.skip(name, wire.SkipAbsent)
	case err != nil:
		return c.skip(name, wire.SkipRead)
	}
	switch what.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		return c.folder(dir, part, name)
	case syscall.S_IFREG:
		return c.file(dir, part, name, what)
	}
	return c.skip(name, wire.SkipKind)
}

// look returns the type of a name without opening it.
func look(dir int, part string) (syscall.Stat_t, error) {
	var what syscall.Stat_t
	fd, err := syscall.Openat(dir, part, nameOnly, 0)
	if err != nil {
		return what, err
	}
	defer syscall.Close(fd) //nolint:errcheck // only named
	return what, syscall.Fstat(fd, &what)
}

func (c *collecting) folder(dir int, part, name string) error {
	fd, err := syscall.Openat(dir, part, plainDir, 0)
	if err != nil {
		return c.skip(name, wire.SkipRead)
	}
	folder := os.NewFile(uintptr(fd), part)
	defer folder.Close() //nolint:errcheck // only read from
	var names []string
	for len(names) <= c.looks {
		some, err := folder.Readdirnames(namesAtOne)
		names = append(names, some...)
		if err != nil {
			break
		}
	}
	slices.Sort(names)
	for _, n := range names {
		if c.looks <= 0 {
			return c.skip(name, wire.SkipRoom)
		}
		if err := c.entry(fd, n, path.Join(name, n)); err != nil {
			return err
		}
	}
	return nil
}

func (c *collecting) file(dir int, part, name string, what syscall.Stat_t) error {
	if c.files == 0 || what.Size > c.bytes {
		return c.skip(name, wire.SkipRoom)
	}
	fd, err := syscall.Openat(dir, part, plainFile, 0)
	if err != nil {
		return c.skip(name, wire.SkipRead)
	}
	defer syscall.Close(fd) //nolint:errcheck // only read from
	var now syscall.Stat_t
	if err := syscall.Fstat(fd, &now); err != nil || now.Mode&syscall.S_IFMT != syscall.S_IFREG || now.Ino != what.Ino || now.Dev != what.Dev {
		return c.skip(name, wire.SkipKind)
	}
	c.files, c.taken[name] = c.files-1, true
	c.bytes -= what.Size
	if err := c.tell(wire.KindFile, wire.Taken{Path: name, Mode: what.Mode & 0o777, Size: what.Size}); err != nil {
		return err
	}
	for left := what.Size; left > 0; {
		n, err := syscall.Read(fd, c.buf[roomAhead:roomAhead+min(left, readSize)])
		if err != nil || n <= 0 {
			return errors.Join(err, io.ErrUnexpectedEOF) // its head is sent: the whole collection is void
		}
		if !c.out.send(wire.KindData, c.buf, n) {
			return errHostGone
		}
		left -= int64(n)
	}
	return nil
}

// skip reports a file that was not collected, as far as there is room.
func (c *collecting) skip(name, why string) error {
	if c.skipped--; c.skipped < 0 {
		return nil
	}
	if wire.CheckName(name) != nil {
		name = strconv.QuoteToASCII(name)
		name = name[:min(len(name), wire.MaxPart)]
	}
	return c.tell(wire.KindSkipped, wire.Skipped{Path: name, Why: why})
}

func (c *collecting) tell(kind wire.Kind, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	buf := make([]byte, roomAhead+len(text)+chunkTail)
	copy(buf[roomAhead:], text)
	if !c.out.send(kind, buf, len(text)) {
		return errHostGone
	}
	return nil
}
