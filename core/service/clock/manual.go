package clock

import (
	"sync"
	"time"
)

// Manual is a clock that stands still until a test moves it.
type Manual struct {
	mu      sync.Mutex
	now     time.Time
	sleeper []sleeper
}

type sleeper struct {
	at time.Time
	ch chan time.Time
}

// NewManual makes a clock that stands at the given time.
func NewManual(now time.Time) *Manual { return &Manual{now: now} }

// Now returns the time that the clock stands at.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// After returns a channel that gets the time once the clock was moved by d or more.
func (m *Manual) After(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := sleeper{at: m.now.Add(d), ch: make(chan time.Time, 1)}
	if d <= 0 {
		s.ch <- m.now
		return s.ch
	}
	m.sleeper = append(m.sleeper, s)
	return s.ch
}

// Advance moves the clock and wakes everybody whose time has come.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	still := m.sleeper[:0]
	for _, s := range m.sleeper {
		if s.at.After(m.now) {
			still = append(still, s)
			continue
		}
		s.ch <- m.now
	}
	m.sleeper = still
}

// Sleepers returns how many wait for the clock to move: a test advances it once
// the code under test has gone to sleep.
func (m *Manual) Sleepers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sleeper)
}
