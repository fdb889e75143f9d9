package overseer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/overseer"
)

// forgetful is a cluster with something of each kind that an overseer may end, a Redis that forgets, and hosts that do
// not.
type forgetful struct {
	*elastic

	svc    *lease.Service
	begun  time.Time
	ids    map[string]string // requests and leases by their names here
	silent bool              // no host gives a sign
	empty  memory            // of Redis before there were hosts
	away   bool              // the store does not answer
	naive  bool              // ages are differences of two times
}

// forgetfulHosts are the hosts with work, or none.
var forgetfulHosts = map[string]int{"burst-000001": 1, "burst-000002": 1, "burst-000004": 0, "h1": 1, "h2": 1, "h3": 1}

const hostsBeat = 20 * time.Second

func newForgetful(t *testing.T) *forgetful {
	t.Helper()
	ctx := t.Context()
	w := &forgetful{elastic: newElastic(t), ids: make(map[string]string)}
	w.begun = w.now
	store, ok := w.store.(leaseStore)
	require.True(t, ok)
	w.svc = &lease.Service{Store: store, Cluster: w.cluster, Now: func() time.Time { return w.now }, NewID: func() string { return fmt.Sprintf("l%04d", len(w.ids)) }}
	w.in.Now = func() time.Time { return w.now }
	for name, change := range map[string]func(p *core.Pool){
		"once":   func(p *core.Pool) { p.OnHostLoss = core.OnHostLossFail },
		"late":   func(p *core.Pool) { p.MaxWait = soon },
		"broken": func(p *core.Pool) { p.BrokenFor = soon },
	} {
		p := core.DefaultPool(name)
		p.Max, p.Warm, p.Requires = 100, 0, "zone=none"
		change(&p)
		require.NoError(t, w.in.SetPool(ctx, p))
	}
	w.empty = remember(t, w.b.Mini)
	for _, host := range slices.Sorted(maps.Keys(forgetfulHosts)) {
		w.hostWith(host, hostsBeat, 2)
		w.note(host)
	}
	g := w.records.groups["burst"]
	g.Max, g.IdleAfter, g.JoinWithin = 6, soon, soon
	w.records.groups["burst"] = g
	now := w.now.UnixMilli()
	for id, i := range map[string]core.Instance{
		"burst-000001": {State: core.InstanceJoined, Joined: now},
		"burst-000002": {State: core.InstanceDraining, Joined: now, Deadline: now + soon.Milliseconds()},
		"burst-000003": {State: core.InstanceRunning},
		"burst-000004": {State: core.InstanceJoined, Joined: now, Idle: now},
	} {
		i.ID, i.Group, i.Foreign, i.Size, i.Created, i.Since, i.Revision = id, "burst", "m-"+id, g.Size, now, now, 1
		w.records.instances[id] = i
		w.farm.machines[id] = core.Machine{Foreign: i.Foreign, Token: id, Cluster: "mine", Group: "burst", Created: now}
	}
	for host, n := range forgetfulHosts {
		pool, limit := "again", 24*time.Hour
		switch host {
		case "h1":
			limit = soon
		case "h3":
			pool = "once"
		}
		if n == 0 {
			continue
		}
		id := w.submitAs(pool, 1, func(s *core.Spec) { s.Submitter = "bob" })[0]
		if host == "h3" {
			w.ids["once"] = id
		}
		c := w.claim(host, pool, 1, hostsBeat)[0]
		owner := core.OwnerName(core.RoleTestrunner, host, 0)
		require.NoError(t, w.cluster.Progress(ctx, owner, w.epoch[owner], c.Key, c.Token, string(core.RequestRunning), limit))
	}
	for _, pool := range []string{"late", "broken"} {
		w.ids[pool] = w.submitAs(pool, 1, func(s *core.Spec) { s.Submitter = "bob" })[0]
	}
	require.NoError(t, w.cluster.Drain(ctx, "h2", true, soon))
	require.NoError(t, w.cluster.Drain(ctx, "burst-000002", true, 0))
	for name, from := range map[string]time.Duration{"lease that is used": 0, "lease of next month": 30 * 24 * time.Hour} {
		made, err := w.svc.Create(ctx, boss, lease.Draft{
			Name: "exam", Submitters: []string{"alice"}, Start: w.now.Add(from).UnixMilli(), End: w.now.Add(from + soon).UnixMilli(),
			Reservations: []lease.Want{{Pools: []string{"again"}, Units: 10}},
		})
		require.NoError(t, err)
		w.ids[name] = made.ID
	}
	w.b.Served(t)
	w.round(w.overseer())
	w.require("it is made", func(ending) bool { return true })
	return w
}

func (w *forgetful) get(id string) core.Lease {
	l, err := w.svc.Get(context.Background(), boss, id)
	require.NoError(w.t, err)
	return l
}

// note is what a host's vmfactory says of it.
func (w *forgetful) note(host string) {
	factory := core.OwnerName(core.RoleVMFactory, host, 0)
	n := core.HostNotes{Serves: []string{"again", "once"}}
	if host == "h1" {
		n.Serves, n.Broken = append(n.Serves, "broken"), map[string]string{"broken": "no image"}
	}
	require.NoError(w.t, w.cluster.Note(context.Background(), factory, w.epoch[factory], host, n))
}

// beat lets all hosts give a sign. One whom Redis does not know registers again.
func (w *forgetful) beat() {
	ctx := context.Background()
	if w.silent {
		return
	}
	for host := range forgetfulHosts {
		for _, role := range []core.Role{core.RoleTestrunner, core.RoleVMFactory} {
			owner := core.OwnerName(role, host, 0)
			b, err := w.cluster.Beat(ctx, owner, w.epoch[owner], hostsBeat)
			if core.Is(err, core.CodeFenced) {
				reg, err := w.cluster.Register(ctx, core.Registration{Owner: owner, Host: host, Machine: host, Beat: hostsBeat})
				require.NoError(w.t, err)
				w.epoch[owner], w.seq[owner] = reg.Epoch, 0
			} else {
				require.NoError(w.t, err)
			}
			if role == core.RoleVMFactory && !b.Ready {
				_, err = w.cluster.Reconcile(ctx, owner, w.epoch[owner], host, nil, nil)
				require.NoError(w.t, err)
				w.note(host)
			}
		}
	}
}

// shutStore is a result store that does not answer what chores ask first.
type shutStore struct {
	overseer.Store
	w *forgetful
}

var errAway = errors.New("the store is away")

func (s shutStore) HostWishes(ctx context.Context, host string) ([]core.HostWish, error) {
	if s.w.away {
		return nil, errAway
	}
	return s.Store.HostWishes(ctx, host)
}

func (s shutStore) Pools(ctx context.Context) ([]core.Pool, error) {
	if s.w.away {
		return nil, errAway
	}
	return s.Store.Pools(ctx)
}

func (s shutStore) Calendar(ctx context.Context, since int64) (core.Calendar, error) {
	if s.w.away {
		return core.Calendar{}, errAway
	}
	return s.Store.Calendar(ctx, since)
}

func (s shutStore) ListSchedules(ctx context.Context) ([]core.Schedule, error) {
	if s.w.away {
		return nil, errAway
	}
	return s.Store.ListSchedules(ctx)
}

// naiveQueue is a Redis that says no more of its clock than what it shows, if the test wants that.
type naiveQueue struct {
	core.Queue
	w *forgetful
}

func (q naiveQueue) ReadClock(ctx context.Context) (core.RedisClock, error) {
	c, err := q.Queue.ReadClock(ctx)
	if q.w.naive {
		c = core.RedisClock{Now: c.Now}
	}
	return c, err
}

// redisTime is Redis' clock.
type redisTime struct{ w *forgetful }

func (c redisTime) Now() time.Time                         { return c.w.now }
func (c redisTime) After(d time.Duration) <-chan time.Time { return time.After(d) }

// overseer makes a new one.
func (w *forgetful) overseer() *overseer.Overseer {
	deps := w.deps()
	deps.Queue = naiveQueue{w.cluster, w}
	w.in.Queue = deps.Queue
	deps.Clock, deps.Store, deps.Oversee = redisTime{w}, shutStore{w.store, w}, w.cluster.Oversee
	o, err := overseer.New(overseer.Config{
		Beat: hostsBeat, Suspect: 2 * hostsBeat, Down: 3 * hostsBeat, KeepTombstones: time.Hour,
		Leases: lease.Rules{Lead: 15 * time.Minute, Healing: time.Hour},
	}, deps)
	require.NoError(w.t, err)
	return o
}

// round lets an overseer do all chores once.
func (w *forgetful) round(o *overseer.Overseer) {
	if _, err := o.Once(context.Background()); !w.away {
		require.NoError(w.t, err)
	}
}

// goOn lets hosts and an overseer go on for a time.
func (w *forgetful) goOn(o *overseer.Overseer, d time.Duration) {
	for ; d > 0; d -= pause {
		w.beat()
		w.pass(pause)
		w.round(o)
	}
}

// require requires that nothing is ended of what may not be.
func (w *forgetful) require(what string, may func(ending) bool) {
	w.t.Helper()
	for _, e := range endings() {
		if got := e.ended(w); got != "" && may(e) {
			w.t.Errorf("%s: the chore %s ends %s: %s", what, e.chore, e.name, got)
		}
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// memory is a copy of what a Redis has.
type memory func(*miniredis.Miniredis)

func remember(t *testing.T, m *miniredis.Miniredis) memory {
	t.Helper()
	var parts []memory
	for _, key := range m.Keys() {
		ttl := m.TTL(key)
		var part memory
		switch m.Type(key) {
		case "string":
			text, err := m.Get(key)
			require.NoError(t, err)
			part = func(m *miniredis.Miniredis) { require.NoError(t, m.Set(key, text)) }
		case "hash":
			fields, err := m.HKeys(key)
			require.NoError(t, err)
			var all []string
			for _, f := range fields {
				all = append(all, f, m.HGet(key, f))
			}
			part = func(m *miniredis.Miniredis) { m.HSet(key, all...) }
		case "list":
			all, err := m.List(key)
			require.NoError(t, err)
			part = func(m *miniredis.Miniredis) { require.NoError(t, coretest.ErrOf(m.Push(key, all...))) }
		case "set":
			all, err := m.Members(key)
			require.NoError(t, err)
			part = func(m *miniredis.Miniredis) { require.NoError(t, coretest.ErrOf(m.SetAdd(key, all...))) }
		case "zset":
			all, err := m.SortedSet(key)
			require.NoError(t, err)
			part = func(m *miniredis.Miniredis) {
				for member, score := range all {
					require.NoError(t, coretest.ErrOf(m.ZAdd(key, score, member)))
				}
			}
		case "stream":
			all, err := m.Stream(key)
			require.NoError(t, err)
			part = func(m *miniredis.Miniredis) {
				for _, e := range all {
					require.NoError(t, coretest.ErrOf(m.XAdd(key, e.ID, e.Values)))
				}
			}
		}
		parts = append(parts, part)
		if ttl > 0 {
			parts = append(parts, func(m *miniredis.Miniredis) { m.SetTTL(key, ttl) })
		}
	}
	return func(m *miniredis.Miniredis) {
		m.FlushAll()
		for _, part := range parts {
			part(m)
		}
	}
}

// reopen connects to Redis as to another incarnation.
func (w *forgetful) reopen() {
	opts := w.b.Options()
	opts.Incarnation, opts.Born = fmt.Sprint("of-", w.now.UnixNano()), w.now
	cluster, err := redisstore.Open(context.Background(), opts)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, cluster.Close()) })
	w.cluster, w.svc.Cluster = cluster, cluster
	w.in.Queue, w.in.Pools, w.in.Tasks = cluster, cluster, cluster
}
