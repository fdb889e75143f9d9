package wiring

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/service/metric"
)

// clusterFresh is for how long a reading of the cluster is reused, so that many scrapes do not load Redis.
const clusterFresh = 10 * time.Second

// readTimeout bounds one reading of Redis for a scrape.
const readTimeout = 5 * time.Second

// clusterMetrics shows the cluster as Redis has it. Only overseers have it: each process reports its own work, and a
// vmfactory its host's VMs.
type clusterMetrics struct {
	cluster interface {
		Waiting(ctx context.Context) ([]core.QueueInfo, error)
		ListOwners(ctx context.Context) ([]core.OwnerInfo, error)
	}
	now func() time.Time

	mu   sync.Mutex
	last reading
}

type reading struct {
	read   time.Time
	queues []core.QueueInfo
	owners []core.OwnerInfo
	known  bool // owners was read
}

// declare adds the metrics of the cluster. Those that cannot be read from Redis are left out: /healthz reports the
// outage.
func (m *clusterMetrics) declare(in *metric.Set) {
	in.GaugeFunc("drover_cluster_waiting_requests", "Requests that wait.", func(to metric.Reports) {
		for _, q := range m.look().queues {
			to(float64(q.Waiting), q.Pool, string(q.Priority))
		}
	}, "pool", "priority")
	in.GaugeFunc("drover_cluster_heartbeat_late_seconds", "How late an owner's heartbeat is; 0 or less is in time.", func(to metric.Reports) {
		now := m.look()
		for _, o := range shownOwners(now.owners) {
			if o.Deadline > 0 {
				to(now.read.Sub(time.UnixMilli(o.Deadline)).Seconds(), o.Name)
			}
		}
	}, "owner")
	in.GaugeFunc("drover_cluster_slots", "Pieces of work that an owner holds.", func(to metric.Reports) {
		for _, o := range shownOwners(m.look().owners) {
			to(float64(o.Slots), o.Name)
		}
	}, "owner")
	in.GaugeFunc("drover_cluster_hosts", "Hosts with a vmfactory or testrunner, by whether a heartbeat of one of them is in time.", func(to metric.Reports) {
		if now := m.look(); now.known {
			inTime, late := countHosts(now.owners)
			to(float64(inTime), "in time")
			to(float64(late), "late")
		}
	}, "heartbeat")
	in.GaugeFunc("drover_cluster_missing", "1 for a role that nobody in the cluster does now.", func(to metric.Reports) {
		now := m.look()
		if !now.known {
			return
		}
		missing := core.Missing(now.owners, core.Overseen{})
		for _, role := range []core.Role{core.RoleVMFactory, core.RoleTestrunner, core.RoleTaskrunner} {
			to(terminal.OneIf(slices.Contains(missing, role)), string(role))
		}
	}, "role")
}

// countHosts counts the hosts of VMs by whether one of their owners is in time.
func countHosts(owners []core.OwnerInfo) (inTime, late int) {
	hosts := map[string]bool{}
	for _, o := range owners {
		if o.Role == core.RoleVMFactory || o.Role == core.RoleTestrunner {
			hosts[o.Host] = hosts[o.Host] || !o.Late
		}
	}
	for _, is := range hosts {
		if is {
			inTime++
		} else {
			late++
		}
	}
	return inTime, late
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

// look reads the cluster, or returns the last reading if that is fresh.
func (m *clusterMetrics) look() reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if age := now.Sub(m.last.read); age >= 0 && age < clusterFresh {
		return m.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	m.last = reading{read: now}
	var err error
	if m.last.queues, err = m.cluster.Waiting(ctx); err != nil {
		m.last.queues = nil
	}
	if m.last.owners, err = m.cluster.ListOwners(ctx); err != nil {
		m.last.owners = nil
	}
	m.last.known = err == nil
	return m.last
}
