package rootfs

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"drover/core"
)

// Decompress returns the content of a stream that is compressed with gzip, xz,
// zstd or bzip2, or not at all, by how it begins. Closing it does not close r.
// Returns INVALID for a stream that cannot be read.
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
		plain, err = xz.NewReader(from)
	case bytes.HasPrefix(begins, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		packed, failed := zstd.NewReader(from, zstd.WithDecoderMaxMemory(2*maxWindow), zstd.WithDecoderMaxWindow(maxWindow))
		if failed != nil {
			return nil, unreadable(failed)
		}
		return packed.IOReadCloser(), nil
	case bytes.HasPrefix(begins, []byte("BZh")):
		plain = bzip2.NewReader(from)
	default:
		err = nil
	}
	return io.NopCloser(plain), core.Wrap(err, core.CodeInvalid, "", "the archive cannot be decompressed")
}

// maxWindow bounds the memory that a zstd stream may ask for, in bytes; it is what
// the strongest levels of the usual programs need.
const maxWindow = 128 << 20
