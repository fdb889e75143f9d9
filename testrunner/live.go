package testrunner

import (
	"context"
	"sync"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

// Bounds of live output.
const (
	liveEvery   = 50 * time.Millisecond // between appends
	liveChunk   = 32 << 10              // bytes of one chunk
	liveBacklog = 256 << 10             // bytes that may wait, including livePiece for each piece
	livePiece   = 128                   // what a piece costs beside its data
	liveTimeout = 2 * time.Second       // for one append
)

// StreamEnd is the stream of the last chunk of live output. Its data is the new state of the request: a terminal one,
// or queued if it runs again.
const StreamEnd = "end"

// live passes on a run's output while it is written. It never delays the run: output that cannot be passed on in time
// ends the live output, so that watchers always have a beginning of the whole.
type live struct {
	out        core.Output
	key, token string
	clock      clock.Clock

	begun time.Time

	wake chan struct{} // something waits
	stop chan struct{} // no more output will follow
	done chan struct{}

	mu      sync.Mutex
	waiting []core.OutputChunk
	bytes   int
	printed map[string]int64 // bytes of each stream, including those not passed on
	broken  bool             // nothing more is passed on
	marks   []byte           // of tests that ended; nil if there are no new ones
	next    time.Time        // when marks may leave
}

func startLive(out core.Output, c clock.Clock, key, token string) *live {
	l := &live{
		out: out, clock: c, key: key, token: token, begun: c.Now(), next: c.Now().Add(marksEvery),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), printed: map[string]int64{},
	}
	go l.run()
	return l
}

// add takes a piece of output; it does not keep data.
func (l *live) add(stream string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.printed[stream]
	l.printed[stream] += int64(len(data))
	if l.broken || len(data) == 0 {
		return
	}
	if l.bytes+len(data) > liveBacklog {
		l.broken = true // what is waiting already is still sent
		return
	}
	l.bytes += len(data)
	for len(data) > 0 {
		last := len(l.waiting) - 1
		if last < 0 || l.waiting[last].Stream != stream || len(l.waiting[last].Data) >= liveChunk {
			l.waiting = append(l.waiting, core.OutputChunk{Stream: stream, Offset: at})
			l.bytes += livePiece
			last++
		}
		c := &l.waiting[last]
		n := min(len(data), liveChunk-len(c.Data))
		c.Data, data = append(c.Data, data[:n]...), data[n:]
		at += int64(n)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run appends waiting output, until stop.
func (l *live) run() {
	defer close(l.done)
	for stopping := false; !stopping; {
		select {
		case <-l.wake:
		case <-l.due():
		case <-l.stop:
			stopping = true
		}
		if chunks := l.take(); len(chunks) > 0 && l.append(chunks) != nil {
			// The append may have succeeded or not; anything after it could leave a gap.
			l.breakOff()
		}
		select {
		case <-l.clock.After(liveEvery):
		case <-l.stop:
		}
	}
}

func (l *live) take() []core.OutputChunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	chunks := l.waiting
	l.waiting, l.bytes = nil, 0
	return append(chunks, l.takeMarks()...)
}

func (l *live) breakOff() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken, l.waiting = true, nil
}

func (l *live) append(chunks []core.OutputChunk) error {
	ctx, cancel := context.WithTimeout(context.Background(), liveTimeout)
	defer cancel()
	return l.out.Append(ctx, l.key, l.token, chunks)
}

// close sends the waiting output and returns when only the end is left to send.
func (l *live) close() {
	close(l.stop)
	<-l.done
}

// end reports the request's new state to watchers. It must be called after close. Watchers notice a failure
// themselves: they ask the store after a silence.
func (l *live) end(state core.RequestState) error {
	l.mu.Lock()
	total := int64(0)
	for _, n := range l.printed {
		total += n
	}
	l.mu.Unlock()
	return l.append([]core.OutputChunk{{Stream: StreamEnd, Offset: total, Data: []byte(state)}})
}
