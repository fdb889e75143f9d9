package redisstore_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"drover/core"
	"drover/core/coretest"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

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
		held, err := m.s.Held(m.ctx, o.owner, o.epoch)
		if o.held, o.asked = held, true; !m.may(err, core.CodeFenced) {
			*o = overseer{model: m}
		}
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
	for range 3 + m.n("rounds", 6) {
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

// beats lets all owners send heartbeats, but those that are cut off.
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
		_, err := m.s.Beat(m.ctx, name, epoch, lateBy/2) // as often as time passes here: none is a silence of all
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
	m.must(m.s.SetPool(m.ctx, modelPool(pick(m, "pool", modelPools), m.chance("paused", 3), m.n("running", 3))))
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
		s := m.request(pick(m, "pool", modelPools), pick(m, "submitter", []string{"ann", "bob", "cid"}), pick(m, "priority", core.Priorities()))
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

// request writes a new one into the ledger.
func (m *model) request(pool, submitter string, priority core.Priority) core.Spec {
	m.made++
	s := coretest.Spec(fmt.Sprintf("r%d", m.made), pool, submitter)
	s.Priority = priority
	if m.chance("due", 3) {
		s.Due = m.at.Add(pick(m, "due", []time.Duration{-time.Minute, 10 * time.Minute, time.Hour + time.Second, 90 * time.Minute, 48 * time.Hour})).UnixMilli()
	}
	m.ledger[s.Key()] = &row{spec: s}
	m.keys = append(m.keys, s.Key())
	return s
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

func (m *model) cancel() {
	m.stop(func(core.Spec) core.CancelScope { return core.CancelAny }, core.RequestCancelled)
}

// expire ends a request that waits, in turns because it waited too long and because its pool is broken.
func (m *model) expire() {
	if len(m.keys)%2 == 0 {
		m.stop(func(core.Spec) core.CancelScope { return core.CancelWaiting }, core.RequestTimedOut)
		return
	}
	m.stop(func(s core.Spec) core.CancelScope { return core.CancelWaitingIn(s.Pool) }, core.RequestFailed)
}

// stop marks a request; if it waits, its end is recorded and it is withdrawn, step by step.
func (m *model) stop(of func(core.Spec) core.CancelScope, end core.RequestState) {
	keys := m.unended()
	if len(keys) == 0 {
		return
	}
	key := pick(m, "request", keys)
	scope := of(m.ledger[key].spec)
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

// change changes a request in the ledger and then in Redis. What an owner was faster to claim stays as that has it.
func (m *model) change() {
	keys := m.unended()
	if len(keys) == 0 {
		return
	}
	key := pick(m, "request", keys)
	r := m.ledger[key]
	was := r.spec
	var err error
	r.spec, r.kept, err = was.Changed(r.kept, core.Change{Pool: pick(m, "pool", modelPools), Priority: pick(m, "priority", core.Priorities())})
	if core.Is(err, core.CodeLimit) {
		r.spec = was
		return
	}
	m.must(err)
	next := r.spec
	m.note("change %s to %d: %s %s", key, next.Change, next.Pool, next.Priority)
	m.soon(func() { m.changeTo(next, was.Change) })
	if m.chance("comes twice", 4) {
		m.copyOf(func() { m.changeTo(next, was.Change) })
	}
}

func (m *model) changeTo(spec core.Spec, from int) {
	key := spec.Key()
	had, held, err := m.s.Change(m.ctx, spec, from)
	m.note("change of %s to %d: it had %d, held %v, %v", key, spec.Change, had, held, err)
	m.may(err, core.CodeNotFound)
	if r := m.ledger[key]; held && r.end == "" && r.spec.Change == spec.Change {
		r.spec, err = r.spec.Use(r.kept, had)
		m.must(err)
	}
	if is := m.inRedis(key); err == nil && !held && (had == from || had == spec.Change) && (is.Change != spec.Change || !is.SameAs(spec)) {
		m.fail("request %s was changed to %+v and is %+v", key, spec, is)
	}
}

// inRedis is the spec of a request that Redis has, a zero one if it has none.
func (m *model) inRedis(key string) core.Spec {
	all, err := m.s.Specs(m.ctx, []string{key})
	m.must(err)
	return append(all, core.Spec{})[0]
}

// align gives a request in Redis the spec that the ledger has.
func (m *model) align(key string) {
	r := m.ledger[key]
	if r.end != "" {
		return
	}
	if is := m.inRedis(key); is.ID != "" && is.Change != r.spec.Change {
		m.changeTo(r.spec, is.Change)
	}
}
