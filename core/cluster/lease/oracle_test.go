package lease_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
)

// The oracle knows nothing of blocks and sweeps: it looks at every minute.

const minute = int64(60_000)

func at(m int) int64 { return int64(m) * minute }

// covers reports whether a lease takes room in a minute.
func covers(g *lease.Ground, l *core.Lease, m int) bool {
	if l.State == core.LeaseTerminated || l.State == core.LeaseError {
		return false
	}
	over := time.Duration(l.End)*time.Millisecond + l.Grace + g.Cleaning
	if now := time.Duration(g.Now) * time.Millisecond; l.State != core.LeasePending && now >= over-g.Cleaning {
		over = max(over, now+90*time.Second+g.Cleaning) // which a request of each pool may last
	}
	return l.Start <= at(m) && time.Duration(at(m))*time.Millisecond < over
}

func poolOf(g *lease.Ground, name string) core.Pool {
	for _, p := range g.Pools {
		if p.Name == name {
			return p
		}
	}
	panic("no pool " + name)
}

// trouble says what is too much on a host in a minute; "" if all fits.
func trouble(g *lease.Ground, h *lease.Host, m int) string {
	var memory, cpu, disk int64
	vms, whole, units := 0, 0, map[string]int{}
	for i := range g.Leases {
		l := &g.Leases[i]
		if !covers(g, l, m) {
			continue
		}
		for _, r := range l.Reservations {
			for _, a := range r.Allocations {
				switch {
				case a.Host != h.Name || a.State != core.AllocationHeld:
				case r.Units == 0:
					whole++
				default:
					p := poolOf(g, r.Pools[0])
					memory, cpu, disk = memory+int64(a.Units)*p.Size().Memory, cpu+int64(a.Units)*p.Size().CPU, disk+int64(a.Units)*p.Size().Disk
					vms, units[p.Name] = vms+a.Units, units[p.Name]+a.Units
				}
			}
		}
	}
	switch {
	case whole > 1 || whole == 1 && vms > 0:
		return "whole"
	case memory > h.Size.Memory || disk > h.Size.Disk || cpu > 0 && cpu > h.Size.CPU:
		return "size"
	case h.MaxVMs > 0 && vms > h.MaxVMs:
		return "VMs"
	}
	for name, n := range units {
		if n > poolOf(g, name).Max {
			return "max of " + name
		}
	}
	return ""
}

// troubles names each host and minute of a time where too much is held, but for hosts that are out.
func troubles(g *lease.Ground, from, to int) map[string]bool {
	out := map[string]bool{}
	for i := range g.Hosts {
		for m := from; m < to; m++ {
			if h := &g.Hosts[i]; h.Out == "" && trouble(g, h, m) != "" {
				out[fmt.Sprint(h.Name, " ", m)] = true
			}
		}
	}
	return out
}

// holds reports whether a host can hold units of a reservation at all.
func holds(g *lease.Ground, host string, r *core.Reservation) bool {
	for i := range g.Hosts {
		h := &g.Hosts[i]
		if h.Name != host {
			continue
		}
		for _, p := range r.Pools {
			one := poolOf(g, p).Size()
			if !slices.Contains(h.Serves, p) || slices.Contains(h.Broken, p) || one.Memory > h.Size.Memory || one.Disk > h.Size.Disk {
				return false
			}
		}
		return h.Out == "" && (r.Requires == "" || r.Requires == "zone="+h.Labels["zone"])
	}
	return false
}

// could reports whether a host could hold so many more units of a reservation of a lease of the ground.
func could(g *lease.Ground, lease, reservation int, host string, units int) bool {
	l := &g.Leases[lease]
	r := &l.Reservations[reservation]
	if !holds(g, host, r) {
		return false
	}
	was := r.Allocations
	r.Allocations = append(slices.Clone(was), core.Allocation{Host: host, Units: units, State: core.AllocationHeld})
	defer func() { r.Allocations = was }()
	for i := range g.Hosts {
		if g.Hosts[i].Name == host {
			for m := max(int(g.Now/minute), int(l.Start/minute)); m < int(l.End/minute)+60; m++ {
				if covers(g, l, m) && trouble(g, &g.Hosts[i], m) != "" {
					return false
				}
			}
		}
	}
	return true
}

// onHosts returns what a reservation holds on each host.
func onHosts(r *core.Reservation) map[string]int {
	out := map[string]int{}
	for _, a := range r.Allocations {
		if a.State == core.AllocationHeld {
			out[a.Host] += a.Units
		}
	}
	return out
}

// place tries every way to give the rest of a reservation to hosts.
func place(g *lease.Ground, lease, reservation, left int, hosts []lease.Host) bool {
	if left == 0 {
		return true
	}
	if len(hosts) == 0 {
		return false
	}
	r := &g.Leases[lease].Reservations[reservation]
	most, least := left, 1
	switch {
	case r.Units == 0, r.Affinity == core.AffinityFalse:
		most = 1
	case r.Affinity == core.AffinityTrue:
		least = left
	}
	for n := least; n <= most; n++ {
		if !could(g, lease, reservation, hosts[0].Name, n) {
			break
		}
		was := r.Allocations
		r.Allocations = append(slices.Clone(was), core.Allocation{Host: hosts[0].Name, Units: n, State: core.AllocationHeld})
		ok := place(g, lease, reservation, left-n, hosts[1:])
		if r.Allocations = was; ok {
			return true
		}
	}
	return place(g, lease, reservation, left, hosts[1:])
}

// pools are of two sizes; q may have few VMs on a host.
func pools() []core.Pool {
	p, q := core.DefaultPool("p"), core.DefaultPool("q")
	p.Limits.Memory, p.Limits.Disk, p.Max = 100, 1, 100
	q.Limits.Memory, q.Limits.Disk, q.Limits.CPU, q.Max = 200, 1, 1000, 3
	return []core.Pool{p, q}
}

func host(name string, units int, change ...func(*lease.Host)) lease.Host {
	h := lease.Host{
		Name: name, Size: core.Size{CPU: 4000, Memory: int64(units) * 100, Disk: 1000},
		Serves: []string{"p", "q"}, Labels: map[string]string{"zone": "a"},
	}
	for _, c := range change {
		c(&h)
	}
	return h
}

// drawHosts makes hosts that are all in order.
func drawHosts(r *rand.Rand, most int) []lease.Host {
	var out []lease.Host
	for i := range 1 + r.IntN(most) {
		out = append(out, host(fmt.Sprint("h", i), 1+r.IntN(9), func(h *lease.Host) {
			if r.IntN(4) == 0 {
				h.MaxVMs = 1 + r.IntN(6)
			}
			if r.IntN(4) == 0 {
				h.Size.CPU = 2000
			}
			if r.IntN(6) == 0 {
				h.Serves = h.Serves[:1]
			}
			if r.IntN(3) == 0 {
				h.Labels = map[string]string{"zone": "b"}
			}
		}))
	}
	return out
}

// drawLease makes a pending lease that has nothing yet.
func drawLease(r *rand.Rand, id string, now, last, reservations int) core.Lease {
	start := now + r.IntN(last)
	l := core.Lease{
		ID: id, State: core.LeasePending, Start: at(start), End: at(start + 1 + r.IntN(last)),
		Grace: time.Duration(max(0, r.IntN(6)-3)) * time.Minute,
	}
	for range 1 + r.IntN(reservations) {
		n := core.Reservation{State: core.ReservationPending, Pools: []string{[]string{"p", "q"}[r.IntN(2)]}}
		if r.IntN(8) == 0 {
			n.Requires = "zone=b"
		}
		if r.IntN(5) == 0 {
			n.MinHosts = 1 + r.IntN(2)
			n.MaxHosts = n.MinHosts + r.IntN(2)
		} else {
			n.Units = 1 + r.IntN(4)
			n.Affinity = []core.Affinity{core.AffinityNone, core.AffinityTrue, core.AffinityFalse}[r.IntN(3)]
		}
		l.Reservations = append(l.Reservations, n)
	}
	l.Events = lease.NewEvents(l)
	return l
}

func clone(l core.Lease) core.Lease {
	l.Reservations = slices.Clone(l.Reservations)
	for i := range l.Reservations {
		l.Reservations[i].Allocations = slices.Clone(l.Reservations[i].Allocations)
	}
	return l
}
