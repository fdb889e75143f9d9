package lease

import (
	"context"

	"drover/core"
)

// AllowsLabels returns CONFLICT if a lease holds something on a host that these labels would take from it.
func (s *Service) AllowsLabels(ctx context.Context, host string, labels map[string]string) error {
	cal, err := s.Store.Calendar(ctx, 0)
	if err != nil {
		return err
	}
	for i := range cal.Leases {
		for _, r := range cal.Leases[i].Reservations {
			wanted, err := core.ParseRequirements(r.Requires)
			if err != nil || !open(&r) {
				continue
			}
			for _, one := range r.Allocations {
				if one.State != core.AllocationHeld || one.Host != host {
					continue
				}
				if lacks := wanted.Lacks(labels); lacks != "" {
					return core.Errorf(core.CodeConflict, host, "lease %s (%s) holds %s for its requirement %s until %s: drain the host first, so that the lease moves",
						cal.Leases[i].ID, cal.Leases[i].Name, host, lacks, moment(cal.Leases[i].End))
				}
			}
		}
	}
	return nil
}
