package access

import (
	"context"
	"errors"

	"drover/core"
	"drover/core/blobs"
	"drover/core/config"
	"drover/core/redisstore"
	"drover/core/store"
)

// Migrate brings the result store in the settings to this program's schema. With adopt it then makes the stores in the
// settings the cluster's, and the cluster's namespace theirs. Returns BUSY while a component works with any of them.
func Migrate(ctx context.Context, cfg *config.Config, adopt bool) (store.Migration, error) {
	if err := idle(ctx, cfg, cfg.Namespace); err != nil {
		return store.Migration{}, err
	}
	did, err := store.Migrate(ctx, cfg.Store.Reveal(), func(its map[core.Binding]string) error {
		return idle(ctx, cfg, its[core.BindNamespace])
	})
	if !adopt || err != nil && !core.Is(err, core.CodeNotFound) { // a cluster may move to a new store
		return did, err
	}
	return did, adoptStores(ctx, cfg)
}

// idle returns BUSY if a component works in a namespace of the cluster's Redis.
func idle(ctx context.Context, cfg *config.Config, namespace string) error {
	if namespace == "" {
		return nil
	}
	opts := redisOptions(cfg)
	opts.Namespace = namespace
	owner, err := redisstore.FindWorking(ctx, opts)
	switch {
	case err != nil && redisstore.IsSilent(err) && cfg.Source("redis") == config.Default:
		return nil // it is that of drover up, which does not run
	case err != nil:
		return withoutRedis(err, cfg)
	case owner == "":
		return nil
	}
	return core.Errorf(core.CodeBusy, owner, "%s works in namespace %s: stop all components of the cluster first; one that was killed counts until it is late by a minute", owner, namespace)
}

// adoptStores needs no Redis where that is one of drover up, which is new at each start.
func adoptStores(ctx context.Context, cfg *config.Config) (err error) {
	h := &Cluster{Config: cfg}
	defer func() { err = errors.Join(err, h.Close()) }()
	if h.Redis, err = redisstore.Open(ctx, redisOptions(cfg)); err != nil {
		if !redisstore.IsSilent(err) || cfg.Source("redis") != config.Default {
			return withoutRedis(err, cfg)
		}
		h.Redis = nil
	}
	if h.Store, err = openStore(ctx, cfg, false); err != nil {
		return err
	}
	if h.StoreID, err = h.Store.ID(ctx); err != nil {
		return err
	}
	if h.Blobs, err = blobs.Open(ctx, cfg.Blobs.Reveal()); err != nil {
		return err
	}
	its, err := h.Store.Bindings(ctx)
	if err != nil {
		return err
	}
	if err := idle(ctx, cfg, its[core.BindNamespace]); err != nil {
		return err
	}
	ours := h.stores(ctx)
	if h.Redis != nil {
		if err := h.Redis.Adopt(ctx, ours); err != nil {
			return err
		}
	}
	return h.bind(ctx, ours, true)
}
