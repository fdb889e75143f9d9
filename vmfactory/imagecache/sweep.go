package imagecache

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep removes the images of this host that used does not report (it may be nil) and that no process with this
// folder has used for the time idle, and returns which were removed. An image that is in use nevertheless is left.
func (s *Store) Sweep(used func(digest string) bool, idle time.Duration) (removed []string, err error) {
	digests, err := s.digests()
	errs := []error{err}
	for _, digest := range digests {
		if used != nil && used(digest) {
			errs = append(errs, s.touch(digest))
			continue
		}
		gone, err := s.remove(digest, idle)
		errs = append(errs, err)
		if gone {
			removed = append(removed, digest)
		}
	}
	return removed, s.fault(errors.Join(append(errs, s.tidy())...))
}

// remove removes an image's name at once; tidy removes its files.
func (s *Store) remove(digest string, idle time.Duration) (gone bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.folder(digest)
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // another process was first
	}
	if err != nil || s.cfg.Clock.Now().Sub(info.ModTime()) < idle {
		return false, err
	}
	if err := unmount(dir); errors.Is(err, unix.EBUSY) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	err = os.Rename(dir, filepath.Join(s.dir, removeAs+rand.Text()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return err == nil, nil
}

// left reports whether a folder is being made or removed.
func left(d fs.DirEntry) bool {
	return d.IsDir() && (strings.HasPrefix(d.Name(), unpackAs) || strings.HasPrefix(d.Name(), removeAs))
}
