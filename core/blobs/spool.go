package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"drover/core"
	"drover/core/blobs/nameless"
)

// drain reads a stream of at most limit bytes, because its name is known only at its end, and returns the digits of its
// digest. Returns LIMIT.
func drain(ctx context.Context, r io.Reader, limit int64, dir string) (*nameless.File, string, error) {
	sum := sha256.New()
	whole, err := nameless.Read(io.TeeReader(watched{ctx, sent{r}}, sum), limit, dir)
	if err != nil {
		return nil, "", err
	}
	return whole, hex.EncodeToString(sum.Sum(nil)), nil
}

// sent is a stream from a caller: if it breaks, the fault is the caller's.
type sent struct{ from io.Reader }

// Read reads on.
func (s sent) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	var known *core.Error
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &known) {
		err = core.Wrap(err, core.CodeInvalid, "", "the file to store broke off: send it again")
	}
	return n, err
}

// watched ends a stream with its context.
type watched struct {
	ctx  context.Context // a Reader has no other place for it
	from io.Reader
}

// Read reads on until the context ends.
func (w watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, fault(err, "")
	}
	return w.from.Read(p)
}
