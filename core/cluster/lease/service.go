package lease

import (
	"context"

	"drover/core"
)

// Service is what users do with leases.
type Service struct{}

// Preview returns the lease that Create would make. Returns INVALID, FORBIDDEN, and FULL with what is free when.
func (s *Service) Preview(ctx context.Context, a core.Actor, d Draft) (core.Lease, error) {
	return core.Lease{}, nil
}

// Create makes a lease. Returns the errors of Preview.
func (s *Service) Create(ctx context.Context, a core.Actor, d Draft) (core.Lease, error) {
	return core.Lease{}, nil
}

// Update changes a lease. Returns INVALID, FORBIDDEN, NOTFOUND, FULL, and CONFLICT if its state does not allow it.
func (s *Service) Update(ctx context.Context, a core.Actor, id string, c Change) (core.Lease, error) {
	return core.Lease{}, nil
}

// Delete removes a lease; one that is active ends first. Returns FORBIDDEN, NOTFOUND, and CONFLICT while it starts or
// ends.
func (s *Service) Delete(ctx context.Context, a core.Actor, id string) error { return nil }

// Get returns NOTFOUND for an unknown id, and for one that the actor may not see.
func (s *Service) Get(ctx context.Context, a core.Actor, id string) (core.Lease, error) {
	return core.Lease{}, nil
}

// List lists the leases that the actor may see, newest first.
func (s *Service) List(ctx context.Context, a core.Actor, f core.LeaseFilter) ([]core.Lease, error) {
	return nil, nil
}

// View returns the calendar of a time, and how many units of a pool ("" for none) are free when.
func (s *Service) View(ctx context.Context, a core.Actor, from, to int64, pool string) (View, error) {
	return View{}, nil
}
