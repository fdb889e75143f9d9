package core

import (
	"context"
	"slices"
)

// LeasedPoolSetting is what a pool of a lease is in Redis.
type LeasedPoolSetting struct {
	Pool       Pool     // with Of and Lease
	Open       bool     // requests of its holders go there instead of to the pool that it is of
	Class      string   // whose submissions' requests those are
	Submitters []string // whose requests those are as well
}

// Equal reports whether two settings are the same.
func (s *LeasedPoolSetting) Equal(other LeasedPoolSetting) bool {
	return s.Pool == other.Pool && s.Open == other.Open && s.Class == other.Class && slices.Equal(s.Submitters, other.Submitters)
}

// LeasedState is a pool of a lease as it is in Redis.
type LeasedState struct {
	LeasedPoolSetting

	Waiting int // requests in any place
}

// LeasedPools keeps the pools of leases in Redis. A pool of a lease is like any other one, but nobody submits to it: when
// a request of the pool that it is of is queued, it goes there if it is a holder's and the lease's pool is open.
// Pools.RemovePool removes it.
type LeasedPools interface {
	// SetLeased writes a pool of a lease, and opens or closes the way there, in one step. Returns INVALID, and NOTFOUND
	// if Redis does not have the pool that it is of.
	SetLeased(ctx context.Context, s LeasedPoolSetting) error
	// Leased lists all pools of leases by name.
	Leased(ctx context.Context) ([]LeasedState, error)
	// Reroute moves those of the requests that wait in another pool than they would be queued in now, at the back of
	// their submitters' queues there. Specs are as the result store has them, of pools that are no lease's. Returns how
	// many were moved.
	Reroute(ctx context.Context, specs []Spec) (int, error)
	// Apart lists up to limit requests, by their keys, that wait in a pool and met a death: they are in no queue.
	Apart(ctx context.Context, pool string, limit int) ([]string, error)
}
