package operator

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"drover/core/cluster/history"
	"drover/web/page"
)

// period is a span of time that charts show, by its name in addresses.
type period struct {
	Name, Title string
	of          time.Duration
}

// way is one by which what ended is parted.
type way struct{ Name, Title string }

func periods(r *page.Request) []period {
	const aDay = 24 * time.Hour
	return []period{{"1h", r.T("1 hour"), time.Hour}, {"1d", r.T("1 day"), aDay}, {"7d", r.T("7 days"), 7 * aDay}, {"30d", r.T("30 days"), 30 * aDay}}
}

// ways are all by which what ended can be parted, those that have no words yet by their names.
func ways(r *page.Request) []way {
	titles := map[string]string{
		history.ByDay: r.T("day"), "pool": r.T("pool"), "submitter": r.T("submitter"), "class": r.T("class"), "type": r.T("job type"), "priority": r.T("priority"),
	}
	var all []way
	for _, name := range history.Ways() {
		all = append(all, way{name, cmp.Or(titles[name], name)})
	}
	return all
}

// statsData is what the page of statistics shows.
type statsData struct {
	Spans  []period
	Span   string
	By     string
	Ways   []way
	Stats  history.Stats
	Charts []chart
	Until  int64
}

// Size of a chart, in units of its picture.
const (
	chartWidth, chartBottom = 600, 150
	chartLeft, chartTop     = 52, 12
)

// chart is a picture of numbers over time.
type chart struct {
	ID, Title, Unit string
	Length          string // of the time that it shows, in words
	First, Last     int64
	Most, Highest   float64 // the top of the picture, and of the numbers
	Lines           []line
	Rows            []chartRow // the same as a table
}

type line struct {
	Title, Class string
	Paths        []string // points of polylines, one for each stretch without a gap
}

type chartRow struct {
	At     int64
	Values []*float64 // nil where the chart has nothing of it
}

// series says what a line of a chart shows: ok is false where a point has nothing of it.
type series struct {
	title, class string
	value        func(p history.Point) (v float64, ok bool)
}

// stats shows what ended, and charts.
func (s *pages) stats(r *page.Request) error {
	d := statsData{Spans: periods(r), Span: "1d", By: "pool", Ways: ways(r)}
	for _, one := range d.Spans {
		if one.Name == r.FormValue("span") {
			d.Span = one.Name
		}
	}
	var shown period
	for _, one := range d.Spans {
		if one.Name == d.Span {
			shown = one
		}
	}
	if by := r.FormValue("by"); by != "" {
		d.By = by
	}
	until := time.Now()
	d.Until = until.UnixMilli()
	var err error
	if d.Stats, err = s.Cluster.Stats(r.Context(), r.Actor(), d.By, until.Add(-shown.of), until); err != nil {
		return err
	}
	all, err := s.Cluster.Series(r.Context(), r.Actor(), until.Add(-shown.of), until)
	if err != nil {
		return err
	}
	d.Charts = charts(r, &all, shown.Title)
	return r.Render("operator/stats", d)
}

func charts(r *page.Request, all *history.Series, length string) []chart {
	sum := func(name string) func(history.Point) (float64, bool) {
		return func(p history.Point) (float64, bool) {
			n := 0
			for of, v := range p.Values {
				if strings.HasPrefix(of, name) {
					n += v
				}
			}
			return float64(n), true
		}
	}
	wait := func(of func(history.Quantiles) int64) func(history.Point) (float64, bool) {
		return func(p history.Point) (float64, bool) { return float64(of(*p.Wait)) / 1000, p.Wait.N > 0 }
	}
	perHour := func(p history.Point) (float64, bool) {
		return float64(p.Total) * float64(time.Hour.Milliseconds()) / float64(all.Step), true
	}
	draw := func(id, title, unit string, points []history.Point, step int64, lines []series) chart {
		return chart{ID: id, Title: title, Unit: unit, Length: length, First: all.From, Last: all.Until, Most: 1}.draw(points, step, lines)
	}
	return []chart{
		draw("waiting", r.T("Waiting requests"), "", all.Samples, all.Sampled, []series{{r.T("waiting"), "calm", sum(history.SeriesWaiting + "/")}}),
		draw("wait", r.T("Waiting time"), "s", all.Ended, all.Step, []series{
			{r.T("half of all within"), "calm", wait(func(q history.Quantiles) int64 { return q.P50 })},
			{r.T("95%% within"), "warn", wait(func(q history.Quantiles) int64 { return q.P95 })},
		}),
		draw("ended", r.T("Requests that ended, per hour"), "", all.Ended, all.Step, []series{{r.T("ended"), "good", perHour}}),
		draw("vms", r.T("VMs"), "", all.Samples, all.Sampled, []series{
			{r.T("clean"), "good", sum(history.SeriesVMs + "/clean")},
			{r.T("in use"), "calm", sum(history.SeriesVMs + "/claimed")},
			{r.T("being created"), "warn", sum(history.SeriesVMs + "/creating")},
			{r.T("quarantined"), "bad", sum(history.SeriesVMs + "/quarantined")},
		}),
		draw("hosts", r.T("Hosts"), "", all.Samples, all.Sampled, []series{
			{r.T("up"), "good", sum(history.SeriesHosts + "/up")},
			{r.T("suspect"), "warn", sum(history.SeriesHosts + "/suspect")},
			{r.T("down"), "bad", sum(history.SeriesHosts + "/down")},
		}),
	}
}

// draw returns the chart with the lines through points. Where steps are missing a line is broken: nobody measured, or
// nothing ended.
func (c chart) draw(points []history.Point, step int64, lines []series) chart {
	for i := range points {
		row := chartRow{At: points[i].At}
		for _, l := range lines {
			v, ok := l.value(points[i])
			if !ok {
				row.Values = append(row.Values, nil)
				continue
			}
			v = math.Round(10*v) / 10
			c.Highest = max(c.Highest, v)
			row.Values = append(row.Values, &v)
		}
		c.Rows = append(c.Rows, row)
	}
	c.Most = max(c.Most, c.Highest)
	for _, l := range lines {
		out, last := line{Title: l.title, Class: l.class}, int64(0)
		for i := range points {
			v, ok := l.value(points[i])
			if !ok {
				continue
			}
			part := max(0, float64(points[i].At-c.First)/float64(max(1, c.Last-c.First)))
			at := fmt.Sprintf("%.1f,%.1f", chartLeft+part*(chartWidth-chartLeft), chartBottom-v/c.Most*(chartBottom-chartTop))
			if n := len(out.Paths); n > 0 && points[i].At-last <= 2*step {
				out.Paths[n-1] += " " + at
			} else {
				out.Paths = append(out.Paths, at)
			}
			last = points[i].At
		}
		c.Lines = append(c.Lines, out)
	}
	return c
}
