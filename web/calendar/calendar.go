// Package calendar draws what leases hold for pages: hosts × time, what is free when, and what is due. All its times are
// UTC, so that all who look at it see the same.
package calendar

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/web/page"
)

// Span is a length of time that a reader can choose, by its name in addresses.
type Span struct {
	Name, Title string
	Days        int
	URL         string
	Here        bool
}

// Window is the time that a reader chose to see.
type Window struct {
	First time.Time // its first midnight
	Days  int
	Pool  string // of which the reader wants to know what is free; "" for none
	name  string
}

func spans(r *page.Request) []Span {
	return []Span{{Name: "day", Title: r.T("day"), Days: 1}, {Name: "week", Title: r.T("week"), Days: 7}, {Name: "4weeks", Title: r.T("4 weeks"), Days: 28}}
}

// Chosen reads the window from an address, or from a form's; by default it is this week.
func Chosen(r *page.Request) (Window, error) {
	w := Window{Days: 7, name: "week", Pool: r.FormValue("of")}
	for _, s := range spans(r) {
		if s.Name == r.FormValue("span") {
			w.Days, w.name = s.Days, s.Name
		}
	}
	now := r.Now().UTC()
	w.First = time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	if w.Days > 1 { // weeks begin with Monday
		w.First = w.First.AddDate(0, 0, -(int(now.Weekday())+6)%7)
	}
	if text := r.FormValue("from"); text != "" {
		at, err := time.Parse(page.Day, text)
		if err != nil || at.Year() < 1971 || at.Year() > 2999 {
			return w, core.Errorf(core.CodeInvalid, "from", "%s", r.T("%.40q is no date such as 2026-12-01.", text))
		}
		w.First = at
	}
	return w, nil
}

// From is its beginning, in ms since 1970.
func (w Window) From() int64 { return w.First.UnixMilli() }

// To is its end, in ms since 1970.
func (w Window) To() int64 { return w.First.AddDate(0, 0, w.Days).UnixMilli() }

func (w Window) url(path string, first time.Time, span string) string {
	q := url.Values{"from": {first.Format(page.Day)}, "span": {span}}
	if w.Pool != "" {
		q.Set("of", w.Pool)
	}
	return path + "?" + q.Encode()
}

// Calendar is a view of leases as the part "calendar" of pages draws it. Places are in percent of its width.
type Calendar struct {
	Path                 string // of its page
	First, Span          string // of its window, as in addresses
	Title                string
	Before, Today, After string // URLs
	Spans                []Span
	From, To             int64
	Step                 int64 // to which times are rounded that are dragged, ms
	Ticks                []Tick
	Now                  float64 // below 0: it is not in the window
	Due                  []Mark
	Rows                 []Row
	Pool                 string
	Pools                []string // from which the reader can choose
	Free                 []Step
	Most                 int // of Free
	Drag                 bool
	More                 int    // hosts that are not shown
	Next                 string // URL of the next ones
	shown                []lease.HostView
	calendar             *lease.View
}

// Tick is a line of time with its label; "" for a thin one.
type Tick struct {
	X     float64
	Label string
}

// Mark is something that is due.
type Mark struct {
	lease.Due

	X    float64
	When string
}

// Row is a host.
type Row struct {
	Host, Out string
	Height    int
	Bars      []Bar
}

// Bar is what a reservation holds on a host.
type Bar struct {
	X, W  float64
	Y     int
	Label string
	Sign  string // of its state
	Tip   string // all of it in words
	URL   string // "" if the reader may not see the lease
	Class string // of its look: pending, active, over, degraded
	Whole bool
}

// Step is a time in which as many units are free.
type Step struct {
	X, W, Y, H float64
	Units      int
	Begins     string
	Ends       string
}

// Heights of the picture.
const (
	barHeight  = 24
	barGap     = 4
	freeHeight = 40
	outHeight  = 54 // with two lines of why
)

// Draw draws a view for a page at a path, and sorts its blocks by time. Pools are those of which the reader can ask what is free.
func Draw(r *page.Request, v *lease.View, w Window, path string, pools []string) *Calendar {
	c := &Calendar{
		Path: path, First: w.First.Format(page.Day), Span: w.name, From: w.From(), To: w.To(), Pool: w.Pool, Pools: pools, calendar: v,
		Before: w.url(path, w.First.AddDate(0, 0, -w.Days), w.name), After: w.url(path, w.First.AddDate(0, 0, w.Days), w.name),
		Today: path + "?" + url.Values{"span": {w.name}, "of": {w.Pool}}.Encode(), Spans: spans(r), Now: -1,
	}
	for i := range c.Spans {
		s := &c.Spans[i]
		s.URL, s.Here = w.url(path, w.First, s.Name), s.Name == w.name
	}
	c.Title = c.First
	if w.Days > 1 {
		c.Title = r.T("%s to %s", c.First, w.First.AddDate(0, 0, w.Days-1).Format(page.Day))
	}
	c.Step = map[int]int64{1: 15, 7: 60}[w.Days]
	c.Step = cmp.Or(c.Step, 240) * time.Minute.Milliseconds()
	if v.Now >= c.From && v.Now < c.To {
		c.Now = c.x(v.Now)
	}
	c.ticks(r, w)
	for _, d := range v.Due {
		c.Due = append(c.Due, Mark{Due: d, X: c.x(d.At), When: page.UTC(d.At)})
	}
	states := map[string]*core.Lease{}
	for i := range v.Leases {
		states[v.Leases[i].ID] = &v.Leases[i]
	}
	c.choose(r, w)
	for i := range c.shown {
		c.Rows = append(c.Rows, c.row(r, &c.shown[i], states))
	}
	if w.Pool != "" {
		c.free()
	}
	return c
}

// x is where a moment is; what is outside is at the edge.
func (c *Calendar) x(at int64) float64 {
	return 100 * float64(min(max(at, c.From), c.To)-c.From) / float64(c.To-c.From)
}

func (c *Calendar) ticks(r *page.Request, w Window) {
	if w.Days == 1 {
		for hour := range 24 {
			label := ""
			if hour%3 == 0 {
				label = w.First.Add(time.Duration(hour) * time.Hour).Format("15:04")
			}
			c.Ticks = append(c.Ticks, Tick{c.x(w.First.Add(time.Duration(hour) * time.Hour).UnixMilli()), label})
		}
		return
	}
	days := []string{r.T("Sun"), r.T("Mon"), r.T("Tue"), r.T("Wed"), r.T("Thu"), r.T("Fri"), r.T("Sat")}
	for n := range w.Days {
		day, label := w.First.AddDate(0, 0, n), ""
		if w.Days <= 7 || n%7 == 0 {
			label = days[day.Weekday()] + " " + day.Format("01-02")
		}
		c.Ticks = append(c.Ticks, Tick{c.x(day.UnixMilli()), label})
	}
}

// mostRows bounds the hosts on a page.
const mostRows = 100

// choose chooses the hosts that are shown: if not all are, those that hold something are first.
func (c *Calendar) choose(r *page.Request, w Window) {
	c.shown = slices.Clone(c.calendar.Hosts)
	if len(c.shown) <= mostRows {
		return
	}
	slices.SortStableFunc(c.shown, func(a, b lease.HostView) int { return cmp.Compare(min(1, len(b.Blocks)), min(1, len(a.Blocks))) })
	skip, err := strconv.Atoi(r.FormValue("skip"))
	if err != nil || skip < 0 || skip >= len(c.shown) {
		skip = 0
	}
	end := min(skip+mostRows, len(c.shown))
	c.More = len(c.shown) - (end - skip)
	c.shown = c.shown[skip:end]
	if end < len(c.calendar.Hosts) {
		c.Next = w.url(c.Path, w.First, w.name) + "&skip=" + strconv.Itoa(end)
	}
}

// row draws a host: bars that overlap in time are below one another.
func (c *Calendar) row(r *page.Request, h *lease.HostView, states map[string]*core.Lease) Row {
	row := Row{Host: h.Name, Out: h.Out}
	var ends []int64 // of each line of bars
	slices.SortStableFunc(h.Blocks, func(a, b lease.Block) int { return cmp.Compare(a.From, b.From) })
	for _, b := range h.Blocks {
		bar := c.bar(r, b, states[b.Lease])
		line := 0
		for line < len(ends) && ends[line] > b.From {
			line++
		}
		if line == len(ends) {
			ends = append(ends, 0)
		}
		ends[line] = b.To
		bar.Y = barGap + line*(barHeight+barGap)
		row.Bars = append(row.Bars, bar)
	}
	row.Height = barGap + max(1, len(ends))*(barHeight+barGap)
	if h.Out != "" {
		row.Height = max(row.Height, outHeight)
	}
	return row
}

func (c *Calendar) bar(r *page.Request, b lease.Block, l *core.Lease) Bar {
	bar := Bar{X: c.x(b.From), Whole: b.Whole, Class: "pending", URL: "/cluster/leases/" + url.PathEscape(b.Lease)}
	bar.W = c.x(b.To) - bar.X
	what := r.N(b.Units, "%d unit", "%d units")
	if b.Whole {
		what = r.T("whole host")
	}
	state := ""
	if l != nil {
		bar.Class, bar.Sign = look(l)
		state = ", " + r.T(stateWords[l.State])
		if l.Degraded() {
			state += ", " + r.T("degraded")
		}
	}
	bar.Label = b.Name + " · " + what
	bar.Tip = bar.Label + state + ", " + r.T("%s to %s", page.UTC(b.From), page.UTC(b.To))
	return bar
}

// look is how a lease's bars look, and the sign before their text.
func look(l *core.Lease) (class, sign string) {
	switch {
	case !l.State.Open():
		return "over", "■"
	case l.Degraded():
		return "degraded", "!"
	case l.State == core.LeasePending:
		return "pending", "◷"
	}
	return "active", "▶"
}

// stateWords are the states of leases in words.
var stateWords = map[core.LeaseState]string{
	core.LeasePending: page.Sentence("pending"), core.LeaseStarting: page.Sentence("starting"), core.LeaseActive: page.Sentence("active"),
	core.LeaseTerminating: page.Sentence("ending"), core.LeaseTerminated: page.Sentence("over"), core.LeaseDeleting: page.Sentence("being deleted"),
	core.LeaseError: page.Sentence("failed"),
}
