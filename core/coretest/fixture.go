package coretest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/redisstore"

	"github.com/redis/go-redis/v9"

	"github.com/stretchr/testify/require"
)

// Spec makes a checked request of a pool and submitter.
func Spec(id, pool, submitter string) core.Spec {
	return core.Spec{
		ID: id, Generation: 1, Pool: pool, Priority: core.PriorityNormal, Submitter: submitter,
		Command: []string{"true"}, Limits: core.DefaultPool(pool).Limits, Submitted: 1,
	}
}

// Clocked is a queue in a Redis with another clock than its own.
type Clocked struct {
	core.Queue

	Now func() time.Time
}

// ReadClock implements core.Queue.
func (c Clocked) ReadClock(ctx context.Context) (core.RedisClock, error) {
	at, err := c.Queue.ReadClock(ctx)
	at.Now = c.Now().UnixMilli()
	return at, err
}

// Cluster is a host with registered owners and a pool, ready to claim.
type Cluster struct {
	Store   *redisstore.Store
	Host    string
	Pool    string
	Runner  string
	Factory string
	Epoch   int64 // the runner's
	Made    int64 // the vmfactory's epoch
	Peers   bool  // AddVMs names VMs that have a peer
	vms     int
}

// NewCluster registers a testrunner and a vmfactory on a host and makes a pool.
func NewCluster(t testing.TB, s *redisstore.Store, host, pool string) *Cluster {
	t.Helper()
	ctx := context.Background()
	p := core.DefaultPool(pool)
	p.Max = 1000
	require.NoError(t, s.SetPool(ctx, p))
	h := &Cluster{
		Store: s, Host: host, Pool: pool,
		Runner: core.OwnerName(core.RoleTestrunner, host, 0), Factory: core.OwnerName(core.RoleVMFactory, host, 0),
	}
	h.Epoch = h.Register(t, h.Runner).Epoch
	h.Made = h.Register(t, h.Factory).Epoch
	_, err := s.Reconcile(ctx, h.Factory, h.Made, host, nil, nil)
	require.NoError(t, err)
	require.NoError(t, s.Note(ctx, h.Factory, h.Made, host, core.HostNotes{Serves: []string{pool}}))
	return h
}

// ErrOf is the error of a call whose answer does not matter.
func ErrOf[T any](_ T, err error) error { return err }

// Register registers an owner of the cluster's host for a minute.
func (h *Cluster) Register(t testing.TB, owner string) core.Registered {
	t.Helper()
	r, err := h.Store.Register(context.Background(), core.Registration{
		Owner: owner, Host: h.Host, Machine: "m-" + h.Host, PID: 1, Version: "test", Beat: time.Minute,
	})
	require.NoError(t, err)
	return r
}

// AddVMs creates n clean VMs and returns their ids.
func (h *Cluster) AddVMs(t testing.TB, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = h.NameVM()
	}
	h.AddVM(t, ids...)
	return ids
}

// NameVM returns the id of the next VM.
func (h *Cluster) NameVM() string {
	h.vms++
	id := fmt.Sprintf("vm-%s-%d", h.Host, h.vms)
	if h.Peers {
		id = core.PairVM(id)
	}
	return id
}

// AddVM creates clean VMs with these ids.
func (h *Cluster) AddVM(t testing.TB, ids ...string) {
	t.Helper()
	made := make(map[string]bool)
	for _, id := range ids {
		made[id] = true
	}
	ctx := context.Background()
	require.NoError(t, h.Store.Create(ctx, h.Factory, h.Made, h.Host, h.Pool, ids))
	require.NoError(t, h.Store.Ready(ctx, h.Factory, h.Made, h.Host, made))
}

// Submit enqueues requests and requires that each is taken.
func (h *Cluster) Submit(t testing.TB, specs ...core.Spec) {
	t.Helper()
	verdicts, err := h.Store.Enqueue(context.Background(), specs)
	require.NoError(t, err)
	for _, v := range verdicts {
		require.NoError(t, v)
	}
}

// Call is an exchange of the cluster's runner.
func (h *Cluster) Call(seq int64, want int, finish ...core.Finish) core.Exchange {
	return core.Exchange{
		Owner: h.Runner, Host: h.Host, Epoch: h.Epoch, Seq: seq, Pools: []string{h.Pool},
		Want: want, TokenBase: seq * 1000, Finish: finish, Beat: time.Minute,
	}
}

// Exchange runs a call and requires that it is answered.
func (h *Cluster) Exchange(t testing.TB, seq int64, want int, finish ...core.Finish) core.Exchanged {
	t.Helper()
	x, err := h.Store.Exchange(context.Background(), h.Call(seq, want, finish...))
	require.NoError(t, err)
	return x
}

// Hasten lets all retries go whose pause is not over yet.
func (b *Backend) Hasten(t testing.TB, s *redisstore.Store) {
	t.Helper()
	ctx := context.Background()
	later := s.Namespace().Key("later")
	waiting, err := b.Admin.ZRange(ctx, later, 0, -1).Result()
	require.NoError(t, err)
	for _, key := range waiting {
		require.NoError(t, b.Admin.ZAddXX(ctx, later, redis.Z{Score: 1, Member: key}).Err())
	}
	for range waiting {
		_, err := s.Promote(ctx)
		require.NoError(t, err)
	}
}
