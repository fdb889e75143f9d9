package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// herdMetrics shows the herd as Redis has it, asked at each scrape.
type herdMetrics struct{ herd *herd }

var (
	waitingDesc = prometheus.NewDesc("drover_herd_waiting_requests", "Requests that wait.", []string{"pool", "class"}, nil)
	vmsDesc     = prometheus.NewDesc("drover_herd_vms", "VMs by state.", []string{"host", "pool", "state"}, nil)
	beatDesc    = prometheus.NewDesc("drover_herd_heartbeat_late_seconds", "How late an owner's proof of life is; 0 or less is in time.", []string{"owner"}, nil)
	slotsDesc   = prometheus.NewDesc("drover_herd_slots", "Pieces of work that an owner holds.", []string{"owner"}, nil)
)

// Describe implements prometheus.Collector.
func (m herdMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waitingDesc, vmsDesc, beatDesc, slotsDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. What Redis does not answer is left out:
// /healthz says that it does not.
func (m herdMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if queues, err := m.herd.redis.Waiting(ctx); err == nil {
		for _, q := range queues {
			gauge(waitingDesc, float64(q.Waiting), q.Pool, string(q.Class))
		}
	}
	if vms, err := m.herd.redis.ListVMs(ctx, ""); err == nil {
		counts := map[[3]string]int{}
		for _, vm := range vms {
			counts[[3]string{vm.Host, vm.Pool, string(vm.State)}]++
		}
		for k, n := range counts {
			gauge(vmsDesc, float64(n), k[0], k[1], k[2])
		}
	}
	if owners, err := m.herd.redis.ListOwners(ctx); err == nil {
		for _, o := range owners {
			if o.Deadline > 0 {
				gauge(beatDesc, time.Since(time.UnixMilli(o.Deadline)).Seconds(), o.Name)
			}
			gauge(slotsDesc, float64(o.Slots), o.Name)
		}
	}
}
