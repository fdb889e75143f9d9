package lease

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// horizon is how far ahead a refusal looks for a time at which there is room.
const horizon = 31 * 24 * time.Hour

// maxStarts bounds the moments that are tried for a lease that does not fit at its time.
const maxStarts = 64

// pristine returns the ground without leases, all of its hosts in order.
func (g *Ground) pristine() *Ground {
	p := *g
	p.Leases, p.Hosts = nil, slices.Clone(g.Hosts)
	for i := range p.Hosts {
		p.Hosts[i].Out, p.Hosts[i].Broken = "", nil
	}
	return &p
}

// fresh returns a lease as one that has nothing yet.
func fresh(l core.Lease) core.Lease {
	l = l.Clone()
	for i := range l.Reservations {
		r := &l.Reservations[i]
		if r.Allocations = nil; open(r) {
			r.State = core.ReservationPending
		}
	}
	return l
}

// never returns INVALID if the cluster could not hold the lease even if it was empty and all hosts were in order.
func (g *Ground) never(l core.Lease) error {
	in := g.window(&l)
	empty := g.pristine()
	b := newBook(empty, empty.Hosts, "", in)
	l = fresh(l)
	needs, err := b.needs(&l)
	if err != nil {
		return err
	}
	short := b.allocate(&l, needs, in)
	if short == nil {
		return nil
	}
	n, r := needs[short.reservation], &l.Reservations[short.reservation]
	return core.Errorf(core.CodeInvalid, r.Pools[0], "reservation %d asks for %s%s, and the hosts could hold %d at most if no other lease was there: %s",
		short.reservation+1, n.what(r.Needs()), n.where(), short.found, b.limits(n))
}

// where says on which hosts units must be.
func (n *need) where() string {
	switch {
	case n.whole:
		return ""
	case n.affinity == core.AffinityTrue:
		return " on one host"
	case n.affinity == core.AffinityFalse:
		return " each on another host"
	}
	return ""
}

// limits says what keeps hosts from holding more.
func (b *book) limits(n *need) string {
	hosts := make(map[string]int)
	for at := range b.hosts {
		why := n.unfit(&b.hosts[at])
		if why == "" {
			_, scarce := b.room(at, n.lot(), &usage{})
			why = "limited by " + scarce
		}
		hosts[why]++
	}
	if len(hosts) == 0 {
		return "there is no host"
	}
	var all []string
	for _, why := range slices.Sorted(maps.Keys(hosts)) {
		s := "s"
		if hosts[why] == 1 {
			s = ""
		}
		all = append(all, fmt.Sprintf("%s (%d host%s)", why, hosts[why], s))
	}
	return strings.Join(all, "; ")
}

// full returns FULL, with what there is in the time of the lease, and when there may be enough.
func (g *Ground) full(l core.Lease, short *shortage, n *need, in span) error {
	r := &l.Reservations[short.reservation]
	if short.why != "" {
		return core.Errorf(core.CodeFull, r.Pools[0], "reservation %d cannot keep %s from %s: %s", short.reservation+1, n.what(r.Needs()), between(in.from, in.to), short.why)
	}
	to := l.End
	if to <= in.from {
		to = in.to
	}
	is := "are"
	if r.Needs() == 1 {
		is = "is"
	}
	text := fmt.Sprintf("reservation %d: %d of %s%s %s free from %s", short.reservation+1, short.found, n.what(r.Needs()), n.where(), is, between(in.from, to))
	if at, ok := g.When(l, in.from+horizon.Milliseconds()); ok && at > in.from {
		what := fmt.Sprintf("there may be %d", r.Needs())
		if len(l.Reservations) > 1 {
			what = "the whole lease may fit"
		}
		text += fmt.Sprintf(" (%s from %s)", what, clock(roundUp(at), in.from))
	}
	return core.Errorf(core.CodeFull, r.Pools[0], "%s", text)
}

// roundUp returns the first full minute that is not before a moment.
func roundUp(ms int64) int64 { return (ms + 59_999) / 60_000 * 60_000 }

// between writes a time in UTC.
func between(from, to int64) string {
	return time.UnixMilli(from).UTC().Format("2006-01-02 15:04") + " to " + clock(to, from) + " UTC"
}

// clock writes a moment in UTC, with its day if that is another one than that of the other moment.
func clock(ms, other int64) string {
	at := time.UnixMilli(ms).UTC()
	if at.Format(time.DateOnly) == time.UnixMilli(other).UTC().Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// When returns the earliest start, not before that of the lease and now, and not after a moment, at which all of a lease
// that has not started fits if it is as long. Only the first maxStarts moments are tried at which room becomes free;
// false if it fits at none of them.
func (g Ground) When(l core.Lease, until int64) (int64, bool) {
	length := l.End - l.Start
	for i := range l.Reservations {
		if l.Reservations[i].State == core.ReservationActive {
			return 0, false
		}
	}
	first := max(g.Now, l.Start)
	b := newBook(&g, g.Hosts, l.ID, span{first, until + length + (l.Grace + g.Cleaning).Milliseconds()})
	needs, err := b.needs(&l)
	if err != nil {
		return 0, false
	}
	for _, start := range b.starts(needs, first, until) {
		try := fresh(l)
		try.Start, try.End = start, start+length
		lines := len(b.journal)
		short := b.allocate(&try, needs, g.window(&try))
		b.back(lines)
		if short == nil {
			return start, true
		}
	}
	return 0, false
}

// starts returns the first moment, and the next ones at which room becomes free of hosts that can hold some of it.
func (b *book) starts(needs []*need, first, until int64) []int64 {
	out := []int64{first}
	for at := range b.hosts {
		if !slices.ContainsFunc(needs, func(n *need) bool { return n != nil && n.refuses(&b.hosts[at]) == "" }) {
			continue
		}
		for i := range b.held[at] {
			if to := b.held[at][i].to; to > first && to <= until {
				out = append(out, to)
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxStarts)]
}
