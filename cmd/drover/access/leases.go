package access

import (
	"context"
	"os"
	"strings"
	"time"

	"drover/core"
	"drover/core/classes"
	"drover/core/cluster/cells"
	"drover/core/cluster/lease"
	"drover/core/config"
	"drover/core/webhook"
)

// LeaseRules are the settings about leases.
func LeaseRules(cfg *config.Config) lease.Rules {
	return lease.Rules{Lead: cfg.LeaseLead, Healing: cfg.LeaseHealing, Cleaning: cfg.LeaseCleaning, Longest: cfg.LeaseLongest}
}

// Leases makes the service of leases.
func (h *Cluster) Leases() *lease.Service {
	return &lease.Service{
		Store: h.Store, Cluster: h.Redis, Now: h.Now, Rules: LeaseRules(h.Config), Checks: h.LeaseChecks,
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

// leaseChecks makes what asks the service that decides on leases; nil if there is none.
func leaseChecks(cfg *config.Config, to webhook.Addresses) (*lease.Checks, error) {
	url := cfg.LeaseCheck.Reveal()
	if url == "" {
		return nil, nil //nolint:nilnil // nobody is asked
	}
	if err := to.CheckURL(url); err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "lease_check", "the setting lease_check")
	}
	c := &lease.Checks{URL: url}
	if cfg.LeaseTokenFile != "" {
		token, err := os.ReadFile(cfg.LeaseTokenFile)
		if err != nil {
			return nil, core.Wrap(err, core.CodeInvalid, "lease_token_file", "the file of the setting lease_token_file cannot be read")
		}
		c.Token = strings.TrimSpace(string(token))
	}
	scheme, _, _ := strings.Cut(url, ":")
	c.Client = to.Client(scheme, webhook.Times{Connect: 5 * time.Second, Answer: 10 * time.Second}, nil, nil)
	return c, nil
}

// Consistency makes the consistency check of the cell, that of leases included.
func (h *Cluster) Consistency() core.Consistency {
	if h.Config.Cell != "" { // leases are in the first cell
		return h.Redis
	}
	return &lease.Audit{Consistency: h.Redis, Leases: h.Leases()}
}

// withLeases is the view of all cells with that check.
type withLeases struct {
	*cells.Cells

	all core.Consistency
}

// CheckConsistency implements operate.History.
func (w withLeases) CheckConsistency(ctx context.Context) ([]core.Violation, error) {
	return w.all.CheckConsistency(ctx)
}
