package taskrunner

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/account"
	"drover/core/cluster/recovery"
	"drover/core/school"
	"drover/core/service/clock"
	"drover/core/service/metric"
	"drover/core/worker"
)

// Deps are what a Runner works with.
type Deps struct {
	Owners core.Owners
	Tasks  core.Tasks
	Store  school.ResultStore // the whole store: each kind of task asks for a part of it
	Blobs  core.Blobs
	Work   Requests
	Intake TaskSubmitter // accepts the deliveries of webhooks, and parts of tasks
	Clock  clock.Clock   // nil: the machine's
	// Skew is how far that clock is ahead of Redis'; nil: not at all.
	Skew    func(ctx context.Context) (time.Duration, error)
	Now     func() time.Time // by the clock that all hosts share; nil: by Clock
	Log     logrus.FieldLogger
	Metrics *metric.Set // gets the metrics; may be nil
	Kinds   []Kind      // in addition to the built-in ones, or in their place

	Accounts  *account.Service         // whose links are mailed; needed with Config.Mail
	Callbacks map[string]core.Callback // by the compatible API that the request came in by
}

// Runner runs tasks.
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

// New checks the config and makes a runner. Returns INVALID for an invalid config.
func New(cfg Config, deps Deps) (*Runner, error) {
	cfg = cfg.filled()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	r := &Runner{
		cfg: cfg, owners: deps.Owners, tasks: deps.Tasks, store: deps.Store, clock: deps.Clock,
		log: deps.Log.WithField("owner", cfg.Registration.Owner), kinds: map[string]Kind{}, metrics: newMetrics(deps.Metrics), draining: make(chan struct{}),
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

// Drain makes Run claim no more tasks, finish the running ones and return.
func (r *Runner) Drain() { r.drained.Do(func() { close(r.draining) }) }

// Run works until Drain was called and its tasks are done, or until ctx ends: then it stops its tasks and gives them
// back. When its epoch ends it also stops them, and starts a new one. Returns BUSY if another machine has the host's
// name, VERSION if Redis is of another schema.
func (r *Runner) Run(ctx context.Context) error {
	telling, hush := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer hush()
	wg.Go(func() { r.outbox.run(telling) })
	notice := func(text string, err error) { r.log.WithError(err).Warn(text) }
	return worker.Epochs(ctx, r.draining, notice, func() error { return r.live(ctx) })
}

// live is one epoch, from registration to deregistration.
func (r *Runner) live(ctx context.Context) error {
	reg := r.cfg.Registration
	presence, left, err := worker.Join(ctx, r.owners, worker.PresenceConfig{
		Registration: reg, BeatEvery: reg.Beat + reg.Beat/4, // the loop's calls carry the heartbeat, unless one stalls
		Hear: func(core.Beat) { r.metrics.beat.Set(float64(r.clock.Now().UnixMilli()) / 1000) },
	})
	if err != nil {
		return err
	}
	r.log.WithFields(logrus.Fields{"epoch": presence.Epoch(), "left": len(left)}).Info("registered")
	return newEpoch(r, presence, left).run(ctx)
}
