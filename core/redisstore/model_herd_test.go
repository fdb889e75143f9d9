package redisstore_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/redis/go-redis/v9"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// factory is a host's vmfactory. There is one at a time, but calls of a former one may
// arrive late.
type factory struct {
	*model
	host, name string
	epoch      int64
	creating   []string
	destroying []string
	left       []core.Held
	wakes      int // the step from which on it does something
}

func (f *factory) start() {
	f.epoch, f.left = f.register(f.name, f.host)
	f.creating, f.destroying = nil, nil
	f.note("%s starts as %d, finds %d", f.name, f.epoch, len(f.left))
}

func (f *factory) crash() {
	f.note("%s crashes", f.name)
	f.start()
}

// call runs a call of the factory, and at times once more, later.
func (f *factory) call(what string, do func() error) bool {
	f.note("%s %s", f.name, what)
	if f.chance(what+" comes twice", 4) {
		f.copyOf(func() { _ = do() })
	}
	if !f.may(do(), core.CodeFenced) {
		f.start()
		return false
	}
	return true
}

func (f *factory) beat() {
	epoch := f.epoch
	f.call("beats", func() error { _, err := f.s.Beat(f.ctx, f.name, epoch, time.Second); return err })
}

func (f *factory) create() {
	f.createIn(pick(f.model, "pool", modelPools), 1+f.n("VMs", 3))
	if f.chance("at once", 2) {
		f.ready()
	}
}

func (f *factory) createIn(pool string, n int) {
	var vms []string
	for range n {
		f.made++
		vms = append(vms, fmt.Sprintf("vm%d", f.made))
	}
	epoch := f.epoch
	if !f.call("creates "+fmt.Sprint(vms), func() error { return f.s.Create(f.ctx, f.name, epoch, f.host, pool, vms) }) {
		return
	}
	for _, vm := range vms {
		f.real[vm] = realVM{host: f.host, pool: pool}
	}
	f.creating = append(f.creating, vms...)
}

func (f *factory) ready() {
	if len(f.creating) == 0 {
		return
	}
	good := make(map[string]bool)
	for _, vm := range f.creating {
		good[vm] = f.draining || !f.chance("is bad", 6)
	}
	f.creating = nil
	epoch := f.epoch
	f.call("readies", func() error { return f.s.Ready(f.ctx, f.name, epoch, f.host, good) })
}

func (f *factory) retire() {
	clean, err := f.s.CleanVMs(f.ctx, f.host, pick(f.model, "pool", modelPools))
	f.must(err)
	if len(clean) == 0 {
		return
	}
	vms, epoch := []string{pick(f.model, "VM", clean)}, f.epoch
	f.call("retires", func() error { _, err := f.s.Retire(f.ctx, f.name, epoch, f.host, vms); return err })
}

// destroy takes dirty VMs. Its own repeats have the same call id and are the client's matter.
func (f *factory) destroy() {
	vms, err := f.s.Destroy(f.ctx, f.name, f.epoch, f.host, 1+f.n("VMs", 4))
	if !f.may(err, core.CodeFenced) {
		f.start()
		return
	}
	f.note("%s destroys %v", f.name, vms)
	f.destroying = append(f.destroying, vms...)
}

func (f *factory) gone() {
	if len(f.destroying) == 0 {
		return
	}
	notes := make(map[string]string)
	for _, vm := range f.destroying {
		if f.chance("will not die", 10) {
			notes[vm] = "it will not die"
		} else {
			delete(f.real, vm)
			notes[vm] = ""
		}
	}
	f.destroying = nil
	epoch := f.epoch
	f.call("is rid of "+fmt.Sprint(sortedKeys(notes)), func() error { return f.s.Gone(f.ctx, f.name, epoch, f.host, notes) })
}

func (f *factory) recover() {
	if len(f.left) > 0 {
		some := f.left
		f.left = nil
		f.settle(f.name, f.epoch, f.decide(some), f.start)
	}
}

func (f *factory) recoverAll() {
	for len(f.left) > 0 {
		f.recover()
	}
}

// reconcile tells Redis what is really there, but for what it has in hand itself: a VM that
// it is destroying may be clean in a Redis that was restored.
func (f *factory) reconcile() {
	found := make(map[string]core.Found)
	for id, vm := range f.real {
		if vm.host == f.host && !f.inHand(id) {
			found[id] = core.Found{Pool: vm.pool, Usable: !vm.used}
		}
	}
	f.note("%s finds %d VMs", f.name, len(found))
	if _, err := f.s.Reconcile(f.ctx, f.name, f.epoch, f.host, found); !f.may(err, core.CodeFenced) {
		f.start()
	}
}

// hurries reconciles, mostly, while its host may claim nothing.
func (f *factory) hurries() bool {
	if f.look().Hash("host", f.host)["incarnation"] == f.incarnation() || !f.chance("looks first", 2) {
		return false
	}
	f.reconcile()
	return true
}

func (f *factory) inHand(vm string) bool {
	return slices.Contains(f.creating, vm) || slices.Contains(f.destroying, vm)
}

// tidy gives away slots that the process does not recognise: of a late copy of a call, or
// back with a Redis that was restored.
func (f *factory) tidy() {
	held, err := f.s.Held(f.ctx, f.name)
	f.must(err)
	held = slices.DeleteFunc(held, func(h core.Held) bool { return f.inHand(h.Key) })
	if len(held) > 0 {
		f.note("%s gives away %d strangers", f.name, len(held))
		f.settle(f.name, f.epoch, f.decide(held), f.start)
	}
}

// turnOver is a draining factory's: all dirty VMs go, enough clean ones come.
func (f *factory) turnOver() {
	for {
		vms, err := f.s.Destroy(f.ctx, f.name, f.epoch, f.host, 100)
		if !f.may(err, core.CodeFenced) {
			f.start()
			return
		}
		f.destroying = append(f.destroying, vms...)
		if len(f.destroying) == 0 {
			break
		}
		f.gone()
	}
	for _, pool := range modelPools {
		f.createIn(pool, 8)
	}
	f.ready()
}

// overseer reaps, one call a step. Two of them do so at once.
type overseer struct {
	*model
	owner string
	epoch int64
	held  []core.Held
	asked bool
}

func (m *model) oversee() {
	o := &m.overseers[m.n("overseer", 2)]
	switch {
	case o.owner == "":
		late, err := m.s.Late(m.ctx, lateBy)
		m.must(err)
		if len(late) > 0 {
			*o = overseer{model: m, owner: pick(m, "late", late)}
		}
	case o.epoch == 0:
		epoch, err := m.s.Fence(m.ctx, o.owner, lateBy)
		if o.epoch = epoch; !m.may(err, core.CodeConflict, core.CodeNotFound) {
			o.owner = ""
		}
		m.note("overseer fences %s as %d: %v", o.owner, epoch, err)
	case !o.asked:
		held, err := m.s.Held(m.ctx, o.owner)
		m.must(err)
		o.held, o.asked = held, true
	case len(o.held) > 0 && !m.chance("skips some", 3):
		n := 1 + m.n("slots", len(o.held))
		items := m.decide(o.held[:n])
		o.held = o.held[n:]
		m.note("overseer settles %v of %s", items, o.owner)
		m.settle(o.owner, o.epoch, items, func() { *o = overseer{model: m} })
	default:
		err := m.s.Forget(m.ctx, o.owner, o.epoch)
		m.may(err, core.CodeFenced, core.CodeConflict)
		m.note("overseer forgets %s: %v", o.owner, err)
		*o = overseer{model: m}
	}
}

// reap is much of overseeing at once.
func (m *model) reap() {
	for range 3 + m.n("calls", 8) {
		m.oversee()
	}
}

// outage cuts a host off for some seconds. It does not know of it.
func (m *model) outage() {
	host := pick(m, "host", []string{"h1", "h2"})
	m.note("%s is cut off", host)
	back := m.steps + m.n("for", 60)
	cut := make(map[string]bool)
	for _, r := range m.runners {
		if r.host == host {
			r.wakes, cut[r.name] = back, true
		}
	}
	for _, f := range m.factories {
		if f.host == host {
			f.wakes, cut[f.name] = back, true
		}
	}
	m.without(cut)
}

// death is one runner's, that holds something if there is such a one.
func (m *model) death() {
	some := slices.DeleteFunc(slices.Clone(m.runners), func(r *runner) bool { return len(r.held) == 0 })
	if len(some) == 0 {
		some = m.runners
	}
	r := pick(m, "runner", some)
	m.note("%s is not heard any more", r.name)
	r.wakes = m.steps + m.n("for", 60)
	m.without(map[string]bool{r.name: true})
}

// without lets some seconds go by in which some owners do not beat, the others do and
// overseers judge.
func (m *model) without(cut map[string]bool) {
	inTime := m.chance("comes back in time", 2)
	var lost []string
	for range 2 + m.n("rounds", 6) {
		m.pass(lateBy / 2)
		m.beats(cut)
		if lost = m.judge(); !inTime {
			m.takeDown(lost)
		}
		m.follow()
	}
	if inTime {
		m.beats(nil)
		m.takeDown(lost)
	}
	if m.chance("is reaped", 2) {
		m.reap()
	}
}

// beats lets all owners prove their lives, but those that are cut off.
func (m *model) beats(cut map[string]bool) {
	for _, r := range m.runners {
		m.beatOrLate(r.name, cut[r.name], r.epoch)
	}
	for _, f := range m.factories {
		m.beatOrLate(f.name, cut[f.name], f.epoch)
	}
}

func (m *model) beatOrLate(name string, cut bool, epoch int64) {
	if !cut {
		_, err := m.s.Beat(m.ctx, name, epoch, time.Second)
		m.may(err, core.CodeFenced)
	} else if m.b.Mini == nil {
		m.makeLate(name)
	}
}

// judge returns the hosts that are lost.
func (m *model) judge() []string {
	lost, err := m.s.Judge(m.ctx, lateBy/2, lateBy)
	m.must(err)
	if m.chance("forget", 4) {
		m.may(m.s.ForgetHost(m.ctx, pick(m, "host", []string{"h1", "h2"})), core.CodeConflict, core.CodeNotFound)
	}
	return lost
}

func (m *model) takeDown(lost []string) {
	for _, host := range lost {
		m.soon(func() {
			err := m.s.Down(m.ctx, host, lateBy)
			m.may(err, core.CodeConflict, core.CodeNotFound)
			m.note("host %s down: %v", host, err)
		})
	}
}

func (m *model) drainHost() {
	m.may(m.s.Drain(m.ctx, pick(m, "host", []string{"h1", "h2"}), m.chance("drain", 3), 0), core.CodeNotFound)
}

func (m *model) pause() {
	m.must(m.s.SetPool(m.ctx, modelPool(pick(m, "pool", modelPools), m.chance("paused", 3))))
}

func (m *model) tick() { m.pass(time.Duration(1+m.n("ms", 1000)) * time.Millisecond) }

// copyOf keeps a call that will run once more, at some time.
func (m *model) copyOf(call func()) { m.copies = append(m.copies, call) }

// arrive lets a late copy of a call run.
func (m *model) arrive() {
	if len(m.copies) > 0 {
		i := m.n("copy", len(m.copies))
		call := m.copies[i]
		m.copies = slices.Delete(m.copies, i, i+1)
		m.note("a late copy of a call runs")
		call()
	}
}

// soon is what somebody does next, at once or after others did something.
func (m *model) soon(do func()) {
	if m.chance("at once", 2) {
		do()
		return
	}
	m.later = append(m.later, do)
}

// follow lets somebody do what it was about to do, or forget it.
func (m *model) follow() {
	if len(m.later) > 0 {
		i := m.n("what", len(m.later))
		do := m.later[i]
		m.later = slices.Delete(m.later, i, i+1)
		if !m.chance("forgets it", 5) {
			do()
		}
	}
}

func (m *model) submit() {
	var specs []core.Spec
	for range 1 + m.n("requests", 3) {
		m.made++
		s := coretest.Spec(fmt.Sprintf("r%d", m.made), pick(m, "pool", modelPools), pick(m, "submitter", []string{"ann", "bob", "cid"}))
		s.Class = pick(m, "class", core.Classes())
		m.ledger[s.Key()] = &row{spec: s}
		m.keys = append(m.keys, s.Key())
		specs = append(specs, s)
	}
	if m.chance("only the ledger hears of it", 5) {
		return
	}
	m.enqueue(specs)
	if m.chance("comes twice", 2) {
		m.copyOf(func() { _, _ = m.s.Enqueue(m.ctx, specs) })
	}
}

func (m *model) enqueue(specs []core.Spec) {
	verdicts, err := m.s.Enqueue(m.ctx, specs)
	m.must(err)
	for i, v := range verdicts {
		m.note("enqueue %s: %v", specs[i].Key(), v)
		if r := m.ledger[specs[i].Key()]; r.end == "" || !core.Is(v, core.CodeEnded) {
			m.must(v)
			r.known = true
		}
	}
}

// sweep queues again what has not ended and is nowhere, looked at in this order, twice.
func (m *model) sweep() {
	if keys := m.unended(); len(keys) > 0 {
		m.sweepOne(pick(m, "request", keys))
	}
}

func (m *model) unended() []string {
	return slices.DeleteFunc(slices.Clone(m.keys), func(key string) bool { return m.ledger[key].end != "" })
}

func (m *model) sweepOne(key string) {
	for range 2 {
		if m.ledger[key].end != "" {
			return
		}
		have, err := m.s.Present(m.ctx, []string{key})
		m.must(err)
		if have[0] {
			return
		}
	}
	enqueue := func() { m.enqueue([]core.Spec{m.ledger[key].spec}) }
	if m.draining {
		enqueue()
		return
	}
	m.soon(enqueue)
}

func (m *model) cancel() { m.stop(core.CancelAny, core.RequestCancelled) }

func (m *model) expire() { m.stop(core.CancelWaiting, core.RequestTimedOut) }

// stop marks a request; if it waits, its end is recorded and it is withdrawn, step by step.
func (m *model) stop(scope core.CancelScope, end core.RequestState) {
	keys := m.unended()
	if len(keys) == 0 {
		return
	}
	key := pick(m, "request", keys)
	place, err := m.s.Cancel(m.ctx, key, "somebody", scope)
	m.must(err)
	m.note("stop %s (%s): it was %q", key, scope, place.State)
	if place.State == core.RequestQueued || place.State == "" && scope == core.CancelAny {
		m.soon(func() {
			m.record(key, end)
			m.soon(func() {
				_, err := m.s.Withdraw(m.ctx, key)
				m.must(err)
				m.note("withdraw %s", key)
			})
		})
	}
}

// snapshot is a namespace as it was.
type snapshot struct {
	hashes map[string]map[string]string
	lists  map[string][]any
	sets   map[string][]any
	zsets  map[string][]redis.Z
	acted  map[string]int64
}

// save keeps a picture of the whole namespace, as a Redis that is restored later has it.
func (m *model) save() {
	s := &snapshot{
		hashes: make(map[string]map[string]string), lists: make(map[string][]any), sets: make(map[string][]any), zsets: make(map[string][]redis.Z),
		acted: maps.Clone(m.acted),
	}
	for _, key := range m.allKeys() {
		kind, err := m.b.Admin.Type(m.ctx, key).Result()
		m.must(err)
		switch kind {
		case "hash":
			s.hashes[key], err = m.b.Admin.HGetAll(m.ctx, key).Result()
		case "list":
			var items []string
			items, err = m.b.Admin.LRange(m.ctx, key, 0, -1).Result()
			s.lists[key] = anys(items)
		case "set":
			var items []string
			items, err = m.b.Admin.SMembers(m.ctx, key).Result()
			s.sets[key] = anys(items)
		case "zset":
			s.zsets[key], err = m.b.Admin.ZRangeWithScores(m.ctx, key, 0, -1).Result()
		}
		m.must(err)
	}
	m.saved = s
	m.note("saved")
}

func anys(items []string) []any {
	out := make([]any, len(items))
	for i, s := range items {
		out[i] = s
	}
	return out
}

func (m *model) allKeys() []string {
	keys, err := m.b.Admin.Keys(m.ctx, m.b.Namespace+":*").Result()
	m.must(err)
	slices.Sort(keys)
	return keys
}

// setBack is a Redis that fails and is restored from what was saved some calls ago.
func (m *model) setBack() {
	m.save()
	for range 1 + m.n("calls", 8) {
		pick(m, "runner", m.runners).exchange()
	}
	m.wipe()
}

// wipe makes Redis forget everything, or remember only what it was when last saved.
func (m *model) wipe() {
	if m.life > 3 {
		return
	}
	if keys := m.allKeys(); len(keys) > 0 {
		m.must(m.b.Admin.Del(m.ctx, keys...).Err())
	}
	if m.saved != nil && !m.chance("is not restored", 3) {
		m.note("redis is restored")
		m.acted = maps.Clone(m.saved.acted)
		p := m.b.Admin.Pipeline()
		for _, key := range sortedKeys(m.saved.hashes) {
			p.HSet(m.ctx, key, m.saved.hashes[key])
		}
		for _, key := range sortedKeys(m.saved.lists) {
			p.RPush(m.ctx, key, m.saved.lists[key]...)
		}
		for _, key := range sortedKeys(m.saved.sets) {
			p.SAdd(m.ctx, key, m.saved.sets[key]...)
		}
		for _, key := range sortedKeys(m.saved.zsets) {
			p.ZAdd(m.ctx, key, m.saved.zsets[key]...)
		}
		_, err := p.Exec(m.ctx)
		m.must(err)
	} else {
		m.note("redis is wiped")
		m.acted = make(map[string]int64)
	}
	m.open()
}
