package drill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"drover/core"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/service/clock"
)

// service is what users do with batches.
func (l *load) service() *requests.Service {
	c := l.client
	return &requests.Service{Store: c.Store, Intake: c.Intake, Queue: c.Redis, Cluster: c.Redis}
}

// batchBeats is how many heartbeats are between two batches.
const batchBeats = 4

// batches submits batches beside the single requests, cancels some and has some run again, until ctx ends. What the
// cluster refuses is no fault here: what it accepted, the store has.
func (l *load) batches(ctx context.Context) {
	const cancels, reruns = 3, 3 // one of so many turns does it
	dice, service := l.dice(submitters+1), l.service()
	var ids []string
	for clock.Sleep(ctx, clock.Real{}, batchBeats*l.cfg.beat()) == nil {
		if len(ids) > 0 && dice.IntN(cancels) == 0 {
			_, _ = service.CancelBatch(ctx, core.System(), ids[len(ids)-1])
		}
		if len(ids) > 0 && dice.IntN(reruns) == 0 {
			if v, created, err := service.RerunBatch(ctx, core.System(), ids[dice.IntN(len(ids))], newID()); err == nil && created {
				ids = append(ids, v.ID)
			}
			continue
		}
		if made, _, err := l.client.Intake.SubmitBatch(ctx, batch(dice)); err == nil {
			ids = append(ids, made.ID)
		}
	}
}

// batch is one of a few jobs.
func batch(dice *rand.Rand) core.Batch {
	key := newID()
	b := core.Batch{Submitter: "batches", Idempotency: "drill/" + key, Digest: key}
	for range 2 + dice.IntN(5) {
		seconds := strconv.FormatFloat(0.05+0.4*dice.Float64(), 'f', 2, 64)
		b.Specs = append(b.Specs, core.Spec{
			Pool: poolNames[dice.IntN(len(poolNames))], Submitter: b.Submitter, Command: []string{"sh", "-c", script, "job", newID(), seconds},
		})
	}
	return b
}

// countBatches compares what the store has of each batch with what the cluster says of it: each job ended once, and what
// is said of all agrees with the requests.
func (r *Report) countBatches(ctx context.Context, h *cluster, l *load, vms map[string]string) error {
	service, before := l.service(), ""
	for {
		found, err := h.client.Store.ListBatches(ctx, core.BatchFilter{Before: before, Limit: page})
		if err != nil || len(found) == 0 {
			return err
		}
		before = found[len(found)-1].ID
		for i := range found {
			r.Batches.Accepted++
			if err := r.countBatch(ctx, h, service, found[i], vms); err != nil {
				return err
			}
		}
	}
}

func (r *Report) countBatch(ctx context.Context, h *cluster, service *requests.Service, b core.Batch, vms map[string]string) error {
	if b.By != "" {
		r.Batches.Cancelled++
	}
	if b.Of != "" {
		r.Batches.Rerun++
	}
	if b.State.Open() {
		r.Lost++
		r.detail("lost: batch %s is still %s", b.ID, b.State)
	}
	counts := map[core.RequestState]int{}
	for job := range b.Jobs {
		id, err := intake.JobID(b.ID, job)
		if err != nil {
			return err
		}
		r.Batches.Jobs++
		if err := r.countOne(ctx, h, id, vms); err != nil {
			return err
		}
		row, err := h.client.Store.Get(ctx, id)
		if core.Is(err, core.CodeNotFound) {
			continue // counted as lost
		}
		if err != nil {
			return err
		}
		counts[row.State]++
		if row.State == core.RequestCancelled && b.By == "" {
			r.double("job %d of batch %s is cancelled, and nobody cancelled the batch", job, b.ID)
		}
	}
	v, err := service.ViewBatch(ctx, core.System(), b.ID)
	if err != nil {
		return err
	}
	said := v.Counts
	if fmt.Sprint(said) != fmt.Sprint(counts) || v.State != requests.BatchCompleted || v.Jobs != b.Jobs || v.Deleted != 0 {
		r.double("batch %s is said to be %s with %d jobs, %v and %d deleted; its requests are %v", b.ID, v.State, v.Jobs, said, v.Deleted, counts)
	}
	return nil
}
