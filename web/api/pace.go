package api

import (
	"io"
	"net/http"
	"time"
)

// How long one waits for a caller. The server's own limits are for short answers.
const (
	bodyPatience = 20 * time.Second // for a body of JSON
	grace        = 30 * time.Second // before the first byte of a file has to come or go
	slowest      = 16 << 10         // bytes a second, on the average since then
	longest      = time.Hour        // for all of it
)

// pace moves the limits of time of an exchange as bytes come and go: whoever is slower
// than the slowest on the average is cut off, however steadily it drips.
type pace struct {
	control *http.ResponseController
	now     func() time.Time
	began   time.Time
	moved   int64
}

func (s *server) pace(e exchange) *pace {
	p := &pace{control: http.NewResponseController(e.w), now: s.Now, began: s.Now()}
	p.move(0)
	return p
}

// move counts bytes and sets the limits anew. A writer without limits, as in tests, has none.
func (p *pace) move(n int) {
	p.moved += int64(n)
	patience := min(grace+time.Duration(p.moved/slowest)*time.Second, longest)
	end := p.began.Add(patience)
	_ = p.control.SetReadDeadline(end)
	_ = p.control.SetWriteDeadline(end.Add(grace)) // the answer goes after what was read
}

// pacedReader is a body that may be large.
type pacedReader struct {
	*pace
	from io.Reader
}

func (r pacedReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	r.move(n)
	return n, err
}

// pacedWriter is an answer that may be large.
type pacedWriter struct {
	*pace
	to io.Writer
}

func (w pacedWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.move(n)
	return n, err
}
