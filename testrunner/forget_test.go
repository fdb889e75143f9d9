package testrunner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/core/redisstore/redisserver"
	"drover/core/requests/intake"
	"drover/testrunner"
)

// amnesia is a host with a request that runs while Redis loses its memory.
type amnesia struct {
	*fixture
	server *redisserver.Server
	in     *intake.Intake
	spec   core.Spec
	cut    atomic.Bool // the testrunner does not reach Redis
	runs   atomic.Int64
	seen   chan struct{}
	let    chan struct{}
	lost   chan struct{} // the first run was stopped
}

// newAmnesia has a Redis of its own; comeBack as redisstore.Options have it.
func newAmnesia(t *testing.T, comeBack time.Duration) *amnesia {
	t.Helper()
	ctx := context.Background()
	server, err := redisserver.Start(ctx, "--appendonly", "no")
	if err != nil {
		coretest.Missing(t, "redis-server", err)
	}
	t.Cleanup(func() { _ = server.Stop() }) // it reports its own violent end
	admin := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket})
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	b := &coretest.Backend{Name: "real", URL: server.URL(), Namespace: "t", Admin: admin}
	store, err := redisstore.Open(ctx, redisstore.Options{URL: b.URL, Namespace: b.Namespace, ComeBack: comeBack})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	a := &amnesia{
		fixture: newFixtureOn(t, b, store), server: server,
		seen: make(chan struct{}, 10), let: make(chan struct{}), lost: make(chan struct{}, 1),
	}
	a.in = &intake.Intake{Store: a.ledger, Queue: store, Pools: store, Tasks: store}
	p := core.DefaultPool(a.cluster.Pool)
	p.Max = 1000
	require.NoError(t, a.in.SetPool(ctx, p))
	a.spec = coretest.Spec("r1", a.cluster.Pool, "ann")
	a.script.run = func(ctx context.Context, _ int, _ agent.Run, _ func(string, []byte)) (agent.Exit, error) {
		if a.runs.Add(1); a.spec.ID == "" {
			return agent.Exit{}, nil
		}
		a.seen <- struct{}{}
		select {
		case <-a.let:
			return agent.Exit{}, nil
		case <-ctx.Done():
			a.lost <- struct{}{}
			return untilKilled(ctx, "vm")
		}
	}
	return a
}

// farClaims and farOwners do not reach Redis while the testrunner is cut off.
type farClaims struct {
	core.Claims
	a *amnesia
}

type farOwners struct {
	core.Owners
	a *amnesia
}

func (a *amnesia) away() error {
	if a.cut.Load() {
		return core.Errorf(core.CodeUnavailable, "", "Redis is away")
	}
	return nil
}

func (f farClaims) Exchange(ctx context.Context, x core.Exchange) (core.Exchanged, error) {
	if err := f.a.away(); err != nil {
		return core.Exchanged{}, err
	}
	return f.Claims.Exchange(ctx, x)
}

func (f farClaims) Progress(ctx context.Context, owner string, epoch int64, key, token, phase string, limit time.Duration) error {
	if err := f.a.away(); err != nil {
		return err
	}
	return f.Claims.Progress(ctx, owner, epoch, key, token, phase, limit)
}

func (f farOwners) Beat(ctx context.Context, owner string, epoch int64, next time.Duration) (core.Beat, error) {
	if err := f.a.away(); err != nil {
		return core.Beat{}, err
	}
	return f.Owners.Beat(ctx, owner, epoch, next)
}

// begin starts the testrunner, which begins the request, and saves what Redis has: before the testrunner is there, before
// it claims the request, or while it runs.
func (a *amnesia) begin(saved string) {
	t := a.t
	t.Helper()
	ctx := context.Background()
	save := func(when string) {
		if saved == when {
			require.NoError(t, a.redis.Admin.Save(ctx).Err())
		}
	}
	a.cluster.AddVMs(t, 1)
	a.submit(a.spec)
	require.NoError(t, a.cluster.Store.SetPool(ctx, core.DefaultPool("none")))
	save("before its testrunner")
	a.start(func(c *testrunner.Config, d *testrunner.Deps) {
		d.Claims, d.Owners = farClaims{d.Claims, a}, farOwners{d.Owners, a}
		if saved == "before its claim" {
			c.Pools = []string{"none"}
		}
		c.Slots = 1
	})
	if saved == "before its claim" {
		eventually(t, func() bool { return a.owner() > a.cluster.Epoch })
		save(saved)
		require.NoError(t, a.runner.Serve([]string{a.cluster.Pool}))
	}
	select {
	case <-a.seen:
	case <-time.After(testTimeout):
		t.Fatal("nothing was run")
	}
	eventually(t, func() bool { return a.place(a.spec).State == core.RequestRunning })
	save("while it runs")
}

// owner is the testrunner's epoch; 0 if Redis does not know it.
func (a *amnesia) owner() int64 {
	infos, err := a.cluster.Store.ListOwners(context.Background())
	if err != nil {
		return 0
	}
	for _, o := range infos {
		if o.Name == a.cluster.Runner {
			return o.Epoch
		}
	}
	return 0
}

// restart ends the server, as a loss of power does, and starts it with what was saved, or without any of it.
func (a *amnesia) restart(empty bool) {
	a.t.Helper()
	require.NoError(a.t, a.server.Kill())
	if empty {
		if err := os.Remove(filepath.Join(a.server.Dir, "dump.rdb")); err != nil {
			require.ErrorIs(a.t, err, os.ErrNotExist)
		}
	}
	require.NoError(a.t, a.server.Restart(context.Background()))
}

func (a *amnesia) flush() {
	a.t.Helper()
	require.NoError(a.t, a.redis.Admin.FlushAll(context.Background()).Err())
}

// factoryComesBack is the host's vmfactory, which registers again and finds the VM in use.
func (a *amnesia) factoryComesBack() core.Reconciled {
	a.t.Helper()
	a.cluster.Made = a.cluster.Register(a.t, a.cluster.Factory).Epoch
	r, err := a.cluster.Store.Reconcile(context.Background(), a.cluster.Factory, a.cluster.Made, a.cluster.Host,
		map[string]core.Found{"vm-h1-1": {Pool: a.cluster.Pool, Used: true}}, nil)
	require.NoError(a.t, err)
	return r
}

func (a *amnesia) sweep() int {
	a.t.Helper()
	_, err := a.in.RestorePools(context.Background())
	require.NoError(a.t, err)
	n, err := a.in.Sweep(context.Background())
	require.NoError(a.t, err)
	return n
}

// Work goes on when Redis loses its memory, and its result is taken, whatever Redis remembers, whichever component comes
// back first, and also if the work ends meanwhile.
func TestWorkGoesOnWhenRedisLosesItsMemory(t *testing.T) {
	t.Parallel()
	for way, lose := range map[string]func(a *amnesia){
		"flushed":               (*amnesia).flush,
		"restarted empty":       func(a *amnesia) { a.restart(true) },
		"before its testrunner": func(a *amnesia) { a.restart(false) },
		"before its claim":      func(a *amnesia) { a.restart(false) },
		"while it runs":         func(a *amnesia) { a.restart(false) },
	} {
		for _, policy := range []string{core.OnHostLossRequeue, core.OnHostLossFail} {
			for _, order := range []string{"the testrunner first", "the vmfactory and the sweep first", "it ends meanwhile"} {
				t.Run(fmt.Sprintf("%s, %s, %s", way, policy, order), func(t *testing.T) {
					t.Parallel()
					a := newAmnesia(t, time.Hour)
					a.spec.OnHostLoss = policy
					a.begin(way)
					a.goesOn(order, func() { lose(a) })
				})
			}
		}
	}
}

func (a *amnesia) goesOn(order string, lose func()) {
	t := a.t
	t.Helper()
	ctx := context.Background()
	a.cut.Store(order != "the testrunner first")
	lose()
	switch order {
	case "the vmfactory and the sweep first":
		require.Zero(t, a.factoryComesBack().Dirtied, "the VM is in use")
		require.Zero(t, a.sweep(), "it may be running")
	case "it ends meanwhile":
		close(a.let)
		require.Equal(t, core.RequestCompleted, a.result().State)
	}
	a.cut.Store(false)
	if order == "it ends meanwhile" {
		eventually(t, func() bool { return a.owner() > 0 && a.place(a.spec).State != core.RequestRunning })
	} else {
		eventually(t, func() bool { return a.place(a.spec).State == core.RequestRunning })
		a.sweep()
		require.Zero(t, a.factoryComesBack().Dirtied, "the VM is in use")
		coretest.RequireSound(t, a.cluster.Store)
		require.Equal(t, core.RequestRunning, a.place(a.spec).State)
		close(a.let)
		require.Equal(t, core.RequestCompleted, a.result().State)
		eventually(t, func() bool { return a.place(a.spec).State == "" })
		coretest.RequireSound(t, a.cluster.Store)
		require.Equal(t, map[core.VMState]int{core.VMDirty: 1}, a.vmStates())
	}
	a.runner.drain()
	require.EqualValues(t, 1, a.runs.Load())
	attempts, err := a.ledger.Attempts(ctx, a.spec.ID)
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.Equal(t, 1, attempts[0].Result.Attempt)
}

// If its testrunner comes back too late, it was queued again. It gets the request back as long as nobody has claimed it;
// then the other claim counts, and that does not run what was begun and must not run twice.
func TestATestrunnerThatComesBackLate(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{core.OnHostLossRequeue, core.OnHostLossFail} {
		for _, claimed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, claimed %v", policy, claimed), func(t *testing.T) {
				t.Parallel()
				a := newAmnesia(t, -1)
				a.spec.OnHostLoss = policy
				a.begin("")
				a.cut.Store(true)
				a.flush()
				a.late(policy == core.OnHostLossFail, claimed)
			})
		}
	}
}

func (a *amnesia) late(once, claimed bool) {
	t := a.t
	t.Helper()
	if once {
		require.Zero(t, a.sweep())
		require.Equal(t, core.RequestFailed, a.result().State, "it was begun, and nobody knows more")
		a.cut.Store(false)
		eventually(t, func() bool { return a.owner() > 0 })
		close(a.let)
		a.runner.drain()
		require.EqualValues(t, 1, a.runs.Load())
		return
	}
	require.Equal(t, 1, a.sweep())
	if !claimed {
		a.cut.Store(false)
		eventually(t, func() bool { return a.place(a.spec).State == core.RequestRunning })
		coretest.RequireSound(t, a.cluster.Store)
		close(a.let)
		require.Equal(t, core.RequestCompleted, a.result().State)
		a.runner.drain()
		require.EqualValues(t, 1, a.runs.Load())
		return
	}
	other := coretest.NewCluster(t, a.cluster.Store, "h2", a.cluster.Pool)
	other.AddVMs(t, 1)
	claim := other.Exchange(t, 1, 1).Claims[0]
	require.Equal(t, a.spec.Key(), claim.Key)
	a.cut.Store(false)
	select {
	case <-a.lost:
	case <-time.After(testTimeout):
		t.Fatal("it goes on although another has it")
	}
	require.Equal(t, other.Runner, a.place(a.spec).Owner)
	a.runner.drain()
}
