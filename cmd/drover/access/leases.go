package access

import (
	"context"

	"drover/core"
	"drover/core/classes"
	"drover/core/cluster/lease"
	"drover/core/config"
	"drover/core/redisstore"
	"drover/core/requests/intake"
)

// LeaseRules are the settings about leases.
func LeaseRules(cfg *config.Config) lease.Rules {
	return lease.Rules{Lead: cfg.LeaseLead, Healing: cfg.LeaseHealing, Cleaning: cfg.LeaseCleaning, Longest: cfg.LeaseLongest}
}

// Leases makes the service of leases.
func (h *Cluster) Leases() *lease.Service {
	return &lease.Service{
		Store: h.Store, Cluster: h.Redis, Now: h.Now, Rules: LeaseRules(h.Config),
		Webhooks: func(ctx context.Context, class string) ([]string, error) {
			return classes.LeaseWebhooks(ctx, h.Store, class)
		},
		Due: func(ctx context.Context, a core.Actor, from, to int64) ([]lease.Due, error) {
			some, err := classes.DueBetween(ctx, h.Store, a, from, to)
			due := make([]lease.Due, len(some))
			for i := range some {
				due[i] = lease.Due{At: some[i].Due, Class: some[i].Class, Title: some[i].Class + ": " + some[i].Title}
				if core.Allow(a, core.ActAssignmentView, core.Object{Class: some[i].Class}) == nil {
					due[i].Link = "/classes/" + some[i].Class + "/assignments/" + some[i].Handle
				}
			}
			return due, err
		},
	}
}

// Consistency makes the consistency check of the cluster, that of leases and of the result store included.
func (h *Cluster) Consistency() core.Consistency {
	check := &intake.Audit{Consistency: h.Redis, Intake: h.Intake, Redis: h.Redis}
	return &lease.Audit{Consistency: check, Leases: h.Leases()}
}

// withLeases is a Redis with that check.
type withLeases struct {
	*redisstore.Store

	all core.Consistency
}

// CheckConsistency implements operate.History.
func (w withLeases) CheckConsistency(ctx context.Context) ([]core.Violation, error) {
	return w.all.CheckConsistency(ctx)
}
