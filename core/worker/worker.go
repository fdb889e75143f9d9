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

// Config says which owner opens a worker and what work it takes. Zero fields get the defaults named.
type Config struct {
	Registration core.Registration
	Pools        []string                     // the pools to take work from; calls rotate among them
	Slots        int                          // maximum of work held at once; default 1
	Lanes        int                          // calls in flight at once; default 2
	Batch        int                          // maximum of finishes, and of claims, in one call; default and largest value 64
	Poll         time.Duration                // an idle worker calls at least this often, even without the bell; default 1 s
	BeatEvery    time.Duration                // between heartbeats when nothing else carries one; default three quarters of Registration.Beat
	Notice       func(text string, err error) // called when Redis fails and, with a nil error, when it answers again; may be nil
	// Recalled is called when Redis had lost its memory, with how much of the work in hand was put back and how much
	// others have by now, and with what Redis remembers of predecessors, to be settled; may be nil.
	Recalled func(d *Worker, putBack, lost int, left []core.Held)
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
	// ErrDrained is returned by Next once the worker takes no new work.
	ErrDrained = core.Errorf(core.CodeConflict, "", "the worker is drained: it takes no new work")
	errClosed  = core.Errorf(core.CodeUnavailable, "", "the worker was closed over the work; it runs again elsewhere")
)

// Worker claims and finishes work for the goroutines of one owner. All methods are safe for concurrent use.
type Worker struct {
	cfg      Config
	owners   core.Owners
	claims   core.Claims
	presence *Presence
	trouble  *trouble

	ctx     context.Context // ends when the goroutines must
	stop    context.CancelFunc
	running sync.WaitGroup
	wake    chan struct{} // one token for each lane that should check for something to send
	look    chan struct{} // wakes the listener
	busy    chan struct{} // work is held for which notices may come
	suspect chan struct{} // wakes the checker

	answering chan struct{} // Redis answered: failed reports can be repeated
	closed    chan struct{} // Close is done, with closeErr

	closeErr error

	mu        sync.Mutex // guards what follows
	lanes     []*lane
	finishes  fifo[*Work]      // submitted, not yet in a call
	waiters   fifo[*waiter]    // in Next, oldest first; a call requests a number of claims, not particular ones
	hand      map[string]*Work // key → work whose finish was not answered yet; the newest, if a key came back
	unheard   map[*Work]bool   // work whose last report did not reach Redis
	asked     int              // claims that calls in flight request
	ending    int              // finishes in calls in flight
	used      int              // slots in use or requested, without those that a call in flight ends
	starved   bool             // the last answer had fewer claims than requested: wait for the bell
	rung      bool             // the bell rang, or a poll is due, and no call was sent since
	drained   bool
	closing   bool
	over      error         // why the worker has ended; nil while it has not
	quiet     chan struct{} // closed, if Close made it, once no work is held or in flight
	nextToken int64
	turn      int
	rotated   [][]string // the lists of pools that begin with each pool in turn
	stats     Stats

	first       int64  // the first of the worker's epochs; they follow one another while Redis forgets them
	incarnation string // of Redis, in which it was last made sure that it has the work in hand
	reclaiming  sync.Mutex
}

// waiter is one call of Next.
type waiter struct{ got chan *Work }

// Open registers the owner under a new epoch, which fences its predecessor, and opens its worker. It returns the
// predecessor's slots. Settle them with recovery.Settle before the first Next, and repeat that until it succeeds: no
// other process will while this owner lives. Returns INVALID for an invalid configuration, else as
// core.Owners.Register.
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
	presence, registered, err := register(ctx, owners, PresenceConfig{
		Registration: cfg.Registration, BeatEvery: cfg.BeatEvery, Hear: d.hear,
	}, d.trouble)
	if err != nil {
		return nil, nil, err
	}
	d.presence, presence.ended, presence.revived = presence, d.end, d.revived
	d.first, d.incarnation = registered.Epoch, registered.Incarnation
	d.cfg.Registration, d.cfg.BeatEvery = presence.cfg.Registration, presence.cfg.BeatEvery
	d.ctx, d.stop = context.WithCancel(context.Background())
	for i := range cfg.Lanes {
		l := &lane{x: core.Exchange{
			Owner: d.Owner(), Host: d.cfg.Registration.Host, Lane: i,
		}}
		d.lanes = append(d.lanes, l)
		d.running.Go(func() { d.drive(l) })
	}
	d.running.Go(d.listen)
	d.running.Go(d.hearNotices)
	d.running.Go(d.consistency)
	d.running.Go(d.redeclare)
	presence.start()
	return d, registered.Left, nil
}

// Owner returns the owner's name.
func (d *Worker) Owner() string { return d.presence.Owner() }

// Epoch returns the owner's generation, for recovery.Settle.
func (d *Worker) Epoch() int64 { return d.presence.Epoch() }

// Lost is closed once this epoch is over. All work is cancelled by then; stop it, Close, and Open again.
func (d *Worker) Lost() <-chan struct{} { return d.presence.Lost() }

// Next waits for a piece of work. Returns FENCED once this epoch is over, ErrDrained after Drain or Close, and ctx's
// error if ctx ends first; a claim that arrives afterwards goes to another caller or is released.
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

// Finish ends a piece of work, whose result must be in the store before. It is repeated until Redis answers, even
// after ctx ended and nobody waits for it; a second Finish returns the first answer. Moved is false if Redis did not
// have the slot under this token any more: then nothing moved, which is no fault, because the store has the result.
// Returns INVALID for an invalid outcome, FENCED once this epoch is over, ctx's error if ctx ends first.
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

// FinishNext is Finish and Next in one call to Redis. With an error, next is nil and moved still says what became of
// w; a submitted finish is sent in spite of the error.
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
		moved, _ = d.answer(ctx, w) // err is the error of the two that says more
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
	case core.OutcomeLater: // only for tasks
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

// giveBack releases work that no caller took.
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
		d.starved = false // the last answer is outdated: nobody listened since
	}
	me := &waiter{got: make(chan *Work, 1)}
	d.waiters.push(me)
	return me, nil
}

// refusal returns why no caller gets work any more. The lock is held.
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
			w.Spec = w.ReadSpec() // read here, because the lanes serve all callers
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

// leave takes a waiter out of the queue. It returns false if the waiter was already served or sent away.
func (d *Worker) leave(me *waiter) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiters.remove(me)
}

// kick makes a lane check for something to send.
func (d *Worker) kick() {
	select {
	case d.wake <- struct{}{}:
	default: // every lane has been told already
	}
}
