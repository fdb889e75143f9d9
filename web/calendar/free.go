package calendar

import (
	"slices"
	"time"

	"drover/core"
)

// free draws how many units are free when, on all hosts together.
func (c *Calendar) free() {
	cuts := []int64{c.From, c.To}
	for i := range c.calendar.Hosts {
		for _, s := range c.calendar.Hosts[i].Free {
			cuts = append(cuts, min(max(s.From, c.From), c.To))
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := range len(cuts) - 1 {
		units := 0
		for _, h := range c.calendar.Hosts {
			for _, s := range h.Free {
				if s.From <= cuts[i] && cuts[i] < s.To {
					units += s.Units
				}
			}
		}
		if n := len(c.Free); n > 0 && c.Free[n-1].Units == units {
			c.Free[n-1].W, c.Free[n-1].Ends = c.x(cuts[i+1])-c.Free[n-1].X, moment(cuts[i+1])
			continue
		}
		c.Free = append(c.Free, Step{X: c.x(cuts[i]), W: c.x(cuts[i+1]) - c.x(cuts[i]), Units: units, Begins: moment(cuts[i]), Ends: moment(cuts[i+1])})
		c.Most = max(c.Most, units)
	}
	for i := range c.Free {
		s := &c.Free[i]
		s.H = freeHeight * float64(s.Units) / float64(max(1, c.Most))
		s.Y = freeHeight - s.H
	}
}

// Moment writes a time of a lease for people, in UTC; "" for 0.
func Moment(ms int64) string {
	if ms == 0 {
		return ""
	}
	return moment(ms)
}

// Item is a lease in a list.
type Item struct {
	core.Lease

	Begins, Ends string
}

// Items are leases as the part "leaselist" of pages lists them.
func Items(all []core.Lease) []Item {
	items := make([]Item, len(all))
	for i := range all {
		items[i] = Item{all[i], moment(all[i].Start), moment(all[i].End)}
	}
	return items
}

// Typed writes a time as browsers send one from a field.
func Typed(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04")
}
