package access

import (
	"context"
	"errors"
	"strings"
	"time"

	"drover/core"
	"drover/core/blobs"
	"drover/core/config"
	"drover/core/redisstore"
	"drover/core/school"
	"drover/core/service"
	"drover/core/service/clock"
	"drover/core/store"
)

// A cluster is a namespace of a Redis, a result store and a blob store, each of which records to which others it belongs.
// So the loss of one, or a wrong setting for one, is noticed: a cluster whose result store is empty does not start as new
// while its Redis or its files are there.

// blobsTimeout is how long the blob store may take to return its id.
const blobsTimeout = 5 * time.Second

const (
	// howToJoin is the remedy for a wrong store, with its flag and variable.
	howToJoin = "Name the cluster's with --%s URL or %s, or its folder with --data DIR; if it was lost, put it back from a backup;\n" + howToAdopt
	// howToAdopt is how a store changes its cluster.
	howToAdopt = "to move the cluster to this one, stop all its components and run: drover migrate --adopt"
	// howToMigrate is the remedy for a result store of an older schema.
	howToMigrate = "Stop all programs of the older version, then run: drover migrate"
)

// openStore opens the result store in the settings. Where the cluster has one, none is made.
func openStore(ctx context.Context, cfg *config.Config, existing bool) (school.ResultStore, error) {
	open := store.Open
	if existing {
		open = store.OpenExisting
	}
	s, err := open(ctx, cfg.Store.Reveal())
	switch {
	case core.Is(err, core.CodeNotFound):
		return nil, wrongPart(cfg, "store", "is not the result store of the cluster at "+cfg.Redis.String(), err)
	case errors.Is(err, core.ErrOlderSchema):
		return nil, core.Errorf(core.CodeVersion, "store", "%v.\n%s", err, howToMigrate)
	}
	return s, err
}

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

// sameLedger refuses a cluster whose parts belong to others than ours: nobody there would ever see what we write.
func (h *Cluster) sameLedger(ctx context.Context) error {
	ours := h.stores(ctx)
	if err := h.Redis.SameLedger(ctx, ours); err != nil {
		return h.notOurs(err)
	}
	its, err := h.Store.Bindings(ctx)
	if err != nil {
		return err
	}
	owner := ""
	if ours.Blobs != "" {
		owner, err = h.Blobs.Owner(ctx, "", false)
		if err != nil && !core.Is(err, core.CodeUnavailable) { // if it is away, see stores
			return err
		}
	}
	return h.notOurs(disagreement(ours, h.Config.Namespace, its, owner))
}

// disagreement returns CONFLICT if the result store or the blob store belongs to others than ours. Its ID is the setting
// that names another, or owner.
func disagreement(ours redisstore.Stores, namespace string, its map[core.Binding]string, owner string) error {
	switch bound := its[core.BindBlobs]; {
	case its[core.BindNamespace] != "" && its[core.BindNamespace] != namespace:
		return core.Errorf(core.CodeConflict, "namespace", "the result store works with namespace %s, and two would run the same requests", its[core.BindNamespace])
	case bound != "" && ours.Blobs != "" && bound != ours.Blobs:
		return core.Errorf(core.CodeConflict, "blobs", "the result store belongs to another one (its id is %s, that of the one named is %s)", bound, ours.Blobs)
	case owner != "" && owner != ours.Results:
		return core.Errorf(core.CodeConflict, "owner", "the files belong to another one (its id is %s, that of the one named is %s)", owner, ours.Results)
	}
	return nil
}

// Join announces our stores, for components: the first one decides for the cluster.
func (h *Cluster) Join(ctx context.Context) error {
	if err := h.sameLedger(ctx); err != nil {
		return err
	}
	ours := h.stores(ctx)
	if err := h.Redis.Join(ctx, ours); err != nil {
		return h.notOurs(err)
	}
	return h.bind(ctx, ours, false)
}

// bind makes the stores belong to each other and to the namespace.
func (h *Cluster) bind(ctx context.Context, ours redisstore.Stores, move bool) error {
	its, owner := map[core.Binding]string{}, ""
	var err error
	if its[core.BindNamespace], err = h.Store.PutBinding(ctx, core.BindNamespace, h.Config.Namespace, move); err != nil {
		return err
	}
	if ours.Blobs != "" && h.Config.Blobs.Reveal() != blobs.InMemory { // that one is new at each start
		if its[core.BindBlobs], err = h.Store.PutBinding(ctx, core.BindBlobs, ours.Blobs, move); err != nil {
			return err
		}
		if owner, err = h.Blobs.Owner(ctx, ours.Results, move); err != nil && !core.Is(err, core.CodeUnavailable) {
			return err
		}
	}
	return h.notOurs(disagreement(ours, h.Config.Namespace, its, owner)) // others may have been faster
}

// notOurs names the setting of what belongs to others.
func (h *Cluster) notOurs(err error) error {
	var refused *core.Error
	if !errors.As(err, &refused) || refused.Code != core.CodeConflict {
		return err
	}
	cfg := h.Config
	switch refused.ID {
	case "namespace":
		return core.Errorf(core.CodeInvalid, "namespace", "%s (namespace, %s) is not the namespace of the cluster whose result store is %s: %v.\n"+
			"Name it with --namespace or %sNAMESPACE;\n"+howToAdopt, cfg.Namespace, cfg.Source("namespace"), cfg.Store, err, config.EnvPrefix)
	case "owner":
		return wrongPart(cfg, "store", "is not the result store of the cluster whose files are in "+cfg.Blobs.String(), err)
	case "blobs":
		return wrongPart(cfg, "blobs", "is not the blob store of the cluster at "+cfg.Redis.String(), err)
	}
	return wrongPart(cfg, "store", "is not the result store of the cluster at "+cfg.Redis.String(), err)
}

// wrongPart says which setting names a store that is not the cluster's.
func wrongPart(cfg *config.Config, setting, is string, err error) error {
	url := cfg.Store
	if setting == "blobs" {
		url = cfg.Blobs
	}
	return core.Errorf(core.CodeInvalid, setting, "%s (%s, %s) %s: %v.\n"+howToJoin,
		url, setting, cfg.Source(setting), is, err, setting, config.EnvPrefix+strings.ToUpper(setting))
}

// joinsEvery is how often a component looks whether the stores still are the cluster's; Redis is asked at each poll.
const joinsEvery = 10 * time.Second

// Ledger joins periodically: this restores the ids after Redis lost them, and ends a component whose cluster has
// moved to another store, or whose store has moved to another namespace.
func (h *Cluster) Ledger() service.Service {
	return service.Service{Name: "ledger", Run: func(ctx context.Context) error {
		hands := clock.Real{}
		due := hands.Now().Add(joinsEvery)
		return service.Every(ctx, hands, h.Config.Poll, func(ctx context.Context) error {
			join := func(ctx context.Context) error { return h.notOurs(h.Redis.Join(ctx, h.stores(ctx))) }
			if now := hands.Now(); !now.Before(due) {
				join, due = h.Join, now.Add(joinsEvery)
			}
			if err := join(ctx); core.Is(err, core.CodeInvalid) {
				return err
			}
			return nil // Redis or a store is away, which the component itself reports
		})
	}}
}
