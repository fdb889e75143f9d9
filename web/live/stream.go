package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"reflect"
	"time"

	"drover/core"
	"drover/web/caller"
)

// How long readers wait before they reconnect, spread so that not all do at once.
const (
	retryLeast  = 2 * time.Second
	retrySpread = 3 * time.Second
)

// maxUnknown is for how many keepalives the reader's rights may be unknown, because they cannot be looked up.
const maxUnknown = 20

// Stream is one reader's stream.
type Stream struct {
	streams *Streams
	r       *http.Request
	who     *caller.Caller
	cancel  context.CancelFunc

	messages chan message
	failed   error // why messages was closed; nil at the end
	first    message
	more     bool // first is set

	unknown int // keepalives since the reader's rights were last known
}

// pull passes on the source's messages, each after the reader has taken the one before.
func (st *Stream) pull(ctx context.Context, all iter.Seq2[message, error]) {
	defer close(st.messages)
	for m, err := range all {
		if err != nil {
			st.failed = err
			return
		}
		select {
		case st.messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// close ends the stream.
func (st *Stream) close() {
	st.cancel()
	for range st.messages { // its source ends when it notices
	}
	st.streams.leave(st.who.Actor.Handle)
}

// Serve sends messages until the reader or the stream ends.
func (st *Stream) Serve(w http.ResponseWriter) {
	defer st.close()
	if !st.more {
		w.WriteHeader(http.StatusNoContent) // a reader that returns after the end
		return
	}
	out := &sender{w: w, control: http.NewResponseController(w), timeout: cmp.Or(st.streams.Timeout, defaultTimeout)}
	if err := out.begin(); err != nil || st.r.Method == http.MethodHead {
		return
	}
	beat := time.NewTicker(cmp.Or(st.streams.Beat, defaultBeat))
	defer beat.Stop()
	for err := out.send(st.first); err == nil; {
		select {
		case m, more := <-st.messages:
			if !more {
				st.note()
				return
			}
			err = out.send(m)
		case <-beat.C:
			if !st.known() {
				return
			}
			err = out.alive()
		}
	}
}

// note logs why a stream ended early, except for a lost right, a reader that left, and a store that is away.
func (st *Stream) note() {
	err := st.failed
	if err == nil || st.streams.Log == nil || st.r.Context().Err() != nil {
		return
	}
	switch core.CodeOf(err) {
	case core.CodeNotFound, core.CodeForbidden, core.CodeUnavailable:
		return
	}
	st.streams.Log.WithError(err).WithField("path", st.r.URL.Path).Error("a stream of events failed")
}

// known reports whether the reader is still authenticated, with the same rights. Otherwise the stream ends, and the
// reader's rights are checked when it returns.
func (st *Stream) known() bool {
	now, err := st.streams.Keeper.Again(st.r)
	if core.Is(err, core.CodeUnavailable) {
		st.unknown++
		return st.unknown <= maxUnknown
	}
	st.unknown = 0
	return err == nil && reflect.DeepEqual(now, st.who)
}

// sender writes events, and gives up a reader that does not take them.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	text    bytes.Buffer
}

// begin sends the head. From here on the server's own timeouts do not apply.
func (s *sender) begin() error {
	if err := supported(s.control.SetReadDeadline(time.Time{})); err != nil {
		return err
	}
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")                                                         // proxies must not buffer
	fmt.Fprintf(&s.text, "retry: %d\n\n", (retryLeast + rand.N(retrySpread)).Milliseconds()) //nolint:gosec // no secret
	return s.write()
}

// send sends an event.
func (s *sender) send(m message) error {
	if m.kind == "" {
		return nil
	}
	data, err := json.Marshal(m.data)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, m.id, "an event cannot be written")
	}
	fmt.Fprintf(&s.text, "id: %s\nevent: %s\ndata: %s\n\n", m.id, m.kind, data)
	return s.write()
}

// alive sends a keepalive.
func (s *sender) alive() error {
	s.text.WriteString(":\n\n")
	return s.write()
}

func (s *sender) write() error {
	defer s.text.Reset()
	if err := supported(s.control.SetWriteDeadline(time.Now().Add(s.timeout))); err != nil {
		return err
	}
	if _, err := s.w.Write(s.text.Bytes()); err != nil {
		return core.Wrap(err, core.CodeUnavailable, "", "the reader takes no more")
	}
	return supported(s.control.Flush())
}

// supported ignores the error of a connection without timeouts.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return core.Wrap(err, core.CodeUnavailable, "", "the reader takes no more")
}
