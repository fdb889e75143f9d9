package compat

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"drover/web/caller"
)

// Bounds on bodies that are received at the same time.
const (
	bodies  = 32               // of all
	ofOne   = 4                // of one user
	waits   = 10 * time.Second // for a turn
	silence = 30 * time.Second // within a body
	slowest = 64 << 10         // bytes per second, on average, after the first silence
	answer  = time.Minute      // to answer after the last byte
)

// ErrSlow is returned for a body that arrived too slowly.
var ErrSlow = errors.New("the body came too slowly")

// turns bounds how many bodies are read at once, in all and for one user.
type turns struct {
	all *semaphore.Weighted

	mu    sync.Mutex
	users map[string]*user
}

type user struct {
	own  *semaphore.Weighted
	here int
}

func newTurns() *turns {
	return &turns{all: semaphore.NewWeighted(bodies), users: map[string]*user{}}
}

// take waits for a turn. Returns TooMuch if none comes.
func (t *turns) take(ctx context.Context, name string) (release func(), err error) {
	t.mu.Lock()
	u := t.users[name]
	if u == nil {
		u = &user{own: semaphore.NewWeighted(ofOne)}
		t.users[name] = u
	}
	u.here++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if u.here--; u.here == 0 {
			delete(t.users, name)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, waits)
	defer cancel()
	if u.own.Acquire(ctx, 1) != nil {
		leave()
		return nil, &TooMuch{time.Second}
	}
	if t.all.Acquire(ctx, 1) != nil {
		u.own.Release(1)
		leave()
		return nil, &TooMuch{time.Second}
	}
	return func() {
		t.all.Release(1)
		u.own.Release(1)
		leave()
	}, nil
}

// Body returns the body of a request, bounded in bytes. It counts the bytes against the user's allowance, and ends a
// body that is too slow: it may take as long as it keeps coming, but not forever. The caller must call release.
// Reading returns http.MaxBytesError, ErrSlow, TooMuch. Body returns TooMuch if too many are being read.
func (g *Gate) Body(w http.ResponseWriter, r *http.Request, who *caller.Caller, most int64) (body io.Reader, release func(), err error) {
	release, err = g.turns.take(r.Context(), who.Actor.Handle)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	return &counted{
		gate: g, ctx: r.Context(), name: "bytes/" + who.Actor.Handle, from: http.MaxBytesReader(w, r.Body, most), on: http.NewResponseController(w),
		last: now.Add(silence + time.Duration(most/slowest)*time.Second),
	}, release, nil
}

// counted is a body.
type counted struct {
	gate *Gate
	ctx  context.Context //nolint:containedctx // of the request whose body it is
	name string
	from io.Reader
	on   *http.ResponseController
	last time.Time // when it must be complete

	paid int64 // bytes that were counted before they arrived
	next int   // units to count at once; it grows with the bytes received
	err  error
}

const mostUnits = 256

// Read reads.
func (c *counted) Read(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	until := time.Now().Add(silence)
	if until.After(c.last) {
		until = c.last
	}
	// If the server has no deadlines, this does nothing.
	_ = c.on.SetReadDeadline(until)
	_ = c.on.SetWriteDeadline(until.Add(answer))
	n, err := c.from.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrSlow
	}
	for c.paid < int64(n) {
		c.next = min(max(2*c.next, 1), mostUnits, c.gate.bytes.Burst)
		if c.err = c.gate.Take(c.ctx, c.name, c.gate.bytes, c.next); c.err != nil {
			return 0, c.err
		}
		c.paid += int64(c.next) * unit
	}
	c.paid -= int64(n)
	return n, err
}
