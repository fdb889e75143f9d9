package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"drover/core"
	"drover/core/config"
	"drover/core/redisstore"
	"drover/core/service"
	"drover/core/service/clock"
)

// blobsTimeout is how long the blob store may take to say its id.
const blobsTimeout = 5 * time.Second

// howToJoin mends a store that is not the cluster's, named by this flag and variable.
const howToJoin = `Name the cluster's with --%s URL or %s, or its folder with --data DIR;
to move the cluster to this one, stop all its components and run: drover doctor --adopt-store`

// stores returns the ids of ours. A blob store that does not answer has none yet: who needs
// files will hear of that, and nobody else is kept from work by it.
func (h *cluster) stores(ctx context.Context) redisstore.Stores {
	h.learning.Lock()
	defer h.learning.Unlock()
	if h.blobsID == "" {
		ctx, cancel := context.WithTimeout(ctx, blobsTimeout)
		defer cancel()
		h.blobsID, _ = h.blobs.ID(ctx) // as said; doctor shows the error
	}
	return redisstore.Stores{Results: h.storeID, Blobs: h.blobsID}
}

// sameLedger refuses a cluster whose stores are others than ours: nobody there would ever
// see what we write.
func (h *cluster) sameLedger(ctx context.Context) error {
	return h.notOurs(h.redis.SameLedger(ctx, h.stores(ctx)))
}

// join is for what works on the cluster's behalf: the first to join says which stores are
// the cluster's.
func (h *cluster) join(ctx context.Context) error {
	return h.notOurs(h.redis.Join(ctx, h.stores(ctx)))
}

// notOurs says which setting named the wrong store.
func (h *cluster) notOurs(err error) error {
	var refused *core.Error
	if !errors.As(err, &refused) || refused.Code != core.CodeConflict {
		return err
	}
	setting, what, url := "store", "result store", h.cfg.Store
	if refused.ID == "blobs" {
		setting, what, url = "blobs", "blob store", h.cfg.Blobs
	}
	return core.Errorf(core.CodeInvalid, setting, "%s (%s, %s) is not the %s of the cluster at %s: %v.\n"+howToJoin,
		url, setting, h.cfg.Source(setting), what, h.cfg.Redis, err, setting, config.EnvPrefix+strings.ToUpper(setting))
}

// ledger joins again and again: it tells a Redis that lost its memory, and ends a
// component whose cluster has moved to another store.
func (h *cluster) ledger() service.Service {
	return service.Service{Name: "ledger", Run: func(ctx context.Context) error {
		return service.Every(ctx, clock.Real{}, h.cfg.Poll, func(ctx context.Context) error {
			if err := h.join(ctx); core.Is(err, core.CodeInvalid) {
				return err
			}
			return nil // Redis is away, which the component itself says
		})
	}}
}

// adoptStores makes the stores that the settings name the cluster's.
func adoptStores(ctx context.Context, cfg *config.Config) error {
	h, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(h.redis.Adopt(ctx, h.stores(ctx)), h.close())
}

// ledger looks at whether the cluster has its stores, and shows which.
func (f *findings) ledger(ctx context.Context, h *cluster) error {
	its, err := h.redis.Ledger(ctx)
	if err != nil {
		return err
	}
	for _, one := range []struct{ about, what, id string }{
		{"ledger", "result store", its.Results}, {"cluster's files", "blob store", its.Blobs},
	} {
		if one.id == "" {
			f.warn(one.about, "start a component: the first one says it", "the cluster does not know its %s yet", one.what)
			continue
		}
		f.ok(one.about, "the cluster's %s is this one, its id is %s", one.what, one.id)
	}
	return nil
}
