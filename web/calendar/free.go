package calendar

import (
	"slices"
	"time"

	"drover/core"
	"drover/web/page"
)

// free draws how many units are free when, on all hosts together.
func (c *Calendar) free() {
	for _, s := range c.calendar.Free {
		from, to := max(s.From, c.From), min(s.To, c.To)
		if n := len(c.Free); n > 0 && c.Free[n-1].Units == s.Units {
			c.Free[n-1].W, c.Free[n-1].Ends = c.x(to)-c.Free[n-1].X, page.UTC(to)
			continue
		}
		c.Free = append(c.Free, Step{X: c.x(from), W: c.x(to) - c.x(from), Units: s.Units, Begins: page.UTC(from), Ends: page.UTC(to)})
		c.Most = max(c.Most, s.Units)
	}
	for i := range c.Free {
		s := &c.Free[i]
		s.H = freeHeight * float64(s.Units) / float64(max(1, c.Most))
		s.Y = freeHeight - s.H
	}
}

// Item is a lease in a list.
type Item struct {
	core.Lease

	Begins, Ends string
}

// Shown are its reservations without those that were removed from it.
func (i Item) Shown() []core.Reservation { return Kept(&i.Lease) }

// Kept returns a lease's reservations, without those that were removed from it before it was over.
func Kept(l *core.Lease) []core.Reservation {
	if !l.State.Open() {
		return l.Reservations
	}
	return slices.DeleteFunc(slices.Clone(l.Reservations), func(r core.Reservation) bool { return r.State == core.ReservationDeleted })
}

// Items are leases as the part "leaselist" of pages lists them.
func Items(all []core.Lease) []Item {
	items := make([]Item, len(all))
	for i := range all {
		items[i] = Item{all[i], page.UTC(all[i].Start), page.UTC(all[i].End)}
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
