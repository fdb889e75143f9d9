package redisstore_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/redisstore"

	"pgregory.net/rapid"
)

// The model: hosts, owners, overseers and people do at random what they may do and
// what may happen to them, one script call at a time, while a ledger stands for the
// result store. After every call the invariants must hold, and what it changed must be its
// own to change (see check); at the end everything is
// drained, and each accepted request must have ended.
type model struct {
	dice
	ctx  context.Context
	fail func(format string, args ...any) // does not return

	b       *coretest.Backend
	hook    func(*redisstore.Store) // seeds a bug; may be nil
	s       *redisstore.Store
	life    int       // of Redis
	at      time.Time // miniredis' clock
	closing []*redisstore.Store

	ledger    map[string]*row
	keys      []string // of the ledger, oldest first
	runners   []*runner
	factories []*factory
	overseers [2]overseer
	later     []func()          // what somebody is about to do
	copies    []func()          // repeats of calls that are still on their way
	real      map[string]realVM // what is really on the hosts
	served    map[string]string // VM → the claim that it was given to
	revoked   map[string]bool   // claims that were taken from owners that live
	saved     *snapshot
	made      int // names given
	processes int // names of those given
	steps     int // done
	draining  bool

	weights []int                // of the actions, in this game
	changes bool                 // waiting requests are changed, too
	places  bool                 // overseers place VMs, and vmfactories follow
	leases  bool                 // p1 has a lease, at times
	rounds  [2]round             // of placement, of the two overseers
	seen    *redisstore.Look     // after the last call; nil: look again
	acted   map[string]int64     // lane of an owner's epoch → its last call that acted, as Redis remembers
	epochs  map[string]bool      // owner and epoch: those that it ever had
	newest  map[string]int64     // owner → the highest of them
	heard   map[string]time.Time // owner → when its next heartbeat is due, in true time
	ahead   time.Duration        // of Redis' clock before the true time
	// How often that clock was set or Redis forgot heartbeats, and who sent one between the last two times, and since
	// the last one.
	interrupted        int
	cameBack, heardNow map[string]bool
	back               int // how often that clock was set back
	log                []string
}

// row is a request in the ledger.
type row struct {
	spec  core.Spec
	kept  []core.Change // of the spec
	end   core.RequestState
	known bool // Redis took it in this life
}

type realVM struct {
	host, pool string
	used       bool
}

// dice decide. n is from 0 to below most.
type dice interface {
	n(what string, most int) int
}

type rapidDice struct{ *rapid.T }

func (d rapidDice) n(what string, most int) int { return rapid.IntRange(0, most-1).Draw(d.T, what) }

type plainDice struct{ *rand.Rand }

func (d plainDice) n(_ string, most int) int { return d.IntN(most) }

// chance is true once in so many times.
func (m *model) chance(what string, in int) bool { return m.n(what, in) == in-1 }

func pick[T any](m *model, what string, from []T) T { return from[m.n(what, len(from))] }

var modelPools = []string{"p1", "p2"}

const lateBy = 5 * time.Second

func newModel(b *coretest.Backend, d dice, fail func(string, ...any), hook func(*redisstore.Store)) *model {
	m := &model{
		dice: d, ctx: context.Background(), b: b, hook: hook, at: start, changes: true, places: true,
		ledger: make(map[string]*row), real: make(map[string]realVM), served: make(map[string]string), revoked: make(map[string]bool),
		acted: make(map[string]int64), epochs: make(map[string]bool), newest: make(map[string]int64), heard: make(map[string]time.Time), heardNow: make(map[string]bool),
	}
	m.fail = func(format string, args ...any) {
		fail("%s\nsteps:\n%s", fmt.Sprintf(format, args...), joinTail(m.log, 60))
	}
	m.open()
	for _, host := range []string{"h1", "h2"} {
		f := &factory{model: m, host: host, name: core.OwnerName(core.RoleVMFactory, host, 0)}
		m.factories = append(m.factories, f)
		f.start()
		f.reconcile()
		for range 3 {
			f.create()
			f.ready()
		}
	}
	for _, name := range []string{"testrunner@h1#0", "testrunner@h1#1", "testrunner@h2#0"} {
		m.runners = append(m.runners, m.newRunner(name))
	}
	m.submit()
	m.submit()
	m.leases = true
	return m
}

// open begins a incarnation of Redis.
func (m *model) open() {
	m.life++
	m.pass(time.Second)
	opts := m.b.Options()
	opts.Incarnation, opts.Born = m.incarnation(), time.UnixMilli(0)
	if m.b.Mini != nil {
		opts.Born = m.at
	}
	s, err := redisstore.Open(m.ctx, opts)
	m.must(err)
	s.Client().AddHook(watcher{m.look, func() { m.seen = nil }, m.check})
	if m.hook != nil {
		m.hook(s)
	}
	m.s, m.seen = s, nil
	m.closing = append(m.closing, s)
	for _, r := range m.ledger {
		r.known = false
	}
	for _, name := range modelPools {
		m.must(m.s.SetPool(m.ctx, modelPool(name, false, 0)))
	}
}

func (m *model) incarnation() string { return fmt.Sprintf("life-%d", m.life) }

func modelPool(name string, paused bool, running int) core.Pool {
	p := core.DefaultPool(name)
	p.Paused, p.Running = paused, running
	return p
}

func (m *model) close() {
	for _, s := range m.closing {
		_ = s.Close()
	}
}

// pass lets time go by, where the model has the clock.
func (m *model) pass(d time.Duration) {
	if m.b.Mini != nil {
		m.at = m.at.Add(d)
		m.b.Mini.SetTime(m.at)
		return
	}
	if m.s == nil {
		return
	}
	later := m.s.Namespace().Key("later")
	keys, err := m.b.Admin.ZRange(m.ctx, later, 0, -1).Result()
	m.must(err)
	for _, key := range keys {
		m.must(m.b.Admin.ZIncrBy(m.ctx, later, -float64(d.Milliseconds()), key).Err())
		m.seen = nil
	}
}

func (m *model) must(err error) {
	if err != nil {
		m.fail("unexpected: %v", err)
	}
}

// may accepts an error of one of the codes and says whether there was none.
func (m *model) may(err error, codes ...core.Code) bool {
	if err != nil && !slices.Contains(codes, core.CodeOf(err)) {
		m.fail("unexpected: %v", err)
	}
	return err == nil
}

func (m *model) note(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

func joinTail(lines []string, n int) string {
	out := ""
	for _, l := range lines[max(0, len(lines)-n):] {
		out += "  " + l + "\n"
	}
	return out
}

// record is the ledger's: the first result of a request is its result.
func (m *model) record(key string, end core.RequestState) {
	if r := m.ledger[key]; r.end == "" {
		r.end = end
	}
}

// actions are what may happen in one step, and how often.
func (m *model) actions() []action {
	some := func(do func(*runner)) func() {
		return func() {
			if r := pick(m, "runner", m.runners); m.steps >= r.wakes {
				do(r)
			}
		}
	}
	one := func(do func(*factory)) func() {
		return func() {
			if f := pick(m, "factory", m.factories); m.steps >= f.wakes && !f.hurries() {
				do(f)
			}
		}
	}
	all := []action{
		{40, some((*runner).exchange)},
		{4, some((*runner).giveBack)},
		{6, some((*runner).progress)},
		{4, some((*runner).beat)},
		{4, some((*runner).tidy)},
		{6, some((*runner).recover)},
		{2, some((*runner).sleep)},
		{2, some((*runner).crash)},
		{18, one((*factory).create)},
		{12, one((*factory).ready)},
		{2, one((*factory).retire)},
		{4, one((*factory).destroy)},
		{5, one((*factory).gone)},
		{3, one((*factory).beat)},
		{2, one((*factory).crash)},
		{2, one((*factory).tidy)},
		{3, one((*factory).recover)},
		{5, one((*factory).reconcile)},
		{12, m.submit},
		{6, m.cancel},
		{2, m.expire},
		{5, m.sweep},
		{24, m.oversee},
		{3, m.reap},
		{3, func() { m.takeDown(m.judge()) }},
		{3, m.outage},
		{3, m.death},
		{3, m.drainHost},
		{16, m.revoke},
		{4, m.promote},
		{2, m.unassign},
		{3, m.report},
		{4, m.probation},
		{3, m.pause},
		{5, m.tick},
		{4, m.stepClock},
		{14, m.arrive},
		{8, m.follow},
		{2, m.save},
		{1, m.wipe},
		{1, m.setBack},
	}
	if m.changes {
		all = append(all, action{6, m.change})
	}
	if m.leases {
		all = append(all, action{6, m.setLease}, action{6, m.reroute}, action{4, m.serveLease}, action{1, m.endLease})
	}
	if m.places {
		all = append(all, action{8, m.place}, action{6, one((*factory).follow)}, action{1, m.noRounds})
	}
	return all
}

// action is something to do, so many times of all.
type action struct {
	weight int
	do     func()
}

// swarm gives the actions their weights in this game: some never happen and some often,
// so that games differ in more than their order.
func (m *model) swarm() {
	for _, a := range m.actions() {
		factor := pick(m, "factor", []int{0, 1, 1, 4})
		if a.weight >= 12 {
			factor = max(factor, 1) // without these, nothing happens
		}
		m.weights = append(m.weights, factor*a.weight)
	}
}

// step does one thing. What each of its calls makes of the namespace, the watcher judges.
func (m *model) step() {
	m.steps++
	sum := 0
	for _, w := range m.weights {
		sum += w
	}
	at := m.n("action", sum)
	for i, a := range m.actions() {
		if at -= m.weights[i]; at < 0 {
			a.do()
			return
		}
	}
}

// longestRetry is more than a retry waits, also by a clock that was set back.
const longestRetry = 6 * time.Minute

// drain lets everybody die, come back and work until nothing is left to do.
func (m *model) drain() {
	for _, do := range m.later {
		if m.chance("forgets it", 2) {
			do()
		}
	}
	m.later, m.copies = nil, nil
	m.note("drain")
	// Who sleeps beside its successor never wakes: started anew, the two would fence each other forever.
	m.runners = slices.DeleteFunc(m.runners, func(r *runner) bool { return r.dead })
	for _, r := range m.runners {
		r.dead = true
	}
	m.steps, m.draining = math.MaxInt, true
	m.trust()
	for _, name := range modelPools {
		m.must(m.s.SetPool(m.ctx, modelPool(name, false, 0)))
	}
	if m.leases {
		m.endLease()
	}
	left := m.round()
	for round := 1; len(left) > 0 || round < 3; round++ { // the first may be spent on hearing that one is fenced
		m.pass(2 * lateBy)
		if left = m.round(); len(left) > 0 && time.Duration(round)*2*lateBy > longestRetry {
			m.fail("not drained after %d rounds, left: %v", round, left)
		}
	}
	m.checkEmpty()
}

// round is one of draining: everybody recovers and works. It says what is left to do.
func (m *model) round() []string {
	for _, f := range m.factories {
		if f.epoch == 0 {
			f.start()
		}
		f.recoverAll()
		f.tidy()
		f.reconcile()
		f.turnOver()
	}
	runners := m.runners
	m.runners = nil
	for _, r := range runners {
		if r.dead || r.epoch == 0 {
			r = m.newRunner(r.name)
		}
		m.runners = append(m.runners, r)
		_ = m.may(m.s.Drain(m.ctx, r.host, false, 0))
		r.recoverAll()
		r.work()
	}
	for _, key := range m.keys {
		m.sweepOne(key)
		m.align(key)
	}
	if m.leases {
		m.reroute()
	}
	var left []string
	for key, r := range m.ledger {
		if r.end == "" {
			left = append(left, "no end of "+key)
		}
	}
	for id, state := range m.look().States {
		if kind, _, _ := strings.Cut(id, " "); kind == "request" || kind == "vm" && state != "clean" && state != "quarantined" {
			left = append(left, id+" "+state)
		}
	}
	return left
}

// checkEmpty requires that nothing was lost and nothing leaks.
func (m *model) checkEmpty() {
	for key, r := range m.ledger {
		if r.end == "" {
			m.fail("request %s never ended", key)
		}
	}
	vms, err := m.s.ListVMs(m.ctx, "")
	m.must(err)
	known := make(map[string]bool)
	for _, vm := range vms {
		known[vm.ID] = true
		if real, ok := m.real[vm.ID]; !ok || real.host != vm.Host {
			m.fail("VM %s is %s in Redis and not on its host", vm.ID, vm.State)
		}
		if vm.State == core.VMClean && m.real[vm.ID].used {
			m.fail("VM %s is clean in Redis and was used", vm.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.real)) {
		if !known[id] {
			m.fail("VM %s is on its host and Redis does not know it", id)
		}
	}
}

// TestModel plays the model. Its size on miniredis is set by -rapid.checks and -rapid.steps.
func TestModel(t *testing.T) {
	t.Parallel()
	t.Run("mini", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(rt *rapid.T) {
			b := coretest.Mini(t)
			defer b.Mini.Close()
			play(newModel(b, rapidDice{rt}, rt.Fatalf, nil), 200)
		})
	})
	games := func(t *testing.T, n int) {
		t.Parallel()
		for range n {
			b := coretest.Real(t)
			seed := rand.Uint64()
			play(newModel(b, plainDice{rand.New(rand.NewPCG(seed, 0))}, func(format string, args ...any) {
				t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
			}, nil), 200)
		}
	}
	t.Run("real", func(t *testing.T) { games(t, 2) })
	t.Run("more", func(t *testing.T) {
		tier.OnlyInAll(t, tier.Long)
		games(t, 8)
	})
}

func play(m *model, steps int) {
	defer m.close()
	m.swarm()
	for range steps {
		m.step()
	}
	m.drain()
}
