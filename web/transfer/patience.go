package transfer

import (
	"io"
	"net/http"
	"time"
)

// Times of what is slow: how long a connection may stand still, and how long one body may take.
const (
	stillest = 30 * time.Second
	longest  = 30 * time.Minute
)

// Patient returns the body of a request with time to come: each read gives it a while
// more, until it has taken longest. now is nil for time.Now.
func Patient(w http.ResponseWriter, body io.Reader, now func() time.Time) io.Reader {
	if now == nil {
		now = time.Now
	}
	return &patient{body: body, control: http.NewResponseController(w), now: now, end: now().Add(longest)}
}

type patient struct {
	body    io.Reader
	control *http.ResponseController
	now     func() time.Time
	end     time.Time
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	until := p.now().Add(stillest)
	if until.After(p.end) {
		until = p.end
	}
	// What cannot set deadlines, such as a test's recorder, has none.
	_ = p.control.SetReadDeadline(until)
	_ = p.control.SetWriteDeadline(until.Add(stillest)) // of the answer
	return p.body.Read(b)
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
