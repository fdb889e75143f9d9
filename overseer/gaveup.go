package overseer

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/cluster/scale"
)

// made is a group of hosts, and whether its newest machines never became hosts.
type made struct {
	core.HostGroup
	fails scale.Failing
}

// failing reads the groups of hosts. While that fails, pools are judged by their hosts alone.
func (o *Overseer) failing(ctx context.Context) ([]made, []error) {
	if o.deps.Elastic.Instances == nil {
		return nil, nil
	}
	groups, err := o.deps.Elastic.Instances.HostGroups(ctx)
	if err != nil {
		return nil, []error{err}
	}
	all := make([]made, 0, len(groups))
	for _, g := range groups {
		newest, err := o.deps.Elastic.Instances.ListInstances(ctx, core.InstanceFilter{Group: g.Name, Limit: newestInstances})
		if err != nil {
			return nil, []error{err}
		}
		all = append(all, made{g, scale.Fails(g, newest)})
	}
	return all, nil
}

// gaveUp returns why there is no host for a pool: no host is there to make its VMs, and all groups that would make one
// gave up. Without a host in it, one is there or may be made, or none is to.
func gaveUp(p core.Pool, hosts []core.HostInfo, groups []made) (o core.Outage) {
	if p.Paused || slices.ContainsFunc(hosts, func(h core.HostInfo) bool { return makes(p, &h) }) {
		return o
	}
	for _, g := range groups {
		if g.Paused || g.Max == 0 || !g.Serves(p) {
			continue
		}
		if g.fails.Times == 0 {
			return core.Outage{}
		}
		if o.Host == "" {
			o.Host, o.Why = g.fails.ID, "host group "+g.Name+" got no host: "+g.fails.Why
		}
	}
	return o
}
