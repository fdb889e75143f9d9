package testrunner

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"drover/core"
	"drover/core/service/pattern"
)

// spool keeps results on disk while the store is down, one file per result, named by request and token. Several
// testrunners of a host may share its folder: any of them may deliver a result, because recording it twice changes
// nothing.
type spool struct {
	dir      string
	maxFiles int
	maxBytes int64

	mu sync.Mutex // one put of this process at a time, so that the bounds hold
}

const (
	spoolSuffix     = ".json"
	spoolQuarantine = ".bad"    // unreadable or refused results, for a person to look at
	spoolNew        = ".new"    // incomplete files
	halfWritten     = time.Hour // no write takes this long
)

// spoolName is what put makes: <request>-<generation>@<token>.json.
var spoolName = pattern.New(`^[a-z0-9-]+@[0-9.]+\.json$`)

func openSpool(dir string, maxFiles int, maxBytes int64) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "the folder %s for results that wait cannot be made", dir)
	}
	s := &spool{dir: dir, maxFiles: maxFiles, maxBytes: maxBytes}
	return s, core.Wrap(s.tidy(), core.CodeUnavailable, dir, "the spool %s cannot be tidied", dir)
}

// tidy removes incomplete files of killed testrunners. Others may be writing now, so young files stay.
func (s *spool) tidy() error {
	left, err := filepath.Glob(filepath.Join(s.dir, "*"+spoolNew))
	for _, path := range left {
		info, gone := os.Stat(path)
		if gone == nil && time.Since(info.ModTime()) > halfWritten {
			gone = os.Remove(path)
		}
		if gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (s *spool) path(res *core.Result) (string, error) {
	name := res.Key() + "@" + res.Token + spoolSuffix
	if !spoolName().MatchString(name) {
		return "", core.Errorf(core.CodeInvalid, res.ID, "%q cannot name a file", name)
	}
	return filepath.Join(s.dir, name), nil
}

// put writes a result durably. Returns LIMIT if the spool is full and UNAVAILABLE if the disk fails.
func (s *spool) put(res core.Result) error {
	path, err := s.path(&res)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, res.ID, "the result of %s cannot be written down", res.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	files, bytes, err := s.size()
	if err != nil {
		return core.Wrap(err, core.CodeUnavailable, s.dir, "the spool %s cannot be read", s.dir)
	}
	if files >= s.maxFiles || bytes+int64(len(raw)) > s.maxBytes {
		return core.Errorf(core.CodeLimit, s.dir, "the spool %s is full: %d results, %d bytes", s.dir, files, bytes)
	}
	return core.Wrap(writeDurably(path, raw), core.CodeUnavailable, s.dir, "the spool %s cannot be written", s.dir)
}

// writeDurably writes a file atomically and durably. A leftover of an earlier try is overwritten.
func writeDurably(path string, raw []byte) error {
	file, err := os.OpenFile(filepath.Clean(path+spoolNew), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(path+spoolNew, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path+spoolNew))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// remove deletes a result; a missing one is no error.
func (s *spool) remove(res *core.Result) error {
	path, err := s.path(res)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return core.Wrap(err, core.CodeUnavailable, s.dir, "the spool %s cannot be written", s.dir)
	}
	return nil
}

// size counts the waiting results. Quarantined and incomplete files do not count, so that they take no room from the
// next outage.
func (s *spool) size() (files int, bytes int64, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		if !spoolName().MatchString(e.Name()) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another runner delivered it
		}
		if err != nil {
			return 0, 0, err
		}
		files, bytes = files+1, bytes+info.Size()
	}
	return files, bytes, nil
}

// each calls fn with every spooled result, oldest request first. A file that cannot be read, or for which fn returns
// INVALID or LIMIT, is quarantined; other errors of fn end the loop.
func (s *spool) each(ctx context.Context, fn func(core.Result) error) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return core.Wrap(err, core.CodeUnavailable, s.dir, "the spool %s cannot be read", s.dir)
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !spoolName().MatchString(e.Name()) {
			continue
		}
		path := filepath.Join(s.dir, e.Name())
		res, err := s.read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = fn(res)
		}
		switch core.CodeOf(err) {
		case "":
		case core.CodeInvalid, core.CodeLimit:
			if err := s.quarantine(path); err != nil {
				return core.Wrap(err, core.CodeUnavailable, s.dir, "the spool %s cannot be written", s.dir)
			}
		default:
			return err
		}
	}
	return nil
}

// mostQuarantined is how many quarantined files are kept; the first by name are deleted.
const mostQuarantined = 100

// quarantine moves a result that cannot be recorded out of the way.
func (s *spool) quarantine(path string) error {
	if err := os.Rename(path, strings.TrimSuffix(path, spoolSuffix)+spoolQuarantine); err != nil {
		return err
	}
	quarantined, err := filepath.Glob(filepath.Join(s.dir, "*"+spoolQuarantine))
	for _, old := range quarantined[:max(0, len(quarantined)-mostQuarantined)] {
		if gone := os.Remove(old); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (s *spool) read(path string) (core.Result, error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return core.Result{}, err
	}
	defer file.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(file, s.maxBytes))
	if err != nil {
		return core.Result{}, err
	}
	var res core.Result
	if err := json.Unmarshal(raw, &res); err != nil {
		return core.Result{}, core.Wrap(err, core.CodeInvalid, path, "the spooled result %s cannot be read", path)
	}
	return res, nil
}

// putSpool spools a result and reports whether it is on disk. If it is not, the result is still in memory, and the
// slot is kept.
func (r *Runner) putSpool(res core.Result) bool {
	err := r.spool.put(res)
	if err != nil {
		r.log.WithError(err).WithField("request", res.Key()).Error("a result that the store does not take cannot be spooled")
	}
	return err == nil
}

func (r *Runner) unspool(res core.Result) { r.spool.drop(res, r.log) }

// deliver records every spooled result. Returns UNAVAILABLE while the store is down.
func (r *Runner) deliver(ctx context.Context) error {
	return r.spool.deliver(ctx, r.deps.Store, r.log)
}
