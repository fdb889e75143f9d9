package testrunner

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"drover/core"
)

// metrics are what operators see of a testrunner.
type metrics struct {
	claims, retries, releases, fenced prometheus.Counter
	finishes, builds, rechecks        *prometheus.CounterVec
	lost, again                       prometheus.Counter // seconds
	busy                              prometheus.Gauge
	staging                           prometheus.Histogram
	rest                              []prometheus.Collector
}

func newMetrics(r *Runner) *metrics {
	count := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "drover_testrunner_" + name, Help: help})
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "drover_testrunner_" + name, Help: help}, value)
	}
	return &metrics{
		claims:   count("claims_total", "Requests claimed together with a VM."),
		retries:  count("retries_total", "Platform faults after which a request was queued again."),
		releases: count("releases_total", "Requests given back because the runner had to stop."),
		fenced:   count("fenced_total", "Epochs that were ended by somebody else."),
		finishes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drover_testrunner_finishes_total", Help: "Results recorded, by state and blame.",
		}, []string{"state", "blame"}),
		builds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drover_testrunner_builds_total", Help: "Checkers and builds that may be kept, by kind and by whether they were (kept) or had to be made.",
		}, []string{"kind", "from"}),
		rechecks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drover_testrunner_rechecks_total", Help: "Tests whose verdict was in doubt because of noise, by whether further runs came to the same verdict (same), to another (changed), or there was none (left).",
		}, []string{"end"}),
		lost:  count("lost_seconds_total", "Time by which limits by the clock were put off, because runs lost it to other programs of the host."),
		again: count("recheck_cpu_seconds_total", "Processor time of runs of tests that ran again and count for nothing: what further runs cost."),
		busy: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "drover_testrunner_busy_slots", Help: "Slots with a request in hand.",
		}),
		staging: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "drover_testrunner_staging_seconds", Help: "From a claim's arrival to the start of its command.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}),
		rest: []prometheus.Collector{
			gauge("slots", "Requests that this process may have in hand at once.", func() float64 { return float64(r.cfg.Slots) }),
			gauge("spool_results", "Results that wait on disk for the store.", func() float64 {
				files, _, err := r.spool.size()
				if err != nil {
					return -1
				}
				return float64(files)
			}),
			gauge("heartbeat_age_seconds", "Since the last heartbeat; -1 while not registered.", func() float64 {
				last := r.Worker().LastBeat
				if last.IsZero() {
					return -1
				}
				return time.Since(last).Seconds()
			}),
		},
	}
}

func (m *metrics) register(with prometheus.Registerer) error {
	for _, c := range append(m.rest, m.claims, m.retries, m.releases, m.fenced, m.finishes, m.builds, m.rechecks, m.lost, m.again, m.busy, m.staging) {
		if err := with.Register(c); err != nil {
			return core.Wrap(err, core.CodeInternal, "", "the testrunner's metrics are registered twice")
		}
	}
	return nil
}

// finished counts a result. Its blame is "none" if it has none.
func (m *metrics) finished(res core.Result) {
	blame := string(res.Blame)
	if blame == "" {
		blame = "none"
	}
	m.finishes.WithLabelValues(string(res.State), blame).Inc()
}
