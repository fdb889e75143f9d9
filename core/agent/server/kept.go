package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// States leave a VM and enter another one as the bytes of their files. One that enters is checked as if user code had
// written it: it may come from a VM that user code has taken over.

// mostLink is the most bytes of a symbolic link's target; no file system has longer ones.
const mostLink = 4 << 10

// give sends a kept state to the host. An error means that nothing was answered yet. Returns LIMIT for one that is larger
// than wire.MaxState.
func (a *Agent) give(name string, conn *os.File, req *request) error {
	out := &unhurried{conn}
	last, err := a.giveFirst(name, out, req)
	if err != nil {
		return err
	}
	_, _ = out.Write(last) // the host is gone, or sees that bytes are missing
	return nil
}

// giveFirst sends all but the last bytes, which it returns: once the host has them it may call again, and the agent must not
// be busy any more.
func (a *Agent) giveFirst(name string, out io.Writer, req *request) (last []byte, err error) {
	if err := a.begin(req.owner, nil); err != nil {
		return nil, err
	}
	defer a.end(nil)
	s := a.kept[name]
	if s == nil {
		return nil, core.Errorf(core.CodeInvalid, a.cfg.VM, "nothing is kept as %q", name)
	}
	info, err := s.file.Stat()
	if err != nil {
		return nil, core.Wrap(err, core.CodeBadVM, a.cfg.VM, "read what was kept as %q", name)
	}
	size := info.Size()
	if size > wire.MaxState {
		return nil, core.Errorf(core.CodeLimit, a.cfg.VM, "what is kept as %q has %d bytes; %d can be given", name, size, wire.MaxState)
	}
	last = make([]byte, min(size, wire.MaxFrame))
	first := size - int64(len(last))
	if _, err := s.file.ReadAt(last, first); err != nil {
		return nil, core.Wrap(err, core.CodeBadVM, a.cfg.VM, "read what was kept as %q", name)
	}
	head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", size)
	if first == 0 {
		return append(head, last...), nil
	}
	if _, err = out.Write(head); err == nil {
		from := io.NewSectionReader(s.file, 0, first)
		_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{from}, make([]byte, wire.MaxFrame))
	}
	if err != nil {
		return nil, nil // the host is gone, or sees that bytes are missing
	}
	return last, nil
}

// unhurried is a connection whose peer may take a while for each piece.
type unhurried struct{ conn *os.File }

func (u *unhurried) Write(b []byte) (int, error) {
	_ = u.conn.SetWriteDeadline(time.Now().Add(wire.Stall))
	return u.conn.Write(b)
}

// take keeps a state that the host sends under a name, within the room of states that are made here. Returns INVALID
// for one that no VM can have made, LIMIT if there is no room.
func (a *Agent) take(name string, conn *os.File, req *request) error {
	if err := a.begin(req.owner, nil); err != nil {
		return err
	}
	defer a.end(nil)
	if err := replace(a.kept, name); err != nil {
		return err
	}
	file, err := a.nameless()
	if err != nil {
		return a.places[wire.Work].refusal(err)
	}
	c := &copying{keeping: a.keeping(a.places[wire.Work], a.kept, file), in: bufio.NewReaderSize(&slow{conn: conn, from: req.body}, wire.MaxFrame), kinds: map[string]wire.EntryKind{}}
	err = c.all()
	if err == nil && !ended(c.in) {
		err = core.Errorf(core.CodeInvalid, a.cfg.VM, "more follows the state")
	}
	if err == nil {
		err = c.out.Flush()
	}
	if err != nil {
		_ = file.Close() // the first error counts
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return core.Errorf(core.CodeInvalid, a.cfg.VM, "the state ends too early")
		}
		return c.refusal(err)
	}
	a.kept[name] = &state{file: file, size: c.size}
	return nil
}

func ended(in io.Reader) bool {
	var one [1]byte
	_, err := io.ReadFull(in, one[:])
	return errors.Is(err, io.EOF)
}

// copying is the check of a state that is not made here, while it is written.
type copying struct {
	*keeping
	in    *bufio.Reader
	kinds map[string]wire.EntryKind // of the entries so far
}

func (c *copying) all() error {
	for {
		e, changed, err := readKept(c.in)
		if err != nil {
			return err
		}
		if e.Kind != wire.EntryEnd {
			err = c.check(e)
		}
		if err == nil {
			err = c.head(e, changed)
		}
		if err != nil || e.Kind == wire.EntryEnd {
			return err
		}
		if _, err := io.CopyN(c.out, c.in, e.Size); err != nil {
			return err
		}
	}
}

// check refuses an entry that keeping does not write: each has a name of its own and comes after its folder.
func (c *copying) check(e wire.Entry) error {
	if c.entries++; c.entries > wire.MaxEntries {
		return core.Errorf(core.CodeLimit, "", "the state holds more than %d files and folders", wire.MaxEntries)
	}
	if e.Size > c.limit {
		return core.Errorf(core.CodeLimit, "", "the state holds more than can be kept")
	}
	if err := wire.CheckName(e.Name); err != nil {
		return err
	}
	above := path.Dir(e.Name)
	good := c.kinds[e.Name] == 0 && (above == "." || c.kinds[above] == wire.EntryDir) && e.Mode&^0o777 == 0 && e.Size >= 0
	switch e.Kind {
	case wire.EntryFile:
	case wire.EntryDir:
		good = good && e.Size == 0
	case entryLink:
		good = good && e.Size > 0 && e.Size <= mostLink
	default:
		good = false
	}
	if !good {
		return core.Errorf(core.CodeInvalid, "", "the state holds %q as no VM keeps it", e.Name)
	}
	c.kinds[e.Name] = e.Kind
	return nil
}

// replace drops what is kept under the name. It returns why nothing can be kept under it.
func replace(kept map[string]*state, name string) error {
	if err := wire.CheckState(name); err != nil {
		return err
	}
	if s := kept[name]; s != nil {
		_ = s.file.Close() // not needed any more
		delete(kept, name)
	}
	if len(kept) == wire.MaxKept {
		return core.Errorf(core.CodeLimit, "", "a VM keeps %d states", wire.MaxKept)
	}
	return nil
}
