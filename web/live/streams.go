package live

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/classes"
	"drover/core/requests"
	"drover/web/caller"
)

// Bounds of streams.
const (
	maxStreams = 2000
	maxOfUser  = 32
	maxID      = 200 // bytes of an event's id

	defaultBeat    = 15 * time.Second
	defaultTimeout = 10 * time.Second
)

// Streams are the open streams of a site. The fields are set once; all methods are safe
// for concurrent use.
type Streams struct {
	Requests *requests.Service
	Classes  *classes.Service
	Keeper   Keeper
	Log      logrus.FieldLogger

	Beat    time.Duration // between two keepalives, with checks of the reader's rights; 0 is 15 s
	Timeout time.Duration // for a reader to take an event; 0 is 10 s

	mu   sync.Mutex
	open int
	of   map[string]int // by user
}

// Keeper authenticates requests, as session.Keeper does.
type Keeper interface {
	// Again returns the caller of a request as of now. Returns FORBIDDEN or NOTFOUND once the session or token is
	// over.
	Again(r *http.Request) (*caller.Caller, error)
}

// message is an event as it is sent. A message without a kind means that there are no more at this moment.
type message struct {
	id, kind string
	data     any
}

// source yields the events after the one with the id last, after checking rights.
type source func(ctx context.Context, a core.Actor, last string) iter.Seq2[message, error]

// Request opens a stream of a request's events for the caller. Returns NOTFOUND, FULL, UNAVAILABLE. The stream must
// be served.
func (s *Streams) Request(r *http.Request, id string) (*Stream, error) {
	return s.begin(r, s.request(id))
}

// begin opens a stream, and waits until the reader's rights are checked.
func (s *Streams) begin(r *http.Request, from source) (*Stream, error) {
	who := caller.From(r.Context())
	if who == nil {
		return nil, core.Errorf(core.CodeForbidden, "", "nobody is signed in")
	}
	if err := s.enter(who.Actor.Handle); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	st := &Stream{streams: s, r: r, who: who, cancel: cancel, messages: make(chan message)}
	go st.pull(ctx, from(ctx, who.Actor, lastID(r)))
	if st.first, st.more = <-st.messages; !st.more && st.failed != nil {
		st.close()
		return nil, st.failed
	}
	return st, nil
}

// lastID returns the event after which a reader continues. A page that opens a new stream cannot set the header.
func lastID(r *http.Request) string {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = r.URL.Query().Get("after")
	}
	if len(id) > maxID {
		return ""
	}
	return id
}

// enter counts a user's stream. Returns FULL.
func (s *Streams) enter(handle string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= maxStreams {
		return core.Errorf(core.CodeFull, "", "this site has %d streams of events open, which is as many as it can: try again later", s.open)
	}
	if s.of[handle] >= maxOfUser {
		return core.Errorf(core.CodeFull, handle, "%s has %d streams of events open, which is as many as one may: close one first", handle, maxOfUser)
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.open++
	s.of[handle]++
	return nil
}

func (s *Streams) leave(handle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.of[handle]--; s.of[handle] == 0 {
		delete(s.of, handle)
	}
}

// Open returns how many streams are open.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}
