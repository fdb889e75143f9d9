package server

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"drover/core"
	"drover/core/agent/wire"
)

const boxMode = 0o700

// oneUser reports whether the box has the user of the harness.
func (a *Agent) oneUser() bool { return a.cfg.BoxUID == 0 }

// makeBox makes the folder of the box, empty.
func (a *Agent) makeBox() error {
	dir := path.Join(a.cfg.Home, wire.Box)
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = os.Remove(dir)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Mkdir(dir, boxMode)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := a.boxCred.own(func(uid, gid int) error { return os.Lchown(dir, uid, gid) }); err != nil {
		return err
	}
	return a.empty(dir, boxMode)
}

// tidy removes everything that the box's user has left; it has no processes any more.
func (b *box) tidy() error {
	// By now the harness's user, who owns the folder above, may have replaced the folder, so it is not looked up
	// again; and its own user may have made it inaccessible.
	err := b.agent.empty(b.folder.path(), boxMode)
	if err == nil && !b.agent.oneUser() {
		err = b.sweep()
	}
	if err == nil {
		err = b.agent.controls.freeCaches(b.cell())
	}
	if err == nil {
		return nil
	}
	err = unclean{core.Wrap(err, core.CodeBadVM, b.agent.cfg.VM, "remove what a run in the box left")}
	b.mu.Lock()
	b.spoilt = err
	b.mu.Unlock()
	b.owner.stop(causeKilled)
	return err
}

// sweep removes files of the box's user in folders writable by all, and in those below that the harness has opened to it.
func (b *box) sweep() error {
	for _, dir := range b.agent.cfg.Scratch {
		top, err := os.OpenRoot(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an image may lack it
		}
		if err != nil {
			return err
		}
		err = b.sweepOwn(top)
		if cerr := top.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	if !b.agent.tree.init {
		return nil // those around it are the host's
	}
	var err error
	b.as(func() { err = forgetOwn(syscall.EINVAL, syscall.EIDRM, syscall.EPERM, syscall.EACCES) }) // those of the harness stay
	return err
}

// sweepOwn removes everything of the box's user below a folder.
func (b *box) sweepOwn(top *os.Root) error {
	inner, err := b.sweepFolder(top)
	for ; err == nil && len(inner) > 0; inner = inner[1:] {
		at := inner[0]
		folder, missing := top.OpenRoot(at)
		if missing != nil {
			continue // the harness has removed or moved it in the meantime: nobody of the box is there to do so
		}
		var more []string
		more, err = b.sweepFolder(folder)
		_ = folder.Close() // what failed in it is known
		for _, name := range more {
			inner = append(inner, path.Join(at, name))
		}
	}
	return err
}

// sweepFolder removes the entries of a folder that the box's user owns, with everything below them, and returns the
// others that the box's user can enter. The harness may use the folder at the same time.
func (b *box) sweepFolder(top *os.Root) (inner []string, err error) {
	const enter = 0o001
	s := &sweep{top: top}
	for {
		moved := s.moved
		inner = nil
		f, err := top.Open(".")
		if err != nil {
			return nil, err
		}
		names, err := f.Readdirnames(-1)
		_ = f.Close() // only read from
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			info, err := top.Lstat(name)
			if err != nil {
				continue // it was removed in the meantime
			}
			if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != b.cred.uid {
				if info.IsDir() && info.Mode()&enter != 0 {
					inner = append(inner, name)
				}
				continue
			}
			if err := s.one(name); err != nil {
				return nil, err
			}
		}
		if s.moved == moved {
			return inner, nil // no folder was moved to the top
		}
	}
}
