package operator

import (
	"time"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/cluster/operate"
	"drover/web/chart"
	"drover/web/page"
)

// FreeNow are the figures that the host measured last, of those whose whole it reported.
func (d hostData) FreeNow() []sizeRow {
	var rows []sizeRow
	add := func(label string, free, whole int64, write func(int64) string) {
		if whole > 0 {
			rows = append(rows, sizeRow{label, write(free), write(whole)})
		}
	}
	free, whole := d.Load.Free, d.Whole()
	add(page.Sentence("Processors"), free.CPU/10*10, whole.CPU, processors)
	add(page.Sentence("Memory"), free.Memory, whole.Memory, bytes)
	add(page.Sentence("Disk"), free.Disk, whole.Disk, bytes)
	return rows
}

// Tops of the charts of a host's load, in percent.
const (
	topUse      = 100
	topPressure = 10 // unless there was more
)

// loadCharts draws what a host measured over the last hour; nil for nothing.
func loadCharts(r *page.Request, v *operate.HostView, now time.Time) []chart.Chart {
	if len(v.Measured) == 0 {
		return nil
	}
	points, pressed := make([]history.Point, len(v.Measured)), false
	at := make(map[int64]*core.HostMeasure, len(v.Measured))
	for i := range v.Measured {
		m := &v.Measured[i]
		points[i].At, at[m.At] = m.At, m
		pressed = pressed || m.Pressure != nil
	}
	draw := func(id, title string, top float64, lines ...chart.Series) chart.Chart {
		c := chart.Chart{ID: id, Title: title, Unit: "%", Length: r.T("1 hour"), Most: top, First: now.Add(-operate.MeasuredFor).UnixMilli(), Last: now.UnixMilli()}
		return c.Draw(points, history.LoadStep, lines)
	}
	use := func(title, class string, of func(core.Size) int64) chart.Series {
		whole := float64(of(v.Whole()))
		return chart.Shown(title, class, func(p history.Point) (float64, bool) {
			return max(0, topUse*(1-float64(of(at[p.At].Free))/whole)), whole > 0
		})
	}
	pressure := func(title, class string, of func(core.Pressure) float64) chart.Series {
		return chart.Shown(title, class, func(p history.Point) (float64, bool) {
			its := at[p.At].Pressure
			if its == nil {
				return 0, false
			}
			return of(*its), true
		})
	}
	room := []chart.Series{use(r.T("memory"), "calm", func(s core.Size) int64 { return s.Memory })}
	if v.Disk > 0 {
		room = append(room, use(r.T("disk"), "warn", func(s core.Size) int64 { return s.Disk }))
	}
	charts := []chart.Chart{
		draw("load-cpu", r.T("Processors in use"), topUse, use(r.T("processors"), "good", func(s core.Size) int64 { return s.CPU })),
		draw("load-room", r.T("Memory and disk in use"), topUse, room...),
	}
	if pressed {
		charts = append(charts, draw("load-pressure", r.T("Pressure"), topPressure,
			pressure(r.T("processors"), "good", func(p core.Pressure) float64 { return p.CPU }),
			pressure(r.T("memory"), "calm", func(p core.Pressure) float64 { return p.Memory }),
			pressure(r.T("disk"), "warn", func(p core.Pressure) float64 { return p.IO })))
	}
	return charts
}
