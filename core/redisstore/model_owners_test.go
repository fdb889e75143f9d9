package redisstore_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/cluster/recovery"
)

// runner is a testrunner process. It may sleep and wake when another has its name.
type runner struct {
	*model
	name, host string
	process    string // which it is
	epoch      int64
	base       int64
	lanes      [2]lane
	held       map[string]work // by claim: a key may come back before the end of its last claim is answered
	left       []core.Held     // by the one before
	past       []work          // ended some time ago
	dead       bool
	wakes      int // the step from which on it does something
}

// lane is one of a runner's. frozen is a call whose answer never came.
type lane struct {
	seq    int64
	frozen *core.Exchange
	life   int // of Redis, when the call was made
}

type work struct {
	core.Claim
	life int // of Redis, when it was claimed
}

func claimID(key, token string) string { return key + " " + token }

func (m *model) newRunner(name string) *runner {
	_, host, err := core.ParseOwner(name)
	m.must(err)
	r := &runner{model: m, name: name, host: host, process: m.newProcess()}
	r.start()
	return r
}

// start registers: the process forgets what it held and receives the slots that it left.
func (r *runner) start() {
	r.lanes, r.held, r.past, r.left, r.base = [2]lane{}, make(map[string]work), nil, nil, 0
	r.epoch, r.left = r.register(r.name, r.host, r.process)
	r.note("%s starts as %d, finds %d", r.name, r.epoch, len(r.left))
}

// newProcess names one.
func (m *model) newProcess() string {
	m.processes++
	return fmt.Sprintf("p%d", m.processes)
}

func (m *model) register(name, host, process string) (int64, []core.Held) {
	var reg core.Registered
	for range 1 + m.n("register runs again", 2) {
		var err error
		reg, err = m.s.Register(m.ctx, core.Registration{Owner: name, Host: host, Machine: "m-" + host, PID: 1, Version: "test", Beat: time.Second, Process: process})
		m.must(err)
	}
	return reg.Epoch, reg.Left
}

// lost is what a fenced testrunner does: its work is over, it registers again.
func (r *runner) lost() {
	r.note("%s %d hears that it is fenced", r.name, r.epoch)
	if r.dead { // a process that woke beside its successor
		r.model.runners = slices.DeleteFunc(r.model.runners, func(o *runner) bool { return o == r })
		return
	}
	r.start()
}

// crash ends the process; another one starts, at once.
func (r *runner) crash() {
	if r.dead {
		r.lost()
		return
	}
	r.note("%s %d crashes", r.name, r.epoch)
	r.declareDead(r.name, r.epoch)
	r.process = r.newProcess()
	if r.chance("is replaced at once", 2) {
		r.start()
		return
	}
	r.held, r.lanes = make(map[string]work), [2]lane{} // it forgot all, and is refused when it acts
	r.epoch, r.wakes = 0, r.model.steps+r.n("down for", 60)
}

// sleep pauses the process for so long that it is late. Sometimes another one is started
// in its place, and then there are two.
func (r *runner) sleep() {
	r.note("%s %d sleeps", r.name, r.epoch)
	r.wakes = r.model.steps + r.n("for", 60)
	r.makeLate(r.name)
	if !r.dead && len(r.model.runners) < 6 && r.chance("is replaced", 2) {
		r.dead = true
		r.model.runners = append(r.model.runners, r.newRunner(r.name))
	}
}

// makeLate moves the heartbeats of an owner, and its host's, into the past.
func (m *model) makeLate(name string) {
	if m.b.Mini != nil {
		m.pass(time.Duration(m.n("ms", 10_000)) * time.Millisecond)
		return
	}
	_, host, _ := core.ParseOwner(name)
	for key, member := range map[string]string{"owners": name, "hosts": host} {
		key = m.s.Namespace().Key(key)
		if due, err := m.b.Admin.ZScore(m.ctx, key, member).Result(); err == nil && due > 0 {
			m.must(m.b.Admin.ZIncrBy(m.ctx, key, -float64(10*lateBy.Milliseconds()), member).Err())
			m.seen = nil
		}
	}
}

// exchange makes a new call of a lane, or repeats the one that is not answered.
func (r *runner) exchange() {
	l := &r.lanes[r.n("lane", 2)]
	acts := l.frozen == nil
	if acts {
		l.seq++
		call := r.newCall(l)
		l.frozen, l.life = &call, r.life
	}
	call := *l.frozen
	if r.chance("the call is lost", 12) {
		r.note("%s lane %d seq %d: the call is lost", r.name, call.Lane, call.Seq)
		r.copyOf(func() { _, _ = r.s.Exchange(r.ctx, call) })
		return
	}
	ring := func() {}
	if acts && call.Want > 0 {
		ring = r.takeRing()
	}
	x, err := r.s.Exchange(r.ctx, call)
	if err != nil {
		ring()
	}
	if r.chance("comes twice", 4) {
		r.copyOf(func() { _, _ = r.s.Exchange(r.ctx, call) })
	}
	if r.chance("the reply is lost", 6) {
		r.note("%s lane %d seq %d: the reply is lost", r.name, call.Lane, call.Seq)
		return
	}
	l.frozen = nil
	if !r.may(err, core.CodeFenced) {
		r.lost()
		return
	}
	r.note("%s lane %d seq %d: finished %v %v, claimed %d of %d", r.name, call.Lane, call.Seq, call.Finish, x.Finished, len(x.Claims), call.Want)
	if !x.Ready && len(x.Claims) > 0 && l.life == r.life {
		r.fail("%s claimed on a host that must reconcile", r.name)
	}
	r.answered(call, x)
}

// giveBack releases something, takes it again if it comes, and releases it once more under
// the token that is over.
func (r *runner) giveBack() {
	l := &r.lanes[0]
	ids := slices.DeleteFunc(sortedKeys(r.held), func(id string) bool { return r.inFlight(r.held[id].Key, r.held[id].Token) })
	if l.frozen != nil || len(ids) == 0 {
		return
	}
	w := r.held[pick(r.model, "work", ids)]
	for want := range 2 {
		l.seq++
		call := core.Exchange{
			Owner: r.name, Host: r.host, Epoch: r.epoch, Seq: l.seq, Pools: r.pools(), Want: 1 - want, TokenBase: r.base, Beat: time.Second,
			Finish: []core.Finish{{Key: w.Key, Token: w.Token, Outcome: core.OutcomeRelease}},
		}
		r.base += 2
		x, err := r.s.Exchange(r.ctx, call)
		if !r.may(err, core.CodeFenced) {
			r.lost()
			return
		}
		r.note("%s gives back %s under %s: %v", r.name, w.Key, w.Token, x.Finished)
		r.answered(call, x)
	}
}

func (r *runner) newCall(l *lane) core.Exchange {
	call := core.Exchange{
		Owner: r.name, Host: r.host, Epoch: r.epoch, Seq: l.seq, Pools: slices.Clone(r.pools()),
		Want: (r.n("want", 5) + 3) % 5, TokenBase: r.base, Beat: time.Second,
	}
	if l == &r.lanes[1] {
		call.Lane = 1
	}
	if r.chance("other order", 2) {
		slices.Reverse(call.Pools)
	}
	if r.chance("no heartbeat", 2) {
		call.Beat = 0
	}
	r.base += 1 + int64(call.Want)
	for _, id := range sortedKeys(r.held) {
		w := r.held[id]
		if r.inFlight(w.Key, w.Token) || r.n("ends", 2) == 0 {
			continue
		}
		call.Finish = append(call.Finish, core.Finish{Key: w.Key, Token: w.Token, Outcome: r.outcome(w)})
	}
	if len(r.past) > 0 && r.chance("ends one again", 2) {
		w := pick(r.model, "past", r.again())
		call.Finish = append(call.Finish, core.Finish{Key: w.Key, Token: w.Token, Outcome: core.OutcomeRelease})
	}
	return call
}

// again are claims of the past whose requests came back to the same owner, or all of the
// past if there are none.
func (r *runner) again() []work {
	back := slices.DeleteFunc(slices.Clone(r.past), func(p work) bool {
		return !slices.ContainsFunc(sortedKeys(r.held), func(id string) bool { return r.held[id].Key == p.Key && r.held[id].Token != p.Token })
	})
	if len(back) == 0 {
		return r.past
	}
	return back
}

// inFlight says whether a call that is not answered yet ends the work.
func (r *runner) inFlight(key, token string) bool {
	for _, l := range r.lanes {
		if l.frozen != nil && slices.ContainsFunc(l.frozen.Finish, func(f core.Finish) bool { return f.Key == key && f.Token == token }) {
			return true
		}
	}
	return false
}

// outcome ends a piece of work, in the ledger first.
func (r *runner) outcome(w work) core.Outcome {
	switch {
	case w.Cancelled != "":
		r.record(w.Key, core.RequestCancelled)
		return core.OutcomeDone
	case r.chance("release", 5):
		return core.OutcomeRelease
	case r.chance("fault", 4):
		return r.retryOrDead(w.Key, w.Deaths, []core.Outcome{core.OutcomeRetry, core.OutcomeBroken, core.OutcomeUnclean}[r.n("how", 3)])
	case r.chance("time-out", 4):
		r.record(w.Key, core.RequestTimedOut)
	default:
		r.record(w.Key, core.RequestCompleted)
	}
	return core.OutcomeDone
}

// retryOrDead ends what nobody ended: dead only by the deaths that count against it.
func (m *model) retryOrDead(key string, deaths []core.Death, again core.Outcome) core.Outcome {
	if m.ledger[key].end != "" {
		return core.OutcomeDone
	}
	end := recovery.Verdict(deaths, recovery.Options{})
	if end.State == "" {
		return again
	}
	m.record(key, end.State)
	if end.State == core.RequestDead {
		return core.OutcomeDead
	}
	return core.OutcomeDone
}

func (r *runner) answered(call core.Exchange, x core.Exchanged) {
	for i, f := range call.Finish {
		id := claimID(f.Key, f.Token)
		w, mine := r.held[id]
		if !x.Finished[i] && w.life == r.life && !r.revoked[id] {
			r.fail("%s could not end %s under %s, which is its own", r.name, f.Key, f.Token)
		}
		if !mine && x.Finished[i] && slices.ContainsFunc(r.past, func(p work) bool { return p.life == r.life && p.Key == f.Key && p.Token == f.Token }) {
			r.fail("%s ended %s under %s a second time", r.name, f.Key, f.Token)
		}
		if delete(r.held, id); mine {
			r.past = append(r.past, w)
		}
	}
	if len(x.Claims) > call.Want {
		r.fail("%s wanted %d and got %d", r.name, call.Want, len(x.Claims))
	}
	for _, c := range x.Claims {
		id := claimID(c.Key, c.Token)
		if _, twice := r.held[id]; twice {
			r.fail("%s got %s a second time", r.name, id)
		}
		r.serve(c)
		r.held[id] = work{c, r.life}
	}
	r.cancelled(x.Cancelled)
}

func (r *runner) cancelled(by map[string]string) {
	for id, w := range r.held {
		if who := by[w.Key]; who != "" && w.Cancelled == "" {
			w.Cancelled = who
			r.held[id] = w
		}
	}
}

// serve gives a VM to its one claim.
func (r *runner) serve(c core.Claim) {
	claim := claimID(c.Key, c.Token)
	if before, used := r.served[c.VM]; used && before != claim {
		r.fail("VM %s serves %s and served %s", c.VM, claim, before)
	}
	vm, there := r.real[c.VM]
	spec := c.ReadSpec()
	if !there || vm.host != r.host || vm.pool != spec.Pool {
		r.fail("%s claimed VM %s of pool %s: really there is %+v", r.name, c.VM, spec.Pool, vm)
	}
	vm.used = true
	r.real[c.VM], r.served[c.VM] = vm, claim
}

func (r *runner) progress() {
	ids := sortedKeys(r.held)
	if len(ids) == 0 {
		return
	}
	w := r.held[pick(r.model, "work", ids)]
	// A call that is on its way may have ended it.
	if err := r.s.Progress(r.ctx, r.name, r.epoch, w.Key, w.Token, "running", 0); !r.may(err, core.CodeFenced, core.CodeStale) && core.Is(err, core.CodeFenced) {
		r.lost()
	}
}

func (r *runner) beat() {
	b, err := r.s.Beat(r.ctx, r.name, r.epoch, time.Second)
	if !r.may(err, core.CodeFenced) {
		r.lost()
		return
	}
	r.cancelled(b.Cancelled)
}

// tidy releases slots that the process does not recognise. Those of a call whose answer is
// still to come are not strangers.
func (r *runner) tidy() {
	held, err := r.s.Held(r.ctx, r.name, 0)
	r.must(err)
	mine := fmt.Sprintf("%d.", r.epoch)
	var items []core.Settlement
	for _, h := range held {
		if _, known := r.held[claimID(h.Key, h.Token)]; known || !strings.HasPrefix(h.Token, mine) {
			continue
		}
		if !slices.ContainsFunc(r.lanes[:], func(l lane) bool {
			return l.frozen != nil && h.Token == fmt.Sprintf("%s%d", mine, l.frozen.TokenBase)
		}) {
			items = append(items, core.Settlement{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRelease})
		}
	}
	if len(items) > 0 {
		r.note("%s releases strangers %v", r.name, items)
		r.settle(r.name, r.epoch, items, r.lost)
	}
}

// settle settles, sometimes twice, and at times not where the requests were.
func (m *model) settle(name string, epoch int64, items []core.Settlement, fenced func()) bool {
	items, placed := m.assign(items)
	do := func() error { _, err := m.s.Settle(m.ctx, name, epoch, items, placed); return err }
	if m.chance("settling comes twice", 4) {
		m.copyOf(func() { _ = do() })
	}
	err := do()
	if core.Is(err, core.CodeConflict) {
		m.note("settling is refused: %v", err)
		for i := range items {
			items[i].To = ""
		}
		_, err = m.s.Settle(m.ctx, name, epoch, items, 0)
	}
	if !m.may(err, core.CodeFenced) {
		fenced()
		return false
	}
	return true
}

// recover settles some of what the one before left.
func (r *runner) recover() {
	if len(r.left) > 0 {
		n := 1 + r.n("of what is left", len(r.left))
		some := r.left[:n]
		r.left = r.left[n:]
		r.settle(r.name, r.epoch, r.decide(some), r.lost)
	}
}

func (r *runner) recoverAll() {
	for len(r.left) > 0 {
		r.recover()
	}
}

// decide says how slots of a dead owner end, asking the ledger.
func (m *model) decide(held []core.Held) []core.Settlement {
	items := make([]core.Settlement, 0, len(held))
	for _, h := range held {
		it := core.Settlement{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRelease}
		if r, request := m.ledger[h.Key]; request {
			switch {
			case r.end != "":
				it.Outcome = core.OutcomeDone
			case h.Cancelled != "":
				m.record(h.Key, core.RequestCancelled)
				it.Outcome = core.OutcomeDone
			default:
				it.Outcome = m.retryOrDead(h.Key, h.Deaths, core.OutcomeRetry)
			}
		}
		items = append(items, it)
	}
	return items
}

// work is a draining runner's: it ends all it has and takes more.
func (r *runner) work() {
	for range 3 {
		l := &r.lanes[0]
		l.seq++
		call := core.Exchange{
			Owner: r.name, Host: r.host, Epoch: r.epoch, Seq: l.seq, Pools: r.pools(), Want: 16, TokenBase: r.base, Beat: time.Hour,
		}
		r.base += 16
		for _, id := range sortedKeys(r.held) {
			w := r.held[id]
			r.record(w.Key, core.RequestCompleted)
			call.Finish = append(call.Finish, core.Finish{Key: w.Key, Token: w.Token, Outcome: core.OutcomeDone})
		}
		x, err := r.s.Exchange(r.ctx, call)
		if !r.may(err, core.CodeFenced) {
			r.lost()
			return
		}
		if r.answered(call, x); len(call.Finish)+len(x.Claims) == 0 {
			return
		}
	}
}
