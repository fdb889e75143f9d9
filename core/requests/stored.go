package requests

import (
	"context"
	"slices"

	"drover/core"
)

// SubmitStored is Submit for a spec whose files are in the blob store already, for programs that make requests from
// other input. It returns the row as it is stored.
func (d *Service) SubmitStored(ctx context.Context, a core.Actor, spec core.Spec) (core.Row, error) {
	asked, err := d.draft(a, Draft{Submitter: spec.Submitter, Priority: spec.Priority, Notify: spec.Notify, Idempotency: spec.Idempotency})
	if err != nil {
		return core.Row{}, err
	}
	spec.Submitter, spec.Idempotency = asked.Submitter, asked.Idempotency
	var row core.Row
	do := func() error {
		row, _, err = d.Intake.Submit(ctx, spec)
		return err
	}
	if spec.Submitter != a.Handle {
		return row, d.change(ctx, a, core.ActRequestCreate, spec.Submitter, "requests a run for "+spec.Submitter+" in pool "+spec.Pool, do)
	}
	return row, do()
}

// Submitted returns the row of an earlier SubmitStored with the idempotency key, so that a repeated call is not
// prepared, checked or refused again. Returns false if there is none, FORBIDDEN.
func (d *Service) Submitted(ctx context.Context, a core.Actor, key string) (core.Row, bool, error) {
	asked, err := d.draft(a, Draft{Idempotency: key})
	if err != nil {
		return core.Row{}, false, err
	}
	return d.Intake.Accepted(ctx, asked.Submitter, asked.Idempotency)
}

// Row returns a plain request as it is stored, with its state, for programs that make their own view of it. Returns
// NOTFOUND.
func (d *Service) Row(ctx context.Context, a core.Actor, id string) (core.Row, error) {
	row, err := d.row(ctx, a, id, core.ActRequestView)
	if err == nil && row.Spec.Grades() {
		err = noRequest(id)
	}
	if err != nil {
		return core.Row{}, err
	}
	if row.State.Terminal() {
		return row, nil
	}
	place, err := d.Queue.Locate(ctx, row.Spec.Key())
	if err == nil && place.State != "" {
		row.State = place.State
	}
	return row, err
}

// Pool returns the settings of a pool. Returns NOTFOUND.
func (d *Service) Pool(ctx context.Context, name string) (core.Pool, error) {
	return d.Cluster.GetPool(ctx, name)
}

// Pools lists the names of the pools in which the actor may run requests, in order. Returns FORBIDDEN.
func (d *Service) Pools(ctx context.Context, a core.Actor) ([]string, error) {
	if err := core.Allow(a, core.ActRequestCreate, core.Object{}); err != nil {
		return nil, err
	}
	pools, err := d.Cluster.ListPools(ctx)
	names := make([]string, len(pools))
	for i, p := range pools {
		names[i] = p.Name
	}
	slices.Sort(names)
	return names, err
}
