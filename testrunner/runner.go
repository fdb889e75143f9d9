package testrunner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/service/clock"
	"drover/core/worker"
)

// Runner runs requests in many slots under one owner's name.
type Runner struct {
	cfg     Config
	deps    Deps
	host    string
	log     logrus.FieldLogger
	pools   *pools
	spool   *spool
	builds  *builds // nil: compiled states are not kept
	metrics *metrics
	facts   facts
	watch   *watch
	quiet   *quiet

	drain    sync.Once
	draining chan struct{} // closed by Drain

	mu     sync.Mutex
	worker *worker.Worker // of the current epoch; nil between epochs
	served []string       // pools to take work from
}

// New checks the config and makes a runner. Returns INVALID for an invalid config, and UNAVAILABLE if the spool
// folder cannot be used.
func New(cfg Config, deps Deps) (*Runner, error) {
	cfg = cfg.filled()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if deps.Clock == nil {
		deps.Clock = clock.Real{}
	}
	if deps.Dial == nil {
		deps.Dial = dialAgent
	}
	if deps.Harnesses == nil {
		deps.Harnesses = deps.Blobs
	}
	_, host, err := core.ParseOwner(cfg.Registration.Owner)
	if err != nil {
		return nil, err
	}
	r := &Runner{
		cfg: cfg, served: cfg.Pools, deps: deps, host: host, draining: make(chan struct{}),
		log: deps.Log.WithField("owner", cfg.Registration.Owner), pools: newPools(deps.Pools, deps.Clock),
	}
	r.facts, r.watch, r.quiet = readFacts(cfg.Proc), openWatch(cfg.Proc, deps.Clock), newQuiet(deps.Clock)
	if r.spool, err = openSpool(cfg.SpoolDir, cfg.SpoolFiles, cfg.SpoolBytes); err != nil {
		return nil, err
	}
	if r.builds, err = openBuilds(cfg.BuildsDir, cfg.BuildsBytes, deps.Clock); err != nil {
		return nil, err
	}
	r.metrics = newMetrics(r)
	return r, nil
}

// Drain makes Run take no new work, finish its current work and return. It does not wait.
func (r *Runner) Drain() {
	r.drain.Do(func() { close(r.draining) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.worker != nil {
		r.worker.Drain()
	}
}

// Run runs requests until Drain was called and its work is finished. When ctx ends it kills its work and gives it
// back. When its epoch ends it starts a new one. Returns BUSY if another living machine has the host's name, VERSION
// if Redis is of another schema, FORBIDDEN or INVALID if Redis refuses it permanently.
func (r *Runner) Run(ctx context.Context) error {
	return worker.Epochs(ctx, r.draining, r.notice, func() error { return r.epoch(ctx) })
}

// epoch is one registration, from the worker's opening to its close.
func (r *Runner) epoch(ctx context.Context) error {
	var settling sync.WaitGroup
	defer settling.Wait()
	worker, left, err := worker.Open(ctx, r.deps.Owners, r.deps.Claims, worker.Config{
		Registration: r.cfg.Registration, Pools: r.serving(), Slots: r.cfg.Slots, Poll: r.cfg.Poll,
		Notice: r.notice,
		Recalled: func(w *worker.Worker, putBack, lost int, left []core.Held) {
			r.log.WithFields(logrus.Fields{"epoch": w.Epoch(), "put_back": putBack, "lost": lost, "left": len(left)}).
				Warn("Redis lost its memory: what runs goes on and was put back, but for what others have by now")
			if len(left) > 0 {
				settling.Go(func() { _ = r.settle(ctx, w, left) }) // it has logged its failures, and the next start goes on
			}
		},
	})
	if err != nil {
		return err
	}
	r.log.WithFields(logrus.Fields{"epoch": worker.Epoch(), "left": len(left)}).Info("registered")
	r.setWorker(worker)
	defer r.setWorker(nil)
	err = r.settle(ctx, worker, left)
	if err == nil {
		err = newSession(ctx, r, worker).work()
	}
	r.close(ctx, worker)
	if core.Is(err, core.CodeFenced) {
		r.metrics.fenced.Add(1)
	}
	if errors.Is(err, errStopping) {
		return nil
	}
	return err
}

// deregisterTimeout is how long a stopping testrunner may take to deregister.
const deregisterTimeout = 2 * time.Second

// close closes the worker. Work that is left is given back: that is only work whose result could not be delivered and
// is in the spool.
func (r *Runner) close(ctx context.Context, worker *worker.Worker) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), deregisterTimeout)
		defer cancel()
	}
	if err := worker.Close(ctx); err != nil {
		r.log.WithError(err).Warn("the worker was closed over something")
	}
}

func (r *Runner) setWorker(d *worker.Worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worker = d
	if d == nil {
		return
	}
	_ = d.Serve(r.served) // they were checked when the worker was opened
	select {
	case <-r.draining: // Drain was called while it was opened
		d.Drain()
	default:
	}
}

// Serve changes which pools the runner takes work from, from now on. Returns INVALID for an empty list or an invalid
// name.
func (r *Runner) Serve(pools []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.served = pools
	if r.worker == nil {
		return nil
	}
	return r.worker.Serve(pools)
}

func (r *Runner) serving() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.served
}

// Worker returns the counts of the current worker; zero between epochs.
func (r *Runner) Worker() worker.Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.worker == nil {
		return worker.Stats{}
	}
	return r.worker.Stats()
}

// notice logs the worker's notices about Redis.
func (r *Runner) notice(text string, err error) {
	if err == nil {
		r.log.Info(text)
		return
	}
	r.log.WithError(err).Warn(text)
}

// settle first delivers results that a predecessor spooled, and then settles its slots, because the store decides
// their outcome. It retries until both are done or the epoch is over. Returns errStopping if the runner was told to
// stop first.
func (r *Runner) settle(ctx context.Context, worker *worker.Worker, left []core.Held) error {
	pause := newPause()
	for {
		err := r.deliver(ctx)
		if err == nil {
			var report recovery.Report
			report, err = recovery.Settle(ctx, r.deps.Owners, r.deps.Store, worker.Owner(), worker.Epoch(), left,
				recovery.Options{MaxAttempts: r.cfg.MaxAttempts, MaxDeaths: r.cfg.MaxDeaths, Now: r.deps.Clock.Now})
			if report.Moved > 0 {
				r.log.WithField("report", report).Info("settled what the predecessor left")
			}
		}
		if err == nil || core.Is(err, core.CodeFenced) {
			return err
		}
		if ctx.Err() == nil {
			r.log.WithError(err).Warn("cannot settle what the predecessor left; trying again")
		}
		select {
		case <-r.deps.Clock.After(pause.NextBackOff()):
		case <-worker.Lost():
			return core.Errorf(core.CodeFenced, worker.Owner(), "the epoch of %s is over", worker.Owner())
		case <-r.draining:
			return errStopping
		case <-ctx.Done():
			return errStopping
		}
	}
}
