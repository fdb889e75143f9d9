package worker

import (
	"cmp"
	"context"
	"sync"
	"time"

	"drover/core"
)

// Bounds and defaults of a Config.
const (
	maxBatch     = 64
	maxLanes     = 16
	defaultLanes = 2
	defaultPoll  = time.Second

	// heartbeatsPerBeat is how many calls of a busy worker send a heartbeat within a beat.
	heartbeatsPerBeat = 8
)

// Config says who opens a worker and what it asks for. Zero fields get the defaults named.
type Config struct {
	Registration core.Registration
	Pools        []string                     // the pools to take work from; calls rotate among them
	Slots        int                          // most pieces of work in hand at once; default 1
	Lanes        int                          // calls in flight at once; default 2
	Batch        int                          // most finishes and most claims of one call; default and most 64
	Poll         time.Duration                // an idle worker asks at least this often, bell or no bell; default 1 s
	BeatEvery    time.Duration                // between heartbeats when nothing else carries one; default three quarters of Registration.Beat
	Notice       func(text string, err error) // hears when Redis fails and, with a nil error, when it answers again; may be nil
}

func (c Config) complete() (Config, error) {
	c.Slots = cmp.Or(c.Slots, 1)
	c.Lanes = cmp.Or(c.Lanes, defaultLanes)
	c.Batch = cmp.Or(c.Batch, maxBatch)
	c.Poll = cmp.Or(c.Poll, defaultPoll)
	owner := c.Registration.Owner
	switch {
	case c.Slots < 1 || c.Poll < 0:
		return c, core.Errorf(core.CodeInvalid, owner, "owner %s: slots must be at least 1 and the poll above 0", owner)
	case c.Lanes < 1 || c.Lanes > maxLanes || c.Batch < 1 || c.Batch > maxBatch:
		return c, core.Errorf(core.CodeInvalid, owner, "owner %s: use 1 to %d lanes and batches of 1 to %d", owner, maxLanes, maxBatch)
	}
	return c, checkPools(owner, c.Pools)
}

// Errors of a worker that is not open any more.
var (
	// ErrDrained is what Next returns once the worker takes no new work.
	ErrDrained = core.Errorf(core.CodeConflict, "", "the worker is drained: it takes no new work")
	errClosed  = core.Errorf(core.CodeUnavailable, "", "the worker was closed over the work; it runs again elsewhere")
)

// Worker is where the workers of one owner take and end work. All methods are safe
// for concurrent use.
type Worker struct {
	cfg      Config
	owners   core.Owners
	claims   core.Claims
	presence *Presence
	trouble  *trouble

	ctx     context.Context // ends when the goroutines must
	stop    context.CancelFunc
	running sync.WaitGroup
	wake    chan struct{} // one token for each lane that should look
	look    chan struct{} // the listener should look
	busy    chan struct{} // there is work in hand to hear notices for
	suspect chan struct{} // the checker should look

	answering chan struct{} // Redis answered: it can be told what it did not hear
	closed    chan struct{} // Close is through, with closeErr

	closeErr error

	mu        sync.Mutex // guards what follows
	lanes     []*lane
	finishes  fifo[*Work]      // submitted, not yet in a call
	waiters   fifo[*waiter]    // in Next, oldest first; a call asks for so many, not for this one or that
	hand      map[string]*Work // key → work whose finish was not answered yet; the newest, if a key came back
	unheard   map[*Work]bool   // of which Redis did not hear what was said last
	asked     int              // claims that calls in flight ask for
	ending    int              // finishes in calls in flight
	used      int              // slots in use or asked for, those that a call in flight ends not counted
	starved   bool             // the last answer had fewer claims than asked for: wait for the bell
	rung      bool             // the bell rang, or a poll is due, and no call left since
	drained   bool
	closing   bool
	over      error         // why nothing goes any more; nil while it does
	quiet     chan struct{} // closed, if somebody made it, once nothing is in hand or on its way
	nextToken int64
	turn      int
	rotated   [][]string // the pools, beginning with each in turn
	stats     Stats
}

// waiter is one call of Next.
type waiter struct{ got chan *Work }

// Open registers the owner under a new epoch, which fences its predecessor, and
// opens its worker. It returns what the predecessor left: settle that with
// recovery.Settle before the first Next, again and again until it works, because
// nobody else will while this owner lives.
// Returns INVALID for a configuration that cannot be, else as core.Owners.Register.
func Open(ctx context.Context, owners core.Owners, claims core.Claims, cfg Config) (*Worker, []core.Held, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, nil, err
	}
	d := &Worker{
		cfg: cfg, rotated: rotations(cfg.Pools), owners: owners, claims: claims, trouble: newTrouble(cfg.Notice),
		wake: make(chan struct{}, cfg.Lanes), look: make(chan struct{}, 1), busy: make(chan struct{}, 1),
		suspect: make(chan struct{}, 1), closed: make(chan struct{}), hand: make(map[string]*Work, cfg.Slots),
		answering: make(chan struct{}, 1), unheard: map[*Work]bool{},
	}
	presence, left, err := register(ctx, owners, PresenceConfig{
		Registration: cfg.Registration, BeatEvery: cfg.BeatEvery, Hear: d.hear,
	}, d.trouble)
	if err != nil {
		return nil, nil, err
	}
	d.presence, presence.ended = presence, d.end
	d.cfg.Registration, d.cfg.BeatEvery = presence.cfg.Registration, presence.cfg.BeatEvery
	d.ctx, d.stop = context.WithCancel(context.Background())
	for i := range cfg.Lanes {
		l := &lane{x: core.Exchange{
			Owner: d.Owner(), Host: d.cfg.Registration.Host, Epoch: d.Epoch(), Lane: i,
		}}
		d.lanes = append(d.lanes, l)
		d.running.Go(func() { d.drive(l) })
	}
	d.running.Go(d.listen)
	d.running.Go(d.hearNotices)
	d.running.Go(d.consistency)
	d.running.Go(d.redeclare)
	presence.start()
	return d, left, nil
}

// Owner is the owner's name.
func (d *Worker) Owner() string { return d.presence.Owner() }

// Epoch is the owner's generation, for recovery.Settle.
func (d *Worker) Epoch() int64 { return d.presence.Epoch() }

// Lost is closed once this epoch is over: all work was cancelled; stop it, Close,
// and Open anew.
func (d *Worker) Lost() <-chan struct{} { return d.presence.Lost() }

// Next waits for a piece of work. Returns FENCED once this epoch is over,
// ErrDrained after Drain or Close, and ctx's error when ctx ends first; a claim
// that arrives for it afterwards goes to another waiter or is released.
func (d *Worker) Next(ctx context.Context) (*Work, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	me, err := d.ask()
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	d.kick()
	return d.await(ctx, me)
}

// Finish ends a piece of work. The result must be in the store before. It is
// repeated until Redis answers, also after ctx ended and nobody waits for it
// any more; finishing twice returns the first answer. Moved is false if Redis did
// not have the slot under this token any more: then nothing moved, and nothing is
// wrong, because the store has the result. Returns INVALID for an outcome that is
// none, FENCED once this epoch is over, ctx's error when ctx ends first.
func (d *Worker) Finish(ctx context.Context, w *Work, outcome core.Outcome) (moved bool, err error) {
	if err := checkOutcome(w, outcome); err != nil {
		return false, err
	}
	d.mu.Lock()
	d.submitTo(w, outcome)
	d.mu.Unlock()
	d.kick()
	return d.answer(ctx, w)
}

// FinishNext is Finish and Next in one ride: a busy worker costs one place in
// one call. With an error, next is nil and moved still says what became of w;
// a finish that was submitted goes through whatever the error.
func (d *Worker) FinishNext(ctx context.Context, w *Work, outcome core.Outcome) (next *Work, moved bool, err error) {
	if err := checkOutcome(w, outcome); err != nil {
		return nil, false, err
	}
	d.mu.Lock()
	d.submitTo(w, outcome)
	me, err := d.ask()
	d.mu.Unlock()
	d.kick()
	if err == nil {
		next, err = d.await(ctx, me)
	}
	if next == nil {
		moved, _ = d.answer(ctx, w) // the error of the two that says more is err
		return nil, moved, err
	}
	moved, err = d.answer(ctx, w)
	if err != nil {
		d.giveBack(next)
		return nil, false, err
	}
	return next, moved, nil
}

func checkOutcome(w *Work, outcome core.Outcome) error {
	switch outcome {
	case core.OutcomeDone, core.OutcomeRelease, core.OutcomeRetry, core.OutcomeBroken, core.OutcomeUnclean, core.OutcomeDead:
		return nil
	case core.OutcomeLater: // is a task's
	}
	return core.Errorf(core.CodeInvalid, w.Key, "%q is not an outcome of a claim", outcome)
}

// submitTo queues a finish, unless one was submitted before. The lock is held.
func (d *Worker) submitTo(w *Work, outcome core.Outcome) {
	if w.outcome != "" || w.over {
		return
	}
	w.outcome = outcome
	d.finishes.push(w)
}

// giveBack releases work that nobody took.
func (d *Worker) giveBack(w *Work) {
	d.mu.Lock()
	d.submitTo(w, core.OutcomeRelease)
	d.stats.Released++
	d.mu.Unlock()
	d.kick()
}

// answer waits for the answer to a finish.
func (d *Worker) answer(ctx context.Context, w *Work) (bool, error) {
	select {
	case <-w.ended:
		return w.moved, w.err
	case <-ctx.Done():
	}
	select {
	case <-w.ended:
		return w.moved, w.err
	default:
		return false, ctx.Err()
	}
}

// ask queues a waiter. The lock is held.
func (d *Worker) ask() (*waiter, error) {
	if err := d.refusal(); err != nil {
		return nil, err
	}
	if d.waiters.len() == 0 {
		d.starved = false // what the last answer said is old: nobody listened since
	}
	me := &waiter{got: make(chan *Work, 1)}
	d.waiters.push(me)
	return me, nil
}

// refusal says why nobody gets work any more. The lock is held.
func (d *Worker) refusal() error {
	if core.Is(d.over, core.CodeFenced) {
		return d.over
	}
	if d.drained {
		return ErrDrained
	}
	return nil
}

// await waits for a waiter's work.
func (d *Worker) await(ctx context.Context, me *waiter) (*Work, error) {
	select {
	case w, ok := <-me.got:
		if ok {
			w.Spec = w.ReadSpec() // here, because the lanes serve everybody
			return w, nil
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		return nil, d.refusal()
	case <-ctx.Done():
	}
	if !d.leave(me) {
		if w := <-me.got; w != nil {
			d.giveBack(w)
		}
	}
	return nil, ctx.Err()
}

// leave takes a waiter out of the queue. It returns false if it was served or
// sent away already.
func (d *Worker) leave(me *waiter) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiters.remove(me)
}

// kick makes a lane look for something to do.
func (d *Worker) kick() {
	select {
	case d.wake <- struct{}{}:
	default: // as many looks as there are lanes are due already
	}
}
