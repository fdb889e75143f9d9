package operator

import (
	"cmp"
	"time"

	"drover/core/cluster/history"
	"drover/web/chart"
	"drover/web/page"
)

// way is one by which what ended is parted.
type way struct{ Name, Title string }

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
	Spans  []chart.Period
	Span   string
	By     string
	Ways   []way
	Stats  history.Stats
	Charts []chart.Chart
	Until  int64
}

// stats shows what ended, and charts.
func (s *pages) stats(r *page.Request) error {
	shown := chart.Chosen(r, "1d")
	d := statsData{Spans: chart.Periods(r), Span: shown.Name, By: cmp.Or(r.FormValue("by"), "pool"), Ways: ways(r)}
	until := time.Now()
	d.Until = until.UnixMilli()
	var err error
	if d.Stats, err = s.Cluster.Stats(r.Context(), r.Actor(), d.By, until.Add(-shown.Of), until); err != nil {
		return err
	}
	all, err := s.Cluster.Series(r.Context(), r.Actor(), until.Add(-shown.Of), until)
	if err != nil {
		return err
	}
	d.Charts = charts(r, &all, shown.Title)
	return r.Render("operator/stats", d)
}

func charts(r *page.Request, all *history.Series, length string) []chart.Chart {
	draw := func(id, title string, lines ...chart.Series) chart.Chart {
		return chart.Of(all, id, title, "", length).Draw(all.Samples, all.Sampled, lines)
	}
	return []chart.Chart{
		draw("waiting", r.T("Waiting requests"), chart.Shown(r.T("waiting"), "calm", sumOf(history.SeriesWaiting+"/"))),
		chart.Waits(r, all, length), chart.Throughput(r, all, length), chart.Faults(r, all, length),
		draw("vms", r.T("VMs"),
			chart.Shown(r.T("clean"), "good", sumOf(history.SeriesVMs+"/clean")),
			chart.Shown(r.T("in use"), "calm", sumOf(history.SeriesVMs+"/claimed")),
			chart.Shown(r.T("being created"), "warn", sumOf(history.SeriesVMs+"/creating")),
			chart.Shown(r.T("quarantined"), "bad", sumOf(history.SeriesVMs+"/quarantined")),
		),
		draw("hosts", r.T("Hosts"),
			chart.Shown(r.T("up"), "good", sumOf(history.SeriesHosts+"/up")),
			chart.Shown(r.T("suspect"), "warn", sumOf(history.SeriesHosts+"/suspect")),
			chart.Shown(r.T("down"), "bad", sumOf(history.SeriesHosts+"/down")),
		),
	}
}
