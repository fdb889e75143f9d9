package lease_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

// calendar is a result store of leases: it takes a write only of those who have seen the last one.
type calendar struct {
	ground   lease.Ground
	revision int
}

// seen is what somebody read of a calendar.
type seen struct {
	ground   lease.Ground
	revision int
}

func (c *calendar) read() seen {
	s := seen{c.ground, c.revision}
	s.ground.Leases, s.ground.Hosts = slices.Clone(c.ground.Leases), slices.Clone(c.ground.Hosts)
	return s
}

func (c *calendar) put(s seen, l core.Lease) bool {
	if s.revision != c.revision {
		return false
	}
	c.revision++
	i := slices.IndexFunc(c.ground.Leases, func(x core.Lease) bool { return x.ID == l.ID })
	if i < 0 {
		c.ground.Leases = append(c.ground.Leases, l)
	} else {
		c.ground.Leases[i] = l
	}
	return true
}

// run is one random calendar.
type run struct {
	calendar
	t      *testing.T
	r      *rand.Rand
	window time.Duration
	next   int
	cases  map[string]int // how often what happened
}

const last = 20 // minutes until the latest start, and the longest lease

// admit asks for room for a lease that somebody decides on from what was read before another one may have been written.
func (c *run) admit(s seen) {
	c.next++
	l := drawLease(c.r, fmt.Sprintf("l%03d", c.next), int(s.ground.Now/minute), last, 2)
	before := troubles(&c.ground, int(c.ground.Now/minute), 80)
	out, err := s.ground.Allocate(l)
	if err != nil {
		c.cases[string(core.CodeOf(err))]++
		require.Equal(c.t, l, out)
		return
	}
	for i := range out.Reservations {
		r := &out.Reservations[i]
		require.GreaterOrEqual(c.t, r.Held(), r.Needs())
		require.LessOrEqual(c.t, r.Held(), max(r.Units, r.MaxHosts))
		for name := range onHosts(r) {
			require.True(c.t, holds(&s.ground, name, r), "%s on %s", l.ID, name)
		}
	}
	c.apart(out)
	if !c.put(s, out) {
		c.cases["conflict"]++
		return
	}
	c.cases["admitted"]++
	for where := range troubles(&c.ground, int(c.ground.Now/minute), 80) {
		require.True(c.t, before[where], "admitting %s oversold %s", l.ID, where)
	}
}

// apart checks affinities.
func (c *run) apart(l core.Lease) {
	for i := range l.Reservations {
		r := &l.Reservations[i]
		on := onHosts(r)
		switch {
		case r.Units > 0 && r.Affinity == core.AffinityTrue:
			require.LessOrEqual(c.t, len(on), 1)
			require.Contains(c.t, []int{0, r.Units}, r.Held())
		case r.Units == 0 || r.Affinity == core.AffinityFalse:
			for _, n := range on {
				require.Equal(c.t, 1, n)
			}
		}
	}
}

// change lets a host fail, recover, shrink or grow.
func (c *run) change() {
	h := &c.ground.Hosts[c.r.IntN(len(c.ground.Hosts))]
	switch c.r.IntN(9) {
	case 7, 8:
		h.Size.Memory = max(0, h.Size.Memory-int64(1+c.r.IntN(3))*100)
	case 0, 1:
		h.Out = "down"
	case 2, 3:
		h.Out, h.Broken = "", nil
	case 4:
		h.Size.Memory = int64(c.r.IntN(10)) * 100
	case 5:
		h.Broken = []string{[]string{"p", "q"}[c.r.IntN(2)]}
	case 6:
		h.Labels = map[string]string{"zone": []string{"a", "b"}[c.r.IntN(2)]}
	}
	c.revision++ // those who decide read the hosts anew before they write
}

// heal heals what is due, as two who read at the same time.
func (c *run) heal() {
	for i := range c.ground.Leases {
		one, two := c.read(), c.read()
		l := c.ground.Leases[i]
		if !lease.DueToHeal(l, c.ground.Now, c.window) {
			continue
		}
		healed, done := one.ground.Heal(l, nil)
		same, _ := two.ground.Heal(l, nil)
		require.Equal(c.t, healed, same)
		if done == nil {
			require.Equal(c.t, l, healed)
			continue
		}
		c.cases["healed"]++
		before := troubles(&c.ground, int(c.ground.Now/minute), 80)
		c.needed(i, healed)
		require.True(c.t, c.put(one, healed))
		require.False(c.t, c.put(two, same), "both wrote")
		for where := range troubles(&c.ground, int(c.ground.Now/minute), 80) {
			require.True(c.t, before[where], "healing %s oversold %s: %v", l.ID, where, done)
		}
		c.apart(healed)
		c.scarce(i)
	}
}

// needed checks that a host that can hold a reservation lost only what older ones leave no room for, and that nothing
// was allocated beyond what is needed.
func (c *run) needed(i int, healed core.Lease) {
	l := c.ground.Leases[i]
	for k := range l.Reservations {
		was, is := &l.Reservations[k], &healed.Reservations[k]
		require.LessOrEqual(c.t, is.Held(), max(was.Held(), was.Needs()))
		require.Equal(c.t, is.Held() < is.Needs(), is.MissingResources)
		moved := 0
		for _, a := range is.Allocations {
			if a.State == core.AllocationHeld || a.Until != c.ground.Now || slices.Contains(was.Allocations, a) {
				continue
			}
			if a.State == core.AllocationMoved {
				moved += a.Units
			}
			if !holds(&c.ground, a.Host, is) {
				continue
			}
			c.cases["squeezed"]++
			// With all that is younger gone, and with what stays, one more unit, or all that are together, does not fit.
			g := c.read().ground
			more := 1
			if is.Affinity == core.AffinityTrue {
				more = was.Held()
			}
			for x := range g.Leases {
				g.Leases[x].Reservations = slices.Clone(g.Leases[x].Reservations)
				for y := range g.Leases[x].Reservations {
					r := &g.Leases[x].Reservations[y]
					r.Allocations = slices.Clone(r.Allocations)
					for z := range r.Allocations {
						b := &r.Allocations[z]
						younger := b.Since > a.Since || b.Since == a.Since && (g.Leases[x].ID > l.ID || x == i && y > k)
						if g.Leases[x].State != core.LeaseTerminating && b.Host == a.Host && (younger || x == i && y == k) {
							b.State = core.AllocationFreed
						}
					}
				}
			}
			r := &g.Leases[i].Reservations[k]
			if n := onHosts(is)[a.Host]; n > 0 {
				r.Allocations = append(r.Allocations, core.Allocation{Host: a.Host, Units: n, State: core.AllocationHeld})
			}
			require.False(c.t, could(&g, i, k, a.Host, more), "%s lost %d on %s, which has room", l.ID, a.Units, a.Host)
		}
		if moved > 0 && is.State == core.ReservationActive {
			require.True(c.t, is.ResourcesChanged)
		}
		if is.State == core.ReservationPending {
			require.False(c.t, is.ResourcesChanged)
		}
	}
}

// scarce checks that what a lease lacks is on no host.
func (c *run) scarce(i int) {
	for k := range c.ground.Leases[i].Reservations {
		r := &c.ground.Leases[i].Reservations[k]
		if !r.MissingResources {
			continue
		}
		c.cases["missing"]++
		units, on := 1, onHosts(r)
		if r.Affinity == core.AffinityTrue {
			units = r.Units
		}
		for _, h := range c.ground.Hosts {
			if (r.Units == 0 || r.Affinity == core.AffinityFalse) && on[h.Name] > 0 {
				continue
			}
			require.False(c.t, could(&c.ground, i, k, h.Name, units), "%s lacks units, and %s has room", c.ground.Leases[i].ID, h.Name)
		}
	}
}

// sound checks the calendar after all that is due was healed.
func (c *run) sound() {
	now := int(c.ground.Now / minute)
	to := now + int(c.window/time.Minute) + 1
	if c.window == 0 {
		to = 80
	}
	ending := c.read().ground // what cannot be moved any more may be too much for a host by itself
	ending.Leases = slices.DeleteFunc(ending.Leases, func(l core.Lease) bool { return l.State != core.LeaseTerminating })
	alone := troubles(&ending, now, to)
	for where := range troubles(&c.ground, now, to) {
		require.True(c.t, alone[where], "oversold: %s", where)
	}
	for i := range c.ground.Leases {
		l := &c.ground.Leases[i]
		if !lease.DueToHeal(*l, c.ground.Now, c.window) || !covers(&c.ground, l, max(now, int(l.Start/minute))) {
			continue
		}
		for k := range l.Reservations {
			for name := range onHosts(&l.Reservations[k]) {
				require.True(c.t, holds(&c.ground, name, &l.Reservations[k]), "%s still on %s", l.ID, name)
			}
		}
	}
}

// pass lets time pass, and events happen. Some ends have to wait for work that must not run twice.
func (c *run) pass() {
	c.ground.Now += at(c.r.IntN(5))
	waits := map[string]bool{}
	for {
		due := slices.DeleteFunc(lease.NextEvents(c.ground.Leases, c.ground.Now), func(d lease.DueEvent) bool { return waits[d.Lease] })
		for _, d := range due {
			s := c.read()
			i := slices.IndexFunc(c.ground.Leases, func(l core.Lease) bool { return l.ID == d.Lease })
			l, err := c.ground.Leases[i], error(nil)
			if !d.Resumed {
				l, err = lease.Begin(l, d.Kind, c.ground.Now)
				require.NoError(c.t, err)
			}
			if waits[d.Lease] = d.Kind == core.EventEnd && c.r.IntN(3) == 0; waits[d.Lease] {
				c.cases["not over"]++
				l, _ = lease.FreeUnused(l, c.ground.Now, func(string, string) int { return c.r.IntN(3) })
			} else {
				l, err = lease.Done(l, d.Kind, c.ground.Now)
				require.NoError(c.t, err)
			}
			require.True(c.t, c.put(s, l))
		}
		if len(due) == 0 {
			break
		}
	}
	c.ground.Leases = slices.DeleteFunc(c.ground.Leases, func(l core.Lease) bool { return !l.State.Open() })
}

// Of a thousand calendars none is ever oversold: whatever is admitted, by those who read before others wrote; whatever
// hosts do; and however many heal. What is healed stays as it is until something changes.
func TestRandomCalendars(t *testing.T) {
	t.Parallel()
	cases := map[string]int{}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 16))
		c := &run{t: t, r: r, cases: cases, window: time.Duration(r.IntN(3)*10) * time.Minute}
		c.ground = lease.Ground{Hosts: drawHosts(r, 5), Pools: pools(), Cleaning: time.Duration(max(0, r.IntN(4)-2)) * time.Minute}
		for range 8 {
			old := c.read()
			for range r.IntN(6) {
				s := c.read()
				if r.IntN(4) == 0 {
					s = old // of one who took long to decide
				}
				c.admit(s)
			}
			for range r.IntN(3) {
				c.change()
			}
			c.pass()
			c.heal()
			c.sound()
			for _, l := range c.ground.Leases {
				if lease.DueToHeal(l, c.ground.Now, c.window) && !slices.ContainsFunc(l.Reservations, func(r core.Reservation) bool { return r.Units == 0 }) {
					again, done := c.ground.Heal(l, nil)
					again2, done2 := c.ground.Heal(again, nil)
					if done == nil {
						require.Equal(t, l, again)
					}
					require.Nil(t, done2, "seed %d: %v", seed, done)
					require.Equal(t, again, again2)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(cases)
	for _, what := range []string{"admitted", "conflict", "healed", "squeezed", "missing", "not over", "FULL", "INVALID"} {
		require.Greater(t, cases[what], 100, "the calendars hardly ever had it: %v", cases)
	}
}
