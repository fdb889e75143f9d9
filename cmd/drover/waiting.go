package main

import (
	"context"
	"fmt"
	"time"

	"drover/core"
)

// waitsFor says what a waiting request waits for, other than its turn; "" for nothing.
func waitsFor(p core.Place) string {
	switch {
	case p.State == core.RequestParked:
		return "parked: when its host was lost or drained no other had room for it; the first that has takes it"
	case p.Due > 0:
		left := max(0, time.Until(time.UnixMilli(p.Due))).Round(100 * time.Millisecond)
		return fmt.Sprintf("after a fault of the platform its next try is due in %s", left)
	case p.Aimed != "":
		return fmt.Sprintf("it moves to host %s, which takes it before all other work", p.Aimed)
	}
	return ""
}

// faults counts faults of the platform; "" for none.
func faults(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d, of the platform", n)
}

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
		if why := host.Broken[spec.Pool]; err == nil && why != "" {
			return fmt.Sprintf("still waiting: host %s cannot make VMs of pool %s: %s", host.Name, spec.Pool, why)
		}
	}
	place, err := h.redis.Locate(ctx, spec.Key())
	if err == nil && place.State == "" {
		return "still waiting: it is accepted, but not in Redis yet; the overseer's sweep puts it there"
	}
	if why := waitsFor(place); err == nil && why != "" {
		return "still waiting: " + why
	}
	return fmt.Sprintf("still waiting for its turn and a VM of pool %s; %d of the same submitter are ahead. drover doctor says more", spec.Pool, place.Ahead)
}
