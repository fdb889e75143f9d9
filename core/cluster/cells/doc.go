// Package cells is one cluster's view of several: each cell is a cluster of its own, with its own namespace of a Redis,
// hosts, testrunners and overseers, and all of them share one result store and one site.
//
//	what                          where it is
//	a pool, its VMs and requests  in the cell that the pool's record in the result store names, until its removal
//	a request, by its key         in the cell of its pool, which its row names
//	a host, its owners and VMs    in the cell whose Redis its vmfactory uses
//	tasks, sessions, rates,       in the first cell, that of the settings redis and namespace
//	leases, host groups
//
// A request moves to another cell only with its pool, which nothing uses then. So no request is in two cells, and
// nobody has to ask all of them for one.
//
// # When a cell is away
//
//	operation                     result
//	submit to its pool            accepted: the row is in the store, and the cell's overseer queues it later
//	submit to another pool        as ever
//	cancel, change, view of one   UNAVAILABLE, as in a cluster without cells
//	of its requests
//	lists of hosts, owners, VMs,  those of the others; Away names the cell. UNAVAILABLE if no cell answers
//	pools, queues, events
//	delete its pool               UNAVAILABLE: whether something waits there is not known
package cells

import (
	"context"
	"time"

	"drover/core"
)

// Redis is what the view needs of one cell; redisstore.Store is one.
type Redis interface {
	core.Queue
	core.Output
	core.Feed
	core.History
	core.Consistency

	SetPool(ctx context.Context, p core.Pool) error
	RemovePool(ctx context.Context, name string, asks bool) error
	GetPool(ctx context.Context, name string) (core.Pool, error)
	ListPools(ctx context.Context) ([]core.Pool, error)
	Outages(ctx context.Context) (map[string]core.Outage, error)
	SetOutage(ctx context.Context, pool string, o core.Outage) (bool, error)
	Capacities(ctx context.Context) (map[string]core.Size, error)
	Room(ctx context.Context, specs ...core.Spec) error

	ListHosts(ctx context.Context) ([]core.HostInfo, error)
	ListOwners(ctx context.Context) ([]core.OwnerInfo, error)
	ListVMs(ctx context.Context, host string) ([]core.VMInfo, error)
	Rooms(ctx context.Context) ([]core.Room, int64, error)
	Evacuations(ctx context.Context) ([]core.Evacuation, error)
	Overseen(ctx context.Context) (core.Overseen, error)
	EnqueueTask(ctx context.Context, t core.Task) error
	PresentTasks(ctx context.Context, keys []string) ([]bool, error)
	LocateTasks(ctx context.Context, keys []string) ([]core.TaskPlace, error)
	CancelTask(ctx context.Context, key, by string) (core.TaskPlace, error)
	WithdrawTask(ctx context.Context, key string) (bool, error)
	TaskQueues(ctx context.Context) ([]core.TaskQueueInfo, error)

	SetHost(ctx context.Context, host string, s core.HostSettings) error
	Drain(ctx context.Context, host string, on bool, deadline time.Duration) error
	Probation(ctx context.Context, host, reason string, delay time.Duration, needed int) error
	ForgetHost(ctx context.Context, host string) error
	AddHostReport(ctx context.Context, r core.HostReport) error
}

// Store is what the view needs of the result store.
type Store interface {
	Get(ctx context.Context, id string) (core.Row, error)
	Pools(ctx context.Context) ([]core.Pool, error)
}

// The interfaces that a view implements.
var (
	_ core.Queue       = (*Cells)(nil)
	_ core.Pools       = (*Cells)(nil)
	_ core.Output      = (*Cells)(nil)
	_ core.History     = (*Cells)(nil)
	_ core.Consistency = (*Cells)(nil)
	_ core.Feed        = Source{}
)
