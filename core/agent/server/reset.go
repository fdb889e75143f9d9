package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// reset removes every trace of the runs so far, whose processes are dead, and restores what was kept under the name,
// if it is not "". If the VM cannot be cleaned, it refuses all further work.
func (a *Agent) reset(owner, name string) error {
	if err := a.begin(owner, nil); err != nil {
		return err
	}
	err := a.restore(name)
	a.end(spoilt(err))
	return err
}

// spoilt returns an error that makes the VM refuse all further work, and nil for others.
func spoilt(err error) error {
	if errors.As(err, new(unclean)) {
		return err
	}
	return nil
}

// restore does the work of reset, for one who has begun.
func (a *Agent) restore(name string) error {
	if len(a.cfg.Scratch) == 0 {
		return core.Errorf(core.CodeConflict, a.cfg.VM, "VM %s cannot be reset: its provider does not say where user code can write", a.cfg.VM)
	}
	s := a.kept[name]
	if s == nil && name != "" {
		return core.Errorf(core.CodeInvalid, a.cfg.VM, "nothing is kept as %q", name)
	}
	if err := a.wipe(); err != nil {
		return unclean{core.Wrap(err, core.CodeBadVM, a.cfg.VM, "remove what earlier runs left")}
	}
	if s == nil {
		return nil
	}
	if err := a.places[wire.Work].restore(s); err != nil {
		return unclean{core.Wrap(err, core.CodeBadVM, a.cfg.VM, "put back what was kept as %q", name)}
	}
	a.places[wire.Work].taken = true
	return nil
}

// unclean is the reason of a VM that refuses all work: user code left something that cannot be removed.
type unclean struct{ error }

func (u unclean) Unwrap() error { return u.error }

// Modes of the places that all users of a VM share.
const (
	homeMode    = 0o755
	scratchMode = 0o1777
)

func (a *Agent) wipe() error {
	for _, dir := range a.cfg.Scratch {
		if err := a.empty(dir, scratchMode); err != nil {
			return err
		}
	}
	for _, p := range a.places {
		p.close()
	}
	a.places = nil
	if err := a.empty(a.cfg.Home, homeMode); err != nil {
		return err
	}
	err := a.forgetRun()
	for _, at := range []cell{shared, own} { // after what the runs left: there is less to look through
		err = errors.Join(err, a.controls.freeCaches(at))
	}
	if err != nil {
		return err
	}
	a.places, err = openPlaces(a.cfg, a.cred)
	return err
}

// empty removes all content and attributes of a folder, which user code may own. User code cannot replace any part of
// its path.
func (a *Agent) empty(dir string, mode uint32) error {
	const readOnly = 1
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	if errors.Is(err, syscall.ENOENT) || err == nil && fs.Flags&readOnly != 0 {
		return nil // an image may lack it, or have a read-only one
	}
	if err == nil {
		err = chmodOf(dir, mode)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	top, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = (&sweep{top: top}).all()
	if cerr := top.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = forgetAttributes(dir)
	}
	if err == nil {
		now := syscall.NsecToTimespec(time.Now().UnixNano())
		err = syscall.UtimesNano(dir, []syscall.Timespec{now, now})
	}
	if err != nil {
		return fmt.Errorf("empty %s: %w", dir, err)
	}
	return nil
}

// chmodOf sets a folder's mode, sticky bit included, unless it has it.
func chmodOf(dir string, mode uint32) error {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return err
	}
	if st.Mode&0o7777 == mode {
		return nil
	}
	return syscall.Chmod(dir, mode)
}

// sweep empties one folder. User code may have nested folders to any depth, so inner folders are moved to the top and
// emptied there: this takes two descriptors and no recursion.
type sweep struct {
	top   *os.Root
	moved int
}

const batch = 512 // names at a time

func (s *sweep) all() error {
	return drain(s.top, s.one)
}

// one removes one name of the top, and moves inner folders to the top.
func (s *sweep) one(name string) error {
	err := s.top.Remove(name)
	if !errors.Is(err, syscall.ENOTEMPTY) {
		return gone(err)
	}
	if err := s.hollow(name); err != nil {
		return err
	}
	return s.top.Remove(name)
}

// hollow empties a folder of the top: files are removed, folders moved up.
func (s *sweep) hollow(name string) error {
	if err := s.top.Chmod(name, 0o700); err != nil { // its owner may have made it inaccessible
		return err
	}
	inner, err := s.top.OpenRoot(name)
	if err != nil {
		return err
	}
	defer inner.Close() //nolint:errcheck // nothing was written
	return drain(inner, func(n string) error {
		err := inner.Remove(n)
		if !errors.Is(err, syscall.ENOTEMPTY) {
			return gone(err)
		}
		// To be moved a folder must be writable, because its ".." changes.
		if err := inner.Chmod(n, 0o700); err != nil {
			return err
		}
		return s.lift(name + "/" + n)
	})
}

// lift moves a folder to the top. User code may have taken a name there.
func (s *sweep) lift(from string) error {
	for {
		s.moved++
		err := s.top.Rename(from, ".swept-"+strconv.Itoa(s.moved))
		if !errors.Is(err, syscall.EEXIST) && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
}

// drain calls remove with the names in a folder until none are left.
func drain(dir *os.Root, remove func(name string) error) error {
	for {
		f, err := dir.Open(".")
		if err != nil {
			return err
		}
		names, err := f.Readdirnames(batch)
		_ = f.Close() // only read from
		if len(names) == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		for _, name := range names {
			if err := remove(name); err != nil {
				return err
			}
		}
	}
}

// gone returns nil if the error means that something does not exist any more.
func gone(err error) error {
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return err
}

// forgetAttributes removes attributes that user code may have set on a folder that it owns, such as access lists. The
// kernel's own stay.
func forgetAttributes(dir string) error {
	n, err := syscall.Listxattr(dir, nil)
	if err == nil && n == 0 {
		return nil
	}
	list := make([]byte, 64<<10)
	if err == nil {
		n, err = syscall.Listxattr(dir, list)
	}
	if errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	if err != nil {
		return err
	}
	for name := range bytes.SplitSeq(list[:n], []byte{0}) {
		if !bytes.HasPrefix(name, []byte("user.")) && !bytes.HasPrefix(name, []byte("system.posix_acl_")) {
			continue
		}
		if err := syscall.Removexattr(dir, string(name)); err != nil && !errors.Is(err, syscall.ENODATA) {
			return err
		}
	}
	return nil
}

// forgetRun removes objects in the kernel. The old namespaces of user code may outlive their last process for a
// while, so everything that counts as memory is removed at once.
func (a *Agent) forgetRun() error {
	if a.cfg.Renews == 0 {
		return a.forgetSysV()
	}
	a.ready(a.starter)
	var err error
	a.starter.do(func() { err = errors.Join(a.starter.failed, forgetOwn(syscall.EINVAL, syscall.EIDRM)) })
	return errors.Join(err, a.turn())
}

// forgetSysV removes shared memory, semaphores and messages of the job user. Only their owner may do that, so a
// thread becomes the job user for it and ends. An agent that is no VM's init shares the host's objects, and leaves
// them alone.
func (a *Agent) forgetSysV() error {
	if !a.tree.init {
		return nil
	}
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its user
		if a.cred.sys != nil {
			uid := uintptr(a.cfg.UID)
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); errno != 0 {
				ended <- errno
				return
			}
		}
		ended <- forgetOwn(syscall.EINVAL, syscall.EIDRM)
	}()
	return <-ended
}

const ipcRemove = 0

// forgetOwn removes what the user of the calling thread has made. Objects that cannot be removed for one of the given
// reasons may stay.
func forgetOwn(may ...syscall.Errno) error {
	for name, control := range map[string]uintptr{"shm": syscall.SYS_SHMCTL, "sem": syscall.SYS_SEMCTL, "msg": syscall.SYS_MSGCTL} {
		text, err := os.ReadFile(path.Join("/proc/sysvipc", name))
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without System V objects
		}
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			fields := bytes.Fields(line)
			if len(fields) < 2 || number(fields[1]) < 0 {
				continue // the header line
			}
			id := uintptr(number(fields[1])) //nolint:gosec // not negative
			second, third := uintptr(ipcRemove), uintptr(0)
			if control == syscall.SYS_SEMCTL { // semctl has a number of the semaphore first
				second, third = 0, ipcRemove
			}
			_, _, errno := syscall.RawSyscall6(control, id, second, third, 0, 0, 0)
			if errno != 0 && !slices.Contains(may, errno) {
				return fmt.Errorf("remove %s %d: %w", name, id, errno)
			}
		}
	}
	return nil
}
