package lease

import (
	"fmt"
	"slices"

	"drover/core"
)

// need is what a reservation asks of hosts.
type need struct {
	lots     []*lot
	whole    bool
	affinity core.Affinity
	requires core.Requirements
}

// need returns what a reservation asks for. Returns INVALID for an unknown pool and for what is no requirement.
func (b *book) need(r *core.Reservation) (*need, error) {
	n := &need{whole: r.WholeHosts(), affinity: r.Affinity}
	if len(r.Pools) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "pools", "a reservation has no pool: name one")
	}
	for _, name := range r.Pools {
		p, known := b.lots[name]
		if !known {
			return nil, core.Errorf(core.CodeInvalid, name, "there is no pool %.80q: reserve units of one that there is", name)
		}
		n.lots = append(n.lots, p)
	}
	var err error
	n.requires, err = core.ParseRequirements(r.Requires)
	return n, err
}

// lot is the pool whose size a unit has; nil for whole hosts.
func (n *need) lot() *lot {
	if n.whole {
		return nil
	}
	return n.lots[0]
}

// what names so many units or hosts.
func (n *need) what(count int) string {
	of, s := "unit", "s"
	if n.whole {
		of = "host"
	}
	if count == 1 {
		s = ""
	}
	if n.whole {
		return fmt.Sprintf("%d %s%s", count, of, s)
	}
	return fmt.Sprintf("%d %s%s of pool %s", count, of, s, n.lots[0].Name)
}

// refuses returns why a host cannot hold any of it now, whatever else is held there; "" if it can.
func (n *need) refuses(h *Host) string {
	if h.Out != "" {
		return h.Out
	}
	for _, p := range n.lots {
		if slices.Contains(h.Broken, p.Name) {
			return "VMs of pool " + p.Name + " cannot be made there"
		}
	}
	return n.unfit(h)
}

// unfit returns why a host could not hold any of it even if all was well with it; "" if it could.
func (n *need) unfit(h *Host) string {
	for _, p := range n.lots {
		if !slices.Contains(h.Serves, p.Name) {
			return "does not serve pool " + p.Name
		}
		if lacks := h.Size.Lacks(p.size); lacks != "" {
			return "has too little " + lacks
		}
	}
	if lacks := n.requires.Lacks(h.Labels); lacks != "" {
		return "is not " + lacks
	}
	return ""
}
