package blobs

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"drover/core"
	"drover/core/service/pattern"

	"gocloud.dev/gcerrors"
)

// identity is the key of a store's id.
const identity = "id"

// idPattern is what crypto/rand.Text makes.
var idPattern = pattern.New(`^[A-Z2-7]{26}$`)

// ID returns the store's id, see core.Blobs. The first call makes it; of concurrent first calls one does, and all
// return the same id.
func (s *Store) ID(ctx context.Context) (string, error) {
	id, err := s.readID(ctx)
	if gcerrors.Code(err) != gcerrors.NotFound {
		return id, fault(err, "")
	}
	if err := s.create(ctx, identity, rand.Text()); err != nil {
		return "", fault(err, "")
	}
	id, err = s.readID(ctx)
	return id, fault(err, "")
}

func (s *Store) readID(ctx context.Context) (string, error) {
	r, err := s.bucket.NewReader(ctx, identity, nil)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, 100))
	if err := errors.Join(err, r.Close()); err != nil {
		return "", err
	}
	if !idPattern().Match(text) {
		return "", core.Errorf(core.CodeUnavailable, identity, "the id of the blob store, under its key %s, is damaged: bring back the one before from a backup, or remove it and run: drover doctor --adopt-store", identity)
	}
	return string(text), nil
}

// create makes a key's file unless it exists.
func (s *Store) create(ctx context.Context, key, content string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.disk != nil {
		return s.disk.create(key, content)
	}
	opts, _ := s.disk.options()
	opts.IfNotExist = true
	err := s.bucket.WriteAll(ctx, key, []byte(content), opts)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return nil
	}
	return err
}

// create makes a key's file unless it exists, durably. It uses a link, because the library's own condition does not
// hold between processes.
func (d *disk) create(key, content string) (err error) {
	f, err := os.CreateTemp(d.root, "."+key+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), filepath.Join(d.root, key)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.named(key)
}
