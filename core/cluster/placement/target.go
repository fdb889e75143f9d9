package placement

import (
	"time"

	"drover/core"
)

// Every is the time between two rounds of placement of a cluster with so many hosts, so that reading them takes Redis
// a bounded part of its time. Work that no host has a VM for is placed sooner.
func Every(hosts int) time.Duration {
	return time.Second + time.Duration(hosts)*2*time.Millisecond
}

// ShortPause is the shortest time between two rounds.
const ShortPause = 100 * time.Millisecond

// Host is a host for which targets are computed.
type Host struct {
	Name     string
	Opening  Opening
	Size     core.Size       // what it has for all its VMs
	MaxVMs   int             // 0: no limit but its size
	Serves   []string        // pools whose VMs it makes
	Broken   map[string]bool // pools of these whose VMs cannot be made there now
	VMs      map[string]VMs  // by pool
	Assigned map[string]int  // waiting requests that only this host takes, by pool
	Reserved map[string]int  // VMs that leases have there, by their pools
}

// Opening is which work a host gets.
type Opening int

// The openings.
const (
	Open  Opening = iota // any
	Late                 // nothing that is not there yet: its heartbeat is late
	Trial                // what its pools keep warm on each host, and one VM for work that waits: it is on probation
	Shut                 // none: it is down, drained, reported failed, or not reconciled
)

// VMs are those of one pool on one host. Those that are to be destroyed are not counted: their room is free soon.
type VMs struct {
	Clean int // made or in creation
	Busy  int // claimed or quarantined: they keep their room, and count towards the pool's max
}

// Pool is what the targets of a pool depend on.
type Pool struct {
	core.Pool
	Waiting int   // requests that wait for its VMs, those assigned to hosts included
	Oldest  int64 // when the one that waits longest was submitted, ms since 1970
	Learned int   // clean VMs that its arrivals ask for in the whole cluster
	Asleep  bool  // nobody has used it for so long that nothing is kept warm for it
}

// headroom is how many more VMs than requests that wait are made: a creation may fail.
const headroom = 1

// Targets returns how many VMs of each pool each host should have, by host and pool; targets of nothing are left out.
//
// First come the VMs that leases reserve on hosts, whether work waits for them or not; busy ones count. Where VMs of
// others have that room, nothing but what is reserved gets any on the host, and what ends is not replaced.
//
// What else is wanted is dealt out in five steps, each VM to the pool that has the fewest so far, so that no pool starves
// another; among equals by the pools' order. First come requests assigned to a host, on this host; then the other
// requests that wait; then the VMs that each host keeps warm; then those that the cluster keeps warm; last a spare VM
// for each pool for which requests wait. VMs for requests that wait count as warm, and warm ones as spare. Reserved ones
// count as both. A VM goes where one is already, so that a small change moves little; else to the host that the pool's
// strategy prefers among those with room. A pool's VMs are first spread over as many hosts as it asks for.
//
// Where not all that waits fits, hosts go on with a pool as its VMs end, without another round. Of a pool that has more
// than another one which is short, too, and gets no new ones there, as many VMs are not replaced as one of the other's
// needs room. Room that is free is always used.
//
// A host on probation, and a pool on a host where its VMs cannot be made, get one VM for work that waits, so that it is
// found out when they work again; nothing relies on it.
//
// No host gets more than its size, its number of VMs and its pools' max allow, whatever it has now: what it has beyond
// its target is to go. The result does not depend on the order of hosts and pools.
func Targets(hosts []Host, pools []Pool) map[string]core.Targets {
	r := newRound(hosts, pools)
	r.dealReserved()
	r.dealAssigned()
	r.dealWaiting()
	r.dealTrials(func(p *lot) bool { return p.Waiting > 0 && !p.Paused })
	r.makeWay()
	out := make(map[string]core.Targets)
	r.each(out, func(c *cell, t *core.Target) { t.Most = c.Busy - c.ends + c.got })
	r.hold()
	r.keepReserved()
	r.dealWarm()
	r.deal(func(p *lot) int {
		if p.Asleep {
			return 0
		}
		return max(p.WarmTotal, p.Learned)
	})
	r.dealTrials(func(p *lot) bool { return p.short })
	r.each(out, func(c *cell, t *core.Target) { t.Warm = c.got })
	r.dealSpare()
	r.each(out, func(c *cell, t *core.Target) {
		if c.got > 0 {
			t.Most = c.Busy - c.ends + c.got
		}
	})
	return out
}
