package vmfactory_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/vmfactory"
	"drover/vmfactory/fake"
)

// redisRig is a host on a real store: what the scripts do, the cluster only mimics.
type redisRig struct {
	*rig
	b     *coretest.Backend
	store *redisstore.Store
	epoch int64 // of the runner
	seq   int64
	done  []core.Finish
	used  map[string]bool
	next  int
}

func newRedisRig(t *testing.T, b *coretest.Backend) *redisRig {
	r := &redisRig{rig: newRig(t, pool("a", 3, 6)), b: b, store: b.Open(t), used: make(map[string]bool)}
	r.cfg.Poll, r.cfg.Registration.Beat = 50*time.Millisecond, 100*time.Millisecond
	r.cfg.CheckEvery, r.cfg.ReconcileEvery = 200*time.Millisecond, 100*time.Millisecond
	r.cfg.SurplusAfter, r.cfg.DestroyPause, r.cfg.CreateBackoff = 200*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	r.begin()
	return r
}

// until waits for something that a real server and real time bring about.
func until(t *testing.T, reached func() bool) {
	t.Helper()
	for late := time.After(5 * time.Minute); !reached(); {
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			t.Fatal("it never came to that")
		}
	}
}

// begin sets the pool and registers the runner: at first, and after Redis lost everything.
func (r *redisRig) begin() {
	require.NoError(r.t, r.store.SetPool(context.Background(), pool("a", 3, 6)))
	reg, err := r.store.Register(context.Background(), core.Registration{
		Owner: runner, Host: host, Machine: "m1", Beat: time.Minute,
	})
	require.NoError(r.t, err)
	r.epoch, r.seq, r.done = reg.Epoch, 0, nil
	if len(reg.Left) > 0 {
		_, err := r.store.Settle(context.Background(), runner, reg.Epoch, release(reg.Left), 0)
		require.NoError(r.t, err)
	}
}

func release(held []core.Held) []core.Settlement {
	var items []core.Settlement
	for _, h := range held {
		items = append(items, core.Settlement{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRelease})
	}
	return items
}

func (r *redisRig) deps() vmfactory.Deps {
	p := r.rig.deps()
	p.VMs, p.Owners = r.store, r.store
	return p
}

func (r *redisRig) submit(n int) {
	var specs []core.Spec
	for range n {
		r.next++
		specs = append(specs, coretest.Spec(fmt.Sprintf("r%d", r.next), "a", "alice"))
	}
	verdicts, err := r.store.Enqueue(context.Background(), specs)
	require.NoError(r.t, err)
	for _, v := range verdicts {
		require.NoError(r.t, v)
	}
}

// exchange finishes what the runner holds and claims, using each VM as a runner
// does: a VM that somebody used before refuses.
func (r *redisRig) exchange(want int) (claimed, refused int) {
	r.seq++
	x, err := r.store.Exchange(context.Background(), core.Exchange{
		Owner: runner, Host: host, Epoch: r.epoch, Seq: r.seq, Pools: []string{"a"},
		Want: want, TokenBase: r.seq * 1000, Finish: r.done, Beat: time.Minute,
	})
	require.NoError(r.t, err)
	r.done = nil
	for _, c := range x.Claims {
		require.False(r.t, r.used[c.VM], "VM %s was claimed before", c.VM)
		r.used[c.VM] = true
		outcome := core.OutcomeDone
		if r.prov.Use(c.VM) != nil {
			outcome = core.OutcomeRetry
			refused++
		}
		r.done = append(r.done, core.Finish{Key: c.Key, Token: c.Token, Outcome: outcome})
	}
	return len(x.Claims), refused
}

// drain runs everything that waits.
func (r *redisRig) drain() (ran, refused int) {
	r.t.Helper()
	until(r.t, func() bool {
		c, no := r.exchange(2)
		ran, refused = ran+c-no, refused+no
		queues, err := r.store.Waiting(context.Background())
		require.NoError(r.t, err)
		waiting := 0
		for _, q := range queues {
			waiting += q.Waiting
		}
		return waiting+len(r.done) == 0
	})
	return ran, refused
}

// eventuallyWhole waits until the host is at its target and agrees with Redis.
func (r *redisRig) eventuallyWhole() {
	r.t.Helper()
	ctx := context.Background()
	until(r.t, func() bool {
		infos, err := r.store.ListVMs(ctx, host)
		require.NoError(r.t, err)
		held, err := r.store.Held(ctx, factory, 0)
		require.NoError(r.t, err)
		clean, err := r.store.CleanVMs(ctx, host, "a")
		require.NoError(r.t, err)
		if len(held) > 0 || len(clean) != 3 || len(infos) != 3 {
			return false
		}
		real := r.prov.VMs()
		for i, v := range infos {
			if len(real) != 3 || v.ID != real[i] || v.State != core.VMClean {
				return false
			}
		}
		return true
	})
	require.Empty(r.t, r.prov.Wrong())
	coretest.RequireSound(r.t, r.store)
}

func TestOnRedisVMsAreMadeUsedOnceAndReplaced(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		r := newRedisRig(t, b)
		p := r.startWith(r.deps())
		r.eventuallyWhole()
		r.submit(60)
		ran, refused := r.drain()
		require.Equal(t, 60, ran)
		require.Zero(t, refused)
		r.eventuallyWhole()
		p.end()
		owners, err := r.store.ListOwners(context.Background())
		require.NoError(t, err)
		require.Len(t, owners, 1, "only the runner is left")
		before := r.prov.VMs()
		p = r.startWith(r.deps())
		r.eventuallyWhole()
		require.Equal(t, before, r.prov.VMs())
		p.end()
	})
}

func TestOnRedisRecoverAndDestroyAll(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		r := newRedisRig(t, b)
		first := r.startWith(r.deps())
		r.eventuallyWhole()
		before := r.prov.VMs()
		r.cfg.Recover, r.cfg.ForceUnregister = true, true
		second := r.startWith(r.deps())
		require.True(t, core.Is(<-first.ended, core.CodeBusy))
		until(t, func() bool { return r.logged("forgot what Redis said of this host; rebuilding it from the machine") })
		r.eventuallyWhole()
		require.Equal(t, before, r.prov.VMs())
		second.end()

		f, err := vmfactory.New(r.cfg, r.deps())
		require.NoError(t, err)
		n, err := f.DestroyAll(context.Background())
		require.NoError(t, err)
		require.Equal(t, 3, n)
		infos, err := r.store.ListVMs(context.Background(), host)
		require.NoError(t, err)
		require.Empty(t, infos)
	})
}

// A host that was drained takes no work between the loss of Redis and the next overseer's turn,
// and none before the store has said what is wanted of it.
func TestOnRedisThatForgotThatTheHostIsDrained(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		r := newRedisRig(t, b)
		var away atomic.Bool
		var asked atomic.Int64
		deps := r.deps()
		deps.Wishes = func(_ context.Context, of string) ([]core.HostWish, error) {
			asked.Add(1)
			if away.Load() {
				return nil, core.Errorf(core.CodeUnavailable, "", "the store is away")
			}
			return []core.HostWish{{Host: of, Kind: core.WishDrain, At: 1}}, nil
		}
		p := r.startWith(deps)
		until(t, func() bool { return r.info().Ready })
		require.True(t, r.info().Drain)
		away.Store(true)
		r.forget()
		r.begin()
		before := asked.Load()
		until(t, func() bool { return asked.Load() > before+3 })
		require.False(t, r.info().Ready, "the store has not answered")
		away.Store(false)
		until(t, func() bool { return r.info().Ready })
		require.True(t, r.info().Drain)
		p.end()
	})
}

// forget lets Redis lose everything, at once, as a real loss is: what is written between a look
// and a removal would stay.
func (r *redisRig) forget() {
	const forget = `return redis.call('DEL', unpack(redis.call('KEYS', ARGV[1])))`
	require.NoError(r.t, r.b.Admin.Eval(context.Background(), forget, nil, r.b.Namespace+":*").Err())
}

// info is the host as Redis has it.
func (r *redisRig) info() core.HostInfo {
	hosts, err := r.store.ListHosts(context.Background())
	require.NoError(r.t, err)
	if len(hosts) == 0 {
		return core.HostInfo{}
	}
	return hosts[0]
}

// Redis loses everything: the factory is fenced, starts anew, and
// finds its VMs on the host.
func TestOnRedisThatForgetsEverything(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		r := newRedisRig(t, b)
		p := r.startWith(r.deps())
		r.eventuallyWhole()
		before := r.prov.VMs()
		r.forget()
		r.begin()
		r.eventuallyWhole()
		require.Equal(t, before, r.prov.VMs())
		require.Equal(t, 3, r.prov.Created())
		p.end()
	})
}

// Redis comes back as another incarnation and with an older memory: what it
// believes clean may have been used.
func TestOnRedisOfAnotherIncarnation(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		r := newRedisRig(t, b)
		r.cfg.CheckEvery, r.cfg.ReconcileEvery = time.Hour, time.Hour
		p := r.startWith(r.deps())
		r.eventuallyWhole()
		used := r.prov.VMs()[0]
		require.NoError(t, r.prov.Use(used))
		looks := r.prov.Calls(fake.List)
		until(t, func() bool { // a look that began before cannot know of it
			require.NoError(t, b.Admin.HSet(context.Background(), b.Namespace+":host:"+host, "incarnation", "older").Err())
			return r.prov.Calls(fake.List) > looks
		})
		r.submit(6)
		ran, refused := r.drain()
		require.Equal(t, 6, ran)
		require.Zero(t, refused, "nobody got the used one")
		r.eventuallyWhole()
		p.end()
	})
}

// The process dies at many steps, in the middle of work, and the next one goes on:
// every request runs, no VM serves twice, nothing is left over.
func TestOnRedisKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		r := newRedisRig(t, b)
		coretest.Twice(r.store) // every script runs twice, too
		ran := 0
		for life := range 12 {
			deps, m := mortalDeps(r.deps(), 9+5*life, life%2 == 0)
			p := r.startWith(deps)
			r.submit(5)
			until(t, func() bool {
				c, no := r.exchange(2)
				require.Zero(t, no)
				ran += c
				return m.isDead()
			})
			p.stop()
			require.NoError(t, <-p.ended)
		}
		p := r.startWith(r.deps())
		last, refused := r.drain()
		require.Zero(t, refused)
		require.Equal(t, 60, ran+last)
		r.eventuallyWhole()
		p.end()
	})
}
