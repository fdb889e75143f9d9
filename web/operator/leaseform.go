package operator

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/web/calendar"
	"drover/web/page"
	"drover/web/services"
)

type leases = services.Leases

// spareRows are the reservations that a form has room for besides those that there are: a preview brings another one.
const spareRows = 1

// leaseForm is the form of a lease as it is typed.
type leaseForm struct {
	Typed url.Values
	Pools []string
	Rows  []wantRow
}

// wantRow is one reservation of a form; the names of its fields begin with its own.
type wantRow struct {
	Name  string
	Typed url.Values
	Pools []string
	Spare bool // nothing is typed into it
}

// Get returns what is typed into one of its fields.
func (w wantRow) Get(field string) string { return w.Typed.Get(w.Name + "-" + field) }

// Whole reports whether whole hosts are asked for.
func (w wantRow) Whole() bool { return w.Get("min")+w.Get("max") != "" }

func newLeaseForm(typed url.Values, pools []string) leaseForm {
	f := leaseForm{Typed: typed, Pools: pools}
	n := 0
	for n < core.MaxLeaseReservations && typed.Get("r"+strconv.Itoa(n)+"-pool") != "" {
		n++
	}
	for i, name := range rows(min(core.MaxLeaseReservations, max(1, n)+spareRows)) {
		row := wantRow{Name: name, Typed: typed, Pools: pools, Spare: i >= max(1, n)}
		if pool := row.Get("pool"); pool != "" && !slices.Contains(pools, pool) { // it has been removed since
			row.Pools = append(slices.Clone(pools), pool)
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// typedLease is a lease as its form shows it.
func typedLease(l *core.Lease) url.Values {
	v := url.Values{
		"name": {l.Name}, "class": {l.Class}, "submitters": {strings.Join(l.Submitters, "\n")}, "notify": {strings.Join(l.Notify, "\n")},
		"start": {calendar.Typed(l.Start)}, "end": {calendar.Typed(l.End)}, "before_end": {spanOrNone(l.BeforeEnd)}, "grace": {spanOrNone(l.Grace)},
	}
	kept := calendar.Kept(l)
	for i, name := range rows(len(kept)) {
		r := &kept[i]
		v.Set(name+"-pool", r.Pools[0])
		v.Set(name+"-affinity", string(r.Affinity))
		v.Set(name+"-requires", r.Requires)
		if r.WholeHosts() {
			v.Set(name+"-min", strconv.Itoa(r.MinHosts))
			v.Set(name+"-max", strconv.Itoa(r.MaxHosts))
			v.Set(name+"-more", strings.Join(r.Pools[1:], ", "))
		} else {
			v.Set(name+"-units", strconv.Itoa(r.Units))
		}
	}
	return v
}

func spanOrNone(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return shortSpan(d)
}

func (f *leaseForm) line(name string) string { return strings.TrimSpace(f.Typed.Get(name)) }

// draft reads the form of a new lease.
func (f *leaseForm) draft(r *page.Request) (d lease.Draft, err error) {
	d.Name, d.Class, d.Submitters, d.Notify = f.line("name"), f.line("class"), listed(f.line("submitters")), listed(f.line("notify"))
	if d.Start, err = f.moment(r, "start"); err != nil {
		return d, err
	}
	if d.End, err = f.moment(r, "end"); err != nil {
		return d, err
	}
	if d.BeforeEnd, err = f.span(r, "before_end"); err != nil {
		return d, err
	}
	if d.Grace, err = f.span(r, "grace"); err != nil {
		return d, err
	}
	d.Reservations, err = f.wants(r)
	return d, err
}

// change reads the form of a lease that there is, and returns what it has other than that.
func (f *leaseForm) change(r *page.Request, l *core.Lease) (c lease.Change, err error) {
	d, err := f.draft(r)
	if err != nil {
		return c, err
	}
	was := newLeaseForm(typedLease(l), f.Pools)
	had, err := was.draft(r)
	if err != nil {
		return c, err
	}
	differ(&c.Name, had.Name, d.Name)
	differ(&c.Class, had.Class, d.Class)
	differ(&c.Submitters, had.Submitters, d.Submitters)
	differ(&c.Notify, had.Notify, d.Notify)
	differ(&c.Start, had.Start, d.Start)
	differ(&c.End, had.End, d.End)
	differ(&c.BeforeEnd, had.BeforeEnd, d.BeforeEnd)
	differ(&c.Grace, had.Grace, d.Grace)
	differ(&c.Reservations, had.Reservations, d.Reservations)
	return c, nil
}

func differ[T any](into **T, was, is T) {
	if !reflect.DeepEqual(was, is) {
		*into = &is
	}
}

// moment reads a time in UTC, as browsers send it; empty is 0.
func (f *leaseForm) moment(r *page.Request, name string) (int64, error) {
	text := f.line(name)
	if text == "" {
		return 0, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 1970 && at.Year() < 3000 {
			return at.UnixMilli(), nil
		}
	}
	return 0, core.Errorf(core.CodeInvalid, name, "%s", r.T("%.40q is no date with a time such as 2026-12-01 14:00.", text))
}

// span reads a length of time; empty is 0.
func (f *leaseForm) span(r *page.Request, name string) (time.Duration, error) {
	text := f.line(name)
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, core.Errorf(core.CodeInvalid, name, "%s", r.T("%.40q is no length of time such as 30m or 2h.", text))
	}
	return d, nil
}

// wants reads the reservations; rows without a pool, or without a number, are none.
func (f *leaseForm) wants(r *page.Request) ([]lease.Want, error) {
	var all []lease.Want
	for _, row := range f.Rows {
		w := lease.Want{Pools: listed(row.Get("pool")), Requires: strings.TrimSpace(row.Get("requires"))}
		for name, into := range map[string]*int{"units": &w.Units, "min": &w.MinHosts, "max": &w.MaxHosts} {
			text := strings.TrimSpace(row.Get(name))
			if text == "" {
				continue
			}
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return nil, core.Errorf(core.CodeInvalid, row.Name, "%s", r.T("%.40q is no number of units or hosts.", text))
			}
			*into = n
		}
		switch whole := w.MinHosts > 0 || w.MaxHosts > 0; {
		case len(w.Pools) == 0 || w.Units == 0 && !whole:
			continue
		case w.Units > 0 && whole:
			return nil, core.Errorf(core.CodeInvalid, row.Name, "%s", r.T("A reservation is of units or of whole hosts: leave one of the numbers out."))
		case whole:
			w.Pools = append(w.Pools, listed(row.Get("more"))...)
			w.MinHosts = max(1, w.MinHosts)
			if w.MaxHosts == 0 {
				w.MaxHosts = w.MinHosts
			}
		default:
			w.Affinity = core.Affinity(row.Get("affinity"))
		}
		all = append(all, w)
	}
	return all, nil
}

// listed are words that are separated by commas, spaces or lines.
func listed(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) })
}
