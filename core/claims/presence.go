package claims

import (
	"context"
	"time"

	"drover/core"
)

// PresenceConfig says who joins and how it proves its life.
type PresenceConfig struct {
	Registration core.Registration
	BeatEvery    time.Duration                // between proofs of life when nothing else carries one; default a third of Registration.Beat
	Hear         func(core.Beat)              // gets the answer of every beat; may be nil
	Notice       func(text string, err error) // hears when Redis fails and, with a nil error, when it answers again; may be nil
}

// Presence is an owner's registration and its proof of life. Every owner has
// one: a testrunner's is inside its Desk, a vmfactory or taskrunner joins by itself.
type Presence struct{ lost chan struct{} }

// Join registers an owner under a new epoch, which fences its predecessor, and
// beats from then on. It returns what the predecessor left; recovery.Settle
// settles that. Returns BUSY, VERSION or UNAVAILABLE as core.Owners says.
func Join(ctx context.Context, owners core.Owners, cfg PresenceConfig) (*Presence, []core.Held, error) {
	return nil, nil, core.Errorf(core.CodeInternal, "", "not written yet")
}

// Owner is the owner's name.
func (p *Presence) Owner() string { return "" }

// Epoch is the owner's generation; every write names it.
func (p *Presence) Epoch() int64 { return 0 }

// Lost is closed once the epoch is over: stop all work, then Join anew.
func (p *Presence) Lost() <-chan struct{} { return p.lost }

// LastBeat is when the last call that proved this owner's life began.
func (p *Presence) LastBeat() time.Time { return time.Time{} }

// Proved notes that a call which began at that time carried a beat and was
// answered: the owner's own timer need not beat so soon.
func (p *Presence) Proved(at time.Time) {}

// Fenced notes that a call answered FENCED; Lost is closed. Other errors change nothing.
func (p *Presence) Fenced(err error) {}

// Leave stops beating and deregisters, trying until ctx ends. Returns CONFLICT if
// the owner still holds something. A lost owner just stops.
func (p *Presence) Leave(ctx context.Context) error { return nil }

// Stop stops beating without a word: to Redis it looks like a crash.
func (p *Presence) Stop() {}
