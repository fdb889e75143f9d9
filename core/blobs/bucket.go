package blobs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/minio/minio-go/v7"
)

// bucket is what a store needs of the place where its files are. A key is a path with slashes. Of a file that is
// missing, missing reports the error.
type bucket interface {
	// open returns a file's content and its size.
	open(ctx context.Context, key string) (io.ReadCloser, int64, error)
	// write makes or replaces a file by size bytes, atomically. It is durable when write returns.
	write(ctx context.Context, key string, content io.Reader, size int64) error
	// create makes a file like write, unless there is one.
	create(ctx context.Context, key, content string) error
	// move gives a file of size bytes another key. A missing one was moved by somebody else. What takes longer than
	// the time, or dies, may leave the file under both keys, but never deletes the first one after the time.
	move(ctx context.Context, from, to string, size int64, within time.Duration) error
	exists(ctx context.Context, key string) (bool, error)
	// remove deletes a file. A missing one is fine.
	remove(ctx context.Context, key string) error
	// list calls fn with every file whose key begins with a prefix that ends a folder's or begins a file's name. Files
	// may come and go meanwhile, also by fn.
	list(ctx context.Context, prefix string, fn func(f file) error) error
	close()
}

// copier is a bucket that cannot rename.
type copier interface {
	// copy makes a file of another one of size bytes, like write.
	copy(ctx context.Context, from, to string, size int64) error
	remove(ctx context.Context, key string) error
}

// moveByCopy copies and then deletes, but only within the time: after that, another purge may take the copy for old.
func moveByCopy(ctx context.Context, b copier, from, to string, size int64, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	switch err := b.copy(ctx, from, to, size); {
	case missing(err):
		return nil
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return b.remove(ctx, from)
}

// file is one of a bucket.
type file struct {
	key      string
	size     int64
	modified time.Time // by the clock of the service
}

// missing reports whether an error of a bucket says that there is no such file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || refusal(err) == minio.NoSuchKey
}
