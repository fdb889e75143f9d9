package access

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/service"
)

// Pools lists the pools that this host serves: those in the settings, or all pools. Who serves a pool serves those that
// leases have of it.
func (h *Cluster) Pools(ctx context.Context) ([]string, error) {
	every := slices.Equal(h.Config.Pools, []string{core.AllPools})
	all, err := h.Redis.ListPools(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	if !every {
		names = slices.Clone(h.Config.Pools)
	}
	for _, p := range all {
		if every || p.Lease != "" && slices.Contains(h.Config.Pools, p.Of) {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		// No pool is set yet: wait for the default one, which most clusters set first.
		names = []string{DefaultPool}
	}
	return names, nil
}

// DefaultPool is the pool of a request without one.
const DefaultPool = "default"

// FirstPool creates the default pool in a cluster without pools, so that its first host can work. It has the same
// defaults as drover pool set.
func (h *Cluster) FirstPool(ctx context.Context, log logrus.FieldLogger) error {
	p := core.DefaultPool(DefaultPool)
	if !h.Makes(p) {
		return nil
	}
	if !slices.Equal(h.Config.Pools, []string{core.AllPools}) && !slices.Contains(h.Config.Pools, p.Name) {
		return nil
	}
	stored, err := h.Store.Pools(ctx)
	if err != nil || len(stored) > 0 {
		return err
	}
	log.WithField("pool", p.Name).Info("the cluster has no pool yet: made the first one")
	return h.Intake.SetPool(ctx, p)
}

// Makes reports whether this host can make a pool's VMs: a provider other than local needs an image, which somebody
// has to choose.
func (h *Cluster) Makes(p core.Pool) bool { return slices.Contains(h.Config.Provider, p.Provider) }

// NewPools informs a component of pools that were set since it started.
func (h *Cluster) NewPools(name string, known []string, log logrus.FieldLogger, serve func([]string) error) service.Service {
	return service.Service{Name: name + "-pools", Run: func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(h.Config.Poll):
			}
			now, err := h.Pools(ctx)
			if err != nil || slices.Equal(now, known) {
				continue // Redis is away, which the component itself reports
			}
			if err := serve(now); err != nil {
				log.WithError(err).Warn("the pools cannot be served")
				continue
			}
			log.WithField("pools", now).Info(name + " serves these pools now")
			known = now
		}
	}}
}
