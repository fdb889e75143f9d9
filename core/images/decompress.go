package images

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"

	"drover/core"
)

// Decompress returns the content of a stream that is compressed with gzip, xz, zstd or bzip2, or not at all, as its
// first bytes show. Closing it does not close r. Returns INVALID for a stream that cannot be read, LIMIT for one that
// needs more memory than an image should; Read returns later faults.
func Decompress(r io.Reader) (io.ReadCloser, error) {
	from := bufio.NewReaderSize(r, 1<<16)
	begins, err := from.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	var plain io.Reader = from
	switch {
	case bytes.HasPrefix(begins, []byte{0x1f, 0x8b}):
		plain, err = gzip.NewReader(from)
	case bytes.HasPrefix(begins, []byte("\xfd7zXZ\x00")):
		plain, err = xz.NewReader(from, maxWindow)
	case bytes.HasPrefix(begins, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		packed, failed := zstd.NewReader(from, zstd.WithDecoderMaxMemory(2*maxWindow), zstd.WithDecoderMaxWindow(maxWindow))
		if failed != nil {
			return nil, unreadable(failed)
		}
		return frugal{packed, packed.IOReadCloser()}, nil
	case bytes.HasPrefix(begins, []byte("BZh")):
		plain = bzip2.NewReader(from)
	default:
		err = nil
	}
	if err != nil {
		return nil, undecompressed(err)
	}
	return frugal{plain, io.NopCloser(plain)}, nil
}

// maxWindow bounds the memory that a zstd or xz stream may request, in bytes; the strongest levels of the usual
// programs need as much. A stream of a few bytes can request 4 GiB.
const maxWindow = 128 << 20

// frugal explains errors of decompression.
type frugal struct {
	io.Reader
	io.Closer
}

// Read reads on.
func (f frugal) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = undecompressed(err)
	}
	return n, err
}

func undecompressed(err error) error {
	var known *core.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, xz.ErrMemlimit), errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return core.Wrap(err, core.CodeLimit, "", "the archive needs more than %d MiB of memory to be decompressed: compress it again with a smaller dictionary or window", maxWindow>>20)
	}
	return core.Wrap(err, core.CodeInvalid, "", "the archive cannot be decompressed")
}
