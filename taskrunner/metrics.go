package taskrunner

import "drover/core/service/metric"

// metrics are what operators see of a taskrunner, labelled by its kinds.
type metrics struct{ tasks, seconds, running, unanswered, beat *metric.Family }

func newMetrics(in *metric.Set) *metrics {
	return &metrics{
		tasks:      in.Counter("drover_tasks_total", "Tries of tasks by how they ended.", "kind", "outcome"),
		seconds:    in.Histogram("drover_task_seconds", "Time that one try of a task takes.", 0.01, 4, 9, "kind"),
		running:    in.Gauge("drover_tasks_running", "Tasks in hand."),
		unanswered: in.Counter("drover_task_calls_unanswered_total", "Calls that Redis did not answer and that are repeated."),
		beat:       in.Gauge("drover_taskrunner_beat_timestamp_seconds", "When the last heartbeat was accepted."),
	}
}
