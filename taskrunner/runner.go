package taskrunner

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/service/clock"
)

// Deps are what a Runner works with.
type Deps struct {
	Owners core.Owners
	Tasks  core.Tasks
	Store  core.ResultStore // whole: each kind of task asks for its own part
	Blobs  core.Blobs
	Work   Requests
	Intake TaskSubmitter // takes the deliveries of webhooks, and parts of tasks
	Clock  clock.Clock   // nil: the machine's
	// Skew is how far that clock is ahead of Redis'; nil: not at all.
	Skew  func(ctx context.Context) (time.Duration, error)
	Now   func() time.Time // by the clock that all hosts share; nil: by Clock
	Log   logrus.FieldLogger
	Kinds []Kind // beside the built-in ones, or in their place

	Callbacks map[string]core.Callback // by the compatible API that requests came in by
}

// Runner does tasks.
type Runner struct {
	cfg     Config
	owners  core.Owners
	tasks   core.Tasks
	store   recovery.Store
	clock   clock.Clock
	now     func() time.Time // by the clock that all hosts share
	log     logrus.FieldLogger
	kinds   map[string]Kind
	outbox  *outbox
	metrics *metrics

	drained  sync.Once
	draining chan struct{}
}

// New checks the config and makes a runner. Returns INVALID for a config that cannot be.
func New(cfg Config, deps Deps) (*Runner, error) {
	cfg = cfg.filled()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	r := &Runner{
		cfg: cfg, owners: deps.Owners, tasks: deps.Tasks, store: deps.Store, clock: deps.Clock,
		log: deps.Log.WithField("owner", cfg.Registration.Owner), kinds: map[string]Kind{}, metrics: newMetrics(), draining: make(chan struct{}),
	}
	if r.clock == nil {
		r.clock = clock.Real{}
	}
	if r.now = deps.Now; r.now == nil {
		r.now = r.clock.Now
	}
	for _, k := range append(builtIn(cfg, deps, r.clock), deps.Kinds...) {
		r.kinds[k.Name] = cfg.filledKind(k)
	}
	r.outbox = newOutbox(deps.Store, deps.Intake, r.clock, r.log, cfg.Poll)
	return r, nil
}

// Collector returns the runner's Prometheus metrics.
func (r *Runner) Collector() prometheus.Collector { return r.metrics }

// Drain asks Run to claim no more, finish what is in hand and return.
func (r *Runner) Drain() { r.drained.Do(func() { close(r.draining) }) }

// Run works until Drain was called and its tasks are done, or until ctx ends: then
// it stops its tasks and gives them back. When its epoch ends it stops them too,
// and starts a new one. Returns BUSY if another machine has the host's name,
// VERSION if Redis is of another schema.
func (r *Runner) Run(ctx context.Context) error {
	telling, hush := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer hush()
	wg.Go(func() { r.outbox.run(telling) })
	wait := retries()
	for ctx.Err() == nil {
		err := r.live(ctx)
		if err == nil || slices.Contains(hopeless, core.CodeOf(err)) {
			return err
		}
		if ctx.Err() == nil {
			r.log.WithError(err).Warn("cannot go on in this epoch; starting a new one")
		}
		select {
		case <-r.clock.After(wait.NextBackOff()):
		case <-r.draining: // it holds nothing that it could finish
			return nil
		case <-ctx.Done():
		}
	}
	return nil
}

// live is one epoch, from registration to deregistration.
func (r *Runner) live(ctx context.Context) error {
	reg, err := r.owners.Register(ctx, r.cfg.Registration)
	if err != nil {
		return err
	}
	r.log.WithFields(logrus.Fields{"epoch": reg.Epoch, "left": len(reg.Left)}).Info("registered")
	// Each epoch sets them anew: it may have begun because Redis lost everything.
	if err := r.tasks.SetTaskRates(ctx, r.cfg.Rates); err != nil {
		return err
	}
	return newEpoch(r, reg).run(ctx)
}

// hopeless are the refusals of a registration that trying again does not mend.
var hopeless = []core.Code{core.CodeBusy, core.CodeVersion, core.CodeInvalid, core.CodeForbidden}

// retries spaces out what must be repeated until Redis or the store answers.
func retries() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 100*time.Millisecond, 5*time.Second
	return b
}
