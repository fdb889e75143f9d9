package overseer

import (
	"context"
	"time"

	"drover/core"
)

// report is the monitor that is told: by drover host report, and by any watchdog
// that writes to the stream of reports.
type report struct {
	reports core.Reports
}

// reportRest keeps a monitor whose stream cannot be read from spinning.
const reportRest = 100 * time.Millisecond

// Name implements Monitor.
func (r *report) Name() string { return "report" }

// Every implements Monitor.
func (r *report) Every() time.Duration { return reportRest }

// Look implements Monitor. All overseers read as one consumer: whichever is free
// gets the next report, and what a killed one leaves undone comes again.
func (r *report) Look(ctx context.Context, wait time.Duration) ([]News, error) {
	told, err := r.reports.HostReports(ctx, "overseer", wait)
	news := make([]News, len(told))
	for i, t := range told {
		news[i] = News{ID: t.ID, Host: t.Host, Kind: Kind(t.Event), By: t.By, Reason: t.Reason, At: t.At}
	}
	return news, err
}

// Done implements Monitor.
func (r *report) Done(ctx context.Context, n News) error {
	return r.reports.HostReportDone(ctx, n.ID)
}
