package taskrunner

import (
	"sync"
	"time"

	"drover/core/service/clock"
)

const (
	// slow is a try that took so long that many like it would take all slots.
	slow = 2 * time.Second
	// restFactor is how many times as long as a slow failure took nothing more is tried there.
	restFactor = 10
	// leastPause is between two looks whether there is room for one more.
	leastPause = 100 * time.Millisecond
)

// gate keeps one receiver that answers slowly, or not at all, from taking all slots: it
// lets in fewer deliveries to one webhook than there are slots, and after a slow failure
// none for a while and then a single one. Those that it sends away use no try.
type gate struct {
	clock clock.Clock
	room  int // for one webhook

	mu      sync.Mutex
	targets map[string]*target
}

// target is what is known of a webhook that is being delivered to, or failed slowly.
type target struct {
	inside int
	since  time.Time // when one went in last
	closed time.Time // until then; zero if the last one did not fail slowly
	why    string
}

func newGate(c clock.Clock, slots int) *gate {
	return &gate{clock: c, room: max(1, slots-1), targets: map[string]*target{}}
}

// enter lets a delivery in and returns 0, or says how long it is to wait, and why if
// that is because of a failure. Whoever was let in must leave.
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

// leave says how a try went that was let in: how long it took, and why it failed; nil
// if it did not. One that did not come to an end counts for nothing.
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
