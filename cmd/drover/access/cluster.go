// Package access connects a command to a cluster, by its Redis and its stores, or to a site with a login. A user's
// command calls either through the same interface, Backend.
package access

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"sync"
	"time"

	"drover/core"
	"drover/core/account"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/classes/lti"
	"drover/core/cloud"
	"drover/core/cluster/join"
	"drover/core/cluster/operate"
	"drover/core/config"
	"drover/core/redisstore"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/service/clock"
	"drover/core/webhook"
	"drover/web/transfer"
)

// Cluster is a connection to a cluster: its Redis, its stores, its intake.
type Cluster struct {
	Config *config.Config
	Redis  *redisstore.Store
	Store  school.ResultStore
	Blobs  core.Blobs
	Intake *intake.Intake
	Now    func() time.Time // by Redis' clock: times recorded by one host are judged by others

	Webhooks     webhook.Addresses      // where deliveries may be sent
	Repositories *transfer.Repositories // fetch what is submitted from Git; nil: nothing is

	StoreID string // of store

	watching  sync.Once
	watch     requests.Watch // of all followers of requests in this program
	unwatch   func()         // ends it
	unwatched chan struct{}  // closed when watch has ended; nil: it was not started

	learning sync.Mutex
	BlobsID  string // of blobs; "" until the store has answered
}

// OpenCluster connects to the cluster in the settings, and refuses a cluster whose stores differ from those in the
// settings.
func OpenCluster(ctx context.Context, cfg *config.Config) (*Cluster, error) {
	h, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := h.sameLedger(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// JoinCluster connects a component.
func JoinCluster(ctx context.Context, cfg *config.Config) (*Cluster, error) {
	h, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := h.Join(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// connect opens the parts of a cluster. A result store is made for a cluster that has none.
func connect(ctx context.Context, cfg *config.Config) (*Cluster, error) {
	h := &Cluster{Config: cfg}
	var err error
	if h.Webhooks, err = webhook.ParseAddresses(cfg.WebhookAllow); err != nil {
		return nil, err
	}
	h.Repositories = repositoriesOf(cfg, h.Webhooks)
	if h.Redis, err = redisstore.Open(ctx, redisOptions(cfg)); err != nil {
		return nil, withoutRedis(err, cfg)
	}
	its, err := h.Redis.Ledger(ctx)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	first := its.Results == ""
	if err = h.firstFolder(first); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if h.Store, err = openStore(ctx, cfg, !first); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if h.StoreID, err = h.Store.ID(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if h.Blobs, err = blobs.Open(ctx, cfg.Blobs.Reveal()); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.Now = clock.NewShared(h.Redis.Skew).Now
	h.Intake = &intake.Intake{
		Store: h.Store, Queue: h.Redis, Pools: h.Redis, Tasks: h.Redis, Blobs: h.Blobs, Now: h.Now,
	}
	return h, nil
}

// firstFolder makes the data folder for a cluster's very first program, if the store belongs there: that need not be
// a component. In a cluster that already has a store, a missing folder is a wrong setting.
func (h *Cluster) firstFolder(first bool) error {
	if !first || h.Config.Source("store") != config.Default {
		return nil
	}
	if _, err := os.Stat(h.Config.Data); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return MakeData(h.Config)
}

// Classes makes the service of classes.
func (h *Cluster) Classes() *classes.Service {
	return &classes.Service{Store: h.Store, Intake: h.Intake, Blobs: h.Blobs, Webhooks: h.Webhooks, Quota: classes.Quota{
		Limits: h.Redis, Rate: h.Config.Submits(), Bytes: int64(h.Config.SubmitBytes),
	}}
}

// Requests makes the service of requests.
func (h *Cluster) Requests() *requests.Service {
	return &requests.Service{
		Store: h.Store, Intake: h.Intake, Queue: h.Redis, Cluster: h.Redis, Output: h.Redis, Blobs: h.Blobs, Submissions: h.Classes(),
		Watch: &h.watch,
	}
}

// follow yields the events of a request, see requests.Service.Follow.
func (h *Cluster) follow(ctx context.Context, a core.Actor, id, last string) iter.Seq2[requests.Event, error] {
	h.watching.Do(func() {
		h.watch.Feed, h.watch.Last = h.Redis, h.Redis.LastEvents
		watching, stop := context.WithCancel(context.WithoutCancel(ctx))
		h.unwatch, h.unwatched = stop, make(chan struct{})
		go func() {
			defer close(h.unwatched)
			_ = h.watch.Run(watching) // it ends with its context only
		}()
	})
	return h.Requests().Follow(ctx, a, id, last)
}

// Operate makes the service of operators.
func (h *Cluster) Operate() *operate.Service {
	return &operate.Service{
		Cluster: withLeases{h.Redis, h.Consistency()}, Store: h.Store, Intake: h.Intake,
		Elastic: h.Store, CheckGroup: cloud.Check, AllowsLabels: h.Leases().AllowsLabels,
	}
}

func redisOptions(cfg *config.Config) redisstore.Options {
	return redisstore.Options{
		URL: cfg.Redis.Reveal(), Namespace: cfg.Namespace,
		MaxWaiting: cfg.MaxWaiting, MaxSpecBytes: int64(cfg.MaxWaitingBytes), MaxOutputBytes: int64(cfg.LiveOutput),
	}
}

// Close closes the connections.
func (h *Cluster) Close() error {
	var errs []error
	if h.unwatched != nil {
		h.unwatch()
	}
	if h.Redis != nil {
		errs = append(errs, h.Redis.Close())
	}
	if h.unwatched != nil {
		<-h.unwatched // a read in progress ends with its connection
	}
	if h.Store != nil {
		errs = append(errs, h.Store.Close())
	}
	if h.Blobs != nil {
		errs = append(errs, h.Blobs.Close())
	}
	return errors.Join(errs...)
}

// MakeData makes the data folder of a component.
func MakeData(cfg *config.Config) error {
	return core.Wrap(os.MkdirAll(cfg.Data, 0o700), core.CodeUnavailable, cfg.Data,
		"the data folder %s cannot be made: name another with --data", cfg.Data)
}

// Accounts makes the service of accounts.
func (h *Cluster) Accounts() (*account.Service, error) {
	hasher, err := account.NewHasher(account.DefaultCost)
	d := &account.Service{Store: h.Store, Limits: h.Redis, Hasher: hasher}
	if h.Config.SMTP != "" {
		d.Mail = h.Intake
	}
	return d, err
}

// LTI makes the service of learning platforms, whose people reach the site by a URL.
func (h *Cluster) LTI(accounts *account.Service, at *url.URL) *lti.Service {
	return &lti.Service{
		Store: h.Store, Classes: h.Classes(), Accounts: accounts, Limits: h.Redis, Addresses: h.Webhooks, URL: at, Name: h.Config.SiteName,
	}
}

// Joins makes the service of tokens by which machines join, which hands out nothing.
func (h *Cluster) Joins() *join.Service {
	return &join.Service{Store: h.Store, Hosts: h.Redis.ListHosts, Limits: h.Redis, Groups: h.Store.HostGroups}
}
