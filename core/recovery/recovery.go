package recovery

import (
	"context"
	"time"

	"drover/core"
)

// MaxAttempts is how many tries that a platform fault ended a request or task has, unless Options say otherwise.
const MaxAttempts = 3

// Options tune Settle and Reap. The zero value is the default.
type Options struct {
	MaxAttempts int                    // 0: the constant MaxAttempts
	Now         func() time.Time       // nil: time.Now
	Fail        func(h core.Held) bool // the work is to fail rather than run again (its host is lost and its pool says so); nil: never
}

// Report says what became of the slots.
type Report struct {
	Owners    []string          // those reaped, or the one settled
	Items     []core.Settlement // what was asked of Redis, for the log
	Moved     int               // slots that this call emptied; others had emptied the rest
	Done      int               // had their terminal result already, or got one that was not dead
	Cancelled int               // of Done: recorded as cancelled now
	Failed    int               // of Done: recorded as failed now
	Retried   int               // queued again, one attempt used
	Dead      int               // attempts used up
	Returned  int               // VMs of a vmfactory, given to be destroyed
}

// Settle empties the slots that an owner of a former epoch left, each by what the
// store knows: ended there, finished; cancelled, recorded so; attempts used up,
// recorded dead; else queued again. The epoch is the one that Fence or
// Register returned. One slot that fails does not hold back the others; the error
// tells of all that did, and settling again is always right.
func Settle(ctx context.Context, owners core.Owners, store core.ResultStore, owner string, epoch int64, held []core.Held, opts Options) (Report, error) {
	return Report{}, nil
}

// Reap fences the owners whose proof of life is late by the given time, settles
// what they held and forgets them. It goes on where a crashed reaper stopped, and any
// number of reapers may run at once.
func Reap(ctx context.Context, owners core.Owners, store core.ResultStore, by time.Duration, opts Options) (Report, error) {
	return Report{}, nil
}
