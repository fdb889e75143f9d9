package testrunner

import (
	"context"
	"sync"
	"time"

	"drover/core/service/clock"
)

// Bounds on how much second runs hold up other slots.
const (
	quietPart = 10               // one part in so many of the time
	quietMost = 30 * time.Second // saved up, and there at the start
	quietWait = 5 * time.Second  // for the tests of other slots to end
	quietLong = 10 * time.Second // then the others go on, although the test has not ended
)

// quiet lets a test run while no other slot of the process runs one. Others wait meanwhile, for a bounded part of the
// time.
type quiet struct {
	clock clock.Clock

	mu      sync.Mutex
	running int
	alone   bool          // a test runs alone, or waits for that
	changed chan struct{} // closed with the next change
	left    time.Duration // for which others may be held up; below 0 after a test that took longer
	since   time.Time     // of left
}

func newQuiet(c clock.Clock) *quiet {
	return &quiet{clock: c, changed: make(chan struct{}), left: quietMost, since: c.Now()}
}

// change wakes all that wait. The lock is held.
func (q *quiet) change() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// enter waits until no test runs alone, and returns how long that took; before it waits, it says for how long it may at
// most. Leave must be called afterwards unless there is an error.
func (q *quiet) enter(ctx context.Context, say func(most time.Duration) error) (time.Duration, error) {
	var began time.Time
	for {
		q.mu.Lock()
		if !q.alone {
			q.running++
			q.mu.Unlock()
			if began.IsZero() {
				return 0, nil
			}
			return q.clock.Now().Sub(began), nil
		}
		changed := q.changed
		q.mu.Unlock()
		if began.IsZero() {
			began = q.clock.Now()
		}
		if err := say(quietWait + quietLong); err != nil {
			return 0, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (q *quiet) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.change()
}

// hush waits until no other test runs and keeps others from starting, until the returned function is called or they have
// waited for long. It returns nil if that would hold up others too often.
func (q *quiet) hush(ctx context.Context) (end func()) {
	began := q.clock.Now()
	late := q.clock.After(quietWait)
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.alone { // another waits or runs
		if !q.wait(ctx, late) {
			return nil
		}
	}
	now := q.clock.Now()
	q.left = min(q.left+max(now.Sub(q.since), 0)/quietPart, quietMost)
	if q.since = now; q.left <= 0 {
		return nil
	}
	q.alone = true
	for q.running > 0 {
		if !q.wait(ctx, late) {
			q.noisy(began)
			return nil
		}
	}
	over, long := make(chan struct{}), q.clock.After(quietLong)
	var ended sync.WaitGroup
	ended.Go(func() {
		select {
		case <-over:
		case <-long:
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		q.noisy(began)
	})
	return func() {
		close(over)
		ended.Wait()
	}
}

// noisy lets others go on, who were held up since then. The lock is held.
func (q *quiet) noisy(began time.Time) {
	q.alone, q.left = false, q.left-max(q.clock.Now().Sub(began), 0)
	q.change()
}

// wait waits for a change; false if it is too late. The lock is held, but for the wait.
func (q *quiet) wait(ctx context.Context, late <-chan time.Time) bool {
	changed := q.changed
	q.mu.Unlock()
	defer q.mu.Lock()
	select {
	case <-changed:
		return true
	case <-late:
	case <-ctx.Done():
	}
	return false
}
