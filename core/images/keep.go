package images

import (
	"context"
	"errors"
	"io"
	"time"

	"drover/core"
	"drover/core/harness/languages"
	"drover/core/service/clock"
)

// Store is where images are kept.
type Store struct {
	Images core.Images
	Blobs  core.Blobs
	Clock  clock.Clock // nil: the machine's
}

// Keep reads a tar as Read does, stores it, and makes it the newest image of a name. Source describes its origin for
// people. Returns the errors of Read, and UNAVAILABLE if the stores refuse it.
func (s Store) Keep(ctx context.Context, name, source string, r io.Reader, opts Options) (core.Image, error) {
	if err := core.CheckName("image", name); err != nil {
		return core.Image{}, err
	}
	if opts.Limits == (Limits{}) {
		opts.Limits = Defaults()
	}
	tree, err := Read(ctx, r, opts)
	if err != nil {
		return core.Image{}, err
	}
	image := core.Image{Name: name, Source: source, Created: s.now().UnixMilli()}
	image.Digest, image.Size, err = s.put(ctx, tree, opts.Limits.Packed)
	sum, counted := tree.summary()
	image.Files, image.Bytes = sum.Entries, sum.Bytes
	image.Languages = languages.ParseReport(tree.text(languages.File))
	if err := errors.Join(err, counted, tree.Close()); err != nil {
		return core.Image{}, err
	}
	if err := image.Check(); err != nil {
		return core.Image{}, err
	}
	return image, s.Images.PutImage(ctx, image)
}

func (s Store) now() time.Time {
	if s.Clock == nil {
		return clock.Real{}.Now()
	}
	return s.Clock.Now()
}

// put stores a tree in the blob store while it is written.
func (s Store) put(ctx context.Context, tree *Tree, limit int64) (digest string, size int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := tree.Write(ctx, to)
		_ = to.CloseWithError(err) // never fails
	}()
	digest, size, err = s.Blobs.Put(ctx, from, limit)
	_ = from.Close() // ends the writer if the store gave up; never fails
	<-done
	return digest, size, err
}
