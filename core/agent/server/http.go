package server

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/agent/wire"
)

// request is the head of one HTTP/1.1 request. Its body is read through body.
type request struct {
	method, path string
	auth         string
	owner        string // wire.HeaderOwner
	length       int64  // of the body; -1 if it comes in chunks
	body         io.Reader
}

var crlf = []byte("\r\n")

// Reasons for refusing a head. The connection ends then.
var (
	errHeadSize = errors.New("the request's head is too large")
	errHead     = errors.New("the request is not HTTP/1.1 as the agent speaks it")
)

// readRequest reads a head. Returns io.EOF if the peer ended before one.
func readRequest(in *bufio.Reader) (*request, error) {
	budget := wire.MaxHead
	line, err := headLine(in, &budget)
	if err != nil {
		return nil, err
	}
	words := strings.Split(line, " ")
	if len(words) != 3 || words[2] != "HTTP/1.1" {
		return nil, errHead
	}
	r := &request{method: words[0], path: words[1]}
	lengths := 0
	for {
		line, err = headLine(in, &budget)
		if err != nil {
			return nil, noEnd(err)
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, errHead
		}
		value = strings.Trim(value, " \t")
		switch strings.ToLower(name) {
		case "authorization":
			r.auth = value
		case "drover-assignment":
			r.owner = value
		case "content-length":
			lengths++
			n, err := strconv.ParseUint(value, 10, 62)
			if err != nil {
				return nil, errHead
			}
			r.length = int64(n)
		case "transfer-encoding":
			lengths++
			if value != "chunked" {
				return nil, errHead
			}
			r.length = -1
		}
	}
	if lengths > 1 { // two different lengths of the body are an attack
		return nil, errHead
	}
	r.body = io.LimitReader(in, r.length)
	if r.length < 0 {
		r.body = &chunks{in: in}
	}
	return r, nil
}

func headLine(in *bufio.Reader, budget *int) (string, error) {
	line, err := in.ReadSlice('\n')
	if *budget -= len(line); *budget < 0 || errors.Is(err, bufio.ErrBufferFull) {
		return "", errHeadSize
	}
	if err != nil {
		if len(line) > 0 {
			err = noEnd(err)
		}
		return "", err
	}
	text, ok := bytes.CutSuffix(line, crlf)
	if !ok {
		return "", errHead
	}
	return string(text), nil
}

// noEnd makes an end in the middle of something an error.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// chunks reads a chunked body. Extensions and trailers are refused.
type chunks struct {
	in   *bufio.Reader
	left int64
	last bool
	open bool // a chunk's bytes were read, but not its line end
}

func (c *chunks) Read(b []byte) (int, error) {
	if c.left == 0 && !c.last {
		if err := c.next(); err != nil {
			return 0, noEnd(err)
		}
	}
	if c.last {
		return 0, io.EOF
	}
	n, err := c.in.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	return n, noEnd(err)
}

func (c *chunks) next() error {
	if c.open {
		if err := c.blank(); err != nil {
			return err
		}
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	digits, ok := bytes.CutSuffix(line, crlf)
	size, err := strconv.ParseUint(string(digits), 16, 40)
	if err != nil || !ok {
		return errHead
	}
	c.left, c.open = int64(size), true
	if size > 0 {
		return nil
	}
	c.last = true
	return c.blank()
}

func (c *chunks) blank() error {
	line, err := c.in.ReadSlice('\n')
	if err == nil && !bytes.Equal(line, crlf) {
		err = errHead
	}
	return err
}

// allowed reports whether the request has the secret, in constant time.
func (r *request) allowed(secret string) bool {
	got, ok := strings.CutPrefix(r.auth, wire.AuthScheme)
	return subtle.ConstantTimeCompare([]byte(got), []byte(secret)) == 1 && ok
}

// readJSON reads a small body.
func (r *request) readJSON(into any) error {
	b, err := io.ReadAll(io.LimitReader(r.body, wire.MaxBody+1))
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, "", "read the body of %s", r.path)
	}
	if len(b) > wire.MaxBody {
		return core.Errorf(core.CodeLimit, "", "the body has more than %d bytes", wire.MaxBody)
	}
	return core.Wrap(json.Unmarshal(b, into), core.CodeInvalid, "", "the body is not what %s takes", r.path)
}

// statusOf maps codes to HTTP statuses; the code itself is in the body.
func statusOf(code core.Code) string {
	switch code {
	case core.CodeInvalid:
		return "400 Bad Request"
	case core.CodeForbidden:
		return "401 Unauthorized"
	case core.CodeNotFound:
		return "404 Not Found"
	case core.CodeConflict:
		return "409 Conflict"
	case core.CodeLimit:
		return "413 Content Too Large"
	}
	return "500 Internal Server Error"
}

// answer makes a whole response with a JSON body.
func answer(status string, body any, last bool) []byte {
	text, err := json.Marshal(body)
	if err != nil {
		text = []byte(`{"code":"INTERNAL","text":"the answer cannot be written as JSON"}`)
		status = statusOf(core.CodeInternal)
	}
	ending := ""
	if last {
		ending = "Connection: close\r\n"
	}
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", status, ending, len(text), text)
}

// refuse makes the response for an error.
func refuse(err error) []byte {
	code, text := core.CodeOf(err), err.Error()
	if len(text) > wire.MaxBody/2 {
		text = text[:wire.MaxBody/2]
	}
	var u wire.Unstarted
	_ = errors.As(err, &u) // no exit code otherwise
	return answer(statusOf(code), wire.Refusal{Code: code, Text: strings.ToValidUTF8(text, "?"), Unclean: errors.As(err, new(unclean)), Exit: u.Exit}, true)
}
