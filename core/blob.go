package core

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrDamaged is the cause of an error if the content of a stored file does not match its digest.
var ErrDamaged = errors.New("its content does not match its digest")

// Purged is what a purge did.
type Purged struct {
	Trashed int   // files trashed
	Files   int   // deleted
	Bytes   int64 // of those
}

// Blobs keeps files by content hash. Implementations verify what they return.
type Blobs interface {
	// Put stores a stream of at most limit bytes and returns its digest ("sha256:…") and size. Returns LIMIT if the
	// stream is longer. A digest that is stored already counts as stored now, so that no purge removes it before the
	// new request that names it is durable.
	Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error)
	// Open returns the stream of a digest, or NOTFOUND. Reading fails if the content does not match.
	Open(ctx context.Context, digest string) (io.ReadCloser, error)
	// Purge deletes files that keep does not want, in two steps. A file stored longer than the grace period ago is
	// moved to the trash, where it can still be opened. A file trashed longer than the grace period ago is deleted,
	// or restored if keep wants it by now. Files that are put during the purge stay, and so do files that are named
	// within the grace period after their Put. Several purges may run at once, and each may be interrupted at any
	// point.
	Purge(ctx context.Context, now time.Time, grace time.Duration, keep func(digest string) bool) (Purged, error)
	// Each calls fn with every stored digest, its size in bytes and when it was stored (ms since 1970).
	Each(ctx context.Context, fn func(digest string, size, stored int64) error) error
	// ID returns the unique id of this store. It is made once and never changes, even if the store is moved. Returns
	// UNAVAILABLE.
	ID(ctx context.Context) (string, error)
	// Owner returns the id of the result store that the files belong to, "" if that is not known. Files that belong to
	// none become owner's, unless it is ""; with move, all do. Returns UNAVAILABLE.
	Owner(ctx context.Context, owner string, move bool) (string, error)
	// Ping returns UNAVAILABLE if the store cannot write.
	Ping(ctx context.Context) error
	Close() error
}
