package operator

import (
	"time"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/web/page"
)

// hostsData is what the page of hosts over time shows.
type hostsData struct {
	Rows []hostDayRow
	Next string // the next page's URL
}

// hostDayRow is a host's day as a picture of a width of 24 hours.
type hostDayRow struct {
	operate.HostDay

	Host  core.HostInfo
	Parts []part
	Up    string // which part of the time, in percent
}

// dayWidth is the width of the picture of a day: one unit is six minutes.
const dayWidth = 240

func (s *pages) hosts(r *page.Request) error {
	v, err := s.Cluster.Overview(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	days, err := s.Cluster.HostDays(r.Context(), r.Actor(), r.FormValue("after"))
	if err != nil {
		return err
	}
	hosts := make(map[string]core.HostInfo, len(v.Hosts))
	for _, h := range v.Hosts {
		hosts[h.Name] = h
	}
	var d hostsData
	for _, day := range days {
		d.Rows = append(d.Rows, hostDayRow{HostDay: day, Host: hosts[day.Host], Parts: dayParts(day.Stretches), Up: r.T("%s %%", r.Number(percent(day.UpPart())))})
	}
	if len(days) == operate.HostDaysPage {
		d.Next = "/cluster/hosts?after=" + days[len(days)-1].Host
	}
	return r.Render("operator/hosts", d)
}

// percent is a part of a whole in percent, to one digit, never 100 unless it is the whole.
func percent(part float64) float64 { return float64(int(part*1000)) / 10 }

// dayParts places stretches; what is not known is left out.
func dayParts(all []operate.Stretch) (parts []part) {
	if len(all) == 0 {
		return nil
	}
	from, scale := all[0].From, dayWidth/float64((24*time.Hour).Milliseconds())
	for _, one := range all {
		class := stretchClass(one)
		if class != "" {
			parts = append(parts, part{Class: class, X: float64(one.From-from) * scale, W: max(0.5, float64(one.Until-one.From)*scale)})
		}
	}
	return parts
}

func stretchClass(s operate.Stretch) string {
	switch {
	case s.State == core.HostDown:
		return "bad"
	case s.State == core.HostSuspect:
		return "warn"
	case s.State == core.HostUp && s.Drain:
		return "calm"
	case s.State == core.HostUp:
		return "good"
	}
	return ""
}
