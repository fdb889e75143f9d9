package transfer

import (
	"io"
	"net/http"
	"time"
)

// Bounds on slow connections: the longest pause, the longest time of a body, and its lowest rate after the start.
const (
	stillest = 30 * time.Second
	longest  = 30 * time.Minute
	start    = time.Minute
	slowest  = 1 << 10
)

// Bounded returns the body of a request with extended timeouts: each read extends the deadline, as long as the body
// arrives at the lowest rate, until it has taken longest. Now is nil for time.Now.
func Bounded(w http.ResponseWriter, body io.Reader, now func() time.Time) io.Reader {
	if now == nil {
		now = time.Now
	}
	return &bounded{body: body, control: http.NewResponseController(w), now: now, began: now()}
}

type bounded struct {
	body    io.Reader
	control *http.ResponseController
	now     func() time.Time
	began   time.Time
	came    int64 // bytes
}

// Read implements io.Reader.
func (p *bounded) Read(b []byte) (int, error) {
	until := p.now().Add(stillest)
	if end := p.began.Add(min(longest, start+time.Duration(p.came)*time.Second/slowest)); until.After(end) {
		until = end
	}
	// Writers without deadlines, such as a test's recorder, are left alone.
	_ = p.control.SetReadDeadline(until)
	_ = p.control.SetWriteDeadline(until.Add(stillest)) // of the answer
	n, err := p.body.Read(b)
	p.came += int64(n)
	return n, err
}

// outgoing gives each write of an answer its own timeout.
type outgoing struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements io.Writer.
func (o outgoing) Write(b []byte) (int, error) {
	_ = o.control.SetWriteDeadline(time.Now().Add(stillest))
	return o.ResponseWriter.Write(b)
}
