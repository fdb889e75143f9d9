package taskrunner

import "github.com/prometheus/client_golang/prometheus"

// metrics are what operators see of a taskrunner, labelled by its kinds.
type metrics struct {
	tasks      *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	running    prometheus.Gauge
	unanswered prometheus.Counter
	beat       prometheus.Gauge
}

func newMetrics() *metrics {
	return &metrics{
		tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drover_tasks_total", Help: "Tries of tasks by how they ended.",
		}, []string{"kind", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "drover_task_seconds", Help: "Time that one try of a task takes.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 9),
		}, []string{"kind"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "drover_tasks_running", Help: "Tasks in hand.",
		}),
		unanswered: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "drover_task_calls_unanswered_total", Help: "Calls that Redis did not answer and that are repeated.",
		}),
		beat: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "drover_taskrunner_beat_timestamp_seconds", Help: "When the last heartbeat was accepted.",
		}),
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.tasks, m.seconds, m.running, m.unanswered, m.beat}
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
