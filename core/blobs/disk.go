package blobs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"gocloud.dev/blob"
)

// disk makes writes to a store in a folder durable. It is nil for other stores, whose services answer when a file is
// durable.
type disk struct {
	root string

	mu    sync.Mutex
	known map[string]bool // folders whose own names are durable; at most 65,793
}

// A service receives a large file in parts, so many at a time; all of those are in memory.
const (
	partBytes = 8 << 20
	partsAt   = 2
)

// options gives access to the writer's temporary file: it is made private at once, and the returned function fsyncs
// it after the last byte and before its rename.
func (d *disk) options() (opts *blob.WriterOptions, sync func() error) {
	opts = &blob.WriterOptions{
		ContentType: "application/octet-stream", DisableContentTypeDetection: true,
		BufferSize: partBytes, MaxConcurrency: partsAt,
	}
	if d == nil {
		return opts, func() error { return nil }
	}
	var file *os.File
	opts.BeforeWrite = func(as func(any) bool) error {
		if !as(&file) {
			return errors.New("the file's descriptor cannot be reached")
		}
		return file.Chmod(0o600)
	}
	return opts, func() error { return file.Sync() }
}

// named makes the name of a key's file durable, and those of the folders above it that are new to this program.
func (d *disk) named(key string) error {
	if d == nil {
		return nil
	}
	for dir := filepath.Dir(filepath.Join(d.root, filepath.FromSlash(key))); ; dir = filepath.Dir(dir) {
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

// rename gives a key's file another key, atomically and durably. A missing file is no error.
func (d *disk) rename(from, to string) error {
	old, path := filepath.Join(d.root, filepath.FromSlash(from)), filepath.Join(d.root, filepath.FromSlash(to))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	err := os.Rename(old, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// First the new name, then the removal of the old one.
	return errors.Join(err, d.named(to), syncDir(filepath.Dir(old)))
}

// syncDir makes the names in a folder durable.
func syncDir(path string) error {
	dir, err := os.Open(path) // a folder of ours
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
