package worker

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"drover/core"
)

// defaultBeat is how soon the next heartbeat is due if a registration does not say.
const defaultBeat = time.Second

// callTimeout bounds one call to Redis whose client has no bound of its own.
const callTimeout = 10 * time.Second

// PresenceConfig says who joins and how it sends a heartbeat.
type PresenceConfig struct {
	Registration core.Registration
	BeatEvery    time.Duration                // between heartbeats when nothing else carries one; default three quarters of Registration.Beat
	Hear         func(core.Beat)              // gets the answer of every beat; may be nil
	Notice       func(text string, err error) // hears when Redis fails and, with a nil error, when it answers again; may be nil
}

// Presence is an owner's registration and its heartbeat. Every owner has
// one: a testrunner's is inside its Worker, a vmfactory or taskrunner joins by itself.
type Presence struct {
	owners  core.Owners
	cfg     PresenceConfig
	epoch   int64
	trouble *trouble

	born   time.Time
	last   atomic.Int64 // nanoseconds from born to the start of the last call that carried a heartbeat
	fenced sync.Once
	ended  func(error)     // told before life ends; nil: nobody
	life   context.Context // ends with the epoch, by lose
	lose   context.CancelCauseFunc

	stop context.CancelFunc
	done chan struct{}
}

// Join registers an owner under a new epoch, which fences its predecessor, and
// beats from then on. It returns what the predecessor left; recovery.Settle
// settles that. Returns INVALID for a registration that cannot be, else as
// core.Owners.Register.
func Join(ctx context.Context, owners core.Owners, cfg PresenceConfig) (*Presence, []core.Held, error) {
	p, left, err := register(ctx, owners, cfg, newTrouble(cfg.Notice))
	if err != nil {
		return nil, nil, err
	}
	p.start()
	return p, left, nil
}

// register makes a Presence that does not beat yet.
func register(ctx context.Context, owners core.Owners, cfg PresenceConfig, t *trouble) (*Presence, []core.Held, error) {
	r := &cfg.Registration
	_, host, err := core.ParseOwner(r.Owner)
	if err != nil {
		return nil, nil, err
	}
	if r.Host = cmp.Or(r.Host, host); r.Host != host {
		return nil, nil, core.Errorf(core.CodeInvalid, r.Owner, "owner %s does not belong on host %s", r.Owner, r.Host)
	}
	r.Beat = cmp.Or(r.Beat, defaultBeat)
	cfg.BeatEvery = cmp.Or(cfg.BeatEvery, r.Beat*3/4)
	if r.Beat < 0 || cfg.BeatEvery < 0 {
		return nil, nil, core.Errorf(core.CodeInvalid, r.Owner, "owner %s: the times between heartbeats must be above 0", r.Owner)
	}
	p := &Presence{owners: owners, cfg: cfg, trouble: t, born: time.Now(), done: make(chan struct{})}
	p.life, p.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	registered, err := owners.Register(ctx, *r)
	if err != nil {
		return nil, nil, err
	}
	p.epoch = registered.Epoch
	return p, registered.Left, nil
}

func (p *Presence) start() {
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	go p.beat(ctx)
}

// Owner is the owner's name.
func (p *Presence) Owner() string { return p.cfg.Registration.Owner }

// Epoch is the owner's generation; every write names it.
func (p *Presence) Epoch() int64 { return p.epoch }

// Lost is closed once the epoch is over: stop all work, then Join anew.
func (p *Presence) Lost() <-chan struct{} { return p.life.Done() }

// Context ends once the epoch is over; its cause is FENCED. The end of Join's context does not end it.
func (p *Presence) Context() context.Context { return p.life }

// LastBeat is when the last call that carried a heartbeat of this owner began.
func (p *Presence) LastBeat() time.Time { return p.born.Add(time.Duration(p.last.Load())) }

// Heard notes that a call which began at that time carried a beat and was
// answered: the owner's own timer need not beat so soon.
func (p *Presence) Heard(at time.Time) {
	began := int64(at.Sub(p.born))
	for {
		last := p.last.Load()
		if began <= last || p.last.CompareAndSwap(last, began) {
			return
		}
	}
}

// Over reports whether the error of a lane's call says that the epoch is over, and ends it: FENCED, or STALE. A lane
// repeats its calls and is never behind, so STALE means that another process calls under the owner's name and epoch.
func (p *Presence) Over(err error) bool {
	if core.Is(err, core.CodeStale) {
		err = core.Wrap(err, core.CodeFenced, p.Owner(), "another process acts as %s", p.Owner())
	}
	p.Fenced(err)
	return core.Is(err, core.CodeFenced)
}

// Fenced notes that a call answered FENCED: Lost is closed. Other errors change nothing.
func (p *Presence) Fenced(err error) {
	if !core.Is(err, core.CodeFenced) {
		return
	}
	p.fenced.Do(func() {
		if p.ended != nil {
			p.ended(err)
		}
		p.lose(err)
	})
}

// Leave stops beating and deregisters, trying until ctx ends. Returns CONFLICT if
// the owner still holds something, UNAVAILABLE if Redis did not answer in time. A
// lost owner just stops.
func (p *Presence) Leave(ctx context.Context) error {
	p.Stop()
	pause := newPause()
	for {
		select {
		case <-p.life.Done():
			return nil
		default:
		}
		err := p.deregister(ctx)
		switch core.CodeOf(err) {
		case "", core.CodeFenced, core.CodeNotFound:
			return nil // fenced: it is not ours to remove any more
		case core.CodeConflict:
			return err
		}
		if !pause.sleep(ctx) {
			return core.Wrap(err, core.CodeUnavailable, p.Owner(), "owner %s could not deregister; it will be found late", p.Owner())
		}
	}
}

func (p *Presence) deregister(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return p.owners.Deregister(ctx, p.Owner(), p.epoch)
}

// Stop stops beating without a word: to Redis it looks like a crash.
func (p *Presence) Stop() {
	p.stop()
	<-p.done
}

// beat sends the owner's heartbeat whenever no other call did for BeatEvery.
func (p *Presence) beat(ctx context.Context) {
	defer close(p.done)
	timer := time.NewTimer(p.cfg.BeatEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.life.Done():
			return
		case <-timer.C:
		}
		wait := p.cfg.BeatEvery - time.Since(p.LastBeat())
		if wait <= 0 {
			wait = p.Beat(ctx)
		}
		timer.Reset(wait)
	}
}

// Beat sends a heartbeat now, whose answer Hear gets. It returns how long to wait before the next.
func (p *Presence) Beat(ctx context.Context) time.Duration {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	at := time.Now()
	heard, err := p.owners.Beat(call, p.Owner(), p.epoch, p.cfg.Registration.Beat)
	switch {
	case err == nil:
		p.trouble.over(ofPresence)
		p.Heard(at)
		if p.cfg.Hear != nil {
			p.cfg.Hear(heard)
		}
		return p.cfg.BeatEvery
	case core.Is(err, core.CodeFenced):
		p.Fenced(err)
	case ctx.Err() == nil:
		p.trouble.met(ofPresence, err)
	}
	return p.cfg.BeatEvery / 4
}
