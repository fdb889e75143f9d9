package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// download is the answer with a file of a user's. No browser shows it: it is saved.
type download struct {
	Disposition string `header:"Content-Disposition"`
	Sniff       string `header:"X-Content-Type-Options" hidden:"true"`
	Policy      string `header:"Content-Security-Policy" hidden:"true"`
	Length      string `header:"Content-Length" hidden:"true"`
	Body        func(huma.Context)
}

// saved answers with what write writes, size bytes if it is known, else -1. A file that
// breaks off breaks the connection too: half of it looks whole otherwise.
func (s *server) saved(ctx context.Context, op, name string, size int64, write func(io.Writer) error) *download {
	d := &download{
		Disposition: mime.FormatMediaType("attachment", map[string]string{"filename": name}),
		Sniff:       "nosniff", Policy: "sandbox",
	}
	if d.Disposition == "" {
		d.Disposition = "attachment"
	}
	if size >= 0 {
		d.Length = strconv.FormatInt(size, 10)
	}
	e := exchanged(ctx)
	d.Body = func(h huma.Context) {
		h.SetHeader("Content-Type", "application/octet-stream")
		h.SetStatus(http.StatusOK)
		var to io.Writer = pacedWriter{s.pace(e), e.w}
		if e.r.Method == http.MethodHead {
			to = nowhere{}
		}
		if err := write(to); err != nil && !errors.Is(err, errHead) {
			if s.Log != nil {
				s.Log.WithError(err).WithField("operation", op).Warn("a download broke off")
			}
			panic(http.ErrAbortHandler)
		}
	}
	return d
}

// nowhere ends the writing of what nobody asked for.
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
