package service

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"

	"drover/core"
)

// Lock is a name on this host that one process has at a time. The kernel releases it when the process dies.
type Lock struct{ file *flock.Flock }

// LockPath is the file of the lock called name in the folder dir.
func LockPath(dir, name string) string { return filepath.Join(dir, name+".lock") }

// TakeLock takes the lock called name in the folder dir, which it creates if it is missing. Returns BUSY, with the
// holder's process id in the sentence, if a living process has it, and UNAVAILABLE if the folder cannot be used.
func TakeLock(dir, name string) (*Lock, error) {
	if err := core.CheckName("lock", name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "the folder %s for locks cannot be made", dir)
	}
	path := LockPath(dir, name)
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW), flock.SetPermissions(0o600))
	switch ok, err := file.TryLock(); {
	case err != nil:
		return nil, core.Wrap(err, core.CodeUnavailable, name, "the lock %s cannot be taken", path)
	case !ok:
		return nil, core.Errorf(core.CodeBusy, name, "process %s has the lock %s: stop it first", holder(path), path)
	}
	l := &Lock{file: file}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		l.Release()
		return nil, core.Wrap(err, core.CodeUnavailable, name, "the lock %s cannot be written", path)
	}
	return l, nil
}

// takeStanding takes a lock whose file is there, and makes nothing. Returns BUSY, and
// NOTFOUND if there is no such file.
func takeStanding(dir, name string) (*Lock, error) {
	path := LockPath(dir, name)
	file := flock.New(path, flock.SetFlag(os.O_RDWR|syscall.O_NOFOLLOW))
	switch ok, err := file.TryLock(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, core.Errorf(core.CodeNotFound, name, "there is no lock %s", path)
	case err != nil:
		return nil, core.Wrap(err, core.CodeUnavailable, name, "the lock %s cannot be taken", path)
	case !ok:
		return nil, core.Errorf(core.CodeBusy, name, "process %s has the lock %s", holder(path), path)
	}
	return &Lock{file: file}, nil
}

// TakeNumber takes the first free lock of role-0, role-1, … and returns its
// number, so that a restarted process gets the number, and with it the owner's
// name, that its dead predecessor had. Returns BUSY if the first most are taken.
func TakeNumber(dir string, role core.Role, most int) (int, *Lock, error) {
	for n := range most {
		l, err := TakeLock(dir, string(role)+"-"+strconv.Itoa(n))
		if !core.Is(err, core.CodeBusy) {
			return n, l, err
		}
	}
	return 0, nil, core.Errorf(core.CodeBusy, string(role), "%d processes of the role %s run on this host already", most, role)
}

// Stands reports whether the lock's file is still in its place: false once another process moved it away to seize the
// lock.
func (l *Lock) Stands() bool {
	held, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(l.file.Path())
	return err == nil && os.SameFile(held, there)
}

// Release frees the lock. Its file stays, because removing it would race with
// the next taker.
func (l *Lock) Release() {
	_ = l.file.Unlock() // the kernel releases it with the process in any case
}

// holder reads a lock's process id, for a message only.
func holder(path string) string {
	pid, err := os.ReadFile(filepath.Clean(path))
	if err != nil || len(pid) == 0 || len(pid) > 20 {
		return "unknown"
	}
	return strings.TrimSpace(string(pid))
}
