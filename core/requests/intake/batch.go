package intake

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"drover/core"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"
)

// JobID returns the id of a batch's request by its job, from 0 on. The ids of a batch's requests follow its own, so
// a process that makes them again makes the same.
func JobID(batch string, job int) (string, error) {
	id, err := ulid.ParseStrict(batch)
	if err != nil || id[14] != 0 || id[15] != 0 || job < 0 || job >= core.MaxBatchJobs {
		return "", core.Errorf(core.CodeInvalid, batch, "%.80q is the id of no batch that has a job %d", batch, job)
	}
	id[14], id[15] = byte((job+1)>>8&0xff), byte((job+1)&0xff)
	return strings.ToLower(id.String()), nil
}

// BatchID returns the id of the batch that a request is of, if it is of one, by the request's id. It is no other
// request's and no other batch's. An id of something else is returned as it is.
func BatchID(request string) string {
	id, err := ulid.ParseStrict(request)
	if err != nil {
		return request
	}
	id[14], id[15] = 0, 0
	return strings.ToLower(id.String())
}

// newBatchID makes an id that leaves room for those of the requests. It is more random than ids made in one process
// after one another, so no other request is given one of them.
func (in *Intake) newBatchID() (string, error) {
	id, err := ulid.New(ulid.Timestamp(in.now()), rand.Reader)
	id[14], id[15] = 0, 0
	return strings.ToLower(id.String()), core.Wrap(err, core.CodeInternal, "", "no id can be made for the batch")
}

// CheckBatch returns the specs that SubmitBatch would make durable, and for each of them its faults. Returns FULL for a
// callback, UNAVAILABLE.
func (in *Intake) CheckBatch(ctx context.Context, specs []core.Spec) ([]core.Spec, []core.Faults, error) {
	c := checking{in: in}
	checked, faults := make([]core.Spec, len(specs)), make([]core.Faults, len(specs))
	for i := range specs {
		var err error
		if checked[i], faults[i], err = c.spec(ctx, specs[i]); err != nil {
			return nil, nil, err
		}
	}
	return checked, faults, nil
}

// Wrong returns the one error for the faults of a batch's jobs: INVALID with core.Faults, nil for none. A fault that all
// of several jobs have is named once, as are those of fields that no job has of its own.
func Wrong(faults []core.Faults, common ...string) error {
	times := map[string]int{}
	name := func(f core.Fault) string { return f.Field + ": " + f.Err.Error() }
	for _, of := range faults {
		for _, f := range of {
			times[name(f)]++
		}
	}
	var all core.Faults
	for i, of := range faults {
		for _, f := range of {
			switch {
			case !slices.Contains(common, f.Field) && (len(faults) == 1 || times[name(f)] < len(faults)):
				all = append(all, core.Faults{f}.Within(fmt.Sprintf("jobs[%d]", i))...)
			case i == 0:
				all = append(all, f)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return core.Wrap(all, core.CodeInvalid, "", "%d of the batch's fields are wrong, so nothing of it was accepted", len(all))
}

// BatchAccepted returns the batch of a submitter's idempotency key, as Accepted does for requests, and goes on with it.
// Returns false if there is none, CONFLICT if something else was asked for under that key, UNAVAILABLE.
func (in *Intake) BatchAccepted(ctx context.Context, submitter, key, digest string) (core.Batch, bool, error) {
	if submitter == "" || key == "" {
		return core.Batch{}, false, nil
	}
	found, err := in.Store.ListBatches(ctx, core.BatchFilter{Submitter: submitter, Idempotency: key, Limit: 1})
	if err != nil || len(found) == 0 {
		return core.Batch{}, false, err
	}
	return found[0], true, in.same(ctx, found[0], digest)
}

// same returns CONFLICT if a batch is not what was asked for; if it is, its first submit may have died.
func (in *Intake) same(ctx context.Context, b core.Batch, digest string) error {
	if b.Digest != digest {
		return core.Errorf(core.CodeConflict, b.ID, "the idempotency key belongs to batch %s, which asked for something else: use another key", b.ID)
	}
	if b.State.Open() {
		_, _ = in.resume(ctx, b.ID) // Sweep goes on with it if this fails
	}
	return nil
}

// SubmitBatch checks a batch with its specs, all or nothing, makes it durable and then its requests, and queues them.
// Open fields of the batch (id, time) and of the specs (id, generation, priority, limits, time) are filled. If the
// submitter used the same idempotency key before, it returns the earlier batch and false.
//
// A batch is accepted once its record is durable: Sweep makes the rest if this process dies. Returns INVALID with
// core.Faults that name the fields of jobs, LIMIT, CONFLICT, FULL if not all of it has room, UNAVAILABLE.
func (in *Intake) SubmitBatch(ctx context.Context, b core.Batch) (core.Batch, bool, error) {
	if was, found, err := in.BatchAccepted(ctx, b.Submitter, b.Idempotency, b.Digest); err != nil || found {
		return was, false, err
	}
	if err := CheckJobs(len(b.Specs)); err != nil {
		return core.Batch{}, false, err
	}
	b, err := in.named(b)
	if err != nil {
		return core.Batch{}, false, err
	}
	specs, faults, err := in.CheckBatch(ctx, b.Specs)
	if err == nil {
		err = Wrong(faults)
	}
	if err == nil {
		err = in.checkContents(ctx, specs)
	}
	if err == nil {
		err = in.hasRoomForAll(ctx, specs)
	}
	if err != nil {
		return core.Batch{}, false, err
	}
	b.Specs = specs
	made, created, err := in.Store.CreateBatch(ctx, b)
	if err != nil {
		return core.Batch{}, false, err
	}
	if !created { // another process was faster
		return made, false, in.same(ctx, made, b.Digest)
	}
	made.Specs = specs
	if after, err := in.goOn(ctx, made); err == nil { // it is accepted: whatever the error, Sweep goes on
		made = after
	}
	made.Specs = nil
	return made, true, nil
}

// named returns a batch with the ids of its requests.
func (in *Intake) named(b core.Batch) (core.Batch, error) {
	if b.ID == "" {
		var err error
		if b.ID, err = in.newBatchID(); err != nil {
			return b, err
		}
	}
	b.Jobs, b.Created, b.Specs = len(b.Specs), in.now().UnixMilli(), append([]core.Spec{}, b.Specs...)
	for i := range b.Specs {
		id, err := JobID(b.ID, i)
		if err != nil {
			return b, err
		}
		b.Specs[i].ID, b.Specs[i].Batch, b.Last = id, b.ID, id
	}
	return b, nil
}

// CheckJobs checks the number of jobs of a batch. Returns INVALID or LIMIT.
func CheckJobs(n int) error {
	switch {
	case n == 0:
		return core.Errorf(core.CodeInvalid, "", "a batch without jobs asks for nothing: name one at least")
	case n > core.MaxBatchJobs:
		return core.Errorf(core.CodeLimit, "", "the batch has %d jobs, at most %d are allowed: make several batches", n, core.MaxBatchJobs)
	}
	return nil
}

// contentsAtOnce is how many of a batch's files are looked for at a time.
const contentsAtOnce = 32

// checkContents looks for the files of all specs, each once. Returns INVALID with core.Faults.
func (in *Intake) checkContents(ctx context.Context, specs []core.Spec) error {
	seen := map[string]bool{}
	faults := make([]core.Faults, len(specs))
	var g errgroup.Group
	g.SetLimit(contentsAtOnce)
	troubles := make([]error, len(specs))
	for i := range specs {
		only := core.Spec{ID: specs[i].ID}
		for _, f := range blobs(&specs[i]) {
			if !seen[f.Digest] {
				seen[f.Digest], only.Files = true, append(only.Files, f)
			}
		}
		if len(only.Files) == 0 {
			continue
		}
		g.Go(func() error {
			switch err := in.checkBlobs(ctx, &only); {
			case faulty(err):
				faults[i] = core.Faults{{Field: "files", Err: err}}
			default:
				troubles[i] = err
			}
			return nil
		})
	}
	_ = g.Wait() // they are in troubles
	if err := errors.Join(troubles...); err != nil {
		return core.Wrap(err, core.CodeOf(err), "", "the files of the batch cannot be looked for")
	}
	return Wrong(faults)
}

// hasRoomForAll returns FULL if there is no room for all the requests now. If Redis does not answer, they may wait in
// the store; and so do those for which the room is used up in the meantime.
func (in *Intake) hasRoomForAll(ctx context.Context, specs []core.Spec) error {
	if full := in.Pools.Room(ctx, specs...); core.Is(full, core.CodeFull) {
		return full
	}
	return nil
}

// CancelBatch cancels all requests of a batch that have not ended, and returns its record. Cancelling a cancelled batch
// succeeds. Returns INVALID, NOTFOUND, ENDED if all its requests ended otherwise, UNAVAILABLE.
func (in *Intake) CancelBatch(ctx context.Context, id, by string) (core.Batch, error) {
	if err := checkBy(id, by); err != nil {
		return core.Batch{}, err
	}
	for {
		b, err := in.Store.GetBatch(ctx, id)
		if err != nil {
			return core.Batch{}, err
		}
		if !b.State.MayBecome(core.BatchCancelling) {
			if b.State.Open() {
				return in.resume(ctx, id)
			}
			return b, nil
		}
		if b.State == core.BatchMade {
			if err := in.unfinished(ctx, b); err != nil {
				return core.Batch{}, err
			}
		}
		moved, err := in.Store.MoveBatch(ctx, id, b.State, core.BatchCancelling, by)
		if err != nil {
			return core.Batch{}, err
		}
		if moved {
			return in.resume(ctx, id)
		}
	}
}

// unfinished returns ENDED if all requests of a batch that is made have ended.
func (in *Intake) unfinished(ctx context.Context, b core.Batch) error {
	rows, err := in.Store.List(ctx, core.Filter{After: b.ID, Before: after(b.Last), States: []core.RequestState{core.RequestQueued}, Limit: 1})
	if err == nil && len(rows) == 0 {
		err = core.Errorf(core.CodeEnded, b.ID, "all requests of batch %s have ended", b.ID)
	}
	return err
}

// after is the least text above an id.
func after(id string) string { return id + "-" }

// resume goes on with an open batch, and returns its record.
func (in *Intake) resume(ctx context.Context, id string) (core.Batch, error) {
	b, err := in.Store.GetBatch(ctx, id)
	if err != nil || !b.State.Open() {
		return b, err
	}
	full, err := in.Store.OpenBatches(ctx, before(id), 1)
	if err != nil {
		return b, err
	}
	if len(full) == 0 || full[0].ID != id { // another process was faster
		return in.Store.GetBatch(ctx, id)
	}
	return in.goOn(ctx, full[0])
}

// before is a text below the id of a batch, and above those of other batches: its last digits are zeros.
func before(id string) string { return id[:len(id)-1] }

// goOn makes an open batch's requests, or cancels them, and moves the batch to its next state. Several processes may do
// so at once, and it may be repeated from any step.
func (in *Intake) goOn(ctx context.Context, b core.Batch) (core.Batch, error) {
	err := each(b.Specs, func(spec core.Spec) error {
		_, _, err := in.Store.Create(ctx, spec)
		return err
	})
	if err != nil {
		return b, err
	}
	next := core.BatchMade
	if b.State == core.BatchCancelling {
		next = core.BatchCancelled
		if err := in.cancelAll(ctx, b); err != nil {
			return b, err
		}
	}
	moved, err := in.Store.MoveBatch(ctx, b.ID, b.State, next, "")
	if err != nil {
		return b, err
	}
	if !moved {
		return in.Store.GetBatch(ctx, b.ID)
	}
	if next == core.BatchMade {
		_, _ = in.enqueue(ctx, b.Specs) // Sweep finds those that are absent
	}
	b.State, b.Specs = next, nil
	return b, nil
}

// cancelAll cancels the requests of a batch.
func (in *Intake) cancelAll(ctx context.Context, b core.Batch) error {
	rows, err := in.Store.List(ctx, core.Filter{After: b.ID, Before: after(b.Last), States: []core.RequestState{core.RequestQueued}, Limit: core.MaxBatchJobs})
	if err != nil {
		return err
	}
	specs := make([]core.Spec, len(rows))
	for i := range rows {
		specs[i] = rows[i].Spec
	}
	return each(specs, func(spec core.Spec) error {
		_, err := in.Cancel(ctx, spec.ID, cmp.Or(b.By, platform))
		if core.Is(err, core.CodeEnded) || core.Is(err, core.CodeNotFound) {
			return nil
		}
		return err
	})
}

// sweepBatches goes on with batches that were left open, and returns how many it brought to their next state. One that
// fails does not hold back the others.
func (in *Intake) sweepBatches(ctx context.Context) (int, error) {
	n, at := 0, ""
	var troubles []error
	for {
		open, err := in.Store.OpenBatches(ctx, at, 1)
		if err != nil || len(open) == 0 {
			return n, errors.Join(append(troubles, err)...)
		}
		at = open[0].ID
		b, err := in.goOn(ctx, open[0])
		if troubles = append(troubles, err); err == nil && !b.State.Open() {
			n++
		}
	}
}
