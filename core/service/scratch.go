package service

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"drover/core"
)

// scratchLock is the lock by which a folder's process is known to be alive.
const scratchLock = "alive"

// Scratch is a temporary folder of one process. If the process is killed, the next one with the same prefix removes
// the folder.
type Scratch struct {
	Dir  string
	lock *Lock
}

// NewScratch makes a folder in the system's folder for temporary files, its name
// beginning with prefix, and removes those whose process is dead. Returns
// UNAVAILABLE if none can be made.
func NewScratch(prefix string) (*Scratch, error) {
	top := os.TempDir()
	SweepScratch(prefix, nil)
	// Until it is locked it has a name that no sweep matches.
	made, err := os.MkdirTemp(top, "."+prefix)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, top, "no temporary folder can be made in %s: name another with TMPDIR", top)
	}
	lock, err := TakeLock(made, scratchLock)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(made))
	}
	dir := filepath.Join(top, strings.TrimPrefix(filepath.Base(made), "."))
	if err := os.Rename(made, dir); err != nil {
		lock.Release()
		return nil, core.Wrap(errors.Join(err, os.RemoveAll(made)), core.CodeUnavailable, dir, "the temporary folder %s cannot be made", dir)
	}
	return &Scratch{Dir: dir, lock: lock}, nil
}

// Remove removes the folder with all that is in it.
func (s *Scratch) Remove() error {
	defer s.lock.Release() // last, so that no other process removes it in the meantime
	dir, err := s.hide()
	if err == nil {
		err = os.RemoveAll(dir)
	}
	return core.Wrap(err, core.CodeUnavailable, s.Dir, "the temporary folder %s cannot be removed", s.Dir)
}

// hide gives the folder a name that no sweep matches: a half-removed folder has no lock any more that shows its
// process is alive.
func (s *Scratch) hide() (string, error) {
	now := time.Now()
	if err := os.Chtimes(s.Dir, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	hidden := filepath.Join(filepath.Dir(s.Dir), "."+filepath.Base(s.Dir))
	if err := os.Rename(s.Dir, hidden); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return hidden, nil
}

// SweepScratch removes folders with the prefix whose processes are dead, as far as it can; a folder that stays does
// no harm. Before, it calls end, if not nil, to end processes that use the folder; if that fails the folder stays. It
// works only where no other user can replace a folder, and touches only this user's folders.
func SweepScratch(prefix string, end func(dir string) error) {
	top := os.TempDir()
	if info, err := os.Stat(top); err != nil || !mine(info) && !owned(info, 0) ||
		info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return
	}
	entries, err := os.ReadDir(top)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, half := strings.CutPrefix(e.Name(), ".")
		info, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(name, prefix) || !mine(info) {
			continue
		}
		if !half || time.Since(info.ModTime()) > halfMade {
			removeAbandoned(filepath.Join(top, e.Name()), end)
		}
	}
}

// halfMade is the age from which a folder without a lock counts as abandoned.
const halfMade = time.Hour

// removeAbandoned removes a folder if its lock is free. A folder without a lock was left by a crash, or is being
// removed by another process.
func removeAbandoned(dir string, end func(dir string) error) {
	lock, err := takeStanding(dir, scratchLock)
	switch {
	case err == nil:
		defer lock.Release()
	case !core.Is(err, core.CodeNotFound):
		return // its process is alive, or another one is removing it
	}
	if _, err := os.Lstat(dir); err != nil {
		return
	}
	if end == nil || end(dir) == nil {
		_ = os.RemoveAll(dir)
	}
}

func mine(info fs.FileInfo) bool { return owned(info, os.Geteuid()) }

func owned(info fs.FileInfo, user int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(user)
}
