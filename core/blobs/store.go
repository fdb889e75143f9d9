package blobs

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"syscall"

	"drover/core"
)

// Store is a core.Blobs in a bucket. It is safe for concurrent use.
type Store struct {
	bucket bucket
	spool  string // folder for streams whose name is not known yet
	closed atomic.Bool
}

var _ core.Blobs = (*Store)(nil)

// Put stores a stream, see core.Blobs. It is durable when Put returns.
func (s *Store) Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error) {
	if limit < 1 {
		return "", 0, core.Errorf(core.CodeInvalid, "", "limit %d of a file to store must be above 0", limit)
	}
	if err := s.usable(ctx); err != nil {
		return "", 0, err
	}
	whole, digits, err := drain(ctx, r, limit, s.spool)
	if err != nil {
		return "", 0, fault(err, "")
	}
	defer func() { err = errors.Join(err, fault(whole.Close(), "")) }()
	digest = scheme + digits
	if err := s.bucket.write(ctx, keyOf(digits), whole.Whole(), whole.Size()); err != nil {
		return "", 0, fault(err, digest)
	}
	return digest, whole.Size(), nil
}

// Open returns a file's content, see core.Blobs. The last bytes of a damaged file are not returned. Ctx must last
// until the reading ends.
func (s *Store) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	digits, err := hexOf(digest)
	if err != nil {
		return nil, err
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	r, size, err := s.bucket.open(ctx, keyOf(digits))
	if missing(err) {
		r, size, err = s.openLeaving(ctx, digits)
	}
	if err != nil {
		return nil, fault(err, digest)
	}
	return verify(r, digits, size), nil
}

// openLeaving opens a trashed file, or one that a purge has just restored.
func (s *Store) openLeaving(ctx context.Context, digits string) (io.ReadCloser, int64, error) {
	files, err := s.list(ctx, leavingPrefix(digits))
	if err != nil {
		return nil, 0, err
	}
	for _, f := range files {
		r, size, err := s.bucket.open(ctx, f.key)
		if !missing(err) {
			return r, size, err
		}
	}
	return s.bucket.open(ctx, keyOf(digits))
}

// list returns everything below a prefix.
func (s *Store) list(ctx context.Context, prefix string) (all []file, err error) {
	err = s.bucket.list(ctx, prefix, func(f file) error {
		all = append(all, f)
		return nil
	})
	return all, err
}

// Each calls fn with every file, see core.Blobs.
func (s *Store) Each(ctx context.Context, fn func(digest string, size, stored int64) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return fault(s.bucket.list(ctx, folder, func(f file) error {
		digits := path.Base(f.key)
		if !hexPattern().MatchString(digits) || f.key != keyOf(digits) {
			return nil
		}
		return fn(scheme+digits, f.size, f.modified.UnixMilli())
	}), "")
}

// Ping writes something small. Returns UNAVAILABLE if that fails.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	const text = "drover"
	return fault(s.bucket.write(ctx, "ping", strings.NewReader(text), int64(len(text))), "")
}

// usable returns UNAVAILABLE for a store that was closed, and for a caller that has left.
func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return core.Errorf(core.CodeUnavailable, "", "the blob store was closed")
	}
	return fault(ctx.Err(), "")
}

// Close ends the use of the store; later calls return UNAVAILABLE.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.bucket.close()
	return nil
}

// fault turns an error of the bucket into one of core's; errors of core and the end of a stream are returned
// unchanged.
func fault(err error, digest string) error {
	var known *core.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return core.Wrap(err, core.CodeUnavailable, digest, "the caller stopped waiting for the blob store")
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return core.Wrap(err, core.CodeUnavailable, digest, "the disk of the blob store is full: free space there")
	case s3Mends[refusal(err)] != "":
		return core.Wrap(err, core.CodeUnavailable, digest, "the blob store refuses: %s", s3Mends[refusal(err)])
	case errors.Is(err, os.ErrPermission):
		return core.Wrap(err, core.CodeUnavailable, digest, "the blob store may not be used: check the rights of its folder")
	case missing(err) && digest != "":
		return core.Wrap(err, core.CodeNotFound, digest, "there is no file %s in the blob store", digest)
	}
	return core.Wrap(err, core.CodeUnavailable, digest, "the blob store cannot be used")
}
