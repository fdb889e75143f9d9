package taskrunner

import (
	"context"
	"sync"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

const (
	tellEvery       = time.Second // the shortest interval between reports of progress
	stillThere      = time.Minute // the longest interval between reports that a task goes on
	hungAfter       = 3 * stillThere
	maxProgressText = 200 // bytes
)

// teller reports a task's progress to Redis, at bounded intervals and always the last one. It also reports regularly
// that the task goes on, so that one that takes hours is not taken for hung.
type teller struct {
	clock clock.Clock
	tell  func(ctx context.Context, p core.TaskProgress, limit time.Duration) error
	news  chan struct{}

	mu    sync.Mutex
	last  core.TaskProgress
	said  bool      // there was progress
	fresh bool      // the last progress is not reported yet
	until time.Time // the handler returns by then; zero after it has
}

func newTeller(c clock.Clock, timeout time.Duration, tell func(context.Context, core.TaskProgress, time.Duration) error) *teller {
	return &teller{clock: c, tell: tell, news: make(chan struct{}, 1), until: c.Now().Add(timeout)}
}

// say records progress, to be reported soon.
func (t *teller) say(p core.TaskProgress) {
	t.mu.Lock()
	t.last, t.said, t.fresh = p, true, true
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// progress returns the last progress, nil if there was none.
func (t *teller) progress() *core.TaskProgress {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.said {
		return nil
	}
	p := t.last
	return &p
}

// run reports until ctx ends, or until lost was called: the task is not the runner's any more.
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

// handled records that the handler has returned, so that what follows may take its time, and reports the last
// progress.
func (t *teller) handled(ctx context.Context) {
	t.mu.Lock()
	t.until = time.Time{}
	t.mu.Unlock()
	_ = t.flush(ctx, false) // the recorded end has the progress, too
}

// flush reports progress that is not reported yet and, if still, that the task goes on. It does not do the latter for
// a handler that ignores its timeout.
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
