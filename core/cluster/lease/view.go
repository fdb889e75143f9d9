package lease

import (
	"context"
	"slices"
	"strings"

	"drover/core"
)

// maxView bounds the time that a calendar shows.
const maxView = 92 * 24 * 60 * 60 * 1000 // ms

// View returns the calendar of a time, and how many units of a pool ("" for none) are free when.
// Returns INVALID, FORBIDDEN, NOTFOUND.
func (s *Service) View(ctx context.Context, a core.Actor, from, to int64, pool string) (View, error) {
	if from < 0 || to <= from || to-from > maxView {
		return View{}, core.Errorf(core.CodeInvalid, "to", "a calendar shows a time from a moment to a later one, at most 92 days: not from %s to %s", moment(from), moment(to))
	}
	watches := core.Allow(a, core.ActClusterView, core.Object{}) == nil
	if !watches && core.Allow(a, core.ActLeaseManage, core.Object{}) != nil {
		return View{}, core.Errorf(core.CodeForbidden, a.Handle, "the calendar of all hosts is for those who may look at the cluster: see the list of leases for your own")
	}
	g, _, err := s.ground(ctx)
	if err != nil {
		return View{}, err
	}
	if pool != "" && !slices.ContainsFunc(g.Pools, func(p core.Pool) bool { return p.Name == pool }) {
		return View{}, core.Errorf(core.CodeNotFound, pool, "there is no pool %.80q", pool)
	}
	v := View{From: from, To: to, Now: g.Now}
	if v.Leases, err = s.List(ctx, a, core.LeaseFilter{From: from, To: to, Limit: 1000}); err != nil {
		return View{}, err
	}
	slices.Reverse(v.Leases)
	slices.SortStableFunc(v.Leases, func(x, y core.Lease) int { return int(x.Start - y.Start) })
	blocks := make(map[string][]Block)
	for i := range v.Leases {
		blocksOf(&v.Leases[i], blocks)
	}
	if pool != "" {
		v.Free = g.Free(core.Reservation{Pools: []string{pool}, Units: 1}, from, to)
	}
	slices.SortFunc(g.Hosts, func(x, y Host) int { return strings.Compare(x.Name, y.Name) })
	for _, h := range g.Hosts {
		one := HostView{Name: h.Name, Out: h.Out, Blocks: blocks[h.Name], Free: g.FreeOn(h.Name, from, to)}
		if pool != "" {
			alone := g
			alone.Hosts = []Host{h}
			one.Free = alone.Free(core.Reservation{Pools: []string{pool}, Units: 1}, from, to)
		}
		v.Hosts = append(v.Hosts, one)
	}
	if s.Due != nil {
		v.Due, err = s.Due(ctx, a, from, to)
	}
	return v, err
}

// blocksOf adds what a lease holds, by hosts; what it held until it moved, or was over, too.
func blocksOf(l *core.Lease, blocks map[string][]Block) {
	for i := range l.Reservations {
		r := &l.Reservations[i]
		for _, one := range r.Allocations {
			b := Block{Lease: l.ID, Name: l.Name, Reservation: i, From: max(l.Start, one.Since), To: l.End, Units: one.Units, Whole: r.WholeHosts()}
			if one.State != core.AllocationHeld {
				b.To = min(b.To, one.Until)
			}
			if b.From < b.To {
				blocks[one.Host] = append(blocks[one.Host], b)
			}
		}
	}
}
