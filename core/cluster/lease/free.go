package lease

import (
	"cmp"
	"maps"
	"slices"

	"drover/core"
)

// Free returns how many units, or whole hosts, of what is wanted could still be reserved throughout each stretch of a
// time. Stretches have no gaps, and neighbours differ. It returns nil for an empty time.
func (g Ground) Free(want core.Reservation, from, to int64) []Stretch {
	in := span{from, to}
	if in.empty() {
		return nil
	}
	b := newBook(&g, g.Hosts, "", in)
	n, err := b.need(&want)
	if err != nil {
		return []Stretch{{From: from, To: to}}
	}
	changes := map[int64][]change{from: nil}
	for at := range b.hosts {
		if n.refuses(&b.hosts[at]) != "" {
			continue
		}
		had := 0
		b.sweep(b.held[at], n.lot(), in, func(s span, u *usage) {
			has, _ := b.room(at, n.lot(), u)
			if n.affinity == core.AffinityFalse {
				has = min(has, 1)
			}
			if has != had {
				changes[s.from] = append(changes[s.from], change{had, has})
				had = has
			}
		})
	}
	return stretches(changes, n.affinity == core.AffinityTrue && !n.whole, to)
}

// change is how many units fit on a host before a moment and from then on.
type change struct{ before, after int }

// stretches returns the sums over hosts, or the most that one of them has, between changes.
func stretches(changes map[int64][]change, most bool, to int64) []Stretch {
	var out []Stretch
	hosts, total := make(map[int]int), 0 // how many hosts have room for so many
	for _, at := range slices.Sorted(maps.Keys(changes)) {
		for _, c := range changes[at] {
			total += c.after - c.before
			hosts[c.after]++
			if c.before > 0 {
				if hosts[c.before]--; hosts[c.before] == 0 {
					delete(hosts, c.before)
				}
			}
		}
		units := total
		if most {
			units = 0
			for n := range hosts {
				units = max(units, n)
			}
		}
		out = extend(out, Stretch{From: at, To: to, Units: units})
	}
	return out
}

// extend ends the last stretch where the next one begins, or leaves it if that has as much.
func extend(out []Stretch, next Stretch) []Stretch {
	if len(out) > 0 {
		last := &out[len(out)-1]
		if last.Room == next.Room && last.Units == next.Units {
			last.To = next.To
			return out
		}
		last.To = next.From
	}
	return append(out, next)
}

// FreeOn returns what no lease holds of a host's size in each stretch of a time: nothing while it is reserved whole.
// Stretches have no gaps, and neighbours differ. It returns nil for an unknown host and an empty time.
func (g Ground) FreeOn(host string, from, to int64) []Stretch {
	in := span{from, to}
	i := slices.IndexFunc(g.Hosts, func(h Host) bool { return h.Name == host })
	if i < 0 || in.empty() {
		return nil
	}
	h := g.Hosts[i]
	b := newBook(&g, []Host{h}, "", in)
	var out []Stretch
	b.sweep(b.held[0], nil, in, func(s span, u *usage) {
		room := core.Size{}
		if u.whole == 0 {
			room = core.Size{CPU: left(h.Size.CPU, u.size.CPU), Memory: left(h.Size.Memory, u.size.Memory), Disk: left(h.Size.Disk, u.size.Disk)}
		}
		out = extend(out, Stretch{From: s.from, To: to, Room: room})
	})
	return out
}

// left is what is left of a figure; one that a host did not report cannot be used up.
func left(has, used int64) int64 {
	if has >= core.Unlimited {
		return has
	}
	return max(has-used, 0)
}

// Finding is a moment from which a host holds more for leases than it has.
type Finding struct {
	Host  string
	At    int64  // ms since 1970
	Text  string // what is too much
	Lease string // the one whose units there are the youngest, and are to go
}

// Oversold returns where and when, from now on, hosts hold more than they have: of their size, of their number of VMs,
// of what a pool has at most on a host, and beside a reservation of the whole host. Hosts that are out hold nothing.
func (g Ground) Oversold() []Finding {
	var out []Finding
	in := span{g.Now, forever}
	b := newBook(&g, g.Hosts, "", in)
	for at := range b.hosts {
		h := &b.hosts[at]
		if h.Out != "" || len(b.held[at]) == 0 {
			continue
		}
		b.excess(at, b.held[at], in, func(when int64, what string) {
			out = append(out, Finding{h.Name, when, "leases hold " + what + " of host " + h.Name, b.youngest(at, when).lease})
		})
	}
	slices.SortStableFunc(out, func(x, y Finding) int { return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.At, y.At)) })
	return out
}

// youngest returns the youngest block on a host at a moment at which there is one.
func (b *book) youngest(at int, when int64) *block {
	var young *block
	for i := range b.held[at] {
		if n := &b.held[at][i]; n.from <= when && when < n.to && (young == nil || n.older(young) > 0) {
			young = n
		}
	}
	return young
}
