package overseer

import (
	"context"
	"time"

	"drover/core"
)

// report is the monitor that receives reports, from drover host report and from any watchdog that writes to the
// stream of reports.
type report struct {
	reports core.Reports
}

// reportRest keeps a monitor whose stream cannot be read from spinning.
const reportRest = 100 * time.Millisecond

// Name implements Monitor.
func (r *report) Name() string { return "report" }

// Every implements Monitor.
func (r *report) Every() time.Duration { return reportRest }

// Look implements Monitor. All overseers read as one consumer: any free one gets the next report, and a report that a
// killed overseer left is returned again.
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
