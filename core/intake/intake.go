package intake

import (
	"context"
	"time"

	"drover/core"
)

// Intake accepts work. The fields are set once; all methods are safe for
// concurrent use, by several processes as well.
type Intake struct {
	Store core.ResultStore
	Queue core.Queue
	Pools core.Pools
	Tasks core.Tasks
	Blobs core.Blobs       // nil: whether files are there is not checked
	Now   func() time.Time // nil: time.Now
	NewID func() string    // nil: lower-case ULIDs
	Batch int              // most rows that one round of Sweep or Expire reads; 0: 500
}

// Submit checks a spec, fills what it leaves open (id, generation, class, limits,
// time), makes it durable and queues it. It returns false with the earlier row if
// the submitter used the same idempotency key before.
//
// A request is accepted once its row is durable: if Redis cannot be reached then,
// Submit succeeds and Sweep queues it later. Returns INVALID, LIMIT or NOTFOUND (pool, file)
// with a sentence for the user, FULL where a limit on waiting work refuses it
// (its row then ends cancelled; the same idempotency key may try again), and UNAVAILABLE.
func (in *Intake) Submit(ctx context.Context, spec core.Spec) (core.Row, bool, error) {
	return core.Row{}, false, nil
}

// Check returns the spec that Submit would make durable, or why it would not:
// INVALID, LIMIT or NOTFOUND.
func (in *Intake) Check(ctx context.Context, spec core.Spec) (core.Spec, error) { return spec, nil }

// Cancel stops a request wherever it is and returns its state: cancelled if it
// waited, cancelling if an owner has it and will stop it. Cancelling a cancelled
// request is fine. Returns NOTFOUND, ENDED (with its state) if it ended otherwise,
// UNAVAILABLE.
func (in *Intake) Cancel(ctx context.Context, id, by string) (core.RequestState, error) {
	return "", nil
}

// Rerun starts a new generation of an ended request. If the queue is full or
// Redis away it waits in the store until Sweep can queue it. Returns NOTFOUND,
// CONFLICT if it has not ended, UNAVAILABLE.
func (in *Intake) Rerun(ctx context.Context, id string) (core.Row, error) { return core.Row{}, nil }

// SetPool checks a pool's settings and writes them, store first. Returns INVALID, UNAVAILABLE.
func (in *Intake) SetPool(ctx context.Context, p core.Pool) error { return nil }

// RestorePools makes Redis agree with the store's pools and returns how many differed.
func (in *Intake) RestorePools(ctx context.Context) (int, error) { return 0, nil }

// SubmitTask checks a task, makes it durable and queues it. It returns false if
// an unfinished task has the same Unique key. Returns INVALID, LIMIT, UNAVAILABLE.
func (in *Intake) SubmitTask(ctx context.Context, t core.Task) (core.Task, bool, error) {
	return t, false, nil
}

// Sweep queues again what is unfinished in the store and nowhere in Redis, requests and tasks. One
// call is one bounded round that goes on where the last one ended; it returns
// how many it queued. Any number of processes may sweep at once.
func (in *Intake) Sweep(ctx context.Context) (int, error) { return 0, nil }

// SweepAll sweeps the whole store once: at the start of an embedded herd, or for a one-shot overseer.
func (in *Intake) SweepAll(ctx context.Context) (int, error) { return 0, nil }

// Expire ends requests that waited longer than their pool allows, as timed_out.
// One call is one bounded round, as with Sweep; it returns how many it ended.
func (in *Intake) Expire(ctx context.Context) (int, error) { return 0, nil }

// ExpireAll expires over the whole store once.
func (in *Intake) ExpireAll(ctx context.Context) (int, error) { return 0, nil }
