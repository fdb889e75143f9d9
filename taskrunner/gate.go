package taskrunner

import (
	"sync"
	"time"

	"drover/core/service/clock"
)

const (
	// slow is the duration of a try from which on many such tries would take all slots.
	slow = 2 * time.Second
	// restFactor is the pause after a slow failure, as a multiple of its duration.
	restFactor = 10
	// leastPause is between two tries to get in.
	leastPause = 100 * time.Millisecond
)

// gate keeps one receiver that answers slowly, or not at all, from taking all slots: it admits fewer deliveries to
// one webhook than there are slots. After a slow failure it admits none for a while and then a single one. Deliveries
// that it turns away use no try.
type gate struct {
	clock clock.Clock
	room  int // for one webhook

	mu      sync.Mutex
	targets map[string]*target
}

// target is a webhook with deliveries in progress or a slow last failure.
type target struct {
	inside int
	since  time.Time // when the last one was admitted
	closed time.Time // until then none is admitted; zero if the last one did not fail slowly
	why    string
}

func newGate(c clock.Clock, slots int) *gate {
	return &gate{clock: c, room: max(1, slots-1), targets: map[string]*target{}}
}

// enter admits a delivery and returns 0, or returns how long it must wait, and the reason if that is a failure. An
// admitted delivery must leave.
func (g *gate) enter(webhook string) (wait time.Duration, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, d := g.clock.Now(), g.targets[webhook]
	if d == nil {
		d = &target{}
		g.targets[webhook] = d
	}
	switch busy := leastPause + 2*now.Sub(d.since); {
	case now.Before(d.closed):
		return d.closed.Sub(now), d.why
	case d.inside > 0 && !d.closed.IsZero():
		return busy, d.why
	case d.inside >= g.room:
		return busy, ""
	}
	d.inside++
	d.since = now
	return 0, ""
}

// leave reports the end of an admitted try: how long it took, and its failure, or nil. A try that was interrupted
// does not count.
func (g *gate) leave(webhook string, took time.Duration, failure error, ended bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.targets[webhook]
	d.inside--
	switch {
	case ended && failure != nil && took >= slow:
		d.closed, d.why = g.clock.Now().Add(restFactor*took), failure.Error()
	case ended:
		d.closed, d.why = time.Time{}, ""
	}
	if d.inside == 0 && d.closed.IsZero() {
		delete(g.targets, webhook)
	}
}
