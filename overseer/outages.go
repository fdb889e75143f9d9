package overseer

import (
	"context"
	"errors"
	"slices"
	"time"

	"drover/core"
)

// outagesEvery is the interval between two looks at the pools that no host can make VMs of.
const outagesEvery = 5 * time.Second

// outages records which pools no host can make VMs of. What an earlier overseer recorded goes on; a host that reports a
// pool working ends it at once. A look at hosts that is out of date when it is recorded only makes the time begin anew.
//
//	the pool                                              is
//	is paused                                             not broken: its requests wait because an operator wants it
//	has no host that is up, undrained, large enough       not broken: that is a matter of capacity
//	works on one of those hosts, or its image is fetched  not broken
//	is broken on all of them                              broken
//	has none, and all groups that would make one gave up  broken
func (o *Overseer) outages(ctx context.Context) (Counts, error) {
	counts := Counts{}
	// Read first: what another overseer records meanwhile is left to the next look.
	known, err := o.deps.Pools.Outages(ctx)
	if err != nil {
		return counts, err
	}
	pools, err := o.deps.Pools.ListPools(ctx)
	if err != nil {
		return counts, err
	}
	hosts, err := o.deps.Hosts.ListHosts(ctx)
	if err != nil {
		return counts, err
	}
	groups, troubles := o.failing(ctx)
	for _, p := range pools {
		is := outage(p, hosts)
		if is.Host == "" {
			is = gaveUp(p, hosts, groups)
		}
		if _, was := known[p.Name]; !was && is.Host == "" {
			continue
		}
		changed, err := o.deps.Pools.SetOutage(ctx, p.Name, is)
		troubles = append(troubles, err)
		log := o.log.WithField("pool", p.Name)
		switch {
		case err != nil || !changed:
		case is.Host != "":
			counts["begun"]++
			log.WithField("host", is.Host).WithField("reason", is.Why).Warn("no host can make VMs of the pool")
		default:
			counts["ended"]++
			log.Info("the pool is no longer broken on all of its hosts")
		}
	}
	return counts, errors.Join(troubles...)
}

// failBroken ends requests of broken pools. It looks at the hosts first: what was recorded before all overseers were away
// for a while may be over. During a long round the chore outages looks.
func (o *Overseer) failBroken(fail func(context.Context) (int, error)) func(context.Context) (Counts, error) {
	return func(ctx context.Context) (Counts, error) {
		known, err := o.deps.Pools.Outages(ctx)
		if err != nil || len(known) == 0 {
			return nil, err
		}
		if counts, err := o.outages(ctx); err != nil {
			return counts, err
		}
		n, err := fail(ctx)
		return Counts{"failed": n}, err
	}
}

// outage returns why no host can make VMs of a pool; without a host, one can, or none is to.
func outage(p core.Pool, hosts []core.HostInfo) (o core.Outage) {
	for i := range hosts {
		h := &hosts[i]
		if p.Paused || !makes(p, h) {
			continue
		}
		why, broken := h.Broken[p.Name]
		if !broken {
			return core.Outage{}
		}
		if o.Host == "" {
			o.Host, o.Why = h.Name, why
		}
	}
	return o
}

// makes reports whether a host is there to make VMs of a pool, as far as it can.
func makes(p core.Pool, h *core.HostInfo) bool {
	return slices.Contains(h.Serves, p.Name) && h.State != core.HostDown && !h.Drain && h.Ready &&
		h.Capacity().Lacks(p.Size()) == "" && slices.ContainsFunc(h.Owners, func(owner string) bool {
		role, _, err := core.ParseOwner(owner)
		return err == nil && role == core.RoleVMFactory
	})
}
