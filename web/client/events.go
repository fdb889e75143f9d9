package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"drover/core"
)

// Bounds of a stream of events.
const (
	maxEvent = 1 << 20
	silence  = 45 * time.Second // three times a site's heartbeat
	maxRetry = time.Minute
)

// event is one event of a stream of the API.
type event struct {
	id   string // after which the stream continues; the last one if the event has none
	kind string // such as output
	data []byte
}

// events yields a stream's events after the one with id last; "" is from its beginning. If the stream breaks off it
// is continued, as long as there is an event, or any answer of the site, at least once within Options.Timeout. It
// ends when the site reports the end (204), or with an error.
func (c *Client) events(ctx context.Context, parts []string, last string) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		s := &stream{client: c, pause: c.pauses(), last: last, heard: time.Now()}
		for {
			err := s.connect(ctx, parts, yield)
			var permanent *backoff.PermanentError
			switch {
			case errors.Is(err, errEnough):
				return
			case errors.As(err, &permanent), c.Timeout < 0:
				yield(event{}, plain(err))
				return
			}
			if err := s.rest(ctx, err); err != nil {
				yield(event{}, err)
				return
			}
		}
	}
}

// errEnough ends a stream that is complete or not wanted any more.
var errEnough = errors.New("enough")

// stream is the state of a stream of events.
type stream struct {
	client *Client
	pause  *backoff.ExponentialBackOff
	retry  time.Duration // the pause that the site asks for; 0 is none
	last   string        // id
	heard  time.Time     // time of the last sign of the site
}

// connect yields events until the connection breaks off.
func (s *stream) connect(ctx context.Context, parts []string, yield func(event, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	header := http.Header{"Cache-Control": {"no-store"}}
	if s.last != "" {
		header.Set("Last-Event-ID", s.last)
	}
	r, err := s.client.send(ctx, &call{method: http.MethodGet, path: parts, accept: "text/event-stream", header: header})
	if err != nil {
		return err
	}
	defer r.Body.Close() //nolint:errcheck // only read from
	if r.StatusCode == http.StatusNoContent {
		return errEnough
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		return backoff.Permanent(s.client.stranger(r))
	}
	defer func() { s.heard = time.Now() }()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	return s.read(&watched{r.Body, quiet}, yield)
}

// watched is a body that is given up after a long silence.
type watched struct {
	from  io.Reader
	quiet *time.Timer
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.from.Read(b)
	if n > 0 {
		w.quiet.Reset(silence)
	}
	return n, err
}

// rest waits before the next try. It returns the error if there is none.
func (s *stream) rest(ctx context.Context, err error) error {
	wait := max(s.pause.NextBackOff(), s.retry)
	var when *asked
	if errors.As(err, &when) {
		wait = when.when.Duration
	}
	if time.Since(s.heard)+wait > s.client.Timeout {
		return plain(err)
	}
	if s.client.Again != nil {
		s.client.Again(plain(err), wait)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}

// read yields the events of one connection. An incomplete event is dropped.
func (s *stream) read(from io.Reader, yield func(event, error) bool) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxEvent)
	lines.Split(splitLines)
	kind, id := "", s.last
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			s.last = id
			if data != nil {
				s.pause.Reset()
				if !yield(event{id, kind, bytes.TrimSuffix(data, []byte("\n"))}, nil) {
					return errEnough
				}
			}
			kind, data = "", nil
			continue
		}
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			kind = value
		case "data":
			if data = append(append(data, value...), '\n'); len(data) > maxEvent {
				return backoff.Permanent(core.Errorf(core.CodeLimit, s.client.Server, "%s sends an event of more than %d bytes", s.client.Server, maxEvent))
			}
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		case "retry":
			if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
				s.retry = min(time.Duration(ms)*time.Millisecond, maxRetry)
			}
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return backoff.Permanent(core.Errorf(core.CodeLimit, s.client.Server, "%s sends an event of more than %d bytes", s.client.Server, maxEvent))
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return s.client.away(err)
}

// splitLines splits at CR, LF or both, by the standard. An unterminated line is dropped.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF:
		return len(data), nil, nil
	case i < 0, data[i] == '\r' && i+1 == len(data) && !atEOF: // the LF may follow
		return 0, nil, nil
	case data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	}
	return i + 1, data[:i], nil
}
