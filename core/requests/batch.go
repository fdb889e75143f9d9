package requests

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/requests/intake"
)

// BatchStatus is the state of a batch as a whole: running if one of its requests is in a slot, else queued if one
// waits, else completed, however its requests ended.
type BatchStatus string

// The states of a batch as a whole.
const (
	BatchRunning   BatchStatus = "running"
	BatchQueued    BatchStatus = "queued"
	BatchCompleted BatchStatus = "completed"
)

// BatchView is what an actor may see of a batch.
type BatchView struct {
	ID        string                    `json:"id"`
	Submitter string                    `json:"submitter"`
	State     BatchStatus               `json:"state"`
	Jobs      int                       `json:"jobs"`
	Counts    map[core.RequestState]int `json:"counts,omitempty"`       // requests by state; left out in lists
	Deleted   int                       `json:"deleted,omitempty"`      // requests that a purge has deleted
	Of        string                    `json:"of,omitempty"`           // the batch that it reruns
	Cancelled string                    `json:"cancelled_by,omitempty"` // who cancelled it
	Created   int64                     `json:"created_ms"`             // ms since 1970
}

// JobResult is one job of a batch with its request.
type JobResult struct {
	View

	Job int `json:"job"`
}

// maxResults bounds a page of results, which hold output.
const maxResults = 100

// resultOutput is how many bytes of stdout and stderr a page of results shows of each request.
const resultOutput = 16 << 10

// located bounds the concurrent looks for requests in Redis.
const lookers = 8

// ViewBatch returns a batch. Returns NOTFOUND.
func (d *Service) ViewBatch(ctx context.Context, a core.Actor, id string) (BatchView, error) {
	b, err := d.batch(ctx, a, id, core.ActRequestView)
	if err != nil {
		return BatchView{}, err
	}
	return d.batchView(ctx, b)
}

// batch returns a batch to whose requests the actor may apply the action.
func (d *Service) batch(ctx context.Context, a core.Actor, id string, act core.Action) (core.Batch, error) {
	if !core.ValidName(id) {
		return core.Batch{}, core.NoBatch(id)
	}
	b, err := d.Store.GetBatch(ctx, id)
	if err == nil && core.Allow(a, core.ActRequestView, core.Object{Owner: b.Submitter}) != nil {
		err = core.NoBatch(id)
	}
	if err != nil {
		return core.Batch{}, err
	}
	return b, core.Allow(a, act, core.Object{Owner: b.Submitter})
}

func recordOf(b core.Batch) BatchView {
	return BatchView{ID: b.ID, Submitter: b.Submitter, State: BatchCompleted, Jobs: b.Jobs, Of: b.Of, Cancelled: b.By, Created: b.Created}
}

// within restricts a filter to the requests of a batch.
func within(f *core.Filter, b core.Batch) {
	f.After = b.ID
	if end := b.Last + "-"; f.Before == "" || f.Before > end { // the least text above the last id
		f.Before = end
	}
}

// rowsOf returns the rows of a batch's requests, without output and newest first.
func (d *Service) rowsOf(ctx context.Context, b core.Batch, limit int, states ...core.RequestState) ([]core.Row, error) {
	f := core.Filter{States: states, Limit: limit}
	within(&f, b)
	return d.Store.List(ctx, f)
}

// batchView counts the requests of a batch.
func (d *Service) batchView(ctx context.Context, b core.Batch) (BatchView, error) {
	v := recordOf(b)
	rows, err := d.rowsOf(ctx, b, core.MaxBatchJobs)
	if err != nil {
		return v, err
	}
	if err := d.locateAll(ctx, rows); err != nil {
		return v, err
	}
	v.Counts = map[core.RequestState]int{}
	for _, row := range rows {
		v.Counts[row.State]++
	}
	switch missing := b.Jobs - len(rows); {
	case missing > 0 && b.State.Open(): // they are being made
		v.Counts[core.RequestQueued] += missing
	default:
		v.Deleted = missing
	}
	c := v.Counts
	switch {
	case c[core.RequestClaimed]+c[core.RequestRunning]+c[core.RequestCancelling] > 0:
		v.State = BatchRunning
	case c[core.RequestQueued]+c[core.RequestParked] > 0:
		v.State = BatchQueued
	}
	return v, nil
}

// locateAll sets the states of unfinished requests to those that Redis has.
func (d *Service) locateAll(ctx context.Context, rows []core.Row) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookers)
	for i := range rows {
		if rows[i].State.Terminal() {
			continue
		}
		g.Go(func() error {
			place, err := d.Queue.Locate(ctx, rows[i].Spec.Key())
			if place.State != "" {
				rows[i].State = place.State
			}
			return err
		})
	}
	return g.Wait()
}

// BatchPage is a part of a list of batches.
type BatchPage struct {
	Items []BatchView
	Next  string // id before which the next page begins; "" if there is none
}

// ListBatches lists batches that the actor may view, newest first: all of them for an actor who may view all requests,
// else the actor's own. A page may be short without being the last: it ends when it has looked for as many requests as
// a page of requests may have. Returns INVALID, FORBIDDEN for another user's.
func (d *Service) ListBatches(ctx context.Context, a core.Actor, f core.BatchFilter) (BatchPage, error) {
	f.Limit, f.Idempotency = cmp.Or(f.Limit, somePage), ""
	if f.Limit < 1 || f.Limit >= maxPage {
		return BatchPage{}, core.Errorf(core.CodeInvalid, "", "the limit %d must be between 1 and %d", f.Limit, maxPage-1)
	}
	if err := cmp.Or(core.CheckOptional("submitter", f.Submitter), core.CheckOptional("batch id", f.Before)); err != nil {
		return BatchPage{}, err
	}
	if f.Submitter == "" && core.Allow(a, core.ActRequestView, core.Object{}) != nil {
		f.Submitter = a.Handle
	}
	if err := core.Allow(a, core.ActRequestView, core.Object{Owner: f.Submitter}); err != nil {
		return BatchPage{}, err
	}
	limit := f.Limit
	f.Limit++
	found, err := d.Store.ListBatches(ctx, f)
	if err != nil {
		return BatchPage{}, err
	}
	page, looked := BatchPage{Items: []BatchView{}}, 0
	for i, b := range found {
		if i == limit || looked >= maxPage {
			page.Next = found[i-1].ID
			break
		}
		v, n, err := d.inList(ctx, b)
		if err != nil {
			return BatchPage{}, err
		}
		page.Items, looked = append(page.Items, v), looked+n
	}
	return page, nil
}

// inList returns a batch as lists show it, and how many requests it looked for: one whose requests have all ended is
// not counted.
func (d *Service) inList(ctx context.Context, b core.Batch) (v BatchView, looked int, err error) {
	v = recordOf(b)
	open, err := d.rowsOf(ctx, b, 1, core.RequestQueued)
	if err != nil || len(open) == 0 && !b.State.Open() {
		return v, 0, err
	}
	if v, err = d.batchView(ctx, b); err == nil {
		v.Counts, v.Deleted = nil, 0
	}
	return v, b.Jobs, err
}

// ResultPage is a part of a batch's results.
type ResultPage struct {
	Items []JobResult
	Next  int // job with which the next page begins; 0 if there is none
}

// BatchResults returns the requests of a batch in the order of its jobs, from one on, with the beginning of their
// output. Requests that were deleted, or are being made, are left out. Returns NOTFOUND, INVALID.
func (d *Service) BatchResults(ctx context.Context, a core.Actor, id string, from, limit int) (ResultPage, error) {
	limit = cmp.Or(limit, somePage)
	if limit < 1 || limit > maxResults || from < 0 {
		return ResultPage{}, core.Errorf(core.CodeInvalid, "", "a page of results begins with job 0 or later and has 1 to %d jobs, not %d from job %d on", maxResults, limit, from)
	}
	b, err := d.batch(ctx, a, id, core.ActRequestView)
	if err != nil {
		return ResultPage{}, err
	}
	page := ResultPage{Items: []JobResult{}}
	for job := from; job < b.Jobs; job++ {
		if job == from+limit {
			page.Next = job
			break
		}
		request, err := intake.JobID(b.ID, job)
		if err != nil {
			return ResultPage{}, err
		}
		row, err := d.Store.Get(ctx, request)
		if core.Is(err, core.CodeNotFound) {
			continue
		}
		if err != nil {
			return ResultPage{}, err
		}
		v, err := d.located(ctx, a, row)
		if err != nil {
			return ResultPage{}, err
		}
		for _, stream := range []*string{&v.Stdout, &v.Stderr} {
			if len(*stream) > resultOutput {
				*stream, v.Truncated = (*stream)[:resultOutput], true
			}
		}
		page.Items = append(page.Items, JobResult{View: v, Job: job})
	}
	return page, nil
}

// CancelBatch stops all requests of a batch that have not ended. Returns NOTFOUND, FORBIDDEN, ENDED, UNAVAILABLE: then
// a repeat, or the overseer, goes on with it.
func (d *Service) CancelBatch(ctx context.Context, a core.Actor, id string) (v BatchView, err error) {
	b, err := d.batch(ctx, a, id, core.ActRequestControl)
	if err != nil {
		return BatchView{}, err
	}
	err = d.controlBatch(ctx, a, b, "stops", func() (err error) {
		b, err = d.Intake.CancelBatch(ctx, id, a.Handle)
		return err
	})
	if err != nil {
		return BatchView{}, err
	}
	return d.batchView(ctx, b)
}

// controlBatch changes a batch. A change to another user's goes into the audit log.
func (d *Service) controlBatch(ctx context.Context, a core.Actor, b core.Batch, what string, do func() error) error {
	if a.Handle == b.Submitter {
		return do()
	}
	return d.change(ctx, a, core.ActRequestControl, b.ID, fmt.Sprintf("%s batch %s of %s", what, b.ID, b.Submitter), do)
}

// RerunBatch submits the jobs of a completed batch again, as a new batch that names it. Its submitter stays. The same
// idempotency key again is the same batch, and false. Returns NOTFOUND, FORBIDDEN, CONFLICT if not all requests of the
// batch are there and have ended, and the errors of SubmitBatch.
func (d *Service) RerunBatch(ctx context.Context, a core.Actor, id, key string) (BatchView, bool, error) {
	b, err := d.batch(ctx, a, id, core.ActRequestControl)
	if err != nil {
		return BatchView{}, false, err
	}
	if len(key) > intake.MaxIdempotency {
		return BatchView{}, false, core.Errorf(core.CodeLimit, "", "the idempotency key has %d bytes, at most %d are allowed", len(key), intake.MaxIdempotency)
	}
	next := core.Batch{Submitter: b.Submitter, Of: b.ID, Digest: "rerun of " + b.ID}
	if key != "" {
		next.Idempotency = "request/" + key
	}
	was, found, err := d.Intake.BatchAccepted(ctx, next.Submitter, next.Idempotency, next.Digest)
	if err == nil && !found {
		next.Specs, err = d.ended(ctx, b)
	}
	if err != nil {
		return BatchView{}, false, err
	}
	created := false
	if !found {
		err = d.controlBatch(ctx, a, b, "runs again", func() (err error) {
			was, created, err = d.Intake.SubmitBatch(ctx, next)
			return err
		})
	}
	if err != nil {
		return BatchView{}, false, err
	}
	v, err := d.batchView(ctx, was)
	return v, created, err
}

// ended returns the specs of a batch that has ended, as they were submitted.
func (d *Service) ended(ctx context.Context, b core.Batch) ([]core.Spec, error) {
	rows, err := d.rowsOf(ctx, b, core.MaxBatchJobs)
	if err != nil {
		return nil, err
	}
	if b.State.Open() || slices.ContainsFunc(rows, func(r core.Row) bool { return !r.State.Terminal() }) {
		return nil, core.Errorf(core.CodeConflict, b.ID, "batch %s has not ended: cancel it, or wait until all its requests have ended", b.ID)
	}
	if len(rows) < b.Jobs {
		return nil, core.Errorf(core.CodeConflict, b.ID, "%d of the requests of batch %s were deleted since: submit a new batch", b.Jobs-len(rows), b.ID)
	}
	slices.Reverse(rows)
	specs := make([]core.Spec, len(rows))
	for i := range rows {
		specs[i] = rows[i].Spec
		specs[i].ID, specs[i].Generation = "", 0
	}
	return specs, nil
}
