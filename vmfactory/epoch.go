package vmfactory

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/worker"
)

// epoch is the factory under one registration. One goroutine, the loop, owns all its fields and makes every call that
// moves a VM in Redis; the other goroutines work for it and post their results.
type epoch struct {
	*Factory
	presence *worker.Presence
	n        int64

	events chan func()    // functions for the loop to run
	beats  chan core.Beat // answers to heartbeats
	wake   chan struct{}  // signals that there may be something to do
	over   chan struct{}  // closed at the end: posts are not received any more
	wg     sync.WaitGroup
	work   context.Context // of provider calls: ends with the epoch, or when stopping takes too long
	abort  context.CancelFunc

	left []core.Held       // slots of the predecessor, to be settled
	jobs map[string]*job   // VMs that are being worked on
	made map[string]madeVM // finished creations, not yet reported to Redis
	gone map[string]string // finished destructions, not yet reported to Redis; a text quarantines
	sick map[string]error  // clean VMs that failed their check, to be retired
	view                   // data for comparing Redis with the host
	lost bool              // Redis may hold slots that the loop does not know
	odd  int               // heartbeats in a row whose number of slots differs from ours
	down bool              // Redis does not answer
	rest time.Time         // no calls before this, while Redis is down
	wait *backoff.ExponentialBackOff

	promised map[string]bool // pools for which Redis has promised us VMs to make

	settings core.HostSettings // what operators say of the host, as last read

	reported *core.HostNotes // what Redis knows of the host; nil before the first report

	draining  bool // the host takes no new work
	stopping  bool
	checking  bool // a health check is in progress
	nextCheck time.Time
}

// madeVM is a finished creation.
type madeVM struct {
	pool string
	ok   bool
}

func newEpoch(f *Factory) *epoch {
	f.load.sent = nil
	return &epoch{
		Factory: f,
		events:  make(chan func(), 64), beats: make(chan core.Beat, 1), wake: make(chan struct{}, 1), over: make(chan struct{}),
		jobs: make(map[string]*job), made: make(map[string]madeVM), gone: make(map[string]string),
		sick: make(map[string]error), promised: make(map[string]bool), view: view{full: true}, wait: worker.Retries(),
		nextCheck: f.clock.Now().Add(f.cfg.CheckEvery),
	}
}

// run works until stop ends, then drains and deregisters. Returns FENCED if the epoch is over.
func (e *epoch) run(stop context.Context, presence *worker.Presence, left []core.Held) error {
	ctx, end := context.WithCancel(presence.Context())
	e.work, e.abort = context.WithCancel(ctx)
	defer e.close(end)
	e.presence, e.n, e.left = presence, presence.Epoch(), left
	e.wg.Go(func() { presence.Beat(ctx) }) // reports at once whether the host is drained
	e.wg.Go(func() { worker.Listen(ctx, e.wake, e.waitWork) })
	for stop.Err() == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		pause := e.cfg.Poll
		if now := e.clock.Now(); now.Before(e.rest) {
			pause = e.rest.Sub(now)
		} else if err := e.pass(ctx); core.Is(err, core.CodeFenced) {
			return err
		} else if e.note(err); err != nil {
			continue
		}
		e.await(stop, ctx, pause)
	}
	return e.drain(ctx)
}

// pass does everything that can be done now, dirty VMs before clean ones (G12).
func (e *epoch) pass(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		e.settle, e.forget, e.tell, e.recount, e.reconcile, e.retireSick, e.destroy, e.create, e.measure,
	} {
		if err := step(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
	e.look(ctx)
	e.check(ctx)
	return nil
}

// note handles the end of a pass: if Redis does not answer, VMs stay and the factory keeps trying, at growing
// intervals.
func (e *epoch) note(err error) {
	if err == nil {
		if e.down {
			e.log.Info("Redis answers again")
			e.wait.Reset()
		}
		e.down = false
		return
	}
	entry := e.log.WithError(err)
	if e.down {
		entry.Debug("still cannot work; trying again")
	} else {
		entry.Warn("cannot work; trying again")
	}
	// Earlier findings may belong to another incarnation of Redis.
	e.down, e.lost, e.full, e.nextLook = true, true, true, e.clock.Now()
	e.rest = e.clock.Now().Add(e.wait.NextBackOff())
}

// await sleeps until there is something to do, and runs all posted functions.
func (e *epoch) await(stop, ctx context.Context, pause time.Duration) {
	over := e.clock.After(pause)
	for waiting := true; waiting; {
		waiting = false
		select {
		case event := <-e.events:
			event()
		case b := <-e.beats:
			waiting = !e.heard(b)
		case <-e.wake:
		case <-over:
		case <-stop.Done():
		case <-ctx.Done():
		}
	}
	for {
		select {
		case event := <-e.events:
			event()
		default:
			return
		}
	}
}

// post passes a result to the loop.
func (e *epoch) post(event func()) {
	select {
	case e.events <- event:
	case <-e.over:
	}
}

// hear passes the answer to a heartbeat to the loop.
func (e *epoch) hear(b core.Beat) {
	e.metrics.beat.Set(float64(e.clock.Now().UnixMilli()) / 1000)
	select {
	case e.beats <- b:
	default: // a busy loop gets the next answer
	}
}

// heard handles the answer to a heartbeat, and reports whether there is something to do.
func (e *epoch) heard(b core.Beat) bool {
	news := b.Draining != e.draining || !b.Ready
	e.draining = b.Draining
	if !b.Ready && e.surveyed {
		// Another incarnation of Redis: the host claims nothing until it is reconciled again (rule 3).
		e.surveyed, e.full, e.nextLook, e.reported, e.load.sent = false, true, e.clock.Now(), nil, nil
	}
	if b.Slots == len(e.jobs)+len(e.made)+len(e.gone) {
		e.odd = 0
	} else if e.odd++; e.odd > 1 {
		e.odd, e.lost, news = 0, true, true
	}
	return news
}

// waitWork returns when Redis signals that there is something to do. It is only a hint; the loop polls as well.
func (e *epoch) waitWork(ctx context.Context) error {
	return e.vms.WaitWork(ctx, e.host(), waitPolls*e.cfg.Poll)
}

// waitPolls is how many polls one wait for the bell lasts.
const waitPolls = 5

// drain completes the work in progress, reports it to Redis and deregisters. VMs that are not completed in time are
// left dirty, for the next epoch to destroy.
func (e *epoch) drain(ctx context.Context) error {
	e.stopping = true
	e.log.WithField("in_hand", len(e.jobs)).Info("stopping")
	late := e.clock.After(e.cfg.StopTimeout)
	e.dropWaiting()
	for len(e.jobs) > 0 {
		select {
		case event := <-e.events:
			event()
			e.dropWaiting()
		case <-late:
			e.abort()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	telling, cancel := context.WithTimeout(ctx, worker.CloseTimeout)
	defer cancel()
	if err := e.tell(telling); err != nil {
		e.log.WithError(err).Warn("cannot tell Redis how the last work ended; the next start will settle it")
	}
	if e.cfg.DestroyOnStop {
		e.leaveNothing(ctx)
	}
	if err := e.deregister(ctx, e.presence); err != nil {
		e.log.WithError(err).Warn("cannot deregister; the overseer or the next start will settle what is left")
	} else {
		e.log.WithField("epoch", e.n).Info("deregistered")
	}
	return nil
}

// leaveNothing destroys all VMs, as far as there is time.
func (e *epoch) leaveNothing(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.StopTimeout)
	defer cancel()
	n, err := e.destroyAll(ctx, e.n)
	if err != nil {
		e.log.WithError(err).Error("not every VM could be destroyed")
		return
	}
	e.log.WithField("vms", n).Info("destroyed all VMs")
}

// deregister empties the remaining slots and ends the registration (G17).
func (f *Factory) deregister(ctx context.Context, p *worker.Presence) error {
	ctx, cancel := context.WithTimeout(ctx, worker.CloseTimeout)
	defer cancel()
	held, err := f.owners.Held(ctx, f.owner(), 0)
	if err != nil {
		return err
	}
	if err := f.settleSlots(ctx, p.Epoch(), held); err != nil {
		return err
	}
	return p.Leave(ctx)
}

// close ends all goroutines of the epoch and waits for them.
func (e *epoch) close(end context.CancelFunc) {
	e.abort()
	end()
	close(e.over)
	e.presence.Stop()
	e.wg.Wait()
	e.endTrials()
}

// settle empties the slots that the predecessor left.
func (e *epoch) settle(ctx context.Context) error {
	if err := e.settleSlots(ctx, e.n, e.left); err != nil {
		return err
	}
	e.left = nil
	return nil
}

// settleSlots makes half-made and half-destroyed VMs dirty.
func (f *Factory) settleSlots(ctx context.Context, epoch int64, held []core.Held) error {
	if len(held) == 0 {
		return nil
	}
	// A vmfactory's slots do not depend on the result store.
	report, err := recovery.Settle(ctx, f.owners, nil, f.owner(), epoch, held, recovery.Options{})
	if err != nil {
		return err
	}
	f.log.WithFields(logrus.Fields{"left": len(held), "moved": report.Moved}).Warn("VMs were left half made or half destroyed; now they are dirty")
	return nil
}
