package services

import (
	"context"

	"drover/core"
	"drover/core/cluster/lease"
)

// Leases is what users do with leases; lease.Service is one.
type Leases interface {
	Preview(ctx context.Context, a core.Actor, d lease.Draft) (core.Lease, error)
	Create(ctx context.Context, a core.Actor, d lease.Draft) (core.Lease, error)
	Update(ctx context.Context, a core.Actor, id string, c lease.Change) (core.Lease, error)
	Delete(ctx context.Context, a core.Actor, id string) error
	Get(ctx context.Context, a core.Actor, id string) (core.Lease, error)
	List(ctx context.Context, a core.Actor, f core.LeaseFilter) ([]core.Lease, error)
	View(ctx context.Context, a core.Actor, from, to int64, pool string) (lease.View, error)
}

// LeaseService returns UNAVAILABLE if the site has no leases.
func (d *Deps) LeaseService() (Leases, error) {
	if d.Leases == nil {
		return nil, core.Errorf(core.CodeUnavailable, "", "this site has no leases")
	}
	return d.Leases, nil
}
