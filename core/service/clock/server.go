package clock

import (
	"context"
	"sync"
	"time"
)

// How often a Shared asks, and how long it waits for an answer.
const (
	sharedEvery = 10 * time.Second
	sharedWait  = time.Second
)

// Shared is the time of a server that all hosts can ask, such as Redis: times recorded by one host can be judged by
// another even if one of their clocks is wrong. Between two queries, and while the server is away, it advances by
// this machine's monotonic clock. Before the first answer it is the machine's time.
type Shared struct {
	ahead func(ctx context.Context) (time.Duration, error)

	mu    sync.Mutex // guards what follows; held while the server is asked
	asked time.Time  // 0: never
	there time.Time  // the server's time
	here  time.Time  // when it was that; 0: it never answered
}

// NewShared makes the clock of a server; ahead returns how far this machine's clock is ahead of it.
func NewShared(ahead func(ctx context.Context) (time.Duration, error)) *Shared {
	return &Shared{ahead: ahead}
}

// Now returns the server's time.
func (s *Shared) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked.IsZero() || time.Since(s.asked) > sharedEvery {
		s.ask()
	}
	if s.here.IsZero() {
		return time.Now()
	}
	return s.there.Add(time.Since(s.here))
}

func (s *Shared) ask() {
	ctx, cancel := context.WithTimeout(context.Background(), sharedWait)
	defer cancel()
	s.asked = time.Now()
	ahead, err := s.ahead(ctx)
	if err == nil {
		s.here = time.Now()
		s.there = s.here.Round(0).Add(-ahead) // without the steady clock of this machine
	}
}
