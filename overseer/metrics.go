package overseer

import (
	"time"

	"drover/core/service/metric"
)

// metrics are what operators see of an overseer. Their labels come from the table of chores, from
// the rules of consistency, and from the groups of hosts, of which there are few.
type metrics struct{ seconds, failures, done, last, broken, machines *metric.Family }

func newMetrics(in *metric.Set) *metrics {
	return &metrics{
		seconds:  in.Histogram("drover_chore_seconds", "Time that one run of a chore takes.", 0.001, 4, 9, "chore"),
		failures: in.Counter("drover_chore_failures_total", "Runs of a chore that failed.", "chore"),
		done:     in.Counter("drover_chore_done_total", "What chores did: owners reaped, requests retried, and so on.", "chore", "what"),
		last:     in.Gauge("drover_chore_success_timestamp_seconds", "When a chore last ran without a failure.", "chore"),
		broken:   in.Gauge("drover_consistency_broken", "Broken invariants that the last consistency check found; see drover doctor.", "rule"),
		machines: in.Gauge("drover_instances", "Machines of host groups, by the state that the last round of scaling found.", "group", "state"),
	}
}

func (m *metrics) observe(chore string, counts Counts, took time.Duration, err error, now time.Time) {
	m.seconds.Observe(took.Seconds(), chore)
	for what, n := range counts {
		m.done.Add(float64(n), chore, what)
	}
	if err != nil {
		m.failures.Add(1, chore)
		return
	}
	m.last.Set(float64(now.UnixMilli())/1000, chore)
}
