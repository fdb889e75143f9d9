package taskrunner

import (
	"context"
	"sync"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

const (
	tellEvery       = time.Second // at most so often is progress told
	stillThere      = time.Minute // at least so often is it told that a task goes on
	hungAfter       = 3 * stillThere
	maxProgressText = 200 // bytes
)

// teller tells Redis how far a task is: not too often, the last word always. As
// long as the task goes on it says so again and again, so that one that takes
// hours is not taken for hung.
type teller struct {
	clock clock.Clock
	tell  func(ctx context.Context, p core.TaskProgress, limit time.Duration) error
	news  chan struct{}

	mu    sync.Mutex
	last  core.TaskProgress
	said  bool      // there is progress
	fresh bool      // it was not told
	until time.Time // the handler returns by then; zero once it has
}

func newTeller(c clock.Clock, timeout time.Duration, tell func(context.Context, core.TaskProgress, time.Duration) error) *teller {
	return &teller{clock: c, tell: tell, news: make(chan struct{}, 1), until: c.Now().Add(timeout)}
}

// say notes progress, to be told soon.
func (t *teller) say(p core.TaskProgress) {
	t.mu.Lock()
	t.last, t.said, t.fresh = p, true, true
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// progress returns what was said last, nil if nothing was.
func (t *teller) progress() *core.TaskProgress {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.said {
		return nil
	}
	p := t.last
	return &p
}

// run tells until ctx ends, or until lost was called: the task is not the runner's any more.
func (t *teller) run(ctx context.Context, lost func(error)) {
	for {
		select {
		case <-t.news:
		case <-t.clock.After(stillThere):
		case <-ctx.Done():
			return
		}
		if err := t.flush(ctx, true); core.Is(err, core.CodeStale) || core.Is(err, core.CodeFenced) {
			lost(err)
			return
		}
		if clock.Sleep(ctx, t.clock, tellEvery) != nil {
			return
		}
	}
}

// handled says that the handler has returned and what follows may take its time,
// and tells what is not told yet.
func (t *teller) handled(ctx context.Context) {
	t.mu.Lock()
	t.until = time.Time{}
	t.mu.Unlock()
	_ = t.flush(ctx, false) // the end that is recorded has it too
}

// flush tells what is not told yet and, if still, that the task goes on. A handler
// that does not obey its time-out is not covered for.
func (t *teller) flush(ctx context.Context, still bool) error {
	now := t.clock.Now()
	t.mu.Lock()
	p, fresh, left := t.last, t.fresh, time.Duration(0)
	if !t.until.IsZero() {
		left = t.until.Sub(now)
	}
	t.fresh = false
	t.mu.Unlock()
	if !fresh && (!still || left < -hungAfter) {
		return nil
	}
	err := t.tell(ctx, p, max(left, 0)+hungAfter)
	if err != nil {
		t.mu.Lock()
		t.fresh = true
		t.mu.Unlock()
	}
	return err
}
