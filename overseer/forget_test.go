package overseer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/overseer"
)

// soon is when all that the chores can end in the world of these tests is due; pause is the time between two rounds.
const (
	soon  = 4 * time.Minute
	pause = 15 * time.Second
)

// ending is something that a chore ends.
type ending struct {
	chore, name string
	inRedis     bool                      // only Redis knows of it: it ends with its memory
	silence     bool                      // it ends because hosts are silent; else because time is over
	ended       func(w *forgetful) string // what became of it; "": nothing
}

// endings are all that chores may end. A chore is here or in endsNothing.
func endings() []ending {
	instance := func(name, id string, silence bool, state core.InstanceState) ending {
		return ending{"scale", name, false, silence, func(w *forgetful) string {
			if i := w.records.instances[id]; i.State != state {
				return fmt.Sprintf("%s: %s", i.State, i.Why)
			}
			return ""
		}}
	}
	held := func(chore, name, host string, silence bool) ending {
		return ending{chore, name, true, silence, func(w *forgetful) string {
			if n := len(w.held(core.RoleTestrunner, host)); n != 1 {
				return fmt.Sprintf("its host holds %d", n)
			}
			return ""
		}}
	}
	request := func(chore, name string, silence bool) ending {
		return ending{chore, name, false, silence, func(w *forgetful) string {
			if state := w.state(w.ids[name]); state != core.RequestQueued {
				return string(state)
			}
			return ""
		}}
	}
	reserved := func(name string, state core.LeaseState, silence bool) ending {
		return ending{"leases", name, false, silence, func(w *forgetful) string {
			l := w.get(w.ids[name])
			if l.State != state || l.Reservations[0].Held() != 10 || len(l.Reservations[0].Allocations) != 1 {
				return fmt.Sprintf("%s: %+v", l.State, l.Reservations[0].Allocations)
			}
			return ""
		}}
	}
	return []ending{
		instance("a machine whose host works", "burst-000001", true, core.InstanceJoined),
		instance("a machine whose host is drained", "burst-000002", false, core.InstanceDraining),
		instance("a machine that is to become a host", "burst-000003", false, core.InstanceRunning),
		instance("a machine whose host is idle", "burst-000004", false, core.InstanceJoined),
		held("hung", "work that says nothing yet", "h1", false),
		held("drained", "work on a drained host", "h2", false),
		held("reap", "work of a host", "h3", true),
		request("reap", "once", true),
		request("expire", "late", false),
		request("broken", "broken", false),
		reserved("lease that is used", core.LeaseActive, false),
		reserved("lease of next month", core.LeasePending, false),
		{"schedules", "the moments of schedules", false, false, func(w *forgetful) string {
			all, err := w.store.ListSchedules(context.Background())
			require.NoError(w.t, err)
			for _, s := range all {
				if s.Last > w.begun.UnixMilli() {
					return s.Name + " was due"
				}
			}
			return ""
		}},
	}
}

// endsNothing are the chores that end nothing for good, and why.
var endsNothing = map[string]string{
	"pools": "it agrees with the store", "wishes": "it agrees with the store", "watch heartbeat": "reap ends what is on a host that is down",
	"watch provider": "as heartbeat", "watch report": "it does what it is told", "watch command": "it does what it is told",
	"place": "clean VMs come again", "assigned": "what is not taken waits again", "damp": "a probation ends by itself",
	"sweep": "it queues", "remove": "somebody asked for it", "outages": "broken ends what it records", "trim": "two sets of tombstones outlive a step",
	"history": "it copies", "statistics": "it counts", "consistency": "it mends what contradicts itself", "sign": "it is one",
}

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

// redisTime is Redis' clock.
type redisTime struct{ w *forgetful }

func (c redisTime) Now() time.Time                         { return c.w.now }
func (c redisTime) After(d time.Duration) <-chan time.Time { return time.After(d) }

// overseer makes a new one.
func (w *forgetful) overseer() *overseer.Overseer {
	deps := w.deps()
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

// Each chore is made to end what it may: else the tests below would see nothing.
func TestEachChoreEndsWhatIsOver(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		w := newForgetful(t)
		w.silent = silent
		w.goOn(w.overseer(), soon+2*time.Minute)
		for _, e := range endings() {
			// What ends by silence ends by that; the moments of schedules come once a day.
			if e.silence == silent && e.chore != "schedules" && e.name != "lease of next month" {
				require.NotEmpty(t, e.ended(w), "%s: %s", e.chore, e.name)
			}
		}
	}
}

// Nothing ends, moves, is sold, expires or fails because Redis forgot it, its clock was set, or an overseer or the store
// was away, that would not have ended without.
func TestNothingEndsBecauseRedisForgot(t *testing.T) {
	t.Parallel()
	w := newForgetful(t)
	o := w.overseer()
	table := make(map[string]bool)
	for _, e := range endings() {
		table[e.chore] = true
	}
	for _, name := range o.Chores() {
		require.True(t, table[name] != (endsNothing[name] != ""), "say of the chore %s what it ends, or why it ends nothing", name)
	}
	inRedisToo := func(ending) bool { return true }
	inStore := func(e ending) bool { return !e.inRedis }
	now, full := w.now, remember(t, w.b.Mini)
	epoch, seq, instances, machines := maps.Clone(w.epoch), maps.Clone(w.seq), maps.Clone(w.records.instances), maps.Clone(w.farm.machines)
	// again lets all be as it was.
	again := func() {
		w.now = now
		w.pass(0)
		full(w.b.Mini)
		w.epoch, w.seq = maps.Clone(epoch), maps.Clone(seq)
		w.records.instances, w.farm.machines = maps.Clone(instances), maps.Clone(machines)
		w.silent, w.away = false, false
	}
	const while = 3 * pause
	for name, disturb := range map[string]func(){
		"nothing":   func() {},
		"an hour":   func() { w.pass(time.Hour) },
		"a month":   func() { w.pass(30 * 24 * time.Hour) },
		"back":      func() { w.pass(-time.Hour) },
		"the store": func() { w.away = true },
	} {
		for _, returns := range []bool{false, true} {
			again()
			was := w.now
			disturb()
			step := w.now.Sub(was)
			w.round(o) // before hosts give a sign
			w.goOn(o, while)
			if returns {
				w.pass(-step)
				w.away = false
				w.round(o)
				w.goOn(o, while)
			}
			w.require(fmt.Sprint(name, ", and returns: ", returns), inRedisToo)
		}
	}
	// Redis loses its memory, all or a part of it.
	for _, key := range w.b.Mini.Keys() {
		again()
		w.b.Mini.Del(key)
		w.round(o)
		w.goOn(o, 2*pause)
		w.require("lost "+key, func(e ending) bool {
			// What Redis does not know to be held is queued again, and a host that is drained has nothing then.
			return inStore(e) && !(e.name == "a machine whose host is drained" && strings.Contains(key, "burst-000002"))
		})
	}
	again()
	w.b.Mini.FlushAll()
	w.round(o)
	w.goOn(o, while)
	w.require("emptied", inStore)
	again()
	w.b.Mini.FlushAll()
	w.silent = true // hosts boot slowly
	w.pass(10 * time.Minute)
	w.round(o)
	w.require("emptied, and hosts come late", func(e ending) bool { return inStore(e) && e.name == "lease of next month" })
	// It is emptied before each of the commands of a chore.
	for _, chore := range slices.Sorted(maps.Keys(table)) {
		for at := 1; at > 0; at++ {
			again()
			n := 0
			w.b.Mini.Server().SetPreHook(func(*server.Peer, string, ...string) bool {
				if w.b.Mini.TryLock() { // else it is a command of a script
					w.b.Mini.Unlock()
					if n++; n == at {
						w.b.Mini.FlushAll()
					}
				}
				return false
			})
			_ = o.Do(context.Background(), chore) // what it meets is trouble
			w.b.Mini.Server().SetPreHook(nil)
			w.require(fmt.Sprintf("emptied before command %d of %s", at, chore), inStore)
			if n < at {
				at = -1
			}
		}
	}
	// It is set back to a memory from before all hosts.
	again()
	w.empty(w.b.Mini)
	w.reopen()
	o = w.overseer()
	w.round(o)
	w.goOn(o, while)
	w.require("set back", inStore)
}
