package staff

import (
	"cmp"
	"time"

	"drover/core"
	"drover/core/classes"
	"drover/core/cluster/history"
	"drover/web/chart"
	"drover/web/page"
)

func (s *staff) statsRoutes() []page.Route {
	return []page.Route{{Pattern: "GET /classes/{class}/stats", Action: core.ActGradeView, Serve: s.stats}}
}

// statsPage shows what ended of the tests of a class's submissions.
type statsPage struct {
	Class  classes.ClassEntry
	Spans  []chart.Period
	Span   string
	By     string
	Stats  history.Stats
	Charts []chart.Chart
}

// Submitted is how many submissions were tested for the first time.
func (p statsPage) Submitted() int { return p.Stats.Total.Total - p.Stats.Total.Reruns }

func (s *staff) stats(r *page.Request) error {
	c, err := s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class"))
	if err != nil {
		return err
	}
	shown, until := chart.Chosen(r, "30d"), time.Now()
	from := until.Add(-shown.Of)
	p := statsPage{Class: c, Spans: chart.Periods(r), Span: shown.Name, By: cmp.Or(r.FormValue("by"), history.ByAssignment)}
	if p.Stats, err = s.Classes.Stats(r.Context(), r.Actor(), c.Handle, p.By, from, until); err != nil {
		return err
	}
	all, err := s.Classes.StatsSeries(r.Context(), r.Actor(), c.Handle, from, until)
	if err != nil {
		return err
	}
	all.From = from.UnixMilli() // a younger class has none of it before; the charts are as long as they say
	p.Charts = []chart.Chart{chart.Throughput(r, &all, shown.Title), chart.Waits(r, &all, shown.Title), chart.Runs(r, &all, shown.Title), chart.Faults(r, &all, shown.Title)}
	return r.Render("staff/stats", p)
}
