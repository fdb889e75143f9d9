package claims

import (
	"context"
	"time"

	"drover/core"
)

// Config says who opens a desk and what it asks for. Zero fields get the defaults named.
type Config struct {
	Registration core.Registration
	Pools        []string                     // the pools to take work from; calls rotate among them
	Slots        int                          // most pieces of work in hand at once; default 1
	Lanes        int                          // calls in flight at once; default 2
	Batch        int                          // most finishes and most claims of one call; default and most 64
	Poll         time.Duration                // an idle desk asks at least this often, bell or no bell; default 1 s
	BeatEvery    time.Duration                // between proofs of life when nothing else carries one; default a third of Registration.Beat
	Notice       func(text string, err error) // hears when Redis fails and, with a nil error, when it answers again; may be nil
}

// ErrDrained is what Next returns once the desk takes no new work.
var ErrDrained = core.Errorf(core.CodeConflict, "", "the desk is drained: it takes no new work")

// Desk is where the workers of one owner take and end work. All methods are safe
// for concurrent use.
type Desk struct{ lost chan struct{} }

// Open registers the owner under a new epoch, which fences its predecessor, and
// opens its desk. It returns what the predecessor left: settle that with
// recovery.Settle before the first Next, again and again until it works, because
// nobody else will while this owner lives.
// Returns INVALID for a configuration that cannot be, else as core.Owners.Register.
func Open(ctx context.Context, owners core.Owners, claims core.Claims, cfg Config) (*Desk, []core.Held, error) {
	return nil, nil, core.Errorf(core.CodeInternal, "", "not written yet")
}

// Next waits for a piece of work. Returns FENCED once this epoch is over,
// ErrDrained after Drain or Close, and ctx's error when ctx ends first; a claim
// that arrives for it afterwards goes to another waiter or is released.
func (d *Desk) Next(ctx context.Context) (*Work, error) { return nil, ErrDrained }

// Finish ends a piece of work. The result must be in the store before. It is
// repeated until Redis answers, also after ctx ended and nobody waits for it
// any more; finishing twice returns the first answer. Moved is false if Redis did
// not have the slot under this token any more: then nothing moved, and nothing is
// wrong, because the store has the result. Returns FENCED once this epoch is over.
func (d *Desk) Finish(ctx context.Context, w *Work, outcome core.Outcome) (moved bool, err error) {
	return false, nil
}

// FinishNext is Finish and Next in one ride: a busy worker costs one place in
// one call. With an error, next is nil and moved still says what became of w;
// a finish that was handed in goes through whatever the error.
func (d *Desk) FinishNext(ctx context.Context, w *Work, outcome core.Outcome) (next *Work, moved bool, err error) {
	return nil, false, nil
}

// Progress notes that a piece of work entered a phase ("running"). It tries once:
// a phase is for people to see. Returns STALE if Redis does not have the slot
// under this token any more, FENCED once this epoch is over.
func (d *Desk) Progress(ctx context.Context, w *Work, phase string) error { return nil }

// Owner is the owner's name.
func (d *Desk) Owner() string { return "" }

// Epoch is the owner's generation, for recovery.Settle.
func (d *Desk) Epoch() int64 { return 0 }

// Lost is closed once this epoch is over: all work was cancelled; stop it, Close,
// and Open anew.
func (d *Desk) Lost() <-chan struct{} { return d.lost }

// Drain takes no new work from now on: waiting and later calls of Next return
// ErrDrained, claims on their way are released. Work in hand goes on.
func (d *Desk) Drain() {}

// Close drains, waits until all work in hand is finished, deregisters and stops
// the desk's goroutines. When ctx ends first, what is still in hand is cancelled
// and released, with a short grace for Redis to answer. Returns UNAVAILABLE if
// slots may be left; the next start or the overseer settles those. Closing a
// lost desk just stops it.
func (d *Desk) Close(ctx context.Context) error { return nil }

// Stats is what a desk has done and has in hand, for metrics.
type Stats struct {
	InHand   int       // pieces of work taken and not finished
	Idle     int       // workers waiting for work
	Claimed  int64     // claims that arrived
	Finished int64     // finishes that were answered, releases included
	Released int64     // claims given back because nobody waited for them any more
	Calls    int64     // calls of Exchange that were answered
	Repeats  int64     // repeats of a call after an error
	Draining bool      // the host takes no new work
	Ready    bool      // false: the host's vmfactory must reconcile first
	LastBeat time.Time // when the last call that proved this owner's life began
}

// Stats returns the present counts.
func (d *Desk) Stats() Stats { return Stats{} }
