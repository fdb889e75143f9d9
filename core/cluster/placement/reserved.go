package placement

// Reserved is what leases reserve on hosts now.
type Reserved struct {
	Pools map[string]map[string]int // VMs, by host and pool of a lease
	Only  map[string][]string       // by host that is reserved whole: the pools of leases that are served there, and no others
}

// dealReserved deals out the VMs that leases have on hosts, beside the busy ones, which count. Where others have the room
// still, it is kept: nobody else gets any on that host.
func (r *round) dealReserved() {
	for at := range r.hosts {
		h := &r.hosts[at]
		if h.Opening == Shut || len(h.Reserved) == 0 {
			continue
		}
		for _, p := range r.serves(h) {
			n := min(h.Reserved[p.Name], p.Max)
			if n <= 0 {
				continue
			}
			c := r.cell(p, at)
			for c.Busy+c.got < n && r.fits(p, at) {
				r.give(p, at)
			}
			c.reserved = c.got
			if lacks := n - c.Busy - c.got; lacks > 0 {
				r.free[at], r.vms[at] = r.free[at].Less(p.size, lacks), r.vms[at]-lacks
				r.ranks.moved(at)
				r.owes[at] = true
			}
		}
	}
}

// keepReserved deals the same VMs out once more: they are kept warm.
func (r *round) keepReserved() {
	for _, p := range r.lots {
		for at, c := range p.cells {
			for c.got < c.reserved {
				r.give(p, at)
			}
		}
	}
}

// mayEnd returns how many busy VMs of a pool on a host another pool may get the room of: not of those that are reserved.
func (r *round) mayEnd(p *lot, at int) int {
	return max(0, p.cells[at].Busy-r.hosts[at].Reserved[p.Name])
}
