package api

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"drover/web/transfer"
)

// download is an answer with a file.
type download struct{ Body func(huma.Context) }

// saved answers with the output of write, of size bytes, or -1 if that is not known. If the file breaks off, the
// connection is broken too: otherwise a half file would look complete.
func (s *server) saved(ctx context.Context, op, name string, size int64, write func(io.Writer) error) *download {
	e := exchanged(ctx)
	return &download{func(huma.Context) {
		to := transfer.Attachment(e.w, name, size)
		if e.r.Method == http.MethodHead {
			to = nowhere{}
		}
		if err := write(to); err != nil && !errors.Is(err, errHead) {
			if s.Log != nil {
				s.Log.WithError(err).WithField("operation", op).Warn("a download broke off")
			}
			panic(http.ErrAbortHandler)
		}
	}}
}

// nowhere discards the body of a HEAD request by an error.
type nowhere struct{}

var errHead = errors.New("only the head was asked for")

// Write takes nothing.
func (nowhere) Write([]byte) (int, error) { return 0, errHead }

// copied writes all of content, and closes it.
func copied(content io.ReadCloser) func(io.Writer) error {
	return func(to io.Writer) error {
		defer content.Close() //nolint:errcheck // only read from
		_, err := io.Copy(to, content)
		return err
	}
}
