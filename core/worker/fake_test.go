package worker_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/worker"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fault is what happens to one call on its way.
type fault struct {
	before, after error         // the call does not arrive; its answer does not
	late          time.Duration // until it arrives
	delay         time.Duration // of the answer
}

// fakeRedis keeps one pool on one host in memory, with the guarantees that
// core.Claims and core.Owners promise, and lets a test disturb the calls.
type fakeRedis struct {
	mu     sync.Mutex
	queue  []string
	clean  int
	renew  bool // a VM that was used is clean again at once
	vms    int
	owners map[string]*fakeOwner
	epochs map[string]int64
	marks  map[string]string // key → who cancelled it
	ended  map[string][]core.Outcome
	drain  bool
	bell   chan struct{}

	incarnation string

	calls     map[string]int
	waits     map[string]int        // goroutines in Wait, by the host they named
	exchanged []core.Exchange       // every call that arrived, repeats included
	disturb   func(op string) fault // called with the lock held
}

type fakeOwner struct {
	epoch  int64
	former int64
	due    time.Time
	slots  map[string]core.Held
	lanes  map[int]fakeCall
	notice chan struct{}
}

type fakeCall struct {
	seq    int64
	call   core.Exchange
	answer core.Exchanged
}

var errNet = errors.New("connection reset")

func newFake() *fakeRedis {
	return &fakeRedis{
		owners: map[string]*fakeOwner{}, epochs: map[string]int64{}, marks: map[string]string{},
		ended: map[string][]core.Outcome{}, bell: make(chan struct{}, 1),
		calls: map[string]int{}, waits: map[string]int{}, renew: true,
	}
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// call counts a call and disturbs it.
func (f *fakeRedis) call(ctx context.Context, op string, act func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	f.calls[op]++
	var bad fault
	if f.disturb != nil {
		bad = f.disturb(op)
	}
	if bad.late > 0 {
		f.mu.Unlock()
		time.Sleep(bad.late)
		f.mu.Lock()
	}
	err := bad.before
	if err == nil {
		err = act()
	}
	if err == nil {
		err = bad.after
	}
	f.mu.Unlock()
	if bad.delay > 0 {
		select {
		case <-time.After(bad.delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func (f *fakeRedis) owner(name string, epoch int64) (*fakeOwner, error) {
	o := f.owners[name]
	if o == nil || o.epoch != epoch {
		return nil, core.Errorf(core.CodeFenced, name, "the epoch of %s is over", name)
	}
	return o, nil
}

func (f *fakeRedis) Exchange(ctx context.Context, x core.Exchange) (out core.Exchanged, err error) {
	x.Finish = slices.Clone(x.Finish)
	err = f.call(ctx, "exchange", func() error {
		f.exchanged = append(f.exchanged, x)
		o, err := f.owner(x.Owner, x.Epoch)
		if err != nil {
			return err
		}
		if x.Beat > 0 {
			o.due = time.Now().Add(x.Beat)
		}
		last := o.lanes[x.Lane]
		if x.Seq < last.seq {
			return core.Errorf(core.CodeStale, x.Owner, "lane %d went past %d", x.Lane, x.Seq)
		}
		if x.Seq == last.seq {
			last.call.Beat = x.Beat
			if fmt.Sprint(last.call) != fmt.Sprint(x) {
				panic(fmt.Sprintf("a repeat differs:\n%v\n%v", last.call, x))
			}
			out = last.answer
		} else {
			out = f.act(o, x)
			o.lanes[x.Lane] = fakeCall{x.Seq, x, out}
		}
		out.Slots, out.Cancelled, out.Incarnation = -1, nil, f.incarnation
		if x.Beat > 0 {
			out.Slots, out.Cancelled = len(o.slots), f.cancelled(o)
		}
		return nil
	})
	return out, err
}

func (f *fakeRedis) act(o *fakeOwner, x core.Exchange) core.Exchanged {
	out := core.Exchanged{Ready: true, Draining: f.drain}
	for _, fin := range x.Finish {
		held, ok := o.slots[fin.Key]
		ok = ok && held.Token == fin.Token
		out.Finished = append(out.Finished, ok)
		if ok {
			f.settle(o, fin.Key, fin.Outcome)
		}
	}
	for n := 0; n < x.Want && f.pair() && !f.drain; n++ {
		key := f.queue[0]
		f.queue, f.clean = f.queue[1:], f.clean-1
		f.vms++
		held := core.Held{Key: key, VM: fmt.Sprintf("vm-%d", f.vms), Token: fmt.Sprintf("%d.%d", x.Epoch, x.TokenBase)}
		o.slots[key] = held
		out.Claims = append(out.Claims, core.Claim{Key: key, VM: held.VM, Token: held.Token, Cancelled: f.marks[key]})
	}
	if f.pair() && !f.drain && (x.Want > 0 || len(x.Finish) == 0) {
		ring(f.bell)
	}
	return out
}

func (f *fakeRedis) pair() bool { return len(f.queue) > 0 && f.clean > 0 }

func (f *fakeRedis) cancelled(o *fakeOwner) map[string]string {
	by := map[string]string{}
	for key := range o.slots {
		if who := f.marks[key]; who != "" {
			by[key] = who
		}
	}
	return by
}

func (f *fakeRedis) settle(o *fakeOwner, key string, outcome core.Outcome) {
	delete(o.slots, key)
	if f.renew {
		f.clean++
	}
	switch outcome {
	case core.OutcomeRelease, core.OutcomeRetry:
		f.queue = append([]string{key}, f.queue...)
	default:
		delete(f.marks, key)
	}
	f.ended[key] = append(f.ended[key], outcome)
}

func (f *fakeRedis) Progress(ctx context.Context, owner string, epoch int64, key, token, phase string, limit time.Duration) error {
	return f.call(ctx, "progress", func() error {
		o, err := f.owner(owner, epoch)
		if err != nil {
			return err
		}
		held, ok := o.slots[key]
		if !ok || held.Token != token {
			return core.Errorf(core.CodeStale, key, "%s is not held under %s", key, token)
		}
		held.Phase, held.Limit = phase, limit
		o.slots[key] = held
		return nil
	})
}

func (f *fakeRedis) Wait(ctx context.Context, owner, host string, poll time.Duration) error {
	var notice, bell chan struct{}
	err := f.call(ctx, "wait", func() error {
		f.waits[host]++
		if o := f.owners[owner]; o != nil {
			notice = o.notice
		}
		if host != "" {
			bell = f.bell
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.waits[host]--
	}()
	select {
	case <-notice:
	case <-bell:
	case <-time.After(poll):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (f *fakeRedis) Register(ctx context.Context, r core.Registration) (out core.Registered, err error) {
	err = f.call(ctx, "register", func() error {
		if r.Former > 0 && f.epochs[r.Owner] > r.Former && f.owners[r.Owner].former != r.Former {
			return core.Errorf(core.CodeFenced, r.Owner, "the epoch of %s is over", r.Owner)
		}
		f.epochs[r.Owner] = max(f.epochs[r.Owner], r.Former) + 1
		slots := map[string]core.Held{}
		if old := f.owners[r.Owner]; old != nil {
			slots = old.slots
		}
		f.owners[r.Owner] = &fakeOwner{
			epoch: f.epochs[r.Owner], former: r.Former, due: time.Now().Add(r.Beat), slots: slots,
			lanes: map[int]fakeCall{}, notice: make(chan struct{}, 1),
		}
		out = core.Registered{Epoch: f.epochs[r.Owner], Left: slices.Collect(maps.Values(slots)), Incarnation: f.incarnation}
		return nil
	})
	return out, err
}

func (f *fakeRedis) Beat(ctx context.Context, owner string, epoch int64, next time.Duration) (out core.Beat, err error) {
	err = f.call(ctx, "beat", func() error {
		o, err := f.owner(owner, epoch)
		if err != nil {
			return err
		}
		o.due = time.Now().Add(next)
		out = core.Beat{Slots: len(o.slots), Cancelled: f.cancelled(o), Draining: f.drain, Ready: true, Incarnation: f.incarnation}
		return nil
	})
	return out, err
}

func (f *fakeRedis) Held(ctx context.Context, owner string, _ int64) (out []core.Held, err error) {
	err = f.call(ctx, "held", func() error {
		if o := f.owners[owner]; o != nil {
			out = slices.Collect(maps.Values(o.slots))
		}
		return nil
	})
	return out, err
}

func (f *fakeRedis) Reclaim(ctx context.Context, owner, _ string, epoch int64, incarnation string, claims []core.HeldClaim) (out core.Reclaimed, err error) {
	err = f.call(ctx, "reclaim", func() error {
		o, err := f.owner(owner, epoch)
		if err != nil {
			return err
		}
		out.Incarnation = f.incarnation
		for _, c := range claims {
			back := incarnation != f.incarnation && f.ended[c.Key] == nil
			if at := slices.Index(f.queue, c.Key); back && at >= 0 {
				f.queue = slices.Delete(f.queue, at, at+1)
			}
			if held, ok := o.slots[c.Key]; back && (!ok || held.Token != c.Token) {
				o.slots[c.Key] = core.Held{Key: c.Key, VM: c.VM, Token: c.Token, Phase: c.Phase, Limit: c.Limit, Attempts: c.Attempts}
				out.PutBack++
			}
			out.Held = append(out.Held, o.slots[c.Key].Token == c.Token)
		}
		return nil
	})
	return out, err
}

func (f *fakeRedis) Deregister(ctx context.Context, owner string, epoch int64) error {
	return f.call(ctx, "deregister", func() error {
		o, err := f.owner(owner, epoch)
		if err != nil {
			return err
		}
		if len(o.slots) > 0 {
			return core.Errorf(core.CodeConflict, owner, "%s holds %d slots", owner, len(o.slots))
		}
		delete(f.owners, owner)
		return nil
	})
}

// The rest of core.Owners is the overseer's side.

func (f *fakeRedis) Settle(context.Context, string, int64, []core.Settlement, int64) (core.Settled, error) {
	panic("not the worker's")
}

func (f *fakeRedis) Late(context.Context, time.Duration) ([]string, error) { panic("not the worker's") }

func (f *fakeRedis) Fence(context.Context, string, time.Duration) (int64, error) {
	panic("not the worker's")
}

func (f *fakeRedis) Revoke(context.Context, string, core.Held, core.Settlement, string) error {
	panic("not the worker's")
}

func (f *fakeRedis) DeclareDead(context.Context, string, int64) (int64, error) {
	panic("not the worker's")
}

func (f *fakeRedis) Forget(context.Context, string, int64) error { panic("not the worker's") }

func (f *fakeRedis) ListOwners(context.Context) ([]core.OwnerInfo, error) { panic("not the worker's") }

// What a test does to it, and asks of it.

func (f *fakeRedis) submit(keys ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, keys...)
	if f.pair() {
		ring(f.bell)
	}
}

func (f *fakeRedis) submitN(n int) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("r%05d-1", i)
	}
	f.submit(keys...)
}

func (f *fakeRedis) addVMs(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clean += n
	if f.pair() {
		ring(f.bell)
	}
}

// mark cancels a request as core.Queue.Cancel does.
func (f *fakeRedis) mark(key, by string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks[key] = by
	for _, o := range f.owners {
		if _, ok := o.slots[key]; ok {
			ring(o.notice)
		}
	}
}

// fence ends an owner's epoch as the overseer does.
func (f *fakeRedis) fence(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epochs[name]++
	f.owners[name].epoch = f.epochs[name]
	ring(f.owners[name].notice)
}

// restore is a restart of Redis that lost what these owners have had since it last saved: everything, if it forgot the owners
// too.
func (f *fakeRedis) restore(forgets bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.incarnation += "+"
	for name, o := range f.owners {
		clear(o.slots)
		clear(o.lanes)
		if forgets {
			delete(f.owners, name)
			delete(f.epochs, name)
		}
	}
}

// on sets what happens to calls of an operation from now on.
func (f *fakeRedis) on(op string, what fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disturb = func(called string) fault {
		if op == "" || called == op {
			return what
		}
		return fault{}
	}
}

func (f *fakeRedis) calm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disturb = nil
}

func (f *fakeRedis) count(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

func (f *fakeRedis) outcomes(key string) []core.Outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ended[key])
}

func (f *fakeRedis) waiting() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.queue)
}

func (f *fakeRedis) slots(owner string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.owners[owner]; o != nil {
		return len(o.slots)
	}
	return 0
}

const (
	runner = "testrunner@h1#0"
	beat   = time.Second
)

func config(slots int) worker.Config {
	return worker.Config{
		Registration: core.Registration{Owner: runner, Beat: beat},
		Pools:        []string{"p1"}, Slots: slots, Poll: time.Minute,
	}
}

func open(t *testing.T, f *fakeRedis, cfg worker.Config) *worker.Worker {
	t.Helper()
	d, left, err := worker.Open(t.Context(), f, f, cfg)
	require.NoError(t, err)
	require.Empty(t, left)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = d.Close(ctx) // of a test that failed half way: its goroutines must end
	})
	return d
}

func next(t *testing.T, d *worker.Worker) *worker.Work {
	t.Helper()
	w, err := d.Next(t.Context())
	require.NoError(t, err)
	return w
}

func finish(t *testing.T, d *worker.Worker, w *worker.Work) {
	t.Helper()
	moved, err := d.Finish(t.Context(), w, core.OutcomeDone)
	require.NoError(t, err)
	require.True(t, moved)
}

func closeWorker(t *testing.T, d *worker.Worker) {
	t.Helper()
	require.NoError(t, d.Close(t.Context()))
}
