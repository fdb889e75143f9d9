package operate

import (
	"context"
	"maps"
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/history"
)

// Overview is the cluster at one moment.
type Overview struct {
	At      int64             `json:"at_ms"` // when it was read
	Hosts   []core.HostInfo   `json:"hosts"`
	Owners  []core.OwnerInfo  `json:"owners"`
	Pools   []core.Pool       `json:"pools"`
	Queues  []core.QueueInfo  `json:"queues"`
	Loads   map[string][]Load `json:"loads"`   // host → its pools, in order of name
	Totals  []Load            `json:"totals"`  // of the pools, over all hosts, in order of name
	Missing []core.Role       `json:"missing"` // roles that no living process has, without which work waits or nothing is healed
	Moves   int               `json:"moves"`   // requests that are being moved to another host, or parked

	Warnings []Warning `json:"warnings"` // why work waits, or nothing is healed
}

// Load counts a pool's VMs, on one host or on all.
type Load struct {
	Pool        string `json:"pool"`
	Target      int    `json:"target"` // clean VMs to be kept
	Max         int    `json:"max"`    // most VMs, in all states
	Clean       int    `json:"clean"`
	InUse       int    `json:"in_use"`
	Creating    int    `json:"creating"`
	Dirty       int    `json:"dirty"` // dirty or being destroyed
	Quarantined int    `json:"quarantined"`
	Hosts       int    `json:"hosts"`              // hosts that have the pool
	Waiting     int    `json:"waiting,omitempty"`  // waiting requests, over all hosts
	Broken      string `json:"broken,omitempty"`   // why its VMs cannot be made there
	Fetching    string `json:"fetching,omitempty"` // what is being fetched for it; until then none of its VMs can be made there
	Paused      bool   `json:"paused,omitempty"`

	Outage  *core.Outage `json:"outage,omitempty"`      // over all hosts: none can make its VMs; nil if one can, or none is to
	FailsAt int64        `json:"fails_at_ms,omitempty"` // over all hosts: when its waiting requests fail if the outage lasts; 0: never
}

// VMs returns the number of VMs in all states.
func (l Load) VMs() int { return l.Clean + l.InUse + l.Creating + l.Dirty + l.Quarantined }

// Overview reads hosts, owners, pools and queues. Returns FORBIDDEN, UNAVAILABLE.
func (o *Service) Overview(ctx context.Context, a core.Actor) (Overview, error) {
	if err := o.Watch(a); err != nil {
		return Overview{}, err
	}
	return o.overview.get(ctx, o.now, freshFor, o.readOverview)
}

func (o *Service) readOverview(ctx context.Context) (v Overview, err error) {
	v.At = o.now().UnixMilli()
	if v.Hosts, err = o.Cluster.ListHosts(ctx); err != nil {
		return v, err
	}
	if v.Owners, err = o.Cluster.ListOwners(ctx); err != nil {
		return v, err
	}
	overseen, err := o.Cluster.Overseen(ctx)
	if err != nil {
		return v, err
	}
	v.Missing = core.Missing(v.Owners, overseen)
	if v.Pools, err = o.Cluster.ListPools(ctx); err != nil {
		return v, err
	}
	if v.Queues, err = o.Cluster.Waiting(ctx); err != nil {
		return v, err
	}
	outages, err := o.Cluster.Outages(ctx)
	if err != nil {
		return v, err
	}
	moves, err := o.Cluster.Evacuations(ctx)
	for _, m := range moves {
		if m.Ended == 0 {
			v.Moves++
		}
	}
	v.count(outages)
	v.warn()
	return v, err
}

// count computes the loads from what was read.
func (v *Overview) count(outages map[string]core.Outage) {
	pools, totals := make(map[string]core.Pool), make(map[string]*Load)
	for _, p := range v.Pools {
		pools[p.Name], totals[p.Name] = p, &Load{Pool: p.Name, Paused: p.Paused}
		if o, is := outages[p.Name]; is {
			totals[p.Name].Outage, totals[p.Name].FailsAt = &o, p.FailsAt(o)
		}
	}
	for _, q := range v.Queues {
		if t := totals[q.Pool]; t != nil {
			t.Waiting += q.Waiting
		}
	}
	v.Loads = make(map[string][]Load, len(v.Hosts))
	for i := range v.Hosts {
		h := &v.Hosts[i]
		v.Loads[h.Name] = loadsOf(h, pools)
		for _, l := range v.Loads[h.Name] {
			if t := totals[l.Pool]; t != nil {
				t.add(l)
			}
		}
	}
	v.Totals = make([]Load, 0, len(totals))
	for _, name := range slices.Sorted(maps.Keys(totals)) {
		v.Totals = append(v.Totals, *totals[name])
	}
}

func (l *Load) add(of Load) {
	l.Target += of.Target
	l.Max += of.Max
	l.Clean += of.Clean
	l.InUse += of.InUse
	l.Creating += of.Creating
	l.Dirty += of.Dirty
	l.Quarantined += of.Quarantined
	l.Hosts++
}

// loadsOf counts the pools of which the host has VMs, or has reported that it cannot make them.
func loadsOf(h *core.HostInfo, pools map[string]core.Pool) []Load {
	names := make(map[string]bool)
	for name := range h.VMsOf {
		names[name] = true
	}
	for name := range h.Broken {
		names[name] = true
	}
	for name := range h.Fetching {
		names[name] = true
	}
	out := make([]Load, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p, n := pools[name], h.VMsOf[name]
		out = append(out, Load{
			Pool: name, Target: p.Warm, Max: p.Max, Paused: p.Paused, Hosts: 1,
			Clean: n[core.VMClean], InUse: n[core.VMClaimed], Creating: n[core.VMCreating],
			Dirty: n[core.VMDirty] + n[core.VMDestroying], Quarantined: n[core.VMQuarantined],
			Broken: h.Broken[name], Fetching: h.Fetching[name],
		})
	}
	return out
}

// HostView is all data about one host.
type HostView struct {
	core.HostInfo

	Capacity core.Size        `json:"capacity"`  // what the host has for VMs; core.Unlimited where it reported nothing
	Free     core.Size        `json:"free"`      // of that, what its VMs do not take; below 0 on a host that came back smaller
	OwnersOf []core.OwnerInfo `json:"owners_of"` // replaces the list of their names
	Loads    []Load           `json:"loads"`
	VMList   []core.VMInfo    `json:"vm_list"` // at most MaxVMs
	More     int              `json:"more"`    // number of VMs beyond the list

	Measured []core.HostMeasure `json:"measured"` // what the host measured in the last hour, oldest first
}

// MeasuredFor is the time of which a HostView has measures.
const MeasuredFor = time.Hour

// MaxVMs bounds the VMs that are listed of a host.
const MaxVMs = 500

// Host returns all data about a host. Returns FORBIDDEN, INVALID, NOTFOUND.
func (o *Service) Host(ctx context.Context, a core.Actor, name string) (HostView, error) {
	v, err := o.Overview(ctx, a)
	if err != nil {
		return HostView{}, err
	}
	if err := core.CheckName("host", name); err != nil {
		return HostView{}, err
	}
	i := slices.IndexFunc(v.Hosts, func(h core.HostInfo) bool { return h.Name == name })
	if i < 0 {
		return HostView{}, aboutHost(core.Errorf(core.CodeNotFound, name, "there is no host"), name)
	}
	out := HostView{HostInfo: v.Hosts[i], Loads: v.Loads[name], OwnersOf: []core.OwnerInfo{}}
	out.Capacity = out.HostInfo.Capacity()
	out.Free = out.Capacity
	for _, p := range v.Pools {
		for _, n := range out.VMsOf[p.Name] {
			out.Free = out.Free.Less(p.Size(), n)
		}
	}
	for _, owner := range v.Owners {
		if owner.Host == name {
			out.OwnersOf = append(out.OwnersOf, owner)
		}
	}
	vms, err := o.Cluster.ListVMs(ctx, name)
	out.VMList = vms[:min(len(vms), MaxVMs)]
	out.More = len(vms) - len(out.VMList)
	if err != nil {
		return out, err
	}
	now := o.now()
	out.Measured, err = history.ReadLoads(ctx, o.Store, name, now.Add(-MeasuredFor), now)
	return out, err
}
