package access

import (
	"context"

	"drover/core"
	"drover/core/cluster/lease"
)

// PreviewLease returns the lease that would be made, as a backend does.
func (s *Session) PreviewLease(ctx context.Context, d lease.Draft) (core.Lease, error) {
	return s.Leases().Preview(ctx, s.Actor, d)
}

// CreateLease makes a lease, as a backend does.
func (s *Session) CreateLease(ctx context.Context, d lease.Draft) (core.Lease, error) {
	return s.Leases().Create(ctx, s.Actor, d)
}

// ChangeLease changes a lease, as a backend does.
func (s *Session) ChangeLease(ctx context.Context, id string, change lease.Change) (core.Lease, error) {
	return s.Leases().Update(ctx, s.Actor, id, change)
}

// DeleteLease deletes a lease, as a backend does.
func (s *Session) DeleteLease(ctx context.Context, id string) error {
	return s.Leases().Delete(ctx, s.Actor, id)
}

// ViewLease returns a lease, as a backend does.
func (s *Session) ViewLease(ctx context.Context, id string) (core.Lease, error) {
	return s.Leases().Get(ctx, s.Actor, id)
}

// ListLeases lists leases, as a backend does.
func (s *Session) ListLeases(ctx context.Context, f core.LeaseFilter) ([]core.Lease, error) {
	return s.Leases().List(ctx, s.Actor, f)
}

// Calendar returns what leases hold when, as a backend does.
func (s *Session) Calendar(ctx context.Context, from, to int64, pool string) (lease.View, error) {
	return s.Leases().View(ctx, s.Actor, from, to, pool)
}
