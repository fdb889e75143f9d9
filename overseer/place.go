package overseer

import (
	"context"
	"maps"
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/placement"
	"drover/core/service/clock"
)

// placeLasts is how many rounds vmfactories follow a target: then they build for waiting work by themselves.
const placeLasts = 5

// placePauses is after how many times the duration of the last round one for waiting work comes.
const placePauses = 20

// place decides how many clean VMs of each pool each host should hold. A round in which another overseer was faster is
// done.
func (o *Overseer) place(ctx context.Context) (Counts, error) {
	begun := o.clock.Now()
	g, err := o.deps.Placements.Ground(ctx)
	if err != nil {
		return nil, err
	}
	r := placed(g, o.expects(ctx, g.Pools), o.reserved.Load())
	// What holds still is not written each time, so that an idle cluster stays idle.
	if holds := g.Age >= 0 && g.Age < r.Lasts/2; !holds || len(r.Targets)+len(r.Use) > 0 {
		_, err = o.deps.Placements.SetTargets(ctx, g.Number, r)
	}
	o.placed.Store(int64(max(placement.ShortPause, placePauses*o.clock.Now().Sub(begun))))
	o.hosts.Store(int64(len(g.Hosts)))
	if core.Is(err, core.CodeConflict) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Counts{"hosts": len(r.Targets)}, nil
}

// expectEvery is the time between two looks at what is to be expected.
const expectEvery = time.Minute

// expects returns the rates of requests that are expected of pools, if any pool keeps VMs warm by its use. A round does
// without them rather than fail.
func (o *Overseer) expects(ctx context.Context, pools []core.Pool) map[string]float64 {
	learns := slices.ContainsFunc(pools, func(p core.Pool) bool { return p.WarmMost > 0 })
	if o.deps.Expected == nil || !learns {
		return nil
	}
	if now := o.clock.Now(); !now.Before(o.expectAt) {
		rates, err := o.deps.Expected(ctx)
		if err != nil {
			o.log.WithError(err).Warn("cannot read what is due: warm VMs follow the use of late alone")
		}
		o.expected, o.expectAt = rates, now.Add(expectEvery)
	}
	return o.expected
}

// awaitPlacement returns when the next round is due, or work waits that has no VM.
func (o *Overseer) awaitPlacement(ctx context.Context, _ time.Duration) error {
	if err := clock.Sleep(ctx, o.clock, time.Duration(o.placed.Load())); err != nil {
		return err
	}
	every := placement.Every(int(o.hosts.Load()))
	if err := o.deps.Placements.WaitPlacement(ctx, every); err != nil && ctx.Err() == nil {
		return clock.Sleep(ctx, o.clock, every)
	}
	return ctx.Err()
}

// placed returns the round for a ground: what changes. Rates are how many claims per second are expected of pools, if
// that is more than they had of late. Reserved is what leases reserve; nil: nothing.
func placed(g core.Ground, rates map[string]float64, reserved *placement.Reserved) core.Round {
	if reserved == nil {
		reserved = &placement.Reserved{}
	}
	every := placement.Every(len(g.Hosts))
	r := core.Round{Targets: make(map[string]core.Targets), Use: make(map[string]core.Use), Lasts: placeLasts * every}
	busy := make(map[string]int)
	hosts := make([]placement.Host, len(g.Hosts))
	for i := range g.Hosts {
		h := &g.Hosts[i]
		hosts[i] = toHost(h, g.Assigned[h.Name], reserved)
		for pool, vms := range hosts[i].VMs {
			busy[pool] += vms.Busy
		}
	}
	pools := make([]placement.Pool, len(g.Pools))
	for i, p := range g.Pools {
		use := placement.Learn(g.Use[p.Name], g.Now)
		if use != g.Use[p.Name] {
			r.Use[p.Name] = use
		}
		pools[i] = placement.Pool{
			Pool: p, Waiting: g.Waiting[p.Name], Oldest: g.Oldest[p.Name],
			Asleep: placement.Asleep(p, use, g.Waiting[p.Name], busy[p.Name], g.Now),
		}
		if p.WarmMost > 0 {
			pools[i].Learned = min(p.WarmMost, placement.WarmFor(max(use.Rate, rates[p.Name]), refill(g.Hosts, p.Name)))
		}
	}
	targets := placement.Targets(hosts, pools)
	for i := range g.Hosts {
		h := &g.Hosts[i]
		its := targets[h.Name]
		// Its VMs are to go. A host that is not there yet, or has not said what it serves, decides by itself what it
		// begins with.
		if its == nil && h.State != core.HostDown && h.Ready && len(h.Serves) > 0 {
			its = core.Targets{}
		}
		if (its == nil) != (h.Targets == nil) || !maps.Equal(its, h.Targets) {
			r.Targets[h.Name] = its
		}
	}
	return r
}

// toHost returns what placement knows of a host.
func toHost(h *core.HostInfo, assigned map[string]int, reserved *placement.Reserved) placement.Host {
	out := placement.Host{
		Name: h.Name, Opening: opening(h), Size: h.Capacity(), MaxVMs: h.MaxVMs, Serves: h.Serves,
		Broken: make(map[string]bool, len(h.Broken)), VMs: make(map[string]placement.VMs, len(h.VMsOf)), Assigned: assigned,
		Reserved: reserved.Pools[h.Name],
	}
	if only, whole := reserved.Only[h.Name]; whole {
		out.Serves = slices.DeleteFunc(slices.Clone(h.Serves), func(pool string) bool { return !slices.Contains(only, pool) })
	}
	for pool := range h.Broken {
		out.Broken[pool] = true
	}
	for pool, states := range h.VMsOf {
		var vms placement.VMs
		for state, n := range states {
			switch state {
			case core.VMClean, core.VMCreating:
				vms.Clean += n
			case core.VMDirty, core.VMDestroying:
			default:
				vms.Busy += n
			}
		}
		out.VMs[pool] = vms
	}
	return out
}

// opening returns which work a host gets.
func opening(h *core.HostInfo) placement.Opening {
	switch {
	case h.State == core.HostDown || h.Drain || h.Failed != nil || !h.Ready:
		return placement.Shut
	case h.Probation != nil:
		return placement.Trial
	case h.State != core.HostUp:
		return placement.Late
	}
	return placement.Open
}

// defaultRefill is how long making a VM takes until a host has reported it.
const defaultRefill = time.Second

// refill is how long a pool's VM is missed once it is taken: until it is made on the slowest of the hosts.
func refill(hosts []core.HostInfo, pool string) time.Duration {
	longest := int64(0)
	for i := range hosts {
		longest = max(longest, hosts[i].Takes[pool])
	}
	if longest == 0 {
		return defaultRefill
	}
	return time.Duration(longest) * time.Millisecond
}
