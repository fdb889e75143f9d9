package wiring

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"drover/cmd/drover/terminal"
	"drover/core"
)

// clusterFresh is for how long a reading of the cluster is reused, so that many scrapes do not load Redis.
const clusterFresh = 10 * time.Second

// clusterMetrics shows the cluster as Redis has it. Only overseers have it: each process reports its own work, and a
// vmfactory its host's VMs.
type clusterMetrics struct {
	cluster interface {
		Waiting(ctx context.Context) ([]core.QueueInfo, error)
		ListOwners(ctx context.Context) ([]core.OwnerInfo, error)
	}
	now func() time.Time

	mu     sync.Mutex
	read   time.Time
	queues []core.QueueInfo
	owners []core.OwnerInfo
	known  bool // owners was read
}

var (
	waitingDesc = prometheus.NewDesc("drover_cluster_waiting_requests", "Requests that wait.", []string{"pool", "priority"}, nil)
	beatDesc    = prometheus.NewDesc("drover_cluster_heartbeat_late_seconds", "How late an owner's heartbeat is; 0 or less is in time.", []string{"owner"}, nil)
	missingDesc = prometheus.NewDesc("drover_cluster_missing", "1 for a role that nobody in the cluster does now.", []string{"role"}, nil)
	unseenDesc  = prometheus.NewDesc("drover_overseer_missing", "1 while no overseer is at work in the cluster; one from cron counts for five minutes.", nil, nil)
	slotsDesc   = prometheus.NewDesc("drover_cluster_slots", "Pieces of work that an owner holds.", []string{"owner"}, nil)
)

// Describe implements prometheus.Collector.
func (m *clusterMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waitingDesc, beatDesc, slotsDesc, missingDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Metrics that cannot be read from Redis are left out: /healthz reports the
// outage.
func (m *clusterMetrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if age := now.Sub(m.read); age < 0 || age >= clusterFresh {
		m.look()
		m.read = now
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, q := range m.queues {
		gauge(waitingDesc, float64(q.Waiting), q.Pool, string(q.Priority))
	}
	for _, o := range shownOwners(m.owners) {
		if o.Deadline > 0 {
			gauge(beatDesc, m.read.Sub(time.UnixMilli(o.Deadline)).Seconds(), o.Name)
		}
		gauge(slotsDesc, float64(o.Slots), o.Name)
	}
	if !m.known {
		return
	}
	missing := core.Missing(m.owners, core.Overseen{})
	for _, role := range []core.Role{core.RoleVMFactory, core.RoleTestrunner, core.RoleTaskrunner} {
		gauge(missingDesc, terminal.OneIf(slices.Contains(missing, role)), string(role))
	}
}

// shownOwners are those that have series of their own: all, or in a cluster of many those that are late, the latest
// first. Each series has a cost where it is collected.
func shownOwners(all []core.OwnerInfo) []core.OwnerInfo {
	const most = 200
	if len(all) <= most {
		return all
	}
	late := slices.DeleteFunc(slices.Clone(all), func(o core.OwnerInfo) bool { return !o.Late })
	slices.SortFunc(late, func(a, b core.OwnerInfo) int { return cmp.Compare(a.Deadline, b.Deadline) })
	return late[:min(len(late), most)]
}

// signMetrics reports whether an overseer is alive. Every process has it, at two cheap commands per scrape, since an
// overseer cannot report its own absence.
type signMetrics struct {
	overseen func(ctx context.Context) (core.Overseen, error)
}

// Describe implements prometheus.Collector.
func (m signMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- unseenDesc }

// Collect implements prometheus.Collector.
func (m signMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if o, err := m.overseen(ctx); err == nil {
		ch <- prometheus.MustNewConstMetric(unseenDesc, prometheus.GaugeValue, terminal.OneIf(o.Late))
	}
}

// look reads the cluster. The caller has m.mu.
func (m *clusterMetrics) look() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var err error
	if m.queues, err = m.cluster.Waiting(ctx); err != nil {
		m.queues = nil
	}
	if m.owners, err = m.cluster.ListOwners(ctx); err != nil {
		m.owners = nil
	}
	m.known = err == nil
}
