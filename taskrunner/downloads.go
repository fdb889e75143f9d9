package taskrunner

import (
	"context"
	"errors"
	"io"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

// downloads stores the files that tasks make for people.
type downloads struct {
	blobs core.Blobs
	clock clock.Clock
	keep  time.Duration
}

// put stores what write writes, at most the given number of bytes, while it is being written. If write fails, nothing
// is kept and its error is returned.
func (d downloads) put(ctx context.Context, name, kind string, most int64, write func(w io.Writer) error) (*core.Download, error) {
	from, to := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(to)
		written <- err
		_ = to.CloseWithError(err) // always nil
	}()
	digest, size, err := d.blobs.Put(ctx, from, most)
	_ = from.CloseWithError(io.ErrClosedPipe) // always nil; if the store gave up, this stops the writer
	if broke := <-written; broke != nil && !errors.Is(broke, io.ErrClosedPipe) {
		return nil, broke
	}
	if err != nil {
		return nil, err
	}
	return &core.Download{
		Name: name, Type: kind, Digest: digest, Size: size, Expires: d.clock.Now().Add(d.keep).UnixMilli(),
	}, nil
}
