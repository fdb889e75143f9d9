package blobs

import (
	"context"
	"crypto/rand"
	"errors"
	"io"

	"drover/core"
	"drover/core/service/pattern"
)

// identity is the key of a store's id.
const identity = "id"

// idPattern is what crypto/rand.Text makes.
var idPattern = pattern.New(`^[A-Z2-7]{26}$`)

// ID returns the store's id, see core.Blobs. The first call makes it; of concurrent first calls one does, and all
// return the same id.
func (s *Store) ID(ctx context.Context) (string, error) {
	if err := s.usable(ctx); err != nil {
		return "", err
	}
	id, err := s.readID(ctx)
	if !missing(err) {
		return id, fault(err, "")
	}
	if err := s.bucket.create(ctx, identity, rand.Text()); err != nil {
		return "", fault(err, "")
	}
	id, err = s.readID(ctx)
	return id, fault(err, "")
}

func (s *Store) readID(ctx context.Context) (string, error) {
	r, _, err := s.bucket.open(ctx, identity)
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
