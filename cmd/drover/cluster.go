package main

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"sync"
	"time"

	"drover/core"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/cluster/operate"
	"drover/core/config"
	"drover/core/redisstore"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/service/clock"
	"drover/core/store"
	"drover/core/webhook"
)

// cluster is what every command needs of a cluster: its Redis, its stores, its intake.
type cluster struct {
	cfg    *config.Config
	redis  *redisstore.Store
	store  core.ResultStore
	blobs  core.Blobs
	intake *intake.Intake
	now    func() time.Time // by Redis' clock: what one host wrote down is judged by others

	webhooks webhook.Addresses // where deliveries may go

	storeID string // of store

	watching  sync.Once
	watch     requests.Watch // of all who follow a request in this program
	unwatch   func()         // ends it
	unwatched chan struct{}  // closed then; nil: it did not begin

	learning sync.Mutex
	blobsID  string // of blobs; "" until they answered
}

// openCluster connects to the cluster that the settings name, and refuses one whose
// stores are others than they name.
func openCluster(ctx context.Context, cfg *config.Config) (*cluster, error) {
	h, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := h.sameLedger(ctx); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// joinCluster connects a component.
func joinCluster(ctx context.Context, cfg *config.Config) (*cluster, error) {
	h, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := h.join(ctx); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func connect(ctx context.Context, cfg *config.Config) (*cluster, error) {
	h := &cluster{cfg: cfg}
	var err error
	if h.webhooks, err = webhook.ParseAddresses(cfg.WebhookAllow); err != nil {
		return nil, err
	}
	if h.redis, err = redisstore.Open(ctx, redisOptions(cfg)); err != nil {
		return nil, noCluster(err, cfg)
	}
	if err = h.firstFolder(ctx); err != nil {
		return nil, errors.Join(err, h.close())
	}
	if h.store, err = store.Open(ctx, cfg.Store.Reveal()); err != nil {
		return nil, errors.Join(err, h.close())
	}
	if h.storeID, err = h.store.ID(ctx); err != nil {
		return nil, errors.Join(err, h.close())
	}
	if h.blobs, err = blobs.Open(ctx, cfg.Blobs.Reveal()); err != nil {
		return nil, errors.Join(err, h.close())
	}
	h.now = clock.NewShared(h.redis.Skew).Now
	h.intake = &intake.Intake{
		Store: h.store, Queue: h.redis, Pools: h.redis, Tasks: h.redis, Blobs: h.blobs,
		Now: h.now,
	}
	return h, nil
}

// firstFolder makes the data folder for a cluster's very first program, if the store is to be
// there: that need not be a component. In a cluster that knows its store already a missing
// folder is a wrong setting.
func (h *cluster) firstFolder(ctx context.Context) error {
	if h.cfg.Source("store") != config.Default {
		return nil
	}
	if _, err := os.Stat(h.cfg.Data); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if its, err := h.redis.Ledger(ctx); err != nil || its.Results != "" {
		return err
	}
	return makeData(h.cfg)
}

// classes makes the way by which users do things.
func (h *cluster) classes() *classes.Service {
	return &classes.Service{Store: h.store, Intake: h.intake, Blobs: h.blobs, Webhooks: h.webhooks, Quota: classes.Quota{
		Limits: h.redis, Rate: h.cfg.Submits(), Bytes: int64(h.cfg.SubmitBytes),
	}}
}

// requests makes the way by which users do things with requests.
func (h *cluster) requests() *requests.Service {
	return &requests.Service{
		Store: h.store, Intake: h.intake, Queue: h.redis, Cluster: h.redis, Output: h.redis, Blobs: h.blobs, Submissions: h.classes(),
		Watch: &h.watch,
	}
}

// follow tells what happens to a request, see requests.Service.Follow.
func (h *cluster) follow(ctx context.Context, a core.Actor, id, last string) iter.Seq2[requests.Event, error] {
	h.watching.Do(func() {
		h.watch.Feed, h.watch.Last = h.redis, h.redis.LastEvents
		watching, stop := context.WithCancel(context.WithoutCancel(ctx))
		h.unwatch, h.unwatched = stop, make(chan struct{})
		go func() {
			defer close(h.unwatched)
			_ = h.watch.Run(watching) // it ends with its context only
		}()
	})
	return h.requests().Follow(ctx, a, id, last)
}

// operate makes the way by which operators look after the cluster.
func (h *cluster) operate() *operate.Service {
	return &operate.Service{Cluster: h.redis, Store: h.store, Intake: h.intake}
}

func redisOptions(cfg *config.Config) redisstore.Options {
	return redisstore.Options{
		URL: cfg.Redis.Reveal(), Namespace: cfg.Namespace,
		MaxWaiting: cfg.MaxWaiting, MaxSpecBytes: int64(cfg.MaxWaitingBytes), MaxOutputBytes: int64(cfg.LiveOutput),
	}
}

// noCluster says how to start a cluster when there is none to talk to.
func noCluster(err error, cfg *config.Config) error {
	if !core.Is(err, core.CodeUnavailable) {
		return err
	}
	return core.Errorf(core.CodeUnavailable, "", "there is no cluster at %s (%s): %v.\n%s", cfg.Redis, cfg.Source("redis"), err, howToStart)
}

const howToStart = `Start one with: drover up
or name a running one with --data DIR, or --redis URL, --store URL and --blobs URL, or DROVER_DATA, or DROVER_REDIS, DROVER_STORE and DROVER_BLOBS;
to run a single command without a cluster: drover run --embedded -- CMD`

func (h *cluster) close() error {
	var errs []error
	if h.unwatched != nil {
		h.unwatch()
	}
	if h.redis != nil {
		errs = append(errs, h.redis.Close())
	}
	if h.unwatched != nil {
		<-h.unwatched // a read under way ends with its connection
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	if h.blobs != nil {
		errs = append(errs, h.blobs.Close())
	}
	return errors.Join(errs...)
}
