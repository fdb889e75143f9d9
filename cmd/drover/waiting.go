package main

import (
	"context"
	"fmt"

	"drover/core"
)

// whyWaiting says why a request is not being run yet, and what to do about it.
func (h *herd) whyWaiting(ctx context.Context, spec core.Spec) string {
	pool, err := h.redis.GetPool(ctx, spec.Pool)
	if err == nil && pool.Paused {
		return fmt.Sprintf("still waiting: pool %s is paused; drover pool set --paused=false %s lets it go on", pool.Name, pool.Name)
	}
	owners, err := h.redis.ListOwners(ctx)
	if err != nil {
		return "still waiting, and Redis does not say why: " + err.Error()
	}
	running := map[core.Role]bool{}
	for _, o := range owners {
		running[o.Role] = running[o.Role] || !o.Late
	}
	for _, need := range []core.Role{core.RoleVMFactory, core.RoleTestrunner} {
		if !running[need] {
			return fmt.Sprintf("still waiting: no %s is running; start one with drover %s, or a whole herd with drover up", need, need)
		}
	}
	hosts, err := h.redis.ListHosts(ctx)
	for _, host := range hosts {
		if what := host.Fetching[spec.Pool]; err == nil && what != "" {
			return fmt.Sprintf("still waiting: host %s is not ready to make VMs of pool %s: %s", host.Name, spec.Pool, what)
		}
		if why := host.Broken[spec.Pool]; err == nil && why != "" {
			return fmt.Sprintf("still waiting: host %s cannot make VMs of pool %s: %s", host.Name, spec.Pool, why)
		}
	}
	place, err := h.redis.Locate(ctx, spec.Key())
	if err == nil && place.State == "" {
		return "still waiting: it is accepted, but not in Redis yet; the overseer's sweep puts it there"
	}
	return fmt.Sprintf("still waiting for its turn and a VM of pool %s; %d of the same submitter are ahead. drover doctor says more", spec.Pool, place.Ahead)
}
