package blobs

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"drover/core"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// stranded is the age at which the temporary file of a dead writer is removed.
const stranded = 24 * time.Hour

// Store is a core.Blobs in a bucket. It is safe for concurrent use.
type Store struct {
	bucket *blob.Bucket
	spool  string // folder for streams whose name is not known yet
	disk   *disk  // nil if the bucket is not a folder
	copies int64  // the service copies files of at most so many bytes; 0 for any
	idle   func() // closes connections that are not in use; nil if there are none
}

var _ core.Blobs = (*Store)(nil)

// Put stores a stream, see core.Blobs. It is durable when Put returns.
func (s *Store) Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error) {
	if limit < 1 {
		return "", 0, core.Errorf(core.CodeInvalid, "", "limit %d of a file to store must be above 0", limit)
	}
	whole, digits, err := drain(ctx, r, limit, s.spool)
	if err != nil {
		return "", 0, fault(err, "")
	}
	defer func() { err = errors.Join(err, fault(whole.Close(), "")) }()
	digest = scheme + digits
	if err := s.write(ctx, keyOf(digits), func(w io.Writer) error {
		_, err := io.Copy(w, whole.Whole())
		return err
	}); err != nil {
		return "", 0, fault(err, digest)
	}
	return digest, whole.Size(), nil
}

// write makes a key's file of what content writes, atomically.
func (s *Store) write(ctx context.Context, key string, content func(w io.Writer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts, sync := s.disk.options()
	w, err := s.bucket.NewWriter(ctx, key, opts)
	if err != nil {
		return err
	}
	if err = content(w); err == nil {
		err = sync()
	}
	if err != nil {
		cancel() // a writer whose context has ended leaves nothing
		return errors.Join(err, ignoreEnd(w.Close()))
	}
	if err := w.Close(); err != nil {
		return err
	}
	return s.disk.named(key)
}

// ignoreEnd drops the error of a cancelled writer.
func ignoreEnd(err error) error {
	if errors.Is(err, context.Canceled) || gcerrors.Code(err) == gcerrors.Canceled {
		return nil
	}
	return err
}

// Open returns a file's content, see core.Blobs. The last bytes of a damaged file are not returned. Ctx must last
// until the reading ends.
func (s *Store) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	digits, err := hexOf(digest)
	if err != nil {
		return nil, err
	}
	r, err := s.bucket.NewReader(ctx, keyOf(digits), nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		r, err = s.openLeaving(ctx, digits)
	}
	if err != nil {
		return nil, fault(err, digest)
	}
	return verify(r, digits, r.Size()), nil
}

// openLeaving opens a trashed file, or one that a purge has just restored.
func (s *Store) openLeaving(ctx context.Context, digits string) (*blob.Reader, error) {
	objects, err := s.list(ctx, leavingPrefix(digits))
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		r, err := s.bucket.NewReader(ctx, o.Key, nil)
		if gcerrors.Code(err) != gcerrors.NotFound {
			return r, err
		}
	}
	return s.bucket.NewReader(ctx, keyOf(digits), nil)
}

// Each calls fn with every file, see core.Blobs.
func (s *Store) Each(ctx context.Context, fn func(digest string, size, stored int64) error) error {
	return fault(s.parts(ctx, folder, func(o *blob.ListObject) error {
		digits := o.Key[strings.LastIndexByte(o.Key, '/')+1:]
		if !hexPattern().MatchString(digits) || o.Key != keyOf(digits) {
			return nil
		}
		return fn(scheme+digits, o.Size, o.ModTime.UnixMilli())
	}), "")
}

// listTries is how often the listing of a folder is repeated because a file was removed during it.
const listTries = 100

// list returns everything below a prefix.
func (s *Store) list(ctx context.Context, prefix string) ([]*blob.ListObject, error) {
	var err error
	for range listTries {
		var all []*blob.ListObject
		err = s.below(ctx, prefix, func(o *blob.ListObject) error {
			all = append(all, o)
			return nil
		})
		if err == nil {
			return all, nil
		}
		if s.disk == nil || gcerrors.Code(err) != gcerrors.NotFound {
			break
		}
	}
	return nil, err
}

// below calls fn with everything below a prefix, page by page.
func (s *Store) below(ctx context.Context, prefix string, fn func(o *blob.ListObject) error) error {
	for each := s.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := each.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(o); err != nil {
			return err
		}
	}
}

// Ping writes something small. Returns UNAVAILABLE if that fails.
func (s *Store) Ping(ctx context.Context) error {
	return fault(s.write(ctx, "ping", func(w io.Writer) error {
		_, err := io.WriteString(w, "drover")
		return err
	}), "")
}

// Close ends the use of the store; later calls return UNAVAILABLE.
func (s *Store) Close() error {
	err := s.bucket.Close()
	if s.idle != nil {
		s.idle()
	}
	if gcerrors.Code(err) == gcerrors.FailedPrecondition { // closed before
		return nil
	}
	return fault(err, "")
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
	case mendOf(err) != "":
		return core.Wrap(err, core.CodeUnavailable, digest, "the blob store refuses: %s", mendOf(err))
	case errors.Is(err, os.ErrPermission):
		return core.Wrap(err, core.CodeUnavailable, digest, "the blob store may not be used: check the rights of its folder")
	case gcerrors.Code(err) == gcerrors.NotFound && digest != "":
		return core.Wrap(err, core.CodeNotFound, digest, "there is no file %s in the blob store", digest)
	}
	return core.Wrap(err, core.CodeUnavailable, digest, "the blob store cannot be used")
}
