package transfer

import (
	"io"
	"net/http"
	"time"
)

// Bounds of what is slow: how long a connection may stand still, how long a body may
// take, and how few bytes a second may come of it once it has had its start.
const (
	stillest = 30 * time.Second
	longest  = 30 * time.Minute
	start    = time.Minute
	slowest  = 1 << 10
)

// Bounded returns the body of a request with time to come: each read gives it a while
// more, as long as it comes at the least rate, until it has taken longest. now is nil
// for time.Now.
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
	// What cannot set deadlines, such as a test's recorder, has none.
	_ = p.control.SetReadDeadline(until)
	_ = p.control.SetWriteDeadline(until.Add(stillest)) // of the answer
	n, err := p.body.Read(b)
	p.came += int64(n)
	return n, err
}

// outgoing gives each write of an answer time to go.
type outgoing struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements io.Writer.
func (o outgoing) Write(b []byte) (int, error) {
	_ = o.control.SetWriteDeadline(time.Now().Add(stillest))
	return o.ResponseWriter.Write(b)
}
