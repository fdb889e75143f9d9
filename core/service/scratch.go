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

// scratchLock is the lock by which a folder's process is known to live.
const scratchLock = "alive"

// Scratch is a temporary folder of one process. One that a killed process left
// is removed by the next that makes one with the same prefix.
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
	// Until it is locked it has a name that nobody sweeps.
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
	defer s.lock.Release() // last, so that nobody else removes it meanwhile
	dir, err := s.hide()
	if err == nil {
		err = os.RemoveAll(dir)
	}
	return core.Wrap(err, core.CodeUnavailable, s.Dir, "the temporary folder %s cannot be removed", s.Dir)
}

// hide gives the folder a name that nobody sweeps: one that is half removed has no
// lock any more by which its process is known to live.
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

// SweepScratch removes folders with the prefix that were left by the dead, as far
// as it can: one that stays harms nobody. First end, if it is not nil, ends what
// still lives in one; a folder where that fails stays. It works only where no other
// user can put something else into a folder's place, and touches only what this
// user made.
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

// halfMade is how old a folder must be that was never locked to be nobody's.
const halfMade = time.Hour

// removeAbandoned removes a folder if its lock is free. One without a lock was left
// between two steps, or is gone by now, because somebody else removed it.
func removeAbandoned(dir string, end func(dir string) error) {
	lock, err := takeStanding(dir, scratchLock)
	switch {
	case err == nil:
		defer lock.Release()
	case !core.Is(err, core.CodeNotFound):
		return // its process lives, or somebody else is removing it
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
