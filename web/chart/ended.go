package chart

import (
	"time"

	"drover/core"
	"drover/core/cluster/history"
	"drover/web/page"
)

// Period is a span of time that charts show, by its name in addresses.
type Period struct {
	Name, Title string
	Of          time.Duration
}

// Periods are the spans of time that a reader can choose from.
func Periods(r *page.Request) []Period {
	const aDay = 24 * time.Hour
	return []Period{{"1h", r.T("1 hour"), time.Hour}, {"1d", r.T("1 day"), aDay}, {"7d", r.T("7 days"), 7 * aDay}, {"30d", r.T("30 days"), 30 * aDay}}
}

// Chosen is the period that the reader chose, or else the one of a name.
func Chosen(r *page.Request, otherwise string) (chosen Period) {
	for _, one := range Periods(r) {
		if one.Name == otherwise && chosen.Name == "" || one.Name == r.FormValue("span") {
			chosen = one
		}
	}
	return chosen
}

// Of returns an empty chart of a series.
func Of(all *history.Series, id, title, unit, length string) Chart {
	return Chart{ID: id, Title: title, Unit: unit, Length: length, First: all.From, Last: all.Until, Most: 1}
}

// Waits is how long what ended had waited.
func Waits(r *page.Request, all *history.Series, length string) Chart {
	return Of(all, "wait", r.T("Waiting time"), "s", length).Draw(all.Ended, all.Step, quantiles(r, func(p history.Point) *history.Quantiles { return p.Wait }))
}

// Runs is how long what ended had run.
func Runs(r *page.Request, all *history.Series, length string) Chart {
	return Of(all, "run", r.T("Run time"), "s", length).Draw(all.Ended, all.Step, quantiles(r, func(p history.Point) *history.Quantiles { return p.Run }))
}

func quantiles(r *page.Request, of func(history.Point) *history.Quantiles) []Series {
	value := func(ms func(*history.Quantiles) int64) func(history.Point) (float64, bool) {
		return func(p history.Point) (float64, bool) { return float64(ms(of(p))) / 1000, of(p).N > 0 }
	}
	return []Series{
		{r.T("half of all within"), "calm", value(func(q *history.Quantiles) int64 { return q.P50 })},
		{r.T("95%% within"), "warn", value(func(q *history.Quantiles) int64 { return q.P95 })},
	}
}

// Throughput is how many ended in an hour.
func Throughput(r *page.Request, all *history.Series, length string) Chart {
	perHour := func(p history.Point) (float64, bool) {
		return float64(p.Total) * float64(time.Hour.Milliseconds()) / float64(all.Step), true
	}
	return Of(all, "ended", r.T("Requests that ended, per hour"), "", length).Draw(all.Ended, all.Step, []Series{{r.T("ended"), "good", perHour}})
}

// Faults is how many ends were whose fault, in each step.
func Faults(r *page.Request, all *history.Series, length string) Chart {
	of := func(b core.Blame) func(history.Point) (float64, bool) {
		return func(p history.Point) (float64, bool) { return float64(p.Faults[b]), true }
	}
	return Of(all, "faults", r.T("Faults"), "", length).Draw(all.Ended, all.Step, []Series{
		{r.T("of the submission"), "calm", of(core.BlameSubmission)},
		{r.T("of the harness"), "warn", of(core.BlameHarness)},
		{r.T("of the platform"), "bad", of(core.BlamePlatform)},
	})
}
