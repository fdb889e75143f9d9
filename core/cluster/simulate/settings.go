package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"drover/core"
)

// Host is a host that is simulated.
type Host struct {
	Name   string
	Size   core.Size // what it has for VMs
	MaxVMs int       // 0: no limit but its size
	Slots  int       // requests that its testrunners run at once
	Serves []string  // pools; nil: all
}

// Settings are the cluster on which a trace is replayed.
type Settings struct {
	Hosts []Host
	Group *Group // whose hosts come and go beside them; nil: none
	Pools []core.Pool
	Makes map[string]time.Duration // by pool: how long making a VM takes, instead of VMTime
	// VMTime is how long making a VM takes.
	VMTime time.Duration
}

// Hosts returns so many hosts that are all alike.
func Hosts(n int, size core.Size, slots int) []Host {
	all := make([]Host, n)
	for i := range all {
		all[i] = Host{Name: fmt.Sprintf("host-%04d", i+1), Size: size, Slots: slots}
	}
	return all
}

// Pools returns the names of the pools of a trace.
func (t Trace) Pools() []string {
	names := make(map[string]bool)
	for i := range t {
		names[t[i].Pool] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// check returns an INVALID error for settings with which the trace would never end.
func (s Settings) check(t Trace) error {
	invalid := func(format string, args ...any) error {
		return core.Errorf(core.CodeInvalid, "simulate", format, args...)
	}
	if s.Group != nil {
		if err := s.Group.Check(); err != nil {
			return err
		}
		if s.Group.Boot < time.Second || s.Group.Boot > time.Hour {
			return invalid("a machine that takes work %s after its order: it must be between 1s and 1h", s.Group.Boot)
		}
	}
	if len(s.Hosts) == 0 && s.Group == nil || len(s.Hosts) > MaxHosts {
		return invalid("%d hosts: between 1 and %d can be simulated", len(s.Hosts), MaxHosts)
	}
	if len(t) == 0 || len(t) > MaxRequests {
		return invalid("%d requests: between 1 and %d can be simulated", len(t), MaxRequests)
	}
	if !slices.IsSortedFunc(t, func(a, b Request) int { return cmp.Compare(a.At, b.At) }) {
		return invalid("the trace is not in order of time")
	}
	if i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Slots < 1 || h.MaxVMs < 0 }); i >= 0 {
		return invalid("host %s needs slots, 1 at least", s.Hosts[i].Name)
	}
	pools := make(map[string]core.Pool)
	for _, p := range s.Pools {
		if err := p.Check(); err != nil {
			return err
		}
		if makes := s.makes(p.Name); makes < time.Millisecond || makes > time.Hour {
			return invalid("making a VM of pool %s takes %s: it must be between 1ms and 1h", p.Name, makes)
		}
		pools[p.Name] = p
	}
	for _, name := range t.Pools() {
		p, ok := pools[name]
		switch {
		case !ok:
			return invalid("the trace has requests of pool %s, which the cluster does not have", name)
		case p.Paused:
			return invalid("pool %s is paused: its requests would wait forever", name)
		case (s.Group == nil || !s.Group.Serves(p)) && !slices.ContainsFunc(s.Hosts, func(h Host) bool {
			return h.serves(name) && h.Size.Lacks(p.Size()) == ""
		}):
			return invalid("no host serves pool %s and is large enough for one of its VMs", name)
		}
	}
	return nil
}

func (h Host) serves(pool string) bool { return h.Serves == nil || slices.Contains(h.Serves, pool) }

// makes is how long making a VM of a pool takes.
func (s Settings) makes(pool string) time.Duration { return cmp.Or(s.Makes[pool], s.VMTime) }

// Fixed returns the settings with the same number of clean VMs on each host at all times, and none that are learned.
func (s Settings) Fixed(warm int) Settings {
	return s.with(func(p *core.Pool) { p.Warm, p.WarmTotal, p.WarmMost, p.IdleAfter = min(warm, p.Max), 0, 0, 0 })
}

// Learning returns the settings with as many clean VMs as arrivals ask for, up to so many in the whole cluster.
func (s Settings) Learning(most int) Settings {
	return s.with(func(p *core.Pool) { p.Warm, p.WarmTotal, p.WarmMost, p.IdleAfter = 0, 0, most, 0 })
}

func (s Settings) with(change func(*core.Pool)) Settings {
	s.Pools = slices.Clone(s.Pools)
	for i := range s.Pools {
		change(&s.Pools[i])
	}
	return s
}

// OfCluster returns a cluster's own hosts and pools: those that live, with the times that making VMs took there lately.
// Pools are not paused.
func OfCluster(hosts []core.HostInfo, pools []core.Pool, vmTime time.Duration) Settings {
	s := Settings{Pools: slices.Clone(pools), Makes: make(map[string]time.Duration), VMTime: vmTime}
	for i := range s.Pools {
		s.Pools[i].Paused = false
	}
	for i := range hosts {
		host := &hosts[i]
		if host.State == core.HostDown || host.Failed != nil {
			continue
		}
		s.Hosts = append(s.Hosts, Host{
			Name: host.Name, Size: host.Capacity(), MaxVMs: host.MaxVMs, Slots: max(1, host.CPU), Serves: append([]string{}, host.Serves...),
		})
		for pool, ms := range host.Takes {
			s.Makes[pool] = max(s.Makes[pool], time.Duration(ms)*time.Millisecond)
		}
	}
	return s
}
