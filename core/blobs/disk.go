package blobs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"drover/core/service/clock"
)

// stranded is the age at which the temporary file of a dead writer is removed.
const stranded = 24 * time.Hour

// disk is a bucket in a folder.
type disk struct {
	root string

	mu    sync.Mutex
	known map[string]bool // folders whose own names are durable; at most 65,793
}

func (d *disk) path(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

func (d *disk) open(_ context.Context, key string) (io.ReadCloser, int64, error) {
	f, err := os.Open(d.path(key))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (d *disk) write(ctx context.Context, key string, content io.Reader, _ int64) error {
	half, err := d.prepare(ctx, key, content)
	if err != nil {
		return err
	}
	if err := os.Rename(half, d.path(key)); err != nil {
		return errors.Join(err, os.Remove(half))
	}
	return d.named(key)
}

// prepare makes a durable file that only lacks its name: it has another one, in the same folder.
func (d *disk) prepare(ctx context.Context, key string, content io.Reader) (name string, err error) {
	to := d.path(key)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.tmp")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, watched{ctx, content})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func (d *disk) create(ctx context.Context, key, content string) error {
	half, err := d.prepare(ctx, key, strings.NewReader(content))
	if err != nil {
		return err
	}
	err = os.Link(half, d.path(key))
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err := errors.Join(err, os.Remove(half)); err != nil {
		return err
	}
	return d.named(key)
}

// move renames, which is atomic.
func (d *disk) move(_ context.Context, from, to string, _ int64, _ time.Duration) error {
	old, now := d.path(from), d.path(to)
	if err := os.MkdirAll(filepath.Dir(now), 0o700); err != nil {
		return err
	}
	err := os.Rename(old, now)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// First the new name, then the removal of the old one.
	return errors.Join(err, d.named(to), syncDir(filepath.Dir(old)))
}

func (d *disk) exists(_ context.Context, key string) (bool, error) {
	_, err := os.Stat(d.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d *disk) remove(_ context.Context, key string) error {
	if err := os.Remove(d.path(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// list also removes leftovers of dead writers.
func (d *disk) list(ctx context.Context, prefix string, fn func(f file) error) error {
	now := clock.Real{}.Now()
	return filepath.WalkDir(d.path(path.Dir(prefix)), func(at string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(d.root, at)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(name)
		info, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist), !strings.HasPrefix(key, prefix):
			return nil
		case err != nil:
			return err
		case strings.HasSuffix(key, ".tmp") && now.Sub(info.ModTime()) > stranded:
			return d.remove(ctx, key)
		}
		return fn(file{key, info.Size(), info.ModTime()})
	})
}

func (d *disk) close() {}

// named makes the name of a key's file durable, and those of the folders above it that are new to this program.
func (d *disk) named(key string) error {
	for dir := filepath.Dir(d.path(key)); ; dir = filepath.Dir(dir) {
		if err := syncDir(dir); err != nil {
			return err
		}
		d.mu.Lock()
		known := d.known[dir]
		d.known[dir] = true
		d.mu.Unlock()
		if known || dir == d.root {
			return nil
		}
	}
}

// syncDir makes the names in a folder durable.
func syncDir(path string) error {
	dir, err := os.Open(path) // a folder of ours
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
