package core

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrDamaged is the cause where a stored file's content is not what its digest says.
var ErrDamaged = errors.New("its content does not match its digest")

// Purged is what a purge did.
type Purged struct {
	Trashed int   // files trashed
	Files   int   // deleted
	Bytes   int64 // of those
}

// Blobs keeps files by content hash. Implementations verify what they return.
type Blobs interface {
	// Put stores a stream of at most limit bytes and returns its digest
	// ("sha256:…") and size. Returns LIMIT if the stream is longer. A digest that
	// is there already counts as stored now, so that no purge takes it before its
	// new request is durable.
	Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error)
	// Open returns the stream of a digest, or NOTFOUND. Reading fails if the content does not match.
	Open(ctx context.Context, digest string) (io.ReadCloser, error)
	// Purge deletes what nobody keeps, in two steps: what was stored longer than the
	// grace ago is trashed and can still be opened; what was trashed longer than
	// the grace ago is deleted, unless keep wants it by now: then it is back. What is
	// put meanwhile stays, and so does what is named within the grace after its Put.
	// Any number may run at once, and each may be cut short anywhere.
	Purge(ctx context.Context, now time.Time, grace time.Duration, keep func(digest string) bool) (Purged, error)
	// Each calls fn with every stored digest, its size and when it was stored (ms since 1970).
	Each(ctx context.Context, fn func(digest string, size, stored int64) error) error
	// ID names this store among all: it is made once and never changes, also when the
	// store moves. Returns UNAVAILABLE.
	ID(ctx context.Context) (string, error)
	// Ping returns UNAVAILABLE if the store cannot write.
	Ping(ctx context.Context) error
	Close() error
}
