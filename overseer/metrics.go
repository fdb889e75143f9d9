package overseer

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what operators see of an overseer. Their labels come from the table of chores, from
// the rules of consistency, and from the groups of hosts, of which there are few.
type metrics struct {
	seconds  *prometheus.HistogramVec
	failures *prometheus.CounterVec
	done     *prometheus.CounterVec
	last     *prometheus.GaugeVec
	broken   *prometheus.GaugeVec
	machines *prometheus.GaugeVec
}

func newMetrics() *metrics {
	chore := []string{"chore"}
	return &metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "drover_chore_seconds", Help: "Time that one run of a chore takes.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, chore),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drover_chore_failures_total", Help: "Runs of a chore that failed.",
		}, chore),
		done: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drover_chore_done_total", Help: "What chores did: owners reaped, requests retried, and so on.",
		}, []string{"chore", "what"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "drover_chore_success_timestamp_seconds", Help: "When a chore last ran without a failure.",
		}, chore),
		broken: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "drover_consistency_broken", Help: "Broken invariants that the last consistency check found; see drover doctor.",
		}, []string{"rule"}),
		machines: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "drover_instances", Help: "Machines of host groups, by the state that the last round of scaling found.",
		}, []string{"group", "state"}),
	}
}

func (m *metrics) observe(chore string, counts Counts, took time.Duration, err error, now time.Time) {
	m.seconds.WithLabelValues(chore).Observe(took.Seconds())
	for what, n := range counts {
		m.done.WithLabelValues(chore, what).Add(float64(n))
	}
	if err != nil {
		m.failures.WithLabelValues(chore).Inc()
		return
	}
	m.last.WithLabelValues(chore).Set(float64(now.UnixMilli()) / 1000)
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.seconds, m.failures, m.done, m.last, m.broken, m.machines}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(ch)
	}
}
