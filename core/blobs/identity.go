package blobs

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"

	"drover/core"
	"drover/core/service/pattern"
)

// The keys of a store's id, and of that of the result store that it belongs to.
const (
	identity = "id"
	owned    = "owner"
)

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

// Owner returns whose files these are, see core.Blobs. Of concurrent first calls all return the same owner.
func (s *Store) Owner(ctx context.Context, owner string, move bool) (string, error) {
	if err := s.usable(ctx); err != nil {
		return "", err
	}
	if owner != "" && move {
		return owner, fault(s.bucket.write(ctx, owned, strings.NewReader(owner), int64(len(owner))), "")
	}
	its, err := s.readOwner(ctx)
	if its != "" || err != nil || owner == "" {
		return its, fault(err, "")
	}
	if err := s.bucket.create(ctx, owned, owner); err != nil {
		return "", fault(err, "")
	}
	its, err = s.readOwner(ctx)
	return its, fault(err, "")
}

func (s *Store) readOwner(ctx context.Context) (string, error) {
	text, err := s.readText(ctx, owned)
	if missing(err) {
		return "", nil
	}
	return string(text), err
}

func (s *Store) readText(ctx context.Context, key string) ([]byte, error) {
	r, _, err := s.bucket.open(ctx, key)
	if err != nil {
		return nil, err
	}
	const most = 100
	text, err := io.ReadAll(io.LimitReader(r, most))
	return text, errors.Join(err, r.Close())
}

func (s *Store) readID(ctx context.Context) (string, error) {
	text, err := s.readText(ctx, identity)
	if err != nil {
		return "", err
	}
	if !idPattern().Match(text) {
		return "", core.Errorf(core.CodeUnavailable, identity, "the id of the blob store, under its key %s, is damaged: bring back the one before from a backup, or remove it and run: drover migrate --adopt", identity)
	}
	return string(text), nil
}
