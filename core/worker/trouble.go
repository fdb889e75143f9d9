package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Pauses between the repeats of a call that failed.
const (
	firstPause = 10 * time.Millisecond
	mostPause  = time.Second
)

// The callers other than lanes, as trouble tells them apart.
const (
	ofPresence = maxLanes + iota
	ofListener
	ofHeader
)

// trouble reports once that Redis fails, and once that no caller sees it fail any more.
type trouble struct {
	notice func(string, error)
	who    atomic.Uint32 // a bit for each caller whose last call failed
}

func newTrouble(notice func(string, error)) *trouble {
	if notice == nil {
		notice = func(string, error) {}
	}
	return &trouble{notice: notice}
}

func (t *trouble) met(caller int, err error) {
	if t.who.Or(1<<caller) == 0 {
		t.notice("Redis does not do what was asked: work in hand goes on and calls are repeated", err)
	}
}

func (t *trouble) over(caller int) {
	if bit := uint32(1) << caller; t.who.Load()&bit != 0 && t.who.And(^bit) == bit {
		t.notice("Redis answers again", nil)
	}
}

// pause is the growing wait between repeats.
type pause struct{ backoff.ExponentialBackOff }

func newPause() *pause {
	return &pause{backoff.ExponentialBackOff{
		InitialInterval: firstPause, MaxInterval: mostPause, Multiplier: 2, RandomizationFactor: 0.5,
	}}
}

// sleep returns false if ctx ended first.
func (p *pause) sleep(ctx context.Context) bool { return sleep(ctx, p.NextBackOff()) }

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
