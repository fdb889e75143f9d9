package worker

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"drover/core"
)

// defaultBeat is the time until the next heartbeat if a registration does not set it.
const defaultBeat = time.Second

// callTimeout bounds a call to Redis by a client without a timeout of its own.
const callTimeout = 10 * time.Second

// PresenceConfig says which owner joins and how it sends heartbeats.
type PresenceConfig struct {
	Registration core.Registration
	BeatEvery    time.Duration                // between heartbeats when nothing else carries one; default three quarters of Registration.Beat
	Hear         func(core.Beat)              // called with the answer of every heartbeat; may be nil
	Notice       func(text string, err error) // called when Redis fails and, with a nil error, when it answers again; may be nil
}

// Presence is an owner's registration and its heartbeat. Every owner has one: a testrunner's is inside its Worker, a
// vmfactory or taskrunner calls Join.
type Presence struct {
	owners  core.Owners
	cfg     PresenceConfig
	epoch   atomic.Int64
	trouble *trouble

	born   time.Time
	last   atomic.Int64 // nanoseconds from born to the start of the last call that carried a heartbeat
	fenced sync.Once
	ended  func(error) // called before life ends; may be nil

	reviving sync.Mutex
	revived  func(context.Context, core.Registered) error // called in a new epoch that follows because Redis forgot the last; nil: the epoch is over then
	life     context.Context                              // cancelled by lose when the epoch ends
	lose     context.CancelCauseFunc

	stop context.CancelFunc
	done chan struct{}
}

// Join registers an owner under a new epoch, which fences its predecessor, and sends heartbeats from then on. It
// returns the predecessor's slots, for recovery.Settle. Returns INVALID for an invalid registration, else as
// core.Owners.Register.
func Join(ctx context.Context, owners core.Owners, cfg PresenceConfig) (*Presence, []core.Held, error) {
	p, registered, err := register(ctx, owners, cfg, newTrouble(cfg.Notice))
	if err != nil {
		return nil, nil, err
	}
	p.start()
	return p, registered.Left, nil
}

// register makes a Presence that sends no heartbeats yet.
func register(ctx context.Context, owners core.Owners, cfg PresenceConfig, t *trouble) (*Presence, core.Registered, error) {
	r := &cfg.Registration
	_, host, err := core.ParseOwner(r.Owner)
	if err != nil {
		return nil, core.Registered{}, err
	}
	if r.Host = cmp.Or(r.Host, host); r.Host != host {
		return nil, core.Registered{}, core.Errorf(core.CodeInvalid, r.Owner, "owner %s does not belong on host %s", r.Owner, r.Host)
	}
	r.Beat = cmp.Or(r.Beat, defaultBeat)
	cfg.BeatEvery = cmp.Or(cfg.BeatEvery, r.Beat*3/4)
	if r.Beat < 0 || cfg.BeatEvery < 0 {
		return nil, core.Registered{}, core.Errorf(core.CodeInvalid, r.Owner, "owner %s: the times between heartbeats must be above 0", r.Owner)
	}
	p := &Presence{owners: owners, cfg: cfg, trouble: t, born: time.Now(), done: make(chan struct{})}
	p.life, p.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	registered, err := owners.Register(ctx, *r)
	if err != nil {
		return nil, core.Registered{}, err
	}
	p.epoch.Store(registered.Epoch)
	return p, registered, nil
}

func (p *Presence) start() {
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	go p.beat(ctx)
}

// Owner returns the owner's name.
func (p *Presence) Owner() string { return p.cfg.Registration.Owner }

// Epoch returns the owner's generation, which every write names.
func (p *Presence) Epoch() int64 { return p.epoch.Load() }

// Lost is closed once the epoch is over: stop all work, then Join again.
func (p *Presence) Lost() <-chan struct{} { return p.life.Done() }

// Context ends once the epoch is over; its cause is FENCED. The end of Join's context does not end it.
func (p *Presence) Context() context.Context { return p.life }

// LastBeat returns when the last call that carried a heartbeat of this owner began.
func (p *Presence) LastBeat() time.Time { return p.born.Add(time.Duration(p.last.Load())) }

// Heard records that a call that began at the given time carried a heartbeat and was answered, which postpones the
// owner's own.
func (p *Presence) Heard(at time.Time) {
	began := int64(at.Sub(p.born))
	for {
		last := p.last.Load()
		if began <= last || p.last.CompareAndSwap(last, began) {
			return
		}
	}
}

// Over reports whether the error of a lane's call in an epoch, FENCED or STALE, says that the epoch is over, and ends it
// then. A lane repeats its calls and is never behind, so STALE means that another process calls under the owner's
// name and epoch.
func (p *Presence) Over(ctx context.Context, epoch int64, err error) bool {
	if core.Is(err, core.CodeStale) {
		p.end(core.Wrap(err, core.CodeFenced, p.Owner(), "another process acts as %s", p.Owner()))
		return true
	}
	return p.Fenced(ctx, epoch, err)
}

// Fenced reports whether the error of a call in an epoch, FENCED, says that the epoch is over, and ends it then: Lost is
// closed. It returns false for other errors, and if the call is to be repeated in the next epoch: Redis had forgotten
// the one that it named, and the owner goes on.
func (p *Presence) Fenced(ctx context.Context, epoch int64, err error) bool {
	if !core.Is(err, core.CodeFenced) || p.revived != nil && p.revive(ctx, epoch) {
		return false
	}
	p.end(err)
	return true
}

// revive registers again an owner whose name Redis has forgotten with the rest of its memory. It returns false if the
// epoch was ended, or no repeat helps.
func (p *Presence) revive(ctx context.Context, epoch int64) bool {
	p.reviving.Lock()
	defer p.reviving.Unlock()
	if p.life.Err() != nil || p.Epoch() != epoch {
		return p.life.Err() == nil
	}
	for pause := newPause(); ; {
		r := p.cfg.Registration
		r.Former = p.Epoch()
		call, cancel := context.WithTimeout(ctx, callTimeout)
		registered, err := p.owners.Register(call, r)
		cancel()
		switch {
		case err == nil:
			p.epoch.Store(registered.Epoch)
			if p.revived(ctx, registered) == nil {
				return true
			}
		case core.Is(err, core.CodeFenced), slices.Contains(hopeless, core.CodeOf(err)):
			return false
		}
		if !pause.sleep(ctx) {
			return true // the caller has stopped
		}
	}
}

func (p *Presence) end(err error) {
	p.fenced.Do(func() {
		if p.ended != nil {
			p.ended(err)
		}
		p.lose(err)
	})
}

// Leave stops the heartbeat and deregisters, trying until ctx ends. Returns CONFLICT if the owner still holds
// something, UNAVAILABLE if Redis did not answer in time. A lost owner only stops.
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
			return nil // fenced: the registration is not ours any more
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
	return p.owners.Deregister(ctx, p.Owner(), p.Epoch())
}

// Stop stops the heartbeat without deregistering: to Redis it looks like a crash.
func (p *Presence) Stop() {
	p.stop()
	<-p.done
}

// beat sends the owner's heartbeat whenever no other call carried one for BeatEvery.
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

// Beat sends a heartbeat now and passes its answer to Hear. It returns the time until the next one.
func (p *Presence) Beat(ctx context.Context) time.Duration {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	at, epoch := time.Now(), p.Epoch()
	heard, err := p.owners.Beat(call, p.Owner(), epoch, p.cfg.Registration.Beat)
	switch {
	case err == nil:
		p.trouble.over(ofPresence)
		p.Heard(at)
		if p.cfg.Hear != nil {
			p.cfg.Hear(heard)
		}
		return p.cfg.BeatEvery
	case core.Is(err, core.CodeFenced):
		if !p.Fenced(ctx, epoch, err) {
			return 0
		}
	case ctx.Err() == nil:
		p.trouble.met(ofPresence, err)
	}
	return p.cfg.BeatEvery / 4
}
