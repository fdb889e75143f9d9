package access

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

// blobsTimeout is how long the blob store may take to return its id.
const blobsTimeout = 5 * time.Second

// howToJoin is the remedy for a wrong store, with its flag and variable.
const howToJoin = `Name the cluster's with --%s URL or %s, or its folder with --data DIR;
to move the cluster to this one, stop all its components and run: drover doctor --adopt-store`

// stores returns the ids of our stores. A blob store that does not answer has none yet: operations on files will
// report that, and others continue.
func (h *Cluster) stores(ctx context.Context) redisstore.Stores {
	h.learning.Lock()
	defer h.learning.Unlock()
	if h.BlobsID == "" {
		ctx, cancel := context.WithTimeout(ctx, blobsTimeout)
		defer cancel()
		h.BlobsID, _ = h.Blobs.ID(ctx) // see above; doctor shows the error
	}
	return redisstore.Stores{Results: h.StoreID, Blobs: h.BlobsID}
}

// sameLedger refuses a cluster whose stores differ from ours: nobody there would ever see what we write.
func (h *Cluster) sameLedger(ctx context.Context) error {
	return h.notOurs(h.Redis.SameLedger(ctx, h.stores(ctx)))
}

// Join announces our stores, for components: the first one decides for the cluster.
func (h *Cluster) Join(ctx context.Context) error {
	return h.notOurs(h.Redis.Join(ctx, h.stores(ctx)))
}

// notOurs names the setting of the wrong store.
func (h *Cluster) notOurs(err error) error {
	var refused *core.Error
	if !errors.As(err, &refused) || refused.Code != core.CodeConflict {
		return err
	}
	setting, what, url := "store", "result store", h.Config.Store
	if refused.ID == "blobs" {
		setting, what, url = "blobs", "blob store", h.Config.Blobs
	}
	return core.Errorf(core.CodeInvalid, setting, "%s (%s, %s) is not the %s of the cluster at %s: %v.\n"+howToJoin,
		url, setting, h.Config.Source(setting), what, h.Config.Redis, err, setting, config.EnvPrefix+strings.ToUpper(setting))
}

// Ledger joins periodically: this restores the ids after Redis lost them, and ends a component whose cluster has
// moved to another store.
func (h *Cluster) Ledger() service.Service {
	return service.Service{Name: "ledger", Run: func(ctx context.Context) error {
		return service.Every(ctx, clock.Real{}, h.Config.Poll, func(ctx context.Context) error {
			if err := h.Join(ctx); core.Is(err, core.CodeInvalid) {
				return err
			}
			return nil // Redis is away, which the component itself reports
		})
	}}
}

// AdoptStores makes the stores in the settings the cluster's.
func AdoptStores(ctx context.Context, cfg *config.Config) error {
	h, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(h.Redis.Adopt(ctx, h.stores(ctx)), h.Close())
}
