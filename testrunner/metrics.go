package testrunner

import (
	"time"

	"drover/core"
	"drover/core/service/metric"
)

const millisecondsInSecond = 1000

// metrics are what operators see of a testrunner.
type metrics struct {
	claims, retries, releases, fenced, finishes, builds, rechecks, lost, again, busy, staging, waiting *metric.Family
}

func newMetrics(r *Runner) *metrics {
	in := r.deps.Metrics
	in.Gauge("drover_testrunner_slots", "Requests that this process may have in hand at once.").Set(float64(r.cfg.Slots))
	in.GaugeFunc("drover_testrunner_spool_results", "Results that wait on disk for the store; -1 if they cannot be read.", func(to metric.Reports) {
		files, _, err := r.spool.size()
		if err != nil {
			files = -1
		}
		to(float64(files))
	})
	in.GaugeFunc("drover_testrunner_heartbeat_age_seconds", "Since the last heartbeat; -1 while not registered.", func(to metric.Reports) {
		age := -1.0
		if last := r.Worker().LastBeat; !last.IsZero() {
			age = time.Since(last).Seconds()
		}
		to(age)
	})
	return &metrics{
		claims:   in.Counter("drover_testrunner_claims_total", "Requests claimed together with a VM."),
		retries:  in.Counter("drover_testrunner_retries_total", "Platform faults after which a request was queued again."),
		releases: in.Counter("drover_testrunner_releases_total", "Requests given back because the runner had to stop."),
		fenced:   in.Counter("drover_testrunner_fenced_total", "Epochs that were ended by somebody else."),
		finishes: in.Counter("drover_testrunner_finishes_total", "Results recorded, by state and blame.", "state", "blame"),
		builds:   in.Counter("drover_testrunner_builds_total", "Checkers and builds that may be kept, by kind and by whether they were (kept) or had to be made.", "kind", "from"),
		rechecks: in.Counter("drover_testrunner_rechecks_total", "Tests whose verdict was in doubt because of noise, by whether further runs came to the same verdict (same), to another (changed), or there was none (left).", "end"),
		lost:     in.Counter("drover_testrunner_lost_seconds_total", "Time by which limits by the clock were put off, because runs lost it to other programs of the host."),
		again:    in.Counter("drover_testrunner_recheck_cpu_seconds_total", "Processor time of runs of tests that ran again and count for nothing: what further runs cost."),
		busy:     in.Gauge("drover_testrunner_busy_slots", "Slots with a request in hand."),
		waiting:  in.Histogram("drover_testrunner_waiting_seconds", "From a request's submission to its claim, of results recorded.", 0.01, 4, 10),
		staging:  in.Histogram("drover_testrunner_staging_seconds", "From a claim's arrival to the start of its command.", 0.001, 4, 8),
	}
}

// finished counts a result. Its blame is "none" if it has none.
func (m *metrics) finished(res core.Result) {
	blame := string(res.Blame)
	if blame == "" {
		blame = "none"
	}
	m.finishes.Add(1, string(res.State), blame)
	if res.Times.Claimed > 0 {
		m.waiting.Observe(float64(res.Times.Claimed) / millisecondsInSecond)
	}
}
