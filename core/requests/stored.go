package requests

import (
	"context"
	"slices"

	"drover/core"
)

// SubmitStored is Submit for a spec whose files are in the blob store already: of programs
// that make requests of what was brought to them. It returns the row as it is stored.
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

// Submitted returns the row of a SubmitStored with the idempotency key that was accepted
// before, so that a repeat is not made ready, checked or refused anew. Returns false if there
// is none, FORBIDDEN.
func (d *Service) Submitted(ctx context.Context, a core.Actor, key string) (core.Row, bool, error) {
	asked, err := d.draft(a, Draft{Idempotency: key})
	if err != nil {
		return core.Row{}, false, err
	}
	return d.Intake.Accepted(ctx, asked.Submitter, asked.Idempotency)
}

// Row returns a plain request as it is stored, with the state that tells where it is: for
// programs that make of it what they show. Returns NOTFOUND.
func (d *Service) Row(ctx context.Context, a core.Actor, id string) (core.Row, error) {
	row, err := d.row(ctx, a, id, core.ActRequestView)
	if err == nil && grades(&row.Spec) {
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

// Pools lists the names of the pools in which the actor may request runs, in order.
// Returns FORBIDDEN.
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
