package worker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/worker"

	"github.com/stretchr/testify/require"
)

// never is a poll that no test lives to see: only bells bring work.
const never = time.Hour

func openOn(t *testing.T, h *coretest.Cluster, c core.Claims, n, slots int, poll time.Duration) *worker.Worker {
	t.Helper()
	d, left, err := worker.Open(t.Context(), h.Store, c, worker.Config{
		Registration: core.Registration{
			Owner: core.OwnerName(core.RoleTestrunner, h.Host, n), Machine: "m-" + h.Host, Beat: time.Minute,
		},
		Pools: []string{h.Pool}, Slots: slots, Poll: poll,
	})
	require.NoError(t, err)
	require.Empty(t, left)
	return d
}

// shaky loses calls and answers on the way to a real Redis.
type shaky struct{ core.Claims }

func (s shaky) Exchange(ctx context.Context, x core.Exchange) (core.Exchanged, error) {
	if rand.IntN(6) == 0 {
		return core.Exchanged{}, errNet
	}
	out, err := s.Claims.Exchange(ctx, x)
	if err == nil && rand.IntN(6) == 0 {
		return core.Exchanged{}, errNet
	}
	return out, err
}

// ledger counts how often each request and VM was used.
type ledger struct {
	mu   sync.Mutex
	jobs map[string]int
	vms  map[string]int
}

func (l *ledger) use(w *worker.Work) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[w.Key]++
	l.vms[w.VM]++
	return len(l.jobs)
}

func TestWorkersShareACluster(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	const jobs, slots = 400, 16
	h := coretest.NewCluster(t, b.Open(t), "h1", "p1")
	book := &ledger{jobs: map[string]int{}, vms: map[string]int{}}
	all := make(chan struct{})
	var own []*worker.Worker
	var workers sync.WaitGroup
	for n := range 3 {
		d := openOn(t, h, shaky{h.Store}, n+1, slots, time.Second)
		own = append(own, d)
		for range slots {
			workers.Go(func() {
				w, err := d.Next(context.Background())
				for err == nil {
					if book.use(w) == jobs {
						close(all)
					}
					var moved bool
					w, moved, err = d.FinishNext(context.Background(), w, core.OutcomeDone)
					if err == nil && !moved {
						t.Error("a finish did not move its slot")
					}
				}
			})
		}
	}
	for i := range jobs { // VMs are scarce, and come while the work does
		h.Submit(t, coretest.Spec(fmt.Sprintf("r%d", i), "p1", fmt.Sprintf("s%d", i%7)))
		h.AddVMs(t, 1)
	}
	<-all
	for _, d := range own {
		require.NoError(t, d.Close(t.Context()))
	}
	workers.Wait()
	require.Len(t, book.jobs, jobs)
	for key, n := range book.jobs {
		require.Equal(t, 1, n, key)
	}
	for vm, n := range book.vms {
		require.Equal(t, 1, n, vm)
	}
	owners, err := h.Store.ListOwners(t.Context())
	require.NoError(t, err)
	require.Len(t, owners, 2, "only the fixture's own are left: %v", owners)
	coretest.RequireSound(t, h.Store)
}

// Three idle workers on one host, one submit at a time: each is claimed by the
// bell alone, whichever worker was busy or idle before.
func TestBellsAloneBringWork(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		h := coretest.NewCluster(t, b.Open(t), "h1", "p1")
		h.AddVMs(t, 10)
		got := make(chan string)
		var workers sync.WaitGroup
		var own []*worker.Worker
		for n := range 3 {
			d := openOn(t, h, h.Store, n+1, 2, never)
			own = append(own, d)
			for range 2 {
				workers.Go(func() {
					w, err := d.Next(context.Background())
					for err == nil {
						got <- w.Key
						if len(w.Key)%2 == 0 {
							w, _, err = d.FinishNext(context.Background(), w, core.OutcomeDone)
							continue
						}
						if _, err = d.Finish(context.Background(), w, core.OutcomeDone); err == nil {
							w, err = d.Next(context.Background())
						}
					}
				})
			}
		}
		for i := range 120 {
			id := fmt.Sprintf("r%d", i)
			h.Submit(t, coretest.Spec(id, "p1", "ann"))
			require.Equal(t, core.Key(id, 1), <-got)
			h.AddVMs(t, 1)
		}
		for _, d := range own {
			d.Drain()
		}
		workers.Wait()
		for _, d := range own {
			closeWorker(t, d)
		}
		coretest.RequireSound(t, h.Store)
	})
}

func TestCancelAndFenceOnRedis(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	h := coretest.NewCluster(t, b.Open(t), "h1", "p1")
	h.AddVMs(t, 2)
	h.Submit(t, coretest.Spec("a", "p1", "ann"), coretest.Spec("b", "p1", "ann"))
	d := openOn(t, h, h.Store, 1, 2, never)
	first, second := next(t, d), next(t, d)
	_, err := h.Store.Cancel(t.Context(), first.Key, "bob", core.CancelAny)
	require.NoError(t, err)
	<-first.Cancelled
	require.Equal(t, core.CodeCancelled, core.CodeOf(first.Cause()))
	require.NoError(t, second.Cause())
	finish(t, d, first)

	require.NoError(t, b.Admin.Do(t.Context(), "ZADD", b.Namespace+":owners", "XX", 1, d.Owner()).Err())
	_, err = h.Store.Fence(t.Context(), d.Owner(), time.Millisecond)
	require.NoError(t, err)
	<-d.Lost()
	<-second.Cancelled
	_, err = d.Finish(t.Context(), second, core.OutcomeDone)
	require.Equal(t, core.CodeFenced, core.CodeOf(err))
	closeWorker(t, d)
}

func TestCallWithoutAWishPassesARingOn(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	h := coretest.NewCluster(t, b.Open(t), "h1", "p1")
	bell := b.Namespace + ":bell:h1"
	rings := func() int64 { return b.Admin.LLen(t.Context(), bell).Val() }
	take := func() { require.NoError(t, b.Admin.Del(t.Context(), bell).Err()) }
	take()
	h.Exchange(t, 1, 0)
	require.Zero(t, rings(), "no VM: nobody needs to look")
	h.AddVMs(t, 2)
	take()
	h.Exchange(t, 2, 0)
	require.EqualValues(t, 1, rings())
	h.Exchange(t, 3, 0)
	require.EqualValues(t, 1, rings(), "a bell holds one ring")
}
